"""What is known of a graph: it is kept by every fit, and contradictions are named."""

import json

import numpy as np
import pytest
from helpers import cases, hetero_chain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from support.search import KINDS, legal_moves, with_ancestors

from icdh import ICDH, DataWarning, HNMSearch, Knowledge, causal_direction, posterior
from icdh.files import LabelledTable, write_table
from icdh.graphs import break_cycles, is_dag
from icdh.knowledge import EdgeRules

pytestmark = pytest.mark.filterwarnings("ignore::icdh.exceptions.ConvergenceWarning")
NAMES = ["a", "b", "c", "d"]
ESTIMATORS = {
    "icdh": ICDH(hidden_units=3, scaling="standardize", max_rounds=2),
    "search": HNMSearch(hidden_units=2, n_restarts=1, noise_distribution="gaussian"),
}


def edges(mask):
    """The named edges of a mask, but for those of a variable to itself."""
    return {(NAMES[i], NAMES[j]) for i, j in np.argwhere(mask) if i != j}


def fitted(method, table, **parameters):
    return clone(ESTIMATORS[method]).set_params(**parameters).fit(table)


@st.composite
def consistent_knowledge(draw):
    """Rules that some DAG over NAMES keeps: no required edge goes against a drawn order."""
    order = draw(st.permutations(NAMES))
    forward = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
    required = draw(st.lists(st.sampled_from(forward), unique=True, max_size=4))
    others = [(a, b) for a in NAMES for b in NAMES if a != b and (a, b) not in required]
    forbidden = draw(st.lists(st.sampled_from(others), unique=True, max_size=6))
    cut = draw(st.integers(0, 4))
    tiers = [order[:cut], order[cut:]] if draw(st.booleans()) else []
    roots = [name for name in NAMES if all(name != effect for _, effect in required) and draw(st.booleans())]
    leaves = [name for name in NAMES if all(name != cause for cause, _ in required) and draw(st.booleans())]
    return Knowledge(forbidden, required, tiers, roots, leaves)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ESTIMATORS)
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(knowledge=consistent_knowledge(), seed=st.integers(0, 3), constant=st.booleans())
def test_no_fit_violates_what_is_known(method, knowledge, seed, constant):
    rng = np.random.default_rng(seed)
    X = np.column_stack([hetero_chain(rng, 60), rng.normal(size=60)])
    X[:, 1] = np.where(constant, 1.0, X[:, 1])
    model, rules = fitted(method, LabelledTable(X, NAMES), knowledge=knowledge), knowledge.rules(NAMES)
    found = model.adjacency_matrix_ != 0
    assert is_dag(found)
    assert not found[rules.forbidden].any()
    assert found[rules.required].all()
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("method", ESTIMATORS)
def test_required_edges_are_fitted(method, chain):
    """Against the data c -> a is weak, but present in graph and model whatever penalty and threshold say."""
    strict = {"l1": 10.0, "threshold": 100.0} if method == "icdh" else {}
    model = fitted(method, chain, knowledge={"required": [("c", "a")]}, **strict)
    assert model.adjacency_matrix_[2, 0] != 0
    assert 2 in model.model_.conditionals[0].inputs
    assert model.causal_order_.index(2) < model.causal_order_.index(0)
    again = model.rethreshold(1e6) if method == "icdh" else model.rethreshold(max_edges=1, min_strength=1e9)
    assert edges(again.adjacency_matrix_) == {("c", "a")}


@pytest.mark.parametrize("method", ESTIMATORS)
def test_known_tiers_turn_an_edge(method, chain):
    """Without knowledge a causes b; in tiers the other way around the edge is turned, not lost."""
    assert fitted(method, chain).adjacency_matrix_[0, 1] != 0
    turned = fitted(method, chain, knowledge=Knowledge(tiers=[["c"], ["b"], ["a"]]))
    assert turned.adjacency_matrix_[1, 0] != 0


def test_more_required_causes_than_max_parents(chain):
    model = fitted("search", chain, max_parents=1, knowledge={"required": [("a", "c"), ("b", "c")]})
    assert model.adjacency_matrix_[:2, 2].all()


@pytest.mark.parametrize("required", [[("c", "a")], [("a", "c"), ("b", "c")]])
def test_exact_search_and_posterior_keep_required_edges(required, chain):
    model = fitted("search", chain, search="exact", knowledge={"required": required})
    assert edges(model.adjacency_matrix_) >= set(required)
    drawn = posterior(model, n_samples=50).edge_probability
    assert all(drawn["abc".index(cause), "abc".index(effect)] == 1.0 for cause, effect in required)
    assert np.isfinite(drawn).all()


