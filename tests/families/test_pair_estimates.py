"""Two causes that tell something only together: estimates for all pairs at once, and the search that inserts both."""

import numpy as np
import pytest
from helpers import family_evidence, free, replayed, scores_of_columns, standardised
from support.families import (
    FAILED,
    FUNCTIONS,
    LEAST_PROMISE,
    Start,
    _functions_of,
    columns_of,
    misfit,
    misfit_of_residual,
    score,
)
from support.search import FamilyScores, greedy_search, parents_matrix

from icdh import HNMSearch
from icdh.knowledge import EdgeRules

N, SIZE = 4, 500
EMPTY = [(node, ()) for node in range(N)]


def together(seed=0, size=SIZE):
    """Two numbers, the sign of their product with noise, and a variable of its own, standardised, one a row."""
    a, b, e, other = np.random.default_rng(seed).normal(size=(4, size))
    return standardised(a, b, np.sign(a * b) + 0.5 * e, other)


def promised(scores, families=EMPTY):
    found = scores.pair_gains(families)
    assert all(nats > LEAST_PROMISE for *_, nats in found)
    return [(node, pair) for node, pair, _ in found]


@pytest.mark.parametrize("size", [SIZE, 90])
def test_a_pair_that_acts_only_together_is_promised_to_its_effect_before_all_others(size):
    scores = family_evidence(together(size=size))
    assert scores.gain_estimates([(2, ())])[0][[0, 1]].max() < 0.0
    assert promised(scores)[0] == (2, (0, 1))


def test_families_are_screened_once_for_each_fit(monkeypatch):
    scores, screened = family_evidence(together()), []
    first = scores.pair_gains(EMPTY)
    monkeypatch.setattr(score, "pair_gains", lambda families, fits: [screened.append(own) or [] for own, _ in fits])
    assert scores.pair_gains(EMPTY) == first
    assert scores.pair_gains([*EMPTY[:2], (2, (0,)), EMPTY[3]]) == [pair for pair in first if pair[0] != 2]
    assert screened == [(2, (0,))]


def test_once_both_are_parents_they_promise_nothing():
    families = [(2, (0, 1)) if node == 2 else own for node, own in enumerate(EMPTY)]
    assert (2, (0, 1)) not in promised(family_evidence(together()), families)


def test_of_independent_variables_nothing_is_promised():
    for seed in range(10):
        values = np.random.default_rng(seed).normal(size=(12, 300))
        assert promised(family_evidence(values), [(node, ()) for node in range(12)]) == []


def test_what_a_pair_promises_does_not_depend_on_the_scale_of_the_causes():
    a, b, y, other = together()
    bent = standardised(np.exp(a), b**3, y, other)
    assert promised(family_evidence(bent))[0] == (2, (0, 1))


def test_functions_of_minus_a_cause_are_the_same_but_for_their_signs():
    x = np.random.default_rng(0).normal(size=(1, 40)).round(1)
    there, back = (_functions_of(own, FUNCTIONS, None) for own in (x, -x))
    np.testing.assert_allclose(np.abs(back), np.abs(there), atol=1e-9)
    np.testing.assert_allclose(there @ there.T, 40.0 * np.eye(FUNCTIONS), atol=1e-9)


def test_rows_that_do_not_count_promise_nothing():
    values, rows = together(size=2 * SIZE), np.ones((N, 2 * SIZE), dtype=bool)
    values[2, SIZE:] = np.random.default_rng(1).normal(size=SIZE)
    rows[2, SIZE:] = False
    assert promised(family_evidence(values, rows=rows))[0] == (2, (0, 1))
    rows[2] = ~rows[2]
    assert 2 not in dict(promised(family_evidence(values, rows=rows)))


def test_the_price_of_both_edges_is_paid():
    prices = np.zeros((N, N))
    prices[[0, 1], 2] = 1e4
    assert (2, (0, 1)) not in promised(family_evidence(together(), edge_penalty=prices))
    prices[1, 2] = 0.0
    both = [(2, (0,)) if node == 2 else own for node, own in enumerate(EMPTY)]
    assert (2, (0, 1)) in promised(family_evidence(together(), edge_penalty=prices), both)


def test_labels_and_grades_act_together_too():
    """Labels whose sum decides, grades whose product does, and an effect of two values."""
    rng = np.random.default_rng(0)
    labels, grades = (rng.integers(low, 3, size=(2, SIZE)) for low in (0, -2))
    noise = rng.normal(size=(2, SIZE))
    of_labels, of_grades = 2.0 * (labels.sum(axis=0) % 3 == 0) + noise[0], 0.7 * np.prod(grades, axis=0) + noise[1]
    signs = (grades[0] * grades[1] > 0) ^ (rng.random(SIZE) < 0.1)
    kinds = [*["categorical"] * 2, *["ordinal"] * 2, *["continuous"] * 2, "binary"]
    values = np.vstack([labels, grades, standardised(of_labels, of_grades), signs]).astype(float)
    scores = scores_of_columns(columns_of(values, kinds))
    pairs = promised(scores, [(node, ()) for node in range(7)])
    assert {(4, (0, 1)), (5, (2, 3)), (6, (2, 3))} <= set(pairs)


