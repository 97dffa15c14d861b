"""A job: one method on one draw of one setting. Its name says all of it, and its seeds follow from the name."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from paper_reproduction.tables import DEAR, RAW, TABLES, Setting, trials

FIRST_TRIALS = 3


class Job(NamedTuple):
    """One method on one draw of a setting.

    Attributes
    ----------
    table : str
        The table that asks for it.
    setting : Setting
        The data.
    trial : int
        Which draw; of the pairs, which pair.
    method : str
        The row, in the paper's spelling.
    """

    table: str
    setting: Setting
    trial: int
    method: str

    @property
    def name(self) -> str:
        """What identifies the job in the files of results. Tables that share data share the job."""
        return f"{self.setting.name}/{self.trial}/{self.method}"

    @property
    def seed(self) -> int:
        """Seed of the method."""
        return seed_of(self.name)

    @property
    def draw_seed(self) -> int:
        """Seed of the graph and the observations, the same for every method and for both units."""
        data, graph, nodes, _ = self.setting
        return seed_of(f"draw/{data}/{graph}/{nodes}/{self.trial}")

    @property
    def order_seed(self) -> int:
        """Seed of the order of the columns of standardised data, the same for every method."""
        return seed_of(f"order/{self.setting.name}/{self.trial}")


def seed_of(name: str) -> int:
    """Return 63 bits that depend on a name alone.

    Parameters
    ----------
    name : str
        Any text.
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 1


class Selection(NamedTuple):
    """Which of the planned jobs to run; an empty field selects all.

    Attributes
    ----------
    tables, methods, data, graphs, units : tuple of str
        Names.
    nodes : tuple of int
        Numbers of variables.
    trials : int or None
        The most trials of a row.
    least_nodes : bool
        Whether each table is cut to its smallest number of variables.
    """

    tables: tuple = ()
    methods: tuple = ()
    data: tuple = ()
    graphs: tuple = ()
    units: tuple = ()
    nodes: tuple = ()
    trials: int | None = None
    least_nodes: bool = False

    def reduced(self) -> "Selection":
        """Return the same with the fewest variables, two trials and raw data, where nothing else is asked for."""
        return self._replace(units=self.units or (RAW,), trials=self.trials or 2, least_nodes=True)

    def jobs(self) -> list:
        """Return the jobs, each once: cheap methods first; three trials of every method before any further trial."""
        found = {}
        for job in self._planned():
            found.setdefault(job.name, job)
        return sorted(found.values(), key=_urgency)

    def _planned(self) -> Iterator[Job]:
        for table in TABLES.values():
            if self.tables and table.name not in self.tables:
                continue
            least = min(setting.nodes for setting in table.settings)
            for setting in filter(self._has, table.settings):
                if self.least_nodes and setting.nodes > least:
                    continue
                for method in table.methods:
                    if self.methods and method not in self.methods:
                        continue
                    for trial in range(self._trials(setting, method)):
                        yield Job(table.name, setting, trial, method)

    def _trials(self, setting, method):
        planned = trials(setting, method)
        if self.least_nodes and method in DEAR:
            return min(planned, 1)
        return planned if self.trials is None else min(planned, self.trials)

    def _has(self, setting):
        wanted = ((self.data, setting.data), (self.graphs, setting.graph), (self.units, setting.units))
        by_name = all(not chosen or value in chosen for chosen, value in wanted)
        # the real data have the number of variables that they have
        return by_name and (not self.nodes or setting.nodes in self.nodes or not setting.graph.startswith("ER"))


def _urgency(job):
    late = 0 if job.setting.data == "pairs" else job.trial // FIRST_TRIALS
    return job.method in DEAR, late, job.setting.nodes, job.trial
