"""What a model holds of a graph: the strength of its edges, and the winner of every family."""

from dataclasses import replace

import numpy as np

from icdh._estimators.graph_search import SIZES, LearnedGraph, family_evidence
from icdh._estimators.imputation import OfConditions
from icdh._model.causal import ModelColumns
from icdh._model.structural import StructuralModel
from icdh._node_model.evidence import NodeFit
from icdh._node_model.law import CONSTANT, SAME, UNLIMITED, Conditional, Law
from icdh._node_model.network import FamilyPredictor, NodeNetwork
from icdh._node_model.score import QUICK_OBSERVATIONS, FamilyScore, QuickScore, WholeScore, quick_score
from icdh._table.transforms import Rescaled
from icdh._utils.arrays import Floats, mean_of, times
from icdh._utils.clock import Clock, OutOfTime
from icdh._utils.parallel import single_blas_thread
from icdh.search.climb import Family, Graph


def strengths(found: LearnedGraph) -> np.ndarray:
    """Return by how many nats the score of every effect rises without each of its causes, never quite zero.

    Parameters
    ----------
    found : LearnedGraph
        The graph, and the scores that graphs were compared by.

    Returns
    -------
    ndarray, shape (N + K, N + K)
        Among the user's columns and the contexts; zero where there is no edge.
    """
    scores, table, decided = _without_limit(found, found.graph), found.table, found.decided
    strength = np.zeros((len(table.order),) * 2)
    for node, parents in enumerate(found.graph):
        by, share = scores, 1.0
        if found.whole is not None and node in decided:  # what falls to the rows of the subsample: one unit for all
            by, share = found.whole, float(scores.families.share()[node])
        rise = share * by.rises((node, parents))
        rise /= by.models.design_effects_of((node, parents), by.fit_of((node, parents)))
        rise *= table.seen_together[node, list(parents)]
        strength[list(parents), node] = np.maximum(rise, np.finfo(float).tiny)
    return table.edges_in_users_order(strength)


def refit(found: LearnedGraph, model: StructuralModel, clock: Clock) -> tuple[StructuralModel, dict[str, object], bool]:
    """Return a model of the winners of its graph's families, what an estimator tells of it, and whether time sufficed.

    A winner is the network, linear or additive model that scores best, under the transform of the search, and the
    density of the noise that its residuals ask for. Networks get all the hidden units that they ask for.

    Parameters
    ----------
    found : LearnedGraph
        What the search found.
    model : StructuralModel
        The model; its graph is the one found or, where thresholds leave edges out, a part of it.
    clock : Clock
        Ends the refit: of families without a fit, a few observations are then fitted.
    """
    graph, table, n_variables = found.among(model.adjacency), found.table, len(model.names)
    transforms = _transforms(found)
    scaling = replace(model.columns.scaling, transforms={n: of for n, of in transforms.items() if n < n_variables})
    columns = replace(model.columns, scaling=scaling)
    model = replace(model, columns=columns)
    with single_blas_thread():
        families = list(enumerate(graph))
        scores, in_time = _with_final_units(found, graph, clock)
        winners = _winners(found, scores, families, clock, in_time)
        conditionals = _conditionals(found, families, winners, n_variables)
        known = columns.levels | columns.masses  # of which the search saw the first digits
        for node, given in enumerate(conditionals):
            law = given.law.with_levels(scaling.apply(known[node], node)) if node in known else given.law
            ends = _range(columns, node, given.predictor.is_network)
            conditionals[node] = replace(given, law=law.within(*ends))
        share = scores.families.share()  # below one if time was over before all observations of a long table had a fit
        of_others = [score / share[node] for score, (node, _) in zip(scores(families), families, strict=True)]
    values = _with_masses(columns, table.in_users_columns(n_variables))
    centre, transformed = columns.centre.copy(), [*scaling.transforms]
    centre[transformed] = mean_of(values[transformed], table.weights)
    whole = OfConditions(conditionals, {n - n_variables: of for n, of in transforms.items() if n >= n_variables})
    conditionals = [_outside_contexts(given, found, n_variables).limited(values) for given in conditionals]
    if table.n_columns == n_variables:
        whole = OfConditions(conditionals, {})
    else:
        with_contexts = whole.with_contexts(values, table.in_users_columns(table.n_columns)[n_variables:])
        whole = whole._replace(conditionals=[given.limited(with_contexts) for given in whole.conditionals])
    laws = [given.law.density for given in conditionals if given is not CONSTANT]
    noise = {law.errors.name for law in laws if law is not None}
    model = replace(model, columns=replace(columns, centre=centre), conditionals=conditionals)
    learned = {
        "evidence_": found.columns.log_jacobian - float(sum(of_others)),
        "noise_distribution_": "mixed" if len(noise) > 1 else min(noise, default="gaussian"),
        "nll_": model.nll(values, table.baseline, table.weights),
        "_of_conditions": whole,
    }
    return model, learned, in_time


