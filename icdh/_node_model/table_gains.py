"""What the tables of conditional probabilities of labels gain by each further parent and by the loss of each.

Given its parents a variable of K labels has a table: K probabilities for each of the q joint labels of the parents.
Its prior is Dirichlet's, worth a few observations in all, evenly spread over the K q cells (BDeu). The evidence of the
table is a ratio of Gamma functions of counts and costs no fit. A network is worth more where there are many cells. But
by their tables all graphs of an equivalence class have the same evidence, so that no arrow within it holds up a search.

References
----------
Heckerman, Geiger, Chickering, "Learning Bayesian networks: the combination of knowledge and statistical data", Machine
Learning 20 (1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from icdh._ground.arrays import Floats, Integers
from icdh._node_model.categorical import CategoricalResponse
from icdh._node_model.families import Families

Joint = tuple[Integers, int, float]


@dataclass(frozen=True)
class Tuning:
    """Constants of the tables."""

    worth: float = 5.0  # observations that the prior of a table is worth
    most_cells: int = 10_000  # of joint labels that are numbered without looking which of them occur


TUNING = Tuning()


class TableGains:
    """By how much the score falls with each change of one parent, if effects have tables of conditional probabilities.

    Parameters
    ----------
    families : Families
        The data: variables of labels or levels.
    """

    def __init__(self, families: Families):
        self.families = families
        self.codes = [families.codes_of(node) for node in range(len(families))]
        self.sizes = [int(code.max()) + 1 for code in self.codes]
        self._log_gamma: dict[float, Floats] = {}
        self._scores: dict[tuple[int, tuple[int, ...]], float] = {}

    def __call__(self, node: int, parents: Sequence[int]) -> Floats:
        """Return by how much the score of a node falls if each variable is added to its parents, or removed.

        Parameters
        ----------
        node : int
            A variable.
        parents : sequence of int
            Its parents.

        Returns
        -------
        ndarray, shape (N,)
            Nats; minus infinity for the node itself.
        """
        parents, gains = tuple(parents), np.full(len(self.sizes), -np.inf)
        score, joint = self.score(node, parents), self._joint(parents)
        penalties = self.families.edge_penalty[:, node]
        for other in {*range(len(self.sizes))} - {node}:
            if other in parents:
                gains[other] = score - self.score(node, tuple(parent for parent in parents if parent != other))
            else:
                penalty = penalties[[*parents, other]].sum()
                gains[other] = score - self._cost(node, *self._beside(*joint, other)) - penalty
        return gains

    @property
    def has_grades(self) -> bool:
        """Whether a variable has more than two values in order, which a table does not know of."""
        pairs = zip(self.families.responses, self.sizes, strict=True)
        return any(size > 2 and not isinstance(response, CategoricalResponse) for response, size in pairs)

    def scores(self, families: Sequence[tuple[int, tuple[int, ...]]]) -> list[float]:
        """Return the score of every family."""
        return [self.score(*family) for family in families]

    def score(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the negative log evidence of a table plus the penalty of its edges, in nats."""
        if (node, parents) not in self._scores:
            penalty = self.families.edge_penalty[list(parents), node].sum()
            self._scores[node, parents] = self._cost(node, *self._joint(parents)) + penalty
        return self._scores[node, parents]

    def _joint(self, parents: tuple[int, ...]) -> Joint:
        """Return the joint labels of variables, numbered, how many numbers there are, and how many could occur."""
        joint = np.zeros(self.families.n_observations, dtype=np.int64), 1, 1.0
        for parent in parents:
            joint = self._beside(*joint, parent)
        return joint

    def _beside(self, labels: Integers, count: int, possible: float, other: int) -> Joint:
        size = self.sizes[other]
        labels, count, possible = labels * size + self.codes[other], count * size, possible * size
        if count > TUNING.most_cells:
            seen, labels = np.unique(labels, return_inverse=True)
            count = seen.size
        return labels, count, possible

    def _cost(self, node: int, labels: Integers, count: int, possible: float) -> float:
        size, codes = self.sizes[node], self.codes[node]
        cells = labels * size + codes
        if self.families.rows is not None:
            cells = cells[self.families.rows[node]]
        counts = np.bincount(cells, minlength=count * size).reshape(count, size)
        groups = counts.sum(axis=1)
        seen = groups > 0
        each = TUNING.worth / possible
        return float(self._rises(each)[groups[seen]].sum() - self._rises(each / size)[counts[seen]].sum())

    def _rises(self, start: float) -> Floats:
        """Return log Gamma(start + k) - log Gamma(start) for every possible count k."""
        if start not in self._log_gamma:
            counts = np.arange(self.families.n_observations + 1)
            self._log_gamma[start] = gammaln(counts + start) - gammaln(start)
        return self._log_gamma[start]
