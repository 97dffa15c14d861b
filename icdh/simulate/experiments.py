"""Observations under several conditions, each an intervention of its own."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from icdh._ground.checks import check_number, random_generator
from icdh._table.experiments import Interventions
from icdh.simulate.sem import SimulatedData


class SimulatedExperiments(NamedTuple):
    """A table drawn under several conditions.

    Attributes
    ----------
    X : ndarray, shape (M, N)
        Observations, condition by condition.
    interventions : Interventions
        The condition of every row and the variables that each acts on, as the estimators' ``fit`` takes them.
    """

    X: np.ndarray
    interventions: Interventions


def simulate_experiments(
    data: SimulatedData,
    do: Mapping[Hashable, Mapping],
    n_observations: int = 200,
    *,
    random_state: Any = None,
) -> SimulatedExperiments:
    """Draw observations from true equations under several conditions.

    Parameters
    ----------
    data : SimulatedData
        What `simulate_sem` drew; its equations are used, its observations are not.
    do : mapping
        From the label of each condition to what is done to which variables, as `SimulatedData.sample` takes it; an
        empty mapping leaves all alone.
    n_observations : int
        Rows of each condition.
    random_state : int, SeedSequence, Generator or None
        The only source of randomness.

    Returns
    -------
    SimulatedExperiments
        The table, and what was done.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be.

    Examples
    --------
    >>> from icdh import HNMSearch, simulate
    >>> data = simulate.simulate_sem(simulate.erdos_renyi(4, 1, random_state=0), random_state=0)
    >>> table = simulate.simulate_experiments(data, {"none": {}, "set x1": {"x1": 2.0}}, random_state=0)
    >>> model = HNMSearch().fit(table.X, interventions=table.interventions)
    """
    check_number("n_observations", n_observations, low=1, integer=True)
    if not isinstance(do, Mapping) or not do:
        raise TypeError(f"do must map every condition to what is done, as in {{'none': {{}}}}; got {do!r}")
    rng = random_generator(random_state)
    X = np.concatenate([data.sample(n_observations, rng, do=actions) for actions in do.values()])
    conditions = [condition for condition in do for _ in range(n_observations)]
    targets = {condition: list(actions) for condition, actions in do.items()}
    return SimulatedExperiments(X, Interventions(conditions, targets))