@cases(
    ("parts", "names", "forbidden", "required"),
    (
        {"forbidden": [("gene_*", "gene_*")], "required": [(2, "y")], "leaves": ["y"]},
        ["gene_1", "gene_2", "age", "y"],
        [[0, 1], [1, 0], [3, 0], [3, 1], [3, 2]],
        [[2, 3]],
    ),
    ({"roots": ["x[1]"]}, ["x[1]", "x1"], [[1, 0]], []),  # a label that is a pattern means the label
    ({"tiers": [["*"], ["c"]]}, "abc", [[2, 0], [2, 1]], []),  # a pattern takes what no tier names
    ({"tiers": [["a"], ["c"]]}, "abc", [[2, 0]], []),  # variables in no tier are free
    ({"required": [("a", "b"), ("b", "c")]}, "abcd", [[1, 0], [2, 0], [2, 1]], [[0, 1], [1, 2]]),  # so are paths
)
def test_rules_of_names_indices_and_patterns(parts, names, forbidden, required):
    rules = Knowledge(**parts).rules(list(names))
    assert rules.forbidden.diagonal().all()
    assert np.argwhere(rules.forbidden & ~np.eye(len(names), dtype=bool)).tolist() == forbidden
    assert np.argwhere(rules.required).tolist() == required


@cases(
    ("parts", "message"),
    ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, "a -> b, b -> c, c -> a"),
    ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "a -> b is required, but forbidden by 'forbidden'"),
    ({"required": [("a", "b")], "roots": ["b"]}, "forbidden by 'roots'"),
    ({"required": [("a", "b")], "leaves": ["a"]}, "forbidden by 'leaves'"),
    ({"required": [("b", "a")], "tiers": [["a"], ["b"]]}, "forbidden by 'tiers'"),
    ({"required": [("b", "a")], "forbidden": [("b", "*")]}, "forbidden by 'forbidden'"),
    ({"required": [("a", "a")]}, "'a' cannot cause itself"),
    ({"tiers": [["a"], ["b"], ["a"]]}, "'a' is in tiers 1 and 3"),
)
def test_contradictions_are_named_at_once(parts, message):
    with pytest.raises(ValueError, match=message.replace("*", r"\*")):
        Knowledge(**parts)


def test_contradictions_that_need_the_table():
    with pytest.raises(ValueError, match="a -> b is required, but forbidden by 'roots'"):
        Knowledge(required=[("a", "b")], roots=[1]).rules(["a", "b"])


@pytest.mark.parametrize("label", ["q", "q*", 3, -1])
def test_unknown_variables(label):
    with pytest.raises(ValueError, match=f"roots: {label!r} is no variable".replace("*", r"\*")):
        Knowledge(roots=[label]).rules(["a", "b", "c"])
    assert not Knowledge(roots=[label]).rules(["a"], strict=False).required.any()


@pytest.mark.parametrize("parts", [{"roots": "ab"}, {"roots": [True]}, {"forbidden": [("a", "b", "c")]}, {"tiers": 3}])
def test_malformed_knowledge(parts):
    with pytest.raises(TypeError, match=next(iter(parts))):
        Knowledge(**parts)
    with pytest.raises(TypeError, match=next(iter(parts))):
        Knowledge.of(parts)


def test_what_is_no_knowledge():
    with pytest.raises(ValueError, match="no part 'root'"):
        Knowledge.of({"root": ["a"]})
    with pytest.raises(TypeError, match="knowledge must be"):
        ICDH(knowledge="a,b").fit(np.random.default_rng(0).normal(size=(5, 2)))


def test_union():
    both = Knowledge(roots=["a"], tiers=[["a"], ["b"]]) | Knowledge(roots=["b"], required=[("b", "c")])
    assert both == Knowledge(roots=["a", "b"], tiers=[["a"], ["b"]], required=[("b", "c")])
    with pytest.raises(ValueError, match="tiers"):
        both | Knowledge(tiers=[["b"], ["a"]])
    with pytest.raises(ValueError, match="forbidden by 'roots'"):
        both | Knowledge(required=[("c", "b")])


def test_files(tmp_path):
    expected = Knowledge(tiers=[["a", "b"], ["c"]], required=[("b", "c")])
    (tmp_path / "k.toml").write_text('tiers = [["a", "b"], ["c"]]\nrequired = [["b", "c"]]\n')
    (tmp_path / "k.json").write_text(json.dumps({"tiers": [["a", "b"], ["c"]], "required": [["b", "c"]]}))
    assert Knowledge.read(tmp_path / "k.toml") == Knowledge.read(tmp_path / "k.json") == expected


