"""Branches of a search: detours go on from one state by themselves, and the search takes over what they found."""

import threading

import numpy as np
import pytest
from helpers import family_evidence

from icdh import HNMSearch, simulate
from icdh._ground.clock import Clock, OutOfTime
from icdh._ground.threads import results_in_order
from icdh.search.climb import Climber

PAIR, OTHER, TRIPLE = (0, (1,)), (0, (2,)), (0, (1, 2))


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(2, 200))
    effect = np.sin(2.0 * causes[0]) * causes[1] + 0.3 * rng.normal(size=200)
    found = family_evidence(np.vstack([effect, causes]), n_restarts=3, most_units=10)
    found([PAIR])
    return found


def test_what_a_branch_learns_stays_with_it_until_it_is_joined(scores):
    branch = scores.branch()
    (of_triple,) = branch([TRIPLE])
    branch.polish([PAIR])
    before, polished = scores([PAIR])[0], branch([PAIR])[0]
    assert polished < before
    assert TRIPLE not in scores
    assert TRIPLE[1] not in scores._known_parents[0]  # another thread may be going through these
    assert scores([PAIR]) == [before]
    assert scores.join(branch) == {0}
    assert scores.fit_of(TRIPLE) is branch.fit_of(TRIPLE)
    assert scores([PAIR, TRIPLE]) == [polished, of_triple]
    assert scores.join(branch) == set()


def test_what_a_branch_has_polished_need_not_be_polished_again(scores, monkeypatch):
    branch = scores.branch()
    branch.polish([PAIR])
    scores.join(branch)
    monkeypatch.setattr(scores.families, "fit", None)
    scores.polish([PAIR])


def test_a_branch_that_has_grown_is_taken_over_whole_and_older_fits_stay_out(scores):
    other, grown = scores.branch(), scores.branch()
    other([TRIPLE, OTHER])
    assert grown.grow([TRIPLE])
    assert scores.units[0] == 5
    scores.adopt(grown)
    assert scores.units == grown.units
    assert scores.units[0] == 10
    fit = scores.fit_of(TRIPLE)
    assert scores.join(other) == set()
    assert scores.fit_of(TRIPLE) is fit
    assert OTHER not in scores


def test_the_clock_of_a_branch_stops_that_branch_alone(scores):
    scores.limit(Clock(1000.0))
    branch = scores.branch()
    branch.stop()
    with pytest.raises(OutOfTime):
        branch([TRIPLE])
    scores([TRIPLE])


def test_a_climber_scores_again_what_a_branch_made_better(scores):
    climber = Climber(scores, np.eye(3, dtype=bool), 2)
    end, _ = climber.climb_once(((), (), ()), climber.forbidden)
    assert end == ((1, 2), (), ())
    branch = climber.branch()
    branch.polish(list(enumerate(end)))
    climber.join([branch])
    assert climber.total(end) == branch.total(end)
    assert 0 not in climber._up_to_date


def test_a_climber_remembers_which_moves_its_branches_have_scored(scores):
    climber = Climber(scores, np.eye(3, dtype=bool), 2)
    one, other = climber.branch(), climber.branch()
    one._score(((), (), ()), [(False, 1, 0)])
    other._score(((), (), ()), [(False, 2, 0), (False, 1, 0)])
    assert climber._scored == {}
    climber.join([one, other])
    assert climber._scored == {(0, ()): (1, 2)}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    with results_in_order(lambda k: k**2, range(20), n_threads) as results:
        assert list(results) == [k**2 for k in range(20)]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_no_task_begins_once_nobody_asks_for_results(n_threads):
    begun, may_go_on = [], threading.Event()

    def task(k):
        begun.append(k)
        if k > 0:
            may_go_on.wait(10.0)

    with results_in_order(task, range(20), n_threads) as results:
        next(results)
        may_go_on.set()
    assert len(begun) < 20


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_of_a_task_is_the_callers(n_threads):
    def task(k):
        raise ValueError(f"task {k}")

    with pytest.raises(ValueError, match="task 0"), results_in_order(task, range(3), n_threads) as results:
        list(results)


@pytest.fixture(scope="module")
def dense():
    graph = simulate.erdos_renyi(8, 2, random_state=10)
    return simulate.simulate_sem(graph, 300, noise="homo-nv", random_state=10).X


def test_detours_on_threads_tell_and_find_the_same(dense):
    """Among them detours that gain, so that later ones begin anew."""
    told, found = {}, {}
    for n_jobs in (1, 2, 3):
        moves = told[n_jobs] = []
        found[n_jobs] = HNMSearch(n_jobs=n_jobs, column_transform="none", callback=moves.append).fit(dense)
    assert any(move.kind == "detach" for move in found[1].history_)
    for n_jobs in (2, 3):
        assert found[n_jobs].history_ == found[1].history_
        assert found[n_jobs].evidence_ == found[1].evidence_
        kept = [[move for move in moves if move.kept] for moves in (told[1], told[n_jobs])]
        assert kept[0] == kept[1]
        assert set(told[n_jobs]) == set(told[1])


def test_a_callback_can_stop_detours_on_threads(dense):
    def stop(move):
        if not move.kept:
            raise KeyboardInterrupt

    with pytest.warns(match="interrupted"):
        model = HNMSearch(n_jobs=2, column_transform="none", callback=stop).fit(dense)
    assert model.interrupted_
    assert threading.active_count() == 1
