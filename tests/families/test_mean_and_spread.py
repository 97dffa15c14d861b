"""Whether a cause acts on the mean of its effect, on its spread, or on both."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import family_evidence, models_of
from support.families import GaussianResponse, SplitNetwork, mean_and_spread_losses, network_outputs
from support.responses import SUBJECTS
from support.utils import Clock

import icdh
from icdh import HNMSearch
from icdh.diagnostics.result import edge_records
from icdh.uncertainty import mean_and_spread_loss


def columns(n=1000, seed=0):
    """Three causes and an effect: of its mean, of its spread, and of both."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    y = np.tanh(2 * a) + 0.8 * c + 0.5 * np.exp(0.6 * b - 0.5 * c) * rng.normal(size=n)
    return np.array([a, b, c, y / y.std()])


FAMILY = 3, (0, 1, 2)


def losses(table, family=FAMILY, noise="gaussian", units=5, **options):
    scores = family_evidence(table, hidden_units=units, noise=noise, **options)
    scores([family])
    return mean_and_spread_losses(scores, family)


def acts_on(found):
    return (found >= 10).astype(int).tolist()


RIGHT = [[1, 0, 1], [0, 1, 1]]


def test_each_cause_acts_on_what_it_acts_on():
    found = losses(columns())
    assert acts_on(found) == RIGHT
    assert (found[[0, 1], [1, 0]] < 2).all()
    assert acts_on(losses(columns(), noise="auto")) == RIGHT


@pytest.mark.parametrize("kind", [kind for kind in SUBJECTS if SUBJECTS[kind](np.random.default_rng(0), 12).law.spread])
def test_two_copies_of_the_units_compute_what_the_shared_ones_do(kind):
    rng = np.random.default_rng(0)
    subject = SUBJECTS[kind](rng, 60)
    models = models_of(rng.normal(size=(3, 60)), [subject.response] * 3, edge_penalty=0.0)
    fit = models.fit((2, (0, 1)), 3)
    start = SplitNetwork(subject.response, 2, 3).like(fit)
    again, shared = (
        network_outputs(theta, models.families.causes[:2], units, subject.law)
        for theta, units in ((start.theta, 6), (fit.theta, 3))
    )
    np.testing.assert_allclose(again, shared, rtol=1e-12, atol=1e-12)
    assert not start.theta[start.layers.held].any()


@pytest.mark.parametrize("left_out", [[2], [0, 2]])
def test_a_cause_that_is_held_out_of_both_halves_costs_what_it_costs_not_to_be_there(left_out):
    table = columns()
    models = models_of(table, edge_penalty=0.0)
    kept = tuple(k for k in range(3) if k not in left_out)
    fit = models.fit((3, kept), 3)
    y = models.families.responses[3]
    fewer = SplitNetwork(y, len(kept), 3).like(fit)._replace(tol=1e-5)
    network = SplitNetwork(y, 3, 3)
    first = np.zeros((4, 6))
    first[[*kept, 3]] = fewer.theta[: 6 * (len(kept) + 1)].reshape(-1, 6)
    both = [network.layers(np.array(left_out), of_spread) for of_spread in (False, True)]
    layers = both[0]._replace(of_weights=np.maximum(both[0].of_weights, both[1].of_weights))
    held = fewer._replace(theta=np.append(first, fewer.theta[6 * (len(kept) + 1) :]), layers=layers)
    expected, found = models.fit((3, kept), 6, fewer), models.fit(FAMILY, 6, held)
    assert found.evidence == pytest.approx(expected.evidence, abs=1e-2)
    assert np.abs(found.theta[layers.held]).max() < 1e-6