def _range(columns: ModelColumns, node: int, is_network: bool) -> tuple[float, float]:
    """Return the scaled range of an amount, from zero on, of a share, up to one, or five times that of the rows.

    Heavy tails of a network, and its spread at a few rows, have no mean otherwise, or one beyond all rows; lines go on.
    On a grid the range has half a cell more; or less where its end is a point mass, which is no part of the density.
    """
    least, most = np.zeros(2) if columns.observed_range is None else columns.observed_range[:, node]
    beyond = 2.0 * (most - least) if is_network else np.inf
    low = 0.0 if least >= 0.0 else least - beyond
    high = next((end for end in (0.0, 1.0) if most <= end and (least < 0.0) == (end == 0.0)), most + beyond)
    ends, grid = np.array([low, high]), columns.grids.get(node)
    if grid is not None:
        outer, inner = np.diagonal(grid.cells(ends)), np.diagonal(grid.cells(ends)[::-1])
        of_grid = np.where(np.isin(ends, columns.masses.get(node, [])), inner, outer)
        ends = np.where(np.isfinite(ends), of_grid, ends)
    scaled = columns.scaling.apply(np.where(np.isfinite(ends), ends, least), node) + [-SAME, SAME]
    return tuple(np.where(np.isfinite(ends), scaled, [-UNLIMITED, UNLIMITED]).tolist())


def _with_masses(columns: ModelColumns, standardised: Floats) -> Floats:
    """Return scaled values of standardised ones in single precision, which a steep transform moves off their masses."""
    scaling = columns.scaling
    values = scaling.transformed(standardised)
    for node in scaling.transforms.keys() & columns.masses.keys():
        for mass in columns.masses[node]:
            is_mass = np.abs(standardised[node] - (mass - scaling.offset[node]) / scaling.scale[node]) <= SAME
            values[node, is_mass] = scaling.apply(mass, node)
    return values


def _transforms(found: LearnedGraph) -> dict[int, Rescaled]:
    """Return the transforms of the user's columns, and of the contexts after them."""
    columns = zip(found.table.order.tolist(), found.table.signs.tolist(), found.columns.transforms, strict=True)
    return {node: replace(of, sign=sign) for node, sign, of in columns if of is not None}


def _with_final_units(found: LearnedGraph, graph: Graph, clock: Clock) -> tuple[FamilyScore, bool]:
    """Return scores of a graph's families, with all the units they ask for, and whether there was time for them.

    If time is over they have the units of the search, and those that the search did not ask for are quickly had.
    """
    families = list(enumerate(graph))
    if not (found.interrupted or found.timed_out):
        try:
            found.limit(clock)
            if graph != found.graph:
                found.scores.polish(families)
            return _on_all_observations(found, found.scores, families), True
        except OutOfTime:
            found = found._replace(timed_out=True)
        finally:
            found.limit(Clock())
    return _without_limit(found, graph), False


def _on_all_observations(found: LearnedGraph, scores: FamilyScore, families: list[Family]) -> FamilyScore:
    """Return scores of families by fits to all observations, with all the units they ask for."""
    if scores is found.scores and found.whole is not None:
        found.whole(families)
        return found.whole
    larger = scores
    if isinstance(found.settings.hidden_units, str):
        larger = scores.with_more_units(families, SIZES.most_units)
    whole = larger if larger.families is larger.families.whole else WholeScore(larger)
    whole(families)
    return whole


def _without_limit(found: LearnedGraph, graph: Graph) -> FamilyScore:
    """Return scores of a graph's families and their neighbours that no clock ends; quick ones if time is over."""
    found.limit(Clock())
    is_long = found.scores.families.n_observations > QUICK_OBSERVATIONS
    is_quick = is_long and (found.timed_out or found.interrupted)
    scores: FamilyScore = QuickScore(found.scores) if is_quick else found.scores
    scores(list(enumerate(graph)))
    return scores


