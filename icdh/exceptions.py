"""The warnings and errors that are icdh's own."""

import sys
import warnings


class ConvergenceWarning(UserWarning):
    """An optimiser stopped before it reached what was asked of it."""


class DataWarning(UserWarning):
    """The data, or what was learned from them, deserve a second look."""


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
        The same: the command line names the option in place of the argument.
    """

    def __init__(self, argument: str, demand: str):
        super().__init__(argument, demand)
        self.argument, self.demand = argument, demand

    def __str__(self) -> str:
        return f"{self.argument} {self.demand}"


class ArgumentValueError(ArgumentError, ValueError):
    """An argument has a value that it must not have."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a type that it must not have."""


class WorkerLostError(RuntimeError):
    """A process that shared the work was killed."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for what only ``fit`` provides.

    Where scikit-learn is loaded, what is raised is its ``NotFittedError`` as well.
    """

    def __new__(cls, *arguments):
        """Return an error that is scikit-learn's too, so that what catches theirs catches ours."""
        theirs = sys.modules.get("sklearn.exceptions")
        if cls is NotFittedError and theirs is not None:
            cls = type("NotFittedError", (NotFittedError, theirs.NotFittedError), {"__reduce__": _as_not_fitted_error})
        return super().__new__(cls, *arguments)


def _as_not_fitted_error(error):
    return NotFittedError, error.args


class MissingExtraError(ImportError):
    """An optional dependency is absent; the message names the extra that brings it."""


def import_extra(module: str, extra: str):
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
        raise MissingExtraError(
            f"this needs {module.partition('.')[0]}, which is not installed: pip install 'icdh[{extra}]'"
        ) from error


def warn(message: str | Warning, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called the package, however deep inside it something was noticed.

    Parameters
    ----------
    message : str or Warning
        The text, or a warning that was caught.
    category : type
        The class of the warning.
    """
    frame, level, users = sys._getframe(1), 2, 2  # level 2 is the caller of this function
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "icdh":
            users = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=users)
