"""`max_seconds`: the best graph so far is kept and a warning says so; clocks here tick once for every look at them."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import family_evidence, fit_two_phase, hetero_chain, parents_of, problem_of, replayed
from support.article import FamilyFitter
from support.estimators import best_of_restarts, strength_of_inputs
from support.families import QUICK_OBSERVATIONS, QuickScore
from support.utils import Clock, OutOfTime
from support.utils import clock as _clock

from icdh import ICDH, ConvergenceWarning, HNMSearch, Knowledge, Progress, graphs
from icdh.files import read_graph, write_table
from icdh.likelihood import nll
from icdh.network import NetworkConditional

NO_TIME = 1e-9


class Ticks:
    """A module ``time`` whose monotonic clock is one second on at every look."""

    def __init__(self, monotonic=0.0):
        self.now = monotonic

    def monotonic(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def ticking(monkeypatch):
    ticks = Ticks()
    monkeypatch.setattr(_clock, "time", ticks)
    return ticks


@pytest.fixture
def stopwatch(monkeypatch):
    """A clock that stands where it is put."""
    watch = SimpleNamespace(now=100.0, monotonic=lambda: watch.now)
    monkeypatch.setattr(_clock, "time", watch)
    monkeypatch.setattr(_clock, "compiling", _clock._Waiting())
    return watch


X = hetero_chain(np.random.default_rng(0), 300)


def stopped(estimator, X, match="max_seconds"):
    with pytest.warns(ConvergenceWarning, match=match):
        return estimator.fit(X)


def quick_search(column_transform="none", **params):
    return HNMSearch(hidden_units=2, noise_distribution="gaussian", column_transform=column_transform, **params)


WITHOUT_TIME = [
    ICDH(max_seconds=NO_TIME),
    ICDH(max_seconds=NO_TIME, schedule="paper"),
    ICDH(max_seconds=NO_TIME, noise="equal"),
    ICDH(max_seconds=NO_TIME, bias=True, n_restarts=3),
    HNMSearch(max_seconds=NO_TIME),
    HNMSearch(max_seconds=NO_TIME, n_jobs=2, search="exact"),
    HNMSearch(max_seconds=NO_TIME, column_transform="auto"),
    HNMSearch(max_seconds=NO_TIME, column_transform="log", noise_distribution="free"),
]


@pytest.mark.parametrize("estimator", WITHOUT_TIME, ids=repr)
def test_without_any_time_there_are_the_required_edges_alone(estimator):
    model = stopped(estimator.set_params(knowledge=Knowledge(required=[(2, 0)])), X)
    assert np.argwhere(model.adjacency_matrix_).tolist() == [[2, 0]]
    assert (model.timed_out_, model.interrupted_) == (True, False)
    numbers = [model.score(X), *model.edge_strength_.ravel(), *model.sample(5, random_state=0).ravel()]
    assert np.isfinite(numbers).all()


@pytest.mark.parametrize("make", [ICDH, quick_search])
def test_a_limit_that_is_not_reached_changes_nothing(make):
    free, limited = make().fit(X), make(max_seconds=1e9).fit(X)
    np.testing.assert_array_equal(limited.adjacency_matrix_, free.adjacency_matrix_)
    assert limited.nll_ == free.nll_
    assert not limited.timed_out_


def test_a_procedure_that_is_stopped_keeps_its_best_round(ticking):
    ends, clock = [], Clock(1e9)
    whole = fit_two_phase(X.T, random_state=0, clock=clock, callback=lambda record: ends.append(ticking.now))
    ticking.now = 0.0
    early = fit_two_phase(X.T, random_state=0, clock=Clock(ends[0] + 10.0 - clock._begin))
    assert len(ends) > 1
    assert (early.timed_out, early.converged) == (True, False)
    assert [record.nll for record in early.history] == [whole.history[0].nll]


@pytest.mark.usefixtures("ticking")
def test_when_time_is_over_only_edges_of_the_graph_are_weighed():
    late = stopped(ICDH(threshold=0.6, random_state=0, max_seconds=60), X)
    edges = late.adjacency_matrix_ != 0.0
    assert 0 < edges.sum() < np.count_nonzero(late.weights_)
    network = [NetworkConditional.of(late.network_, n) for n in range(len(edges))]  # the model's are of the graph
    whole = strength_of_inputs(network, X.T, late.model_.columns.centre, None, None)
    assert np.count_nonzero(whole) == np.count_nonzero(late.weights_)
    np.testing.assert_allclose(late.edge_strength_, np.where(edges, whole, 0.0), rtol=1e-12)


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("schedule", ["fast", "paper"])
def test_a_first_round_that_is_stopped_is_a_dag_that_fits_better_than_none(schedule):
    results = [fit_two_phase(X.T, random_state=0, schedule=schedule, clock=Clock(limit)) for limit in (1, 20, 60)]
    for result in results:
        assert graphs.is_dag(result.weights.adjacency())
        assert (result.best.h, result.timed_out, len(result.history)) == (0.0, True, 1)
    first, *later = [result.best.nll for result in results]
    assert max(later) < first


@pytest.mark.parametrize("schedule", ["fast", "paper"])
def test_the_two_phases_may_be_stopped_at_any_look_at_the_clock(ticking, schedule):
    values, looks, timed_out = np.ascontiguousarray(X[:30].T), 0, True
    options = {"hidden_units": 1, "schedule": schedule, "max_rounds": 1, "rho_max": 1.0, "random_state": 0}
    while timed_out:
        looks += 1
        result = fit_two_phase(values, **options, clock=Clock(looks))
        timed_out = result.timed_out
        assert np.isfinite(result.best.nll)
    assert looks > 20


@pytest.mark.filterwarnings("ignore::icdh.ConvergenceWarning")
@pytest.mark.parametrize("transform", ["none", "log"])
def test_more_time_never_leaves_a_worse_fit(ticking, transform):
    """Two columns on grids; a fit to every other row hardly sees the noise of the rows between."""
    x, noise = np.random.default_rng(0).normal(size=(2, 2400))
    x = np.round(x, 2)
    odd = np.column_stack([x, np.round(np.abs(x) + np.where(np.arange(2400) % 2, 1.0, 0.001) * noise, 2)])

    def limited(seconds):
        ticking.now = 0.0
        return quick_search(transform, n_restarts=1, max_seconds=seconds).fit(odd)

    whole = limited(1e9)
    seconds = ticking.now
    assert whole.kinds_ == ["gridded"] * 2
    fits = [limited(share * seconds) for share in (0.01, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99)]
    assert any(fit.timed_out_ and fit.adjacency_matrix_.any() for fit in fits)
    losses = [*(fit.nll_ for fit in fits), whole.nll_]
    assert (np.diff(losses) < 0.01).all()
    assert max(losses) < quick_search(transform, max_edges=0).fit(odd).nll_ + 1e-3


def test_the_reason_says_how_far_the_fit_was(ticking):
    ends = []
    ICDH(max_seconds=1e9, callback=lambda record: ends.append(ticking.now)).fit(X)
    further = "ended the fit after 1 round and 0 moves of single edges; the best graph is kept"
    for seconds, reason in ((ends[0] / 2, "ended the first round"), (ends[0] + 10, further)):
        ticking.now = 0.0
        stopped(ICDH(max_seconds=seconds), X, reason)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_that_is_stopped_keeps_the_best_graph_so_far(ticking, n_jobs):
    whole = quick_search(max_seconds=1e9).fit(X)
    seconds, evidences = ticking.now, []
    for share in (0.05, 0.2, 0.35):
        limited = quick_search(max_seconds=share * seconds, n_jobs=n_jobs)
        model = stopped(limited, X, "ended the search after . moves")
        assert replayed(model.history_, 3) == parents_of(model)
        evidences.append(model.evidence_)
    assert evidences == sorted(evidences)
    assert evidences[0] < evidences[-1] <= whole.evidence_


def evidence(values, **options):
    return family_evidence(values, hidden_units=2, **options)


def test_few_rows_stand_for_all_where_there_is_no_fit_to_all():
    known = evidence(np.ascontiguousarray(hetero_chain(np.random.default_rng(0), 4 * QUICK_OBSERVATIONS).T))
    quick = QuickScore(known)
    family, other = (1, (0,)), (1, ())
    exact = known([family])
    assert quick([family]) == exact
    assert quick.fit_of(family) is known.fit_of(family)
    gain = np.diff(quick([family, other]))[0]
    assert gain == pytest.approx(known([other])[0] - exact[0], rel=0.1)
    assert np.diff(quick([family, other]))[0] == known([other])[0] - exact[0]


def test_strengths_on_few_rows_are_of_families_on_the_same_rows():
    """An edge that does not pay has no strength, although the family without it has no fit to all rows."""
    known = evidence(np.ascontiguousarray(hetero_chain(np.random.default_rng(0), 4 * QUICK_OBSERVATIONS).T))
    family = (2, (0, 1))
    known([family])
    weak, strong = QuickScore(known).rises(family)
    assert weak < 0.0 < 1000.0 < strong


def test_few_rows_are_of_those_that_count():
    rows = np.zeros((3, 3 * QUICK_OBSERVATIONS), dtype=bool)
    rows[0], rows[1, 5:25], rows[2, ::2] = True, True, True
    places = np.tile(np.arange(rows.shape[1], dtype=float), (3, 1))
    part = evidence(places, rows=rows).families.subsample(QUICK_OBSERVATIONS)
    for node in range(3):
        assert rows[node, part.causes[node, part.rows[node]].astype(int)].all()
    assert part.rows.sum(axis=1).tolist() == [QUICK_OBSERVATIONS, 20, QUICK_OBSERVATIONS - QUICK_OBSERVATIONS // 4]


def test_families_that_time_did_not_suffice_for_are_polished_later():
    scores = evidence(np.ascontiguousarray(hetero_chain(np.random.default_rng(0), 200).T), n_restarts=3)
    (before,) = scores([(1, (0,))])
    scores.limit(Clock(NO_TIME))
    with pytest.raises(OutOfTime):
        scores.polish([(1, (0,))])
    scores.limit(Clock())
    scores.polish([(1, (0,))])
    assert scores([(1, (0,))])[0] < before


@pytest.mark.parametrize("transform", ["none", "log"])
def test_a_search_of_a_long_table_ends_with_a_whole_model(ticking, transform):
    X = hetero_chain(np.random.default_rng(0), 2 * QUICK_OBSERVATIONS)
    quick_search(max_seconds=1e9, column_transform=transform).fit(X)
    seconds, edges = ticking.now, []
    for share in (0.05, 0.2, 0.35):
        model = stopped(quick_search(max_seconds=share * seconds, column_transform=transform), X)
        worth = model.adjacency_matrix_[model.adjacency_matrix_ != 0]
        assert (worth > 1.0).all()
        assert np.isfinite(model.score(X))
        edges.append(worth.size)
    assert edges[0] < edges[-1]


def test_no_restart_begins_when_time_is_over():
    def fit(initial, callback, limits=(None, NO_TIME)):
        started.append(initial)
        clock = Clock(limits[initial])
        return fit_two_phase(X.T, random_state=initial, max_rounds=3, callback=callback, clock=clock)

    started = []
    best = best_of_restarts(fit, [0, 1, 2], 1, lambda record: None)
    assert started == [0, 1]
    assert (best.timed_out, best.converged) == (True, False)
    assert len(best.history) > 1


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("imputations", [1, 2])
def test_imputations_end_in_time_and_keep_a_whole_fit(imputations, monkeypatch):
    gappy = X.copy()
    gappy[::7, 1] = np.nan
    honest, clocks = HNMSearch._fit_table, []

    def counted(self, table, interventions, clock):
        if len(clocks) == imputations:
            clock.max_seconds = NO_TIME
        clocks.append(clock)
        return honest(self, table, interventions, clock)

    monkeypatch.setattr(HNMSearch, "_fit_table", counted)
    match = rf"ended the fit after {imputations + 1} of 5 imputations"
    model = stopped(quick_search(missing="impute", max_seconds=1e9), gappy, match)
    assert (len(clocks), model.timed_out_) == (imputations + 1, True)
    assert model.history_  # not the fit without time


@pytest.mark.parametrize("method", ["icdh", "search"])
def test_a_limit_on_the_command_line(tmp_path, shown, method):
    data, graph = tmp_path / "data.csv", tmp_path / "graph.csv"
    write_table(data, X, ["a", "b", "c"])
    code, _, err = shown("fit", data, "--method", method, "--output", graph, "--max-seconds", "1e-9")
    assert code == 0
    assert "--max-seconds 1e-09 ended" in err
    assert not read_graph(graph, ["a", "b", "c"])[0].any()


def test_a_clock_says_what_is_done_and_how_long_it_takes(stopwatch):
    stopwatch.now = 0.0
    clock = Clock(100.0)
    clock.begin("families", 8)
    clock.part_done()
    clock.part_done()
    stopwatch.now = 10.0
    assert clock.describe() == "families, 2 of 8, about 30 s, at most 90 s left"
    clock.check()
    _clock.compiling.begin()
    assert clock.describe() == "compiling"
    _clock.compiling.end()
    stopwatch.now = 100.0
    with pytest.raises(OutOfTime):
        clock.check()
    assert Clock().describe() == ""
    signs = Progress("moves", 4)
    signs.follow(clock)
    signs()
    now = "now: families, 2 of 8, about 300 s, time is over, the result follows"
    assert signs._line(7.0) == f"at work for 7 s, 1 of 4 moves, about 21 s left; {now}"


def test_a_search_says_what_its_first_families_are_for():
    """The short search for a transform makes no moves that count: on wide tables it would look like a standstill."""
    said = []

    class Watch:
        def follow(self, clock):
            begin = clock.begin

            def spy(*task):
                begin(*task)
                said.append(clock.describe())

            clock.begin = spy

        def __call__(self, move):
            pass

    HNMSearch(callback=Watch()).fit(np.random.default_rng(0).normal(size=(200, 4)))
    stages = {line.partition(", ")[0] for line in said if "transform" in line}
    assert stages == {"choosing a transform of the columns"}
    assert "transform" not in said[-1]


def test_a_clock_ends_at_the_same_time_on_another_machine(monkeypatch):
    times = SimpleNamespace(uptime=1000.0, monotonic=lambda: times.uptime, time=lambda: 5e9 + times.uptime % 1000.0)
    monkeypatch.setattr(_clock, "time", times)
    clock = Clock(60.0)
    times.uptime = 1010.0
    text = pickle.dumps(clock)
    times.uptime = 30.0  # twenty seconds later, where the clock began at another time
    assert pickle.loads(text).left == pytest.approx(30.0)


def test_seconds_of_the_compiler_do_not_count(stopwatch):
    clock = Clock(10.0)
    stopwatch.now = 103.0
    _clock.compiling.begin()
    stopwatch.now = 150.0
    assert clock.left == pytest.approx(7.0)  # while it compiles
    _clock.compiling.end()
    stopwatch.now = 154.0
    assert clock.left == pytest.approx(3.0)


@pytest.mark.parametrize("make", [ICDH, quick_search])
@pytest.mark.filterwarnings("error::icdh.ConvergenceWarning")
def test_callbacks_may_follow_the_clock(make):
    class Follower:
        def __init__(self):
            self.clocks, self.tasks = [], set()

        def follow(self, clock):
            self.clocks.append(clock)

        def __call__(self, record):
            self.tasks.add(self.clocks[-1].task)

    follower = Follower()
    make(callback=follower).fit(X)
    assert len(follower.clocks) == 1
    assert follower.tasks - {""}


@pytest.mark.parametrize("bias", [False, True])
def test_a_network_is_refitted_to_its_graph_even_when_time_is_over(bias):
    network = fit_two_phase(X.T, random_state=0, max_rounds=1, bias=bias).weights
    graph = network.adjacency() == network.adjacency().max()
    fitters = (
        FamilyFitter(problem_of(X.T, l1=1.0, l2=1.0, bias=bias, clock=clock), 1.0)
        for clock in (Clock(NO_TIME), Clock())
    )
    families = [(child, tuple(np.flatnonzero(causes).tolist())) for child, causes in enumerate(graph.T)]
    late, whole = (fitter.refit(network, families) for fitter in fitters)
    for found in (late, whole):
        np.testing.assert_array_equal(found.adjacency() != 0.0, graph)
    empty = 0.5 * np.log(2.0 * np.pi * np.e * np.square(X).mean(axis=0)).sum()
    assert nll(X, whole) < nll(X, late) < empty