def _winners(
    found: LearnedGraph, scores: FamilyScore, families: list[Family], clock: Clock, at_fixed_point: bool
) -> list[tuple[FamilyPredictor, Law]]:
    """Return the best mean model of every family, and its law, on columns that new rows have, too.

    These are columns without cells of grids, and causes in place of their ranks; where the search saw such columns, its
    fits serve. Networks are at the fixed point of their prior's precisions, so that they do not depend on the path of
    the search, unless that was cut short. If time is over, networks are the likeliest of those at hand.
    """
    inexact = [family for family in families if not found.columns.are_exact(family)]
    exact, in_time = _scores_on_exact_columns(found, inexact, clock) if inexact else (scores, True)
    winners, values = [], found.columns.transformed(found.table.values)
    for family in families:
        source = exact if family in inexact else scores
        if in_time and at_fixed_point:
            winners.append(_winner(source, family, found.settings.noise_distribution))
        else:
            network = _likeliest(found, values, source, family, scores.fit_of(family))
            winners.append((network, source.models.law(family, network, found.settings.noise_distribution)))
    return winners


def _winner(scores: FamilyScore, family: Family, noise: str) -> tuple[FamilyPredictor, Law]:
    """Return the mean model of a family that scores best, and its law with the noise that residuals ask for."""
    models, best, fit = scores.models, scores.model_of(family, noise), scores.fit_of(family)
    if best == "network" and scores.families.n_observations <= SIZES.long_table:  # the prior hardly counts beyond
        fit = models.fit_at_fixed_point(family, fit)
    predictor = models.predictor(family, best, fit)
    return predictor, models.law(family, predictor, noise)


def _scores_on_exact_columns(found: LearnedGraph, families: list[Family], clock: Clock) -> tuple[FamilyScore, bool]:
    """Return scores that hold fits of these families on columns that new rows have, too, and whether time sufficed.

    If time is over the fits are to a few observations.
    """
    columns = found.table.without_grids().columns(found.columns.transforms, found.seed)
    scores = family_evidence(found.settings, columns, found.table, found.seed, clock)
    try:
        scores.grow(families)
        scores.polish(families)
        return _on_all_observations(found, scores, families), True
    except OutOfTime:
        quick = quick_score(scores)
        quick(families)
        return quick, False


def _likeliest(found: LearnedGraph, values: Floats, scores: FamilyScore, family: Family, known: NodeFit) -> NodeNetwork:
    """Return the network of a family under which all values, (n, M), are likeliest, among them the one of no cause.

    A fit to a few observations, or one that was cut short, may be far off where it saw none.
    """
    node, parents = family
    counts = slice(None) if found.table.rows is None else found.table.rows[node]
    response, widths = scores.families.responses[node], found.columns.widths[list(parents)]
    constant = np.append(np.zeros(int(widths.sum())), response.without_parents(1)[0])
    fits = [scores.fit_of(family), known, known._replace(theta=constant, hidden_units=1)]
    networks = [NodeNetwork(np.array(parents, dtype=int), widths, fit.theta, fit.hidden_units) for fit in fits]

    def likelihood(network: NodeNetwork) -> float:
        log_density = Conditional(network, response.law).log_density(values[node], values)
        return float(times(found.table.weights, log_density)[counts].sum())

    return max(networks, key=likelihood)


def _conditionals(
    found: LearnedGraph, families: list[Family], winners: list[tuple[FamilyPredictor, Law]], n_variables: int
) -> list[Conditional]:
    """Return the distributions of the user's columns given the others, and the contexts after them."""
    table = found.table
    conditionals: list[Conditional] = [CONSTANT] * n_variables
    for (node, parents), (predictor, law) in zip(families, winners, strict=True):
        if table.order[node] >= n_variables:
            continue
        sign, inputs = table.signs[node], table.order[list(parents)]
        of_inputs = np.repeat(table.signs[list(parents)], found.columns.widths[list(parents)])
        of_users = replace(predictor.in_original_signs(of_inputs, sign, law), inputs=inputs)
        conditionals[table.order[node]] = Conditional(of_users, law if sign > 0.0 else law.turned())
    return conditionals


def _outside_contexts(given: Conditional, found: LearnedGraph, n_variables: int) -> Conditional:
    """Return a distribution where no context acts."""
    if not isinstance(given.predictor, FamilyPredictor):
        return given
    table, zeros = found.table, np.zeros(found.table.n_columns)
    zeros[table.order] = table.signs * found.columns.transformed(np.zeros((len(table.order), 1)))[:, 0]
    return replace(given, predictor=given.predictor.held(given.inputs < n_variables, zeros[given.inputs]))
