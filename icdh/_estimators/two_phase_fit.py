"""The fit of `ICDH`: the two phases from every start, and the last stage where edges have a price."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from icdh._estimators.arranged import ArrangedTable
from icdh._ground.checks import n_workers, random_generator
from icdh._ground.clock import Clock
from icdh.knowledge.rules import EdgeRules
from icdh.network import NetworkConditional, Weights

ROUNDS_ALONE = 10  # the default of max_rounds without the last stage
# Limits of the lower quartile of standard deviations. On raw Sachs, where it is 23, the last stage makes more errors.
USUAL_SPREADS = (0.1, 10.0)


class FoundNetwork(NamedTuple):
    """The network that a fit found, among the user's columns and the contexts, and what refits of it need.

    Attributes
    ----------
    network : Weights
        The network.
    families : icdh.two_phase.family.FamilyFitter
        Fits a variable given its causes.
    baseline : ndarray of bool, shape (N, M), or None
        The observations of the user's columns where nothing was set; None if all.
    cost : float or None
        What the graph of the network costs; None without the last stage.
    price : float or None
        The price of an edge.
    """

    network: Weights
    families: Any
    baseline: np.ndarray | None
    cost: float | None
    price: float | None

    def refits(self, kept: np.ndarray) -> dict:
        """Return the families to fit again if the edges ``kept``, shape (N, N), stay between the user's columns."""
        from icdh.two_phase.refit import refit_to_graph

        graph = self.network.w1.any(axis=1).T
        graph[: len(kept), : len(kept)] = kept
        return refit_to_graph(self.network, graph, self.families)

    def cost_with(self, fits: dict) -> float | None:
        """Return the cost of the graph in which these families, one a child at most, replace those of the network."""
        if self.cost is None:
            return None
        cost = self.cost
        for (child, causes), fit in fits.items():
            before = NetworkConditional.of(self.network, child)
            nats = self.families.nats(child, *before.mean_and_scale(self.families.values))
            cost += fit.nats - nats + self.price * (len(causes) - len(before.inputs))
        return cost


def price_of_edges(parameters: Any, table: ArrangedTable) -> float | None:
    """Return the price of an edge in the last stage, in nats; None leaves the stage out.

    "auto" leaves it out after the printed algorithms, and where the units are far from those that its penalties are
    made for. The lower quartile of the columns' standard deviations tells: effects of many causes may spread widely in
    the usual units, but few columns do.

    Parameters
    ----------
    parameters : ICDH
        The estimator, for ``edge_cost`` and ``schedule``.
    table : ArrangedTable
        The columns that vary.
    """
    from icdh.two_phase.last_stage import price_of_edge

    if parameters.edge_cost != "auto":
        return parameters.edge_cost
    spreads = table.values[: table.n_columns].std(axis=1)
    usual = not spreads.size or USUAL_SPREADS[0] <= np.quantile(spreads, 0.25) <= USUAL_SPREADS[1]
    return price_of_edge(table.n_columns) if parameters.schedule == "fast" and usual else None


def best_fit(parameters: Any, table: ArrangedTable, clock: Clock, report: Callable) -> Any:
    """Return the best `icdh.two_phase.TwoPhaseResult` of all restarts; variables in the order of the table.

    Parameters
    ----------
    parameters : ICDH
        The estimator, for its parameters.
    table : ArrangedTable
        The columns that vary.
    clock : Clock
        Ends the fit.
    report : callable
        Called with every `Round`, and with every `Move` in the user's columns.
    """
    from icdh.two_phase.procedure import draw_initial_weights
    from icdh.two_phase.restarts import best_of_restarts
    from icdh.two_phase.rounds import Round

    rng = random_generator(parameters.random_state)
    units, bias, n_restarts = parameters.hidden_units, parameters.bias, parameters.n_restarts
    starts = [draw_initial_weights(table.values, units, bias, rng) for _ in range(n_restarts)]
    fit = _fit_from_a_start(parameters, table, price_of_edges(parameters, table), clock, rng)

    def in_users_columns(record):
        report(record if isinstance(record, Round) else table.move_in_users_columns(record))

    return best_of_restarts(fit, starts, n_workers(parameters.n_jobs), in_users_columns)


def _fit_from_a_start(parameters, table, price, clock, rng):
    """Return a function of initial weights: the two phases, followed by the last stage if edges have a price."""
    from icdh.two_phase.last_stage import fit_with_last_stage, refine_edges
    from icdh.two_phase.procedure import fit_two_phase
    from icdh.two_phase.schedule import schedule_for

    before_edges = schedule_for(parameters.noise, *table.values.shape).rounds_before_edges
    shared = {name: getattr(parameters, name) for name in ("l1", "l2", "noise", "bias")}
    shared |= {"rows": table.rows, "clock": clock}
    two_phases = partial(
        fit_two_phase,
        table.values,
        max_rounds=parameters.max_rounds or (ROUNDS_ALONE if price is None else before_edges),
        forbidden_edges=table.rules.forbidden,
        required_edges=table.rules.required,
        **{name: getattr(parameters, name) for name in ("tol", "schedule", "h_tol", "rho_max")},
        **shared,
    )
    if price is None:
        return two_phases
    stage = partial(
        refine_edges,
        values=table.values,
        rules=table.rules,
        edge_cost=price,
        threshold=parameters.threshold,
        random_state=int(rng.integers(2**31)),
        **shared,
    )
    return partial(fit_with_last_stage, two_phases, stage)


def family_fitter(
    parameters: Any,
    values: np.ndarray,
    rules: EdgeRules,
    rows: np.ndarray | None,
    clock: Clock,
    after_last_stage: bool,
) -> Any:
    """Return a `FamilyFitter` with the penalties under which the network was fitted.

    Parameters
    ----------
    parameters : ICDH
        The estimator, for its parameters.
    values : ndarray, shape (N + K, M)
        The scaled columns of the user, and the contexts.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    rows : ndarray of bool, shape (N + K, M), or None
        The observations that count for each.
    clock : Clock
        Says when fits must end.
    after_last_stage : bool
        Whether the last stage fitted the network.
    """
    from icdh.two_phase.family import FamilyFitter
    from icdh.two_phase.last_stage import NATS_PER_PENALTY

    nats = NATS_PER_PENALTY if after_last_stage else values.shape[1]
    penalties = nats * parameters.l1, nats * parameters.l2
    return FamilyFitter(values, *penalties, parameters.noise, parameters.bias, rows, rules.required, clock)
