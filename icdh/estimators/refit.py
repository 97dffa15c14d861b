"""The model of the graph that a search found: all hidden units that it asks for, on the columns as they are."""

from typing import NamedTuple

import numpy as np

from icdh._clock import OutOfTime
from icdh._threads import single_blas_thread
from icdh.estimators.graph_search import MOST_UNITS, FoundGraph, GraphSearch
from icdh.model.conditionals import Constant


class Refit(NamedTuple):
    """The families of a graph, fitted for a model, in the user's columns followed by the contexts.

    Attributes
    ----------
    strength : ndarray, shape (N + K, N + K)
        By how many nats the score of the effect rises without the cause; zero where there is no edge.
    conditionals : list of Conditional
        The distribution of every variable given its causes.
    evidence : float
        The log evidence of the graph, in nats.
    noise : set of str
        The noise distributions of the continuous variables.
    timed_out : bool
        Whether time was over before the refit was done.
    """

    strength: np.ndarray
    conditionals: list
    evidence: float
    noise: set
    timed_out: bool


def refit(search: GraphSearch, found: FoundGraph, n_variables: int) -> Refit:
    """Return the families of the graph that a search found, fitted for a model.

    Parameters
    ----------
    search : GraphSearch
        The search.
    found : FoundGraph
        Its result. Strengths are by its scores, the other results by the families with all hidden units they ask for.
    n_variables : int
        N; conditionals hold the contexts, whose numbers begin there, at zero.
    """
    with single_blas_thread():
        graph, scores = list(enumerate(found.graph)), found.scores
        grown, timed_out = _with_final_units(search, found)
        ended_early = timed_out or found.result.interrupted
        scores = _without_limit(scores, graph, timed_out)
        grown = scores if ended_early else grown
        fits = _fits_on_exact_columns(search, found.columns, grown, graph, ended_early)
        strength = _strengths(search.table, scores, graph)
        conditionals = _conditionals(search.table, scores.families, graph, fits, n_variables)
        evidence = found.columns.log_jacobian - float(sum(grown(graph)))
        noise = {grown.noise_of(own) for own in graph} - {"none"}
    return Refit(strength, conditionals, evidence, noise, timed_out)


def _with_final_units(search, found):
    """Return the scores of the graph with all the hidden units it asks for, and whether time is over."""
    if search.parameters.hidden_units != "auto" or found.result.ended_early:
        return found.scores, found.result.timed_out
    try:
        return found.scores.with_more_units(list(enumerate(found.graph)), MOST_UNITS), False
    except OutOfTime:
        return found.scores, True


def _without_limit(scores, graph, timed_out):
    """Return scores of a graph's families and their neighbours that no clock ends; quick ones if time is over."""
    from icdh.node_model.subsample import QUICK_OBSERVATIONS, QuickEvidence

    scores.without_limit()
    scores = QuickEvidence(scores) if timed_out and scores.families.n_observations > QUICK_OBSERVATIONS else scores
    scores(graph)
    return scores


def _fits_on_exact_columns(search, columns, scores, graph, ended_early):
    """Return a fit of every family on columns that are not transformed, that of the search where it saw these.

    The fits are at the fixed point of their prior's precisions, so that they do not depend on the path of the search,
    unless time is over.
    """
    unseen = [own for own in graph if not columns.are_exact(own)]
    plain = _scores_on_exact_columns(search, unseen) if unseen else scores
    fits = [(plain if own in unseen else scores, own) for own in graph]
    if ended_early:
        return [source.fit_of(own) for source, own in fits]
    return [source.families.fit_at_fixed_point(own, source.fit_of(own)) for source, own in fits]


def _scores_on_exact_columns(search, families):
    """Return scores that hold fits of these families on untransformed columns, quick ones if time is over."""
    from icdh.node_model.subsample import on_all_observations, quick_evidence

    columns = search.table.as_numbers().columns("none", search.seed)
    scores = on_all_observations(search.evidence(columns, search.table.rows, search.parameters.n_restarts))
    try:
        scores.grow(families)
        scores.polish(families)
        scores(families)
        return scores.with_more_units(families, MOST_UNITS) if search.parameters.hidden_units == "auto" else scores
    except OutOfTime:
        quick = quick_evidence(scores)
        quick(families)
        return quick


def _strengths(table, scores, graph):
    """Return by how many nats the score of every effect rises without each of its causes, never quite zero."""
    strength = np.zeros((len(table.names),) * 2)
    for node, parents in graph:
        fewer = [(node, tuple(k for k in parents if k != cause)) for cause in parents]
        rise = np.array(scores(fewer)) - scores([(node, parents)])[0]
        strength[table.order[list(parents)], table.order[node]] = np.maximum(rise, np.finfo(float).tiny)
    return strength


def _conditionals(table, families, graph, fits, n_variables):
    """Return the distributions of the user's columns, followed by the contexts."""
    from icdh.node_model.network import in_original_signs

    conditionals = [Constant()] * len(table.names)
    for (node, parents), fit in zip(graph, fits, strict=True):
        widths = families.widths[list(parents)]
        signs = np.repeat(table.signs[list(parents)], widths)
        theta = in_original_signs(fit.theta, fit.hidden_units, signs, table.signs[node])
        fitted = families.responses[node].conditional(table.order[list(parents)], widths, theta, fit.hidden_units)
        conditionals[table.order[node]] = fitted.at_zero(n_variables)
    return conditionals
