"""An arrow or a hidden common cause: what the data can tell, and what they cannot."""

import numpy as np
import pytest
from helpers import forbidding
from support.utils import Clock

import icdh
from icdh import HNMSearch
from icdh.diagnostics.result import IF_HIDDEN
from icdh.files import write_table
from icdh.uncertainty import hidden_loss


def fitted(X, **options):
    """A search that is told the graph x0 -> x1 -> x2."""
    return HNMSearch(n_restarts=1, knowledge=forbidding(np.eye(3, k=1) == 0), **options).fit(X)


def with_spread(cause, rng):
    return np.tanh(cause) + (0.3 + 0.2 * (cause > 0)) * rng.normal(size=cause.size)


@pytest.fixture(scope="module")
def chain():
    rng = np.random.default_rng(0)
    first = rng.normal(size=1000)
    middle = with_spread(first, rng) * 2.0
    return np.column_stack([first, middle, with_spread(middle, rng)])


@pytest.fixture(scope="module")
def model(chain):
    return fitted(chain)


def test_an_arrow_survives_a_hidden_common_cause_and_one_between_its_effects_does_not(model):
    """The causes of the cause reach the effect through it or not: x2 depends on x0, or is independent of it."""
    rng = np.random.default_rng(1)
    first, hidden = rng.normal(size=(2, 1000))
    confounded = [first, with_spread(first, rng) + hidden, 0.8 * hidden + 0.5 * rng.normal(size=1000)]
    assert hidden_loss(model)[1, 2] > 30.0
    assert hidden_loss(fitted(np.column_stack(confounded)))[1, 2] < 0.0


def test_what_the_data_cannot_tell_has_no_loss(chain, model):
    assert np.isnan(np.delete(hidden_loss(model), 5)).all()  # x0 has no causes; the others are no arrows
    assert np.isnan(hidden_loss(model, clock=Clock(1e-9))).all()
    required = HNMSearch(n_restarts=1, knowledge={"required": [("x0", "x1"), ("x1", "x2")]}).fit(chain)
    labels = np.column_stack([chain[:, :2], chain[:, 2] > 0.0])
    done = HNMSearch(n_restarts=1, knowledge=forbidding(np.eye(3, k=1) == 0))
    done.fit(chain, interventions=np.arange(3000).reshape(1000, 3) % 7 == 0)
    for other in (required, fitted(labels, kinds={2: "binary"}), done):
        assert np.isnan(hidden_loss(other)).all()


def test_checks_files_and_words_say_how_many_arrows_survive(chain, model, tmp_path, printed):
    found = icdh.check(model, chain)
    survive = {(edge.cause, edge.effect): edge.survives for edge in found.edges}
    assert survive == {("x0", "x1"): False, ("x1", "x2"): True}
    assert "1 of 2 arrows would survive a hidden common cause; of 1 the data cannot tell" in found.summary()
    assert IF_HIDDEN in found.to_dict()["legend"]
    write_table(tmp_path / "data.csv", chain, ["x0", "x1", "x2"])
    printed("fit", tmp_path / "data.csv", "--save", tmp_path / "m.icdh", "--quiet")
    again = icdh.load(tmp_path / "m.icdh")
    known = again.edge_evidence
    np.testing.assert_array_equal(known.hidden_loss >= 10.0, np.eye(3, k=1) * [[0], [1], [0]] > 0)
    assert (known.direction_loss[[0, 1], [1, 2]] > 10.0).all()
    records = icdh.check(again, chain).edges
    assert {edge.direction_loss for edge in records} == {known.direction_loss[0, 1], known.direction_loss[1, 2]}
