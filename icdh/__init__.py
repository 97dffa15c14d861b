"""icdh: causal graphs from tables whose noise is heteroscedastic.

Public names load on first use, so that ``import icdh`` costs next to nothing and compiles nothing.
"""

from importlib import import_module

from icdh._version import __version__

TYPE_CHECKING = False  # not imported from `typing`, which loads slower than this package
if TYPE_CHECKING:  # the same names for type checkers, which do not follow `__getattr__`
    from icdh import acyclicity as acyclicity
    from icdh import datasets as datasets
    from icdh import diagnostics as diagnostics
    from icdh import files as files
    from icdh import graphs as graphs
    from icdh import knowledge as knowledge
    from icdh import likelihood as likelihood
    from icdh import metrics as metrics
    from icdh import network as network
    from icdh import plotting as plotting
    from icdh import search as search
    from icdh import simulate as simulate
    from icdh import two_phase as two_phase
    from icdh import uncertainty as uncertainty
    from icdh._effect.answer import effect as effect
    from icdh._effect.result import Effect as Effect
    from icdh._estimators.hnm_search import HNMSearch as HNMSearch
    from icdh._estimators.icdh import ICDH as ICDH
    from icdh._model.effects import AverageEffect as AverageEffect
    from icdh._model.effects import TotalEffect as TotalEffect
    from icdh._model.structural import StructuralModel as StructuralModel
    from icdh._model.structural import load as load
    from icdh._table.experiments import Interventions as Interventions
    from icdh._table.experiments import Shift as Shift
    from icdh.diagnostics.check import check as check
    from icdh.exceptions import ConvergenceWarning as ConvergenceWarning
    from icdh.exceptions import DataWarning as DataWarning
    from icdh.exceptions import NotFittedError as NotFittedError
    from icdh.knowledge import Knowledge as Knowledge
    from icdh.pairs import causal_direction as causal_direction
    from icdh.progress import Progress as Progress
    from icdh.uncertainty.ensemble import bootstrap as bootstrap
    from icdh.uncertainty.ensemble import refits as refits
    from icdh.uncertainty.posterior import posterior as posterior

_PUBLIC = {
    "AverageEffect": "icdh._model.effects",
    "Effect": "icdh._effect.result",
    "HNMSearch": "icdh._estimators.hnm_search",
    "ICDH": "icdh._estimators.icdh",
    "Interventions": "icdh._table.experiments",
    "Knowledge": "icdh.knowledge",
    "ConvergenceWarning": "icdh.exceptions",
    "DataWarning": "icdh.exceptions",
    "NotFittedError": "icdh.exceptions",
    "Progress": "icdh.progress",
    "Shift": "icdh._table.experiments",
    "StructuralModel": "icdh._model.structural",
    "TotalEffect": "icdh._model.effects",
    "bootstrap": "icdh.uncertainty.ensemble",
    "causal_direction": "icdh.pairs",
    "check": "icdh.diagnostics.check",
    "effect": "icdh._effect.answer",
    "load": "icdh._model.structural",
    "posterior": "icdh.uncertainty.posterior",
    "refits": "icdh.uncertainty.ensemble",
}
_MODULES = (
    *("acyclicity", "datasets", "diagnostics", "files", "graphs", "knowledge", "likelihood", "metrics", "network"),
    *("plotting", "search", "simulate", "two_phase", "uncertainty"),
)
__all__ = ["__version__", *_PUBLIC, *_MODULES]


if not TYPE_CHECKING:  # type checkers would accept any name

    def __getattr__(name):
        if name in _PUBLIC:
            return getattr(import_module(_PUBLIC[name]), name)
        if name in _MODULES:
            return import_module(f"icdh.{name}")
        raise AttributeError(f"module 'icdh' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
