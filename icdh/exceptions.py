"""The warnings and errors that are icdh's own."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from traceback import walk_stack
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


class ConvergenceWarning(UserWarning):
    """An optimiser stopped before it met its tolerance."""


class DataWarning(UserWarning):
    """The data, or what was learned from them, deserve a second look."""


def _in_python(argument: str, value: tuple[object, ...], of: object) -> str:
    text = argument if of is None else f"{argument}[{of!r}]"
    return text + "".join(f"={part:.3g}" if isinstance(part, float) else f"={part!r}" for part in value)


Style = Callable[[str, tuple[object, ...], object], str]
_style: ContextVar[Style] = ContextVar("_style", default=_in_python)


def option(argument: str, *value: object, of: object = None) -> str:
    """Return how a message names an argument: in Python, or within `naming` as an option of the command line.

    Parameters
    ----------
    argument : str
        Its name; what is no name of an argument stays as it is.
    *value : object
        What it should be, or is.
    of : object
        The column that an argument is about.

    Examples
    --------
    >>> from icdh.exceptions import option
    >>> option("missing", "impute"), option("kinds", of="age")
    ("missing='impute'", "kinds['age']")
    """
    return _style.get()(argument, value, of) if argument.isidentifier() else argument


@contextmanager
def _setting(variable: ContextVar[T], value: T) -> Iterator[T]:
    before = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(before)


def naming(style: Style) -> AbstractContextManager[Style]:
    """Let the messages of this thread name arguments in another style, until the body ends."""
    return _setting(_style, style)


class ArgumentError(Exception):
    """An argument is not what it must be.

    Parameters
    ----------
    argument : str
        Its name.
    demand : str
        What it must be, and what it is.

    Attributes
    ----------
    argument, demand : str
        The same.
    """

    def __init__(self, argument: str, demand: str):
        super().__init__(argument, demand)
        self.argument, self.demand = argument, demand

    def __str__(self) -> str:
        return f"{option(self.argument)} {self.demand}"


class ArgumentValueError(ArgumentError, ValueError):
    """An argument has a value that it must not have."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type that it must not have."""


class WorkerLostError(RuntimeError):
    """A process that shared the work was killed."""


class NotFittedError(ValueError, AttributeError):
    """An estimator lacks what only ``fit`` provides.

    Where scikit-learn is loaded, what is raised is its ``NotFittedError`` as well.
    """

    def __new__(cls, *arguments: object) -> "NotFittedError":
        """Return an error that is scikit-learn's too, so that what catches theirs catches ours."""
        theirs = sys.modules.get("sklearn.exceptions")
        if cls is NotFittedError and theirs is not None:
            both = (NotFittedError, theirs.NotFittedError)
            cls = type("NotFittedError", both, {"__reduce__": lambda error: (NotFittedError, error.args)})
        return super().__new__(cls, *arguments)  # pyright: ignore[reportArgumentType]


class MissingExtraError(ImportError):
    """An optional dependency is absent; the message names the extra that brings it."""


def import_extra(module: str, extra: str) -> ModuleType:
    """Import an optional dependency, or say which extra of icdh installs it.

    Parameters
    ----------
    module : str
        Dotted name of the module to import.
    extra : str
        The extra of ``setup.cfg`` that declares it.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtraError
        If the module is not installed.
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        missing = f"this needs {module.partition('.')[0]}, which is not installed"
        raise MissingExtraError(f"{missing}: pip install 'icdh[{extra}]'") from error


WarningList = list[tuple[str, type[Warning]]]  # messages and their classes
_collected: ContextVar[WarningList] = ContextVar("_collected")


def collected_warnings() -> AbstractContextManager[WarningList]:
    """Collect the warnings of this thread until the body ends, and show none.

    The filters of Python's ``warnings`` belong to all threads of the process, and stay as they are.

    Returns
    -------
    context manager of a list of (str, type)
        Each message and its class, as `warn` takes them.
    """
    return _setting(_collected, [])


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the line of the user's code that called the package, however deep inside it something was noticed.

    Parameters
    ----------
    message : str
        The text.
    category : type
        The class of the warning.
    """
    if (collected := _collected.get(None)) is not None:
        collected.append((message, category))
        return
    users = 2  # the caller of this function
    for level, (frame, _) in enumerate(walk_stack(sys._getframe(1)), start=3):
        if frame.f_globals.get("__name__", "").partition(".")[0] == "icdh":
            users = level
    warnings.warn(message, category, stacklevel=users)
