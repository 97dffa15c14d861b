"""What the fits of the estimators read of their parameters, which load without any kernel."""

from dataclasses import dataclass

from icdh._ground.checks import Choice, Flag, Number, Workers, parameter
from icdh._node_model import NOISE_DISTRIBUTIONS
from icdh._table.transforms import TRANSFORMS
from icdh.network import NOISE
from icdh.two_phase.rounds import SCHEDULES


@dataclass(kw_only=True, eq=False, repr=False)
class SearchSettings:
    """How a search looks for a graph: the parameters of `HNMSearch`, where they are explained, that it reads."""

    hidden_units: int | str = parameter("auto", Number(1, integer=True, words=("auto",)))
    prior_precision: float = parameter(3.0, Number(0, above=True))
    edge_penalty: float | str = parameter("auto", Number(0, words=("auto",)))
    binary_effect_penalty: float = parameter(5.0, Number(0))
    max_parents: int = parameter(20, Number(1, integer=True))
    noise_distribution: str = parameter("auto", Choice(NOISE_DISTRIBUTIONS))
    column_transform: str = parameter("auto", Choice(("auto", *TRANSFORMS)))
    search: str = parameter("greedy", Choice(("greedy", "exact")))
    hidden_causes: bool = parameter(False, Flag())
    n_restarts: int = parameter(3, Number(1, integer=True))
    n_jobs: int = parameter(1, Workers())


@dataclass(kw_only=True, eq=False, repr=False)
class TwoPhaseSettings:
    """How a network is looked for: the parameters of `ICDH`, where they are explained, that its fit reads."""

    hidden_units: int = parameter(10, Number(1, integer=True))
    l1: float = parameter(0.01, Number(0))
    l2: float = parameter(0.01, Number(0))
    noise: str = parameter("heteroscedastic", Choice(NOISE))
    bias: bool = parameter(False, Flag())
    threshold: float = parameter(0.3, Number(0))
    edge_cost: float | str | None = parameter("auto", Number(0, words=("auto",), optional=True))
    max_rounds: int | None = parameter(None, Number(1, integer=True, optional=True))
    tol: float = parameter(1e-2, Number(0))
    schedule: str = parameter("fast", Choice(SCHEDULES))
    h_tol: float = parameter(1e-8, Number(0, above=True))
    rho_max: float = parameter(1e16, Number(0, above=True))
    n_restarts: int = parameter(1, Number(1, integer=True))
    n_jobs: int = parameter(1, Workers())
