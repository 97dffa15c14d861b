"""Several searches of one table: the majority graph, what they agree on, and searches that end early."""

import numpy as np
import pytest
from helpers import hetero_chain

import icdh
from icdh import ConvergenceWarning, HNMSearch
from icdh._estimators import majority
from icdh._estimators.majority import Outcome, majority_graph, seeds_of
from icdh.cli import main

QUICK = {"hidden_units": 3, "n_restarts": 1, "column_transform": "none", "noise_distribution": "gaussian"}
NOTHING = np.zeros((3, 3), dtype=bool)


@pytest.fixture(scope="module")
def table():
    return hetero_chain(np.random.default_rng(1), 200)


def shares(**edges):
    agreement = np.zeros((3, 3))
    for edge, share in edges.items():
        agreement[int(edge[1]), int(edge[2])] = share
    return agreement


def edges(graph):
    return set(map(tuple, np.argwhere(graph).tolist()))


def with_outcomes(monkeypatch, *outcomes):
    """Have searches return these graphs, given as the parents of every node, or outcomes."""
    left = [own if isinstance(own, Outcome) else Outcome(own, 1, False, False) for own in outcomes]
    monkeypatch.setattr(majority, "_outcome", lambda *_: left.pop(0))


def test_edges_of_more_than_half_of_the_searches_are_kept():
    assert edges(majority_graph(shares(e01=0.6, e12=0.5, e02=0.4), NOTHING, 8)) == {(0, 1)}


def test_of_a_cycle_the_edge_of_the_fewest_searches_is_left_out():
    assert edges(majority_graph(shares(e01=0.8, e12=0.6, e20=0.7), NOTHING, 8)) == {(0, 1), (2, 0)}


def test_a_node_keeps_the_parents_of_the_most_searches():
    crowded = shares(e02=0.6, e12=0.8)
    assert edges(majority_graph(crowded, NOTHING, 1)) == {(1, 2)}
    assert edges(majority_graph(crowded, NOTHING, 2)) == {(0, 2), (1, 2)}
    required = shares(e02=1.0) > 0.0
    assert edges(majority_graph(shares(e02=1.0, e12=1.0), required, 1)) == {(0, 2)}


def test_the_first_of_several_searches_is_the_only_one_of_one(table):
    assert seeds_of(3, 1) == seeds_of(3, 4)[:1]
    assert len(set(seeds_of(3, 4))) == 4
    assert HNMSearch(**QUICK, random_state=3).fit(table).found_graph().seed == seeds_of(3, 1)[0]


def test_the_majority_is_fitted_and_shares_are_those_of_the_users_columns(table, monkeypatch):
    """The search sees columns in an order of its own; the fits are those of a search that finds the graph."""
    single = HNMSearch(**QUICK).fit(table)
    order, graph = single.found_graph().order, single.found_graph().graph
    with_outcomes(monkeypatch, graph, graph, ((),) * 3)
    several = HNMSearch(**QUICK, n_searches=3).fit(table)
    assert edges(several.adjacency_matrix_) == edges(single.adjacency_matrix_) == {(0, 1), (1, 2)}
    np.testing.assert_allclose(several.search_agreement_, np.where(single.adjacency_matrix_ != 0, 2 / 3, 0.0))
    assert order.tolist() != [0, 1, 2]
    assert several.evidence_ == pytest.approx(single.evidence_, abs=5.0)
    np.testing.assert_allclose(several.adjacency_matrix_, single.adjacency_matrix_, rtol=0.05)
    assert several.nll_ == pytest.approx(single.nll_, abs=0.01)
    assert several.history_ == []
    assert icdh.posterior(several).edge_probability[0, 1] > 0.9


def test_two_ways_to_one_majority_have_one_evidence(table, monkeypatch):
    graph = HNMSearch(**QUICK).fit(table).found_graph().graph
    evidences = []
    for outcomes in ((graph, graph, graph), (((),) * 3, graph, graph)):
        with_outcomes(monkeypatch, *outcomes)
        evidences.append(HNMSearch(**QUICK, n_searches=3).fit(table).evidence_)
    assert evidences[0] == evidences[1]


def test_edges_that_are_required_stay_and_forbidden_ones_stay_out(table):
    knowledge = {"required": [("x0", "x2")], "forbidden": [("x0", "x1")]}
    found = HNMSearch(**QUICK, n_searches=3, knowledge=knowledge).fit(table)
    assert found.adjacency_matrix_[0, 2] > 0.0
    assert found.search_agreement_[0, 2] == 1.0
    assert found.adjacency_matrix_[0, 1] == found.search_agreement_[0, 1] == 0.0


def test_processes_find_what_one_finds(table):
    alone, shared = (HNMSearch(**QUICK, n_searches=3, n_jobs=n_jobs, callback=lambda _: None) for n_jobs in (1, 2))
    np.testing.assert_array_equal(alone.fit(table).search_agreement_, shared.fit(table).search_agreement_)
    assert alone.evidence_ == shared.evidence_


def test_a_search_that_time_ends_has_no_vote(table, monkeypatch):
    graph = HNMSearch(**QUICK).fit(table).found_graph().graph
    with_outcomes(monkeypatch, graph, Outcome(((),) * 3, 0, False, True))
    with pytest.warns(ConvergenceWarning, match="max_seconds=100 ended the search; the best"):
        found = HNMSearch(**QUICK, n_searches=5, max_seconds=100).fit(table)
    assert found.timed_out_
    assert edges(found.adjacency_matrix_) == {(0, 1), (1, 2)}
    assert found.search_agreement_.max() == 1.0


def test_an_interrupt_keeps_the_searches_before_it(table):
    class Interrupting:
        inserted = 0

        def __call__(self, move):
            self.inserted += move.kind == "insert" and move.kept
            if self.inserted > 2:  # a search inserts two
                raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = HNMSearch(**QUICK, n_searches=5, callback=Interrupting()).fit(table)
    assert found.interrupted_
    assert edges(found.adjacency_matrix_) == {(0, 1), (1, 2)}


def test_shares_are_listed_and_kept_in_files(table, monkeypatch, tmp_path, capsys):
    single = HNMSearch(**QUICK).fit(table)
    assert single.search_agreement_ is single.model_.search_agreement is None
    assert "searches" not in single.summary()
    graph = single.found_graph().graph
    with_outcomes(monkeypatch, graph, graph, ((),) * 3)
    found = HNMSearch(**QUICK, n_searches=3).fit(table)
    assert found.summary().count("67%") == 2
    found.save(tmp_path / "m.icdh")
    np.testing.assert_array_equal(icdh.load(tmp_path / "m.icdh").search_agreement, found.search_agreement_)
    found.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count("67 %") == 2
    assert found.set_params(n_searches=1).fit(table).search_agreement_ is None


def test_the_command_line_counts_searches_and_lists_shares(table, tmp_path, capsys):
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c", comments="")
    options = ["--hidden-units=3", "--n-restarts=1", "--column-transform=none", "--noise-distribution=gaussian"]
    assert main(["fit", str(tmp_path / "t.csv"), "--n-searches=2", *options]) == 0
    out = capsys.readouterr().out
    assert "2 searches" in out
    assert "100%" in out
    assert "searches: how many of them found the edge" in out


def test_fewer_than_one_search_is_refused(table):
    with pytest.raises(ValueError, match="n_searches must be at least 1"):
        HNMSearch(n_searches=0).fit(table)
