"""A module as users write it, for type checkers alone: what icdh returns has types of its own.

Frames, graphs and figures of other libraries are theirs; ``assert_type`` fails where a type is ``Any``.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from icdh import ICDH, HNMSearch, Knowledge, StructuralModel, bootstrap, check, graphs, load, posterior
from icdh.diagnostics import ModelCheck
from icdh.likelihood import nll_and_gradient
from icdh.network import Weights, initial_weights
from icdh.search import Move
from icdh.two_phase import Round
from icdh.uncertainty import EdgeBelief, GraphPosterior

if TYPE_CHECKING:
    from typing_extensions import assert_type

    Floats = NDArray[np.float64]


def learned_by_search(X: "Floats") -> HNMSearch:
    known = Knowledge(forbidden=[(0, 1)])
    model = assert_type(HNMSearch(knowledge=known, max_seconds=10.0, random_state=0).fit(X), HNMSearch)
    assert_type(model.adjacency_matrix_, "Floats")
    assert_type(model.causal_order_, list[int])
    assert_type(model.history_, list[Move])
    assert_type(model.evidence_ + model.nll_ + model.edge_penalty_ + model.score(X), float)
    assert_type(model.interrupted_ or model.timed_out_, bool)
    assert_type(model.model_, StructuralModel)
    fitted = model.model_
    assert_type(model.summary() + fitted.to_dot() + fitted.to_json(), str)
    assert_type([edge.strength for edge in model.edge_list()], list[float])
    return model


def learned_by_network(X: "Floats") -> "Floats":
    model = assert_type(ICDH(hidden_units=4, max_rounds=3).fit(X).rethreshold(0.1), ICDH)
    assert_type(model.cost_, float | None)
    assert_type(model.moves_, list[Move])
    assert_type(model.history_, list[Round])
    assert_type(model.network_, Weights)
    return model.weights_


def answers(model: HNMSearch, X: "Floats") -> "Floats":
    rows = [model.predict(X), model.predict_scale(X), model.residuals(X), model.sample(5, do={"x0": 1.0})]
    rows.append(model.counterfactual(X, do={"x0": 0.0}))
    return np.vstack([np.asarray(table, dtype=np.float64) for table in rows])


def doubts(model: HNMSearch, X: "Floats") -> list[EdgeBelief]:
    assert_type(check(model, X), ModelCheck)
    sure = assert_type(posterior(model), GraphPosterior)
    return [*sure.edges(0.5), *bootstrap(model, X, 5).edges(0.5)]


def gradient(X: "Floats") -> "Floats":
    value, slope = nll_and_gradient(X, initial_weights(X, 3, True, np.random.default_rng(0)))
    assert_type(value, float)
    return slope.w1


def others(path: str) -> list[str]:
    model = assert_type(load(path), StructuralModel)
    return [*model.to_networkx().nodes, *(str(edge.cause) for edge in graphs.edge_list(model.adjacency, model.names))]
