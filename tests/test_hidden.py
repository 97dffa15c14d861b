"""An arrow or a hidden common cause: what the data can tell, and what they cannot."""

import numpy as np
import pytest

import icdh
from icdh import HNMSearch, cli
from icdh.diagnostics.result import IF_HIDDEN
from icdh.uncertainty import hidden_loss


def fitted(X, *required, **options):
    """A search that is told the graph."""
    N = X.shape[1]
    forbidden = np.ones((N, N), dtype=bool)
    forbidden[tuple(np.transpose(required))] = False
    return HNMSearch(n_restarts=1, forbidden_edges=forbidden, **options).fit(X)


def with_spread(cause, rng):
    return np.tanh(cause) + (0.3 + 0.2 * (cause > 0)) * rng.normal(size=cause.size)


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(0)
    first = rng.normal(size=1000)
    middle = with_spread(first, rng) * 2.0
    return np.column_stack([first, middle, with_spread(middle, rng)])


@pytest.fixture(scope="module")
def confounded():
    """x0 -> x1, and a hidden common cause of x1 and x2: x0 and x2 are independent."""
    rng = np.random.default_rng(1)
    first, hidden = rng.normal(size=(2, 1000))
    return np.column_stack([first, with_spread(first, rng) + hidden, 0.8 * hidden + 0.5 * rng.normal(size=1000)])


def test_an_arrow_survives_a_hidden_common_cause_and_one_between_its_effects_does_not(chain, confounded):
    """The causes of the cause reach the effect through it or not: x2 depends on x0, or is independent of it."""
    true, false = (hidden_loss(fitted(X, (0, 1), (1, 2)))[1, 2] for X in (chain, confounded))
    assert true > 30.0
    assert false < 0.0


def test_what_the_data_cannot_tell_has_no_loss(chain):
    model = fitted(chain, (0, 1), (1, 2))
    loss, known = hidden_loss(model), len(model.found_graph().scores.fitted())
    assert np.isnan(np.delete(loss, 5)).all()  # x0 has no causes; the others are no arrows
    assert len(model.found_graph().scores.fitted()) == known
    required = HNMSearch(n_restarts=1, knowledge={"required": [("x0", "x1"), ("x1", "x2")]}).fit(chain)
    assert np.isnan(hidden_loss(required)).all()
    labels = np.column_stack([chain[:, :2], chain[:, 2] > 0.0])
    assert np.isnan(hidden_loss(fitted(labels, (0, 1), (1, 2), kinds={2: "binary"}))).all()
    done = fitted(chain, (0, 1), (1, 2)).fit(chain, interventions=np.arange(3000).reshape(1000, 3) % 7 == 0)
    assert np.isnan(hidden_loss(done)).all()


def test_checks_files_and_words_say_how_many_arrows_survive(chain, tmp_path):
    model = fitted(chain, (0, 1), (1, 2))
    found = icdh.check(model, chain)
    assert {(edge.cause, edge.effect): edge.survives for edge in found.edges} == {
        ("x0", "x1"): False,
        ("x1", "x2"): True,
    }
    assert "1 of 2 arrows would survive a hidden common cause; 1 cannot be told" in found.summary()
    assert IF_HIDDEN in found.summary()
    assert cli.main(["fit", str(written(tmp_path, chain)), "--save", str(tmp_path / "m.icdh"), "--quiet"]) == 0
    again = icdh.load(tmp_path / "m.icdh")
    np.testing.assert_array_equal(again.hidden_loss >= 10.0, np.eye(3, k=1) * [[0], [1], [0]] > 0)
    assert (again.direction_loss[[0, 1], [1, 2]] > 10.0).all()
    records = icdh.check(again, chain).edges
    assert {edge.direction_loss for edge in records} == {again.direction_loss[0, 1], again.direction_loss[1, 2]}


def written(folder, X):
    icdh.files.write_table(folder / "data.csv", X, ["x0", "x1", "x2"])
    return folder / "data.csv"