def test_wide_tables_look_at_fewer_rows_and_the_widest_at_none(monkeypatch):
    for share, found in ((0.5, True), (1e-3, False)):
        products = share * SIZE * 6 * FUNCTIONS**2 * 2 * N
        monkeypatch.setattr("icdh._node_model.gain_estimates.MOST_MULTIPLICATIONS", products)
        assert ((2, (0, 1)) in promised(family_evidence(together()))) is found


class Pairs(FamilyScores):
    """Scores of families from a table, and pairs that are offered until they are parents."""

    def __init__(self, gains, offered):
        self.gains, self.offered = gains, offered

    def __call__(self, families):
        return [0.1 * len(parents) - self.gains.get((node, parents), 0.0) for node, parents in families]

    def gain_estimates(self, families):
        return np.full((len(families), N), np.inf)

    def polish(self, families):
        pass

    def pair_gains(self, families):
        return [(node, pair, 5.0) for node, pair in self.offered if not {*pair} <= {*dict(families)[node]}]


def test_both_causes_are_inserted_where_they_gain_together_and_the_moves_lead_there():
    found = greedy_search(Pairs({(2, (0, 1)): 5.0}, [(3, (0, 1)), (2, (0, 1))]), free(N))
    assert found.graph == ((), (), (0, 1), ())
    assert replayed(found.moves, N) == found.graph


def test_what_came_after_a_node_becomes_its_cause_with_another():
    """The reversed arrow alone gains; both causes together gain more, and no single move leads there."""
    scores = Pairs({(0, (2,)): 3.0, (2, (0, 1)): 9.0}, [(2, (0, 1))])
    assert greedy_search(Pairs(scores.gains, []), free(N)).graph == ((2,), (), (), ())
    found = greedy_search(scores, free(N))
    assert found.graph == ((), (), (0, 1), ())
    assert replayed(found.moves, N) == found.graph


@pytest.mark.parametrize("limit", ["forbidden", "required", "max_parents"])
def test_pairs_keep_what_is_forbidden_required_or_too_much(limit):
    scores = Pairs({(0, (2,)): 3.0, (2, (0, 1)): 9.0}, [(2, (0, 1))])
    forbidden, required = np.eye(N, dtype=bool), np.zeros((N, N), dtype=bool)
    forbidden[1, 2] |= limit == "forbidden"
    required[2, 0] |= limit == "required"
    rules = EdgeRules.of(forbidden, required)
    found = greedy_search(scores, rules, max_parents=1 if limit == "max_parents" else N)
    assert not parents_matrix(found.graph)[[0, 1], 2].all()
    assert parents_matrix(found.graph)[2, 0]


def test_a_search_finds_causes_that_act_only_together():
    a, b, y, other = together()
    edges = HNMSearch(n_restarts=1).fit(np.column_stack([a, b, y, other])).adjacency_matrix_ != 0
    np.testing.assert_array_equal(np.argwhere(edges), [[0, 2], [1, 2]])


def waves(size=800):
    """A cause, and an effect that swings with it."""
    x, e = np.random.default_rng(0).normal(size=(2, size))
    return standardised(x, np.sin(2.0 * x) + 0.3 * e)


def test_residuals_of_a_fit_that_failed_still_depend_on_its_own_parents():
    scores, family = family_evidence(waves()), (1, (0,))
    failed = scores.models.fit(family, 5, Start(max_steps=1))
    scores.polish([family])
    assert misfit(scores.families, family, failed) > 2.0 * FAILED
    assert misfit(scores.families, family, scores.fit_of(family)) < 0.2 * FAILED


@pytest.mark.parametrize("n", [2, 12, 20, 30, 60, 300])
def test_independent_residuals_of_few_rows_show_no_misfit(n):
    """As many functions as rows tell all of any residual."""
    drawn = np.random.default_rng(0).normal(size=(100, 2, n))
    assert max(misfit_of_residual(residual, [cause[np.newaxis]]) for residual, cause in drawn) < 0.5 * FAILED


def test_rows_that_do_not_count_show_no_misfit():
    values, rows = waves(), np.ones((2, 800), dtype=bool)
    values[1, ::2] = -values[0, ::2]
    rows[1, ::2] = False
    scores, family = family_evidence(values, rows=rows), (1, (0,))
    scores.polish([family])
    assert misfit(scores.families, family, scores.fit_of(family)) < FAILED


def test_families_whose_fit_failed_are_polished_and_others_are_not(monkeypatch):
    scores, families = family_evidence(waves(), n_restarts=3), [(1, (0,)), (0, (1,)), (0, ())]
    scores(families)
    polished, told = [], {(1, (0,)): 1e3, (0, (1,)): 0.0}
    monkeypatch.setattr("icdh._node_model.score.misfit", lambda _, family, fit: told[family])
    monkeypatch.setattr(scores, "polish", polished.extend)
    scores.polish_failed(families)
    assert polished == [(1, (0,))]


def test_a_search_of_all_graphs_polishes_what_failed_first(monkeypatch):
    tested = []
    monkeypatch.setattr("icdh._node_model.score.misfit", lambda _, family, fit: tested.append(family) or 0.0)
    values = np.random.default_rng(0).normal(size=(150, 3))
    HNMSearch(search="exact", n_restarts=1, column_transform="none").fit(values)
    assert {(node, parents) for node in range(3) for parents in [tuple(k for k in range(3) if k != node)]} <= {*tested}