def test_without_its_only_cause_a_half_is_a_constant():
    """The spread of y given b alone, without b: what the constant model says."""
    table = columns()[[1, 3]]
    models = models_of(table, edge_penalty=0.0)
    fit = models.fit((1, (0,)), 5)
    layers = [SplitNetwork(models.families.responses[1], 1, 5).layers(np.array([0]), half) for half in (False, True)]
    nothing = layers[0]._replace(of_weights=np.maximum(*(part.of_weights for part in layers)))
    start = SplitNetwork(models.families.responses[1], 1, 5).like(fit)._replace(precision_updates=9, tol=1e-6)
    start = start._replace(theta=np.where(nothing.held, 0.0, start.theta), layers=nothing)
    constant = models.fit((1, ()), 5)
    assert models.fit((1, (0,)), 10, start).evidence == pytest.approx(constant.evidence, abs=1e-3)


def test_labels_masks_and_groups():
    rng = np.random.default_rng(1)
    table = columns()
    labels = rng.integers(3, size=1000)
    y = table[3] + np.array([-2.0, 0.0, 2.0])[labels]
    wide = np.vstack([table[:3], labels == np.arange(3)[:, np.newaxis], y / y.std()]).astype(float)
    responses = [GaussianResponse.exact(wide[row], None) for row in (0, 1, 2, 3, 6)]
    found = losses(wide, (4, (0, 1, 2, 3)), responses=responses, widths=np.array([1, 1, 1, 3, 1]))
    assert acts_on(found) == [[1, 0, 1, 1], [0, 1, 1, 0]]

    twice, rows = np.hstack([table, 7.0 * rng.normal(size=table.shape)]), np.arange(2000) < 1000
    masked = losses(twice, rows=np.tile(rows, (4, 1)))
    np.testing.assert_allclose(masked, losses(table), rtol=1e-6)

    alike = np.repeat(table.T, 2, axis=0) + 0.01 * rng.normal(size=(2000, 4))
    single, grouped = HNMSearch().fit(table.T), HNMSearch().fit(alike, groups=np.repeat(np.arange(1000), 2))
    for once, twice in zip(*(mean_and_spread_loss(fit) for fit in (single, grouped)), strict=True):
        once, twice = once[:3, 3], twice[:3, 3]
        assert acts_on(twice) == acts_on(once)
        np.testing.assert_allclose(twice[twice > 10], once[once > 10], rtol=0.2)


def test_an_effect_without_a_spread_has_no_losses():
    rng = np.random.default_rng(0)
    for kind in ("two levels", "levels", "labels"):
        subject = SUBJECTS[kind](rng, 60)
        assert np.isnan(losses(rng.normal(size=(2, 60)), (1, (0,)), units=3, responses=[subject.response] * 2)).all()


@pytest.fixture(scope="module")
def fit():
    return HNMSearch().fit(columns().T)


def test_edges_say_it_wherever_they_are_listed(fit, tmp_path):
    mean, spread = mean_and_spread_loss(fit)
    evidence = replace(fit.model_.edge_evidence, mean_loss=mean, spread_loss=spread)
    known = replace(fit.model_, edge_evidence=evidence)
    records = {record.cause: record.acts_on for record in edge_records(known)}
    assert records == {"x0": "mean", "x1": "spread", "x2": "both"}
    known.save(tmp_path / "m.icdh")
    np.testing.assert_array_equal(icdh.load(tmp_path / "m.icdh").edge_evidence.spread_loss, spread)
    checked = icdh.check(fit, columns().T)
    assert "acts on" in checked.summary()
    found = {edge["cause"]: edge["spread_loss"] for edge in checked.to_dict()["edges"]}
    assert found == {f"x{cause}": spread[cause, 3] for cause in range(3)}
    assert not any(record.acts_on for record in edge_records(fit.model_))  # nobody computed it


def test_a_stricter_graph_has_losses_of_its_own():
    stricter = HNMSearch().fit(columns().T).rethreshold(max_edges=2)
    for losses in mean_and_spread_loss(stricter):
        np.testing.assert_array_equal(np.isfinite(losses), stricter.adjacency_matrix_ != 0)


def test_no_time_for_it_leaves_nothing(fit):
    assert np.isnan(mean_and_spread_loss(fit, clock=Clock(0.0))).all()