@cases(
    ("name", "text", "message"),
    ("k.txt", "a b\n", "k.txt: knowledge is read from .toml or .json"),
    ("k.json", "[1]", "object"),
    ("k.json", "{", "k.json"),
    ("k.toml", "tiers = [", "k.toml"),
    ("k.toml", "roots = 3", "k.toml: roots must be a list"),
    ("k.toml", "root = []", "no part 'root'"),
    ("k.toml", b"\xff\xfe", "not text"),
)
def test_malformed_files(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((ValueError, TypeError), match=message):
        Knowledge.read(tmp_path / name)


REQUIRED = np.arange(9).reshape(3, 3) == 1  # the first variable causes the second


def test_moves_leave_required_edges_alone():
    rules = EdgeRules.of(np.eye(3, dtype=bool), REQUIRED)
    graph = (), (0,), (1,)
    insertions = np.array([[0, 1, 2, 2], [2, 0, 0, 1]])
    moves = np.array(legal_moves(graph, rules, 3, insertions, with_ancestors(graph)))
    changes = moves[:, moves[0] != KINDS.index("insert")]
    assert changes.tolist() == [[KINDS.index("delete"), KINDS.index("reverse")], [1, 1], [2, 2]]


def test_cycles_are_broken_around_required_edges():
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    assert break_cycles(A).removed == [(0, 1)]
    kept = break_cycles(A, REQUIRED)
    assert (kept.removed, kept.adjacency[0, 1]) == ([(1, 2)], 1.0)


def test_direction_of_what_is_known():
    x, y, _ = hetero_chain(np.random.default_rng(0), 200).T
    free = causal_direction(x, y, n_bags=2)
    assert free.direction == "x->y"
    known = causal_direction(x, y, n_bags=2, names=("dose", "cost"), knowledge={"required": [("cost", "dose")]})
    assert (known.direction, known.score, known.confidence) == ("y->x", free.score, np.inf)
    neither = causal_direction(x, y, n_bags=2, knowledge={"roots": ["x", "y"]})
    assert (neither.direction, neither.score) == ("undecided", known.score)  # the score depends on the data alone


@pytest.fixture
def data(tmp_path, chain):
    write_table(tmp_path / "t.csv", chain.values[:200], chain.columns)
    return tmp_path / "t.csv"


def test_command_line(data, printed, refused):
    known = data.with_name("k.json")
    known.write_text('{"roots": ["c"]}')
    fit = ("fit", data, "--method", "icdh", "--scaling", "standardize", "--knowledge", known)
    out = printed(*fit, "--require", "c,a", "--forbid", "b,*", "--tiers", "c; a b")
    assert [arrow in out for arrow in ("c -> a", "b ->", "-> c")] == [True, False, False]
    assert "a -> c is required, but forbidden by 'roots'" in refused(*fit, "--require", "a,c")


def test_command_line_directions(data, printed):
    """A path of required edges settles the direction of its ends."""
    out = printed("direction", data, "--require", "c,b", "--require", "b,a")
    assert all(edge in out for edge in ("b -> a", "c -> a", "c -> b"))
    pair = ("--columns", "a", "b", "--require", "c,b", "--forbid", "a,b")
    assert "b -> a" in printed("direction", data, *pair)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_a_required_edge_at_a_constant_column_is_in_the_graph(method, chain):
    table = LabelledTable(np.where(np.arange(3) == 1, 1.0, chain.values), ["a", "b", "c"])
    with pytest.warns(DataWarning, match="constant column"):
        model = fitted(method, table, knowledge={"required": [("c", "b"), ("b", "a")]})
    assert min(model.adjacency_matrix_[2, 1], model.adjacency_matrix_[1, 0]) > 0
    assert model.adjacency_matrix_[0, 2] == 0


def test_arrows_into_what_nothing_causes_are_asked_about(tmp_path, shown):
    risk, noise = np.random.default_rng(0).normal(size=(2, 300))
    write_table(tmp_path / "t.csv", np.column_stack([risk, risk**2 + 0.3 * noise]), ["risk", "Age"])
    code, _, err = shown("fit", tmp_path / "t.csv")
    assert code == 0
    assert "can this be: risk -> Age? If nothing causes Age, pass --roots Age" in err
    code, out, err = shown("fit", tmp_path / "t.csv", "--roots", "Age")
    assert (code, "can this be" in err, "-> Age" in out) == (0, False, False)
