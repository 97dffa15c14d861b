"""icdh: causal graphs from tables whose noise is heteroscedastic.

Public names load on first use, so that ``import icdh`` costs next to nothing and compiles nothing.
"""

from importlib import import_module

from icdh._version import __version__

_PUBLIC = {
    "HNMSearch": "icdh.estimators.hnm_search",
    "ICDH": "icdh.estimators.icdh",
    "Interventions": "icdh.experiments",
    "Knowledge": "icdh.knowledge",
    "ConvergenceWarning": "icdh.exceptions",
    "DataWarning": "icdh.exceptions",
    "NotFittedError": "icdh.exceptions",
    "Progress": "icdh.progress",
    "Shift": "icdh.actions",
    "bootstrap": "icdh.uncertainty.resampling",
    "causal_direction": "icdh.pairs.comparison",
    "load": "icdh.model.structural",
    "posterior": "icdh.uncertainty.posterior",
    "refits": "icdh.uncertainty.resampling",
}
_MODULES = (
    "acyclicity",
    "datasets",
    "files",
    "graphs",
    "likelihood",
    "metrics",
    "network",
    "plotting",
    "simulate",
    "uncertainty",
)

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name):
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _MODULES:
        return import_module(f"icdh.{name}")
    raise AttributeError(f"module 'icdh' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
