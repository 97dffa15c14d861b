"""What every result is alike in: it prints as a summary, becomes a dict or a frame, and draws itself by the shell."""

from abc import ABC, abstractmethod
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Literal

from icdh._utils.arrays import Foreign
from icdh.exceptions import import_extra


def preformatted(text: str) -> str:
    """Return lines of text as HTML, for notebooks."""
    return f"<pre>{escape(text)}</pre>"


class Result(ABC):
    """Base of results."""

    @abstractmethod
    def summary(self) -> str:
        """Return the result in plain words."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return all of it as what JSON can hold: dicts, lists, text, numbers, None."""

    @abstractmethod
    def records(self) -> list[dict[str, object]]:
        """Return its rows: a dict of each edge, or of what else it is about."""

    def to_frame(self) -> Foreign:
        """Return its rows as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return import_extra("pandas", "dataframe").DataFrame(self.records())

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return preformatted(self.summary())


def shell(room: Literal["plotting", "report"]) -> ModuleType:
    """Return a room of the shell, `icdh.plotting` or `icdh.report`: the one door to what draws results and their page.

    It is loaded when it is asked for. Nothing else in the core may reach into the shell.
    """
    return import_module(f"icdh.{room}")
