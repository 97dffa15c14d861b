"""What is known of a graph: it is kept by every fit, and contradictions are named."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from helpers import hetero_chain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

from icdh import ICDH, DataWarning, HNMSearch, Knowledge, causal_direction, posterior
from icdh.cli import main
from icdh.files import LabelledTable, write_table
from icdh.graphs import break_cycles, find_cycle, is_dag
from icdh.knowledge import EdgeRules
from icdh.search.moves import KINDS, legal_moves

pytestmark = pytest.mark.filterwarnings("ignore::icdh.exceptions.ConvergenceWarning")
NAMES = ["a", "b", "c", "d"]
ESTIMATORS = {
    "icdh": ICDH(hidden_units=3, scaling="standardize", max_rounds=2),
    "search": HNMSearch(hidden_units=2, n_restarts=1, noise_distribution="gaussian"),
}
TETRAD = """/knowledge
addtemporal

1* a b
2- c
3 d
4 e

forbiddirect
a d

requiredirect
b c
"""


def edges(mask):
    return {(NAMES[i], NAMES[j]) for i, j in np.argwhere(mask)}


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
@pytest.mark.parametrize("method", ESTIMATORS)
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(knowledge=consistent_knowledge(), seed=st.integers(0, 3), constant=st.booleans())
def test_no_fit_violates_what_is_known(method, knowledge, seed, constant):
    rng = np.random.default_rng(seed)
    X = np.column_stack([hetero_chain(rng, 60), rng.normal(size=60)])
    X[:, 1] = np.where(constant, 1.0, X[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(ESTIMATORS[method]).set_params(knowledge=knowledge).fit(LabelledTable(X, NAMES))
    rules = knowledge.rules(NAMES)
    found = model.adjacency_matrix_ != 0
    assert is_dag(found)
    assert not found[rules.forbidden].any()
    assert found[rules.required].all()
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("method", ESTIMATORS)
def test_required_edges_are_fitted(method, chain):
    """Against the data c -> a is weak, but present in graph and model whatever penalty and threshold say."""
    model = clone(ESTIMATORS[method]).set_params(knowledge={"required": [("c", "a")]})
    if method == "icdh":
        model.set_params(l1=10.0, threshold=100.0)
    model.fit(chain)
    assert model.adjacency_matrix_[2, 0] != 0
    assert 2 in model.model_.conditionals[0].inputs
    assert model.causal_order_.index(2) < model.causal_order_.index(0)


def test_required_edges_stay_under_another_threshold(chain):
    model = clone(ESTIMATORS["icdh"]).set_params(knowledge={"required": [("c", "a")]}).fit(chain)
    assert edges(model.rethreshold(1e6).adjacency_matrix_) == {("c", "a")}


def test_known_tiers_turn_an_edge(chain):
    """Without knowledge a causes b; in tiers the other way around the edge is turned, not lost."""
    for model in ESTIMATORS.values():
        free = clone(model).fit(chain).adjacency_matrix_
        turned = clone(model).set_params(knowledge=Knowledge(tiers=[["c"], ["b"], ["a"]])).fit(chain).adjacency_matrix_
        assert free[0, 1] != 0
        assert turned[1, 0] != 0


@pytest.mark.parametrize("method", ESTIMATORS)
def test_shorthand_is_knowledge(method, chain):
    mask = np.zeros((3, 3), dtype=bool)
    mask[0, 1] = True
    by_mask = clone(ESTIMATORS[method]).set_params(forbidden_edges=mask).fit(chain)
    by_name = clone(ESTIMATORS[method]).set_params(knowledge=Knowledge(forbidden=[("a", "b")])).fit(chain)
    assert_array_equal(by_mask.adjacency_matrix_, by_name.adjacency_matrix_)


def test_more_required_causes_than_max_parents(chain):
    knowledge = Knowledge(required=[("a", "c"), ("b", "c")])
    model = clone(ESTIMATORS["search"]).set_params(max_parents=1, knowledge=knowledge).fit(chain)
    assert model.adjacency_matrix_[:2, 2].all()


@pytest.mark.parametrize("required", [[("c", "a")], [("a", "c"), ("b", "c")]])
def test_exact_search_and_posterior_keep_required_edges(required, chain):
    options = {"hidden_units": 2, "n_restarts": 1, "noise_distribution": "gaussian", "search": "exact"}
    model = HNMSearch(**options, knowledge={"required": required})
    found = edges(model.fit(chain).adjacency_matrix_)
    assert found >= set(required)
    drawn = posterior(model, n_samples=50)
    for cause, effect in required:
        assert drawn.edge_probability["abc".index(cause), "abc".index(effect)] == 1.0
    assert np.isfinite(drawn.edge_probability).all()


def test_names_indices_and_patterns():
    names = ["gene_1", "gene_2", "age", "y"]
    rules = Knowledge(forbidden=[("gene_*", "gene_*")], required=[(2, "y")], leaves=["y"]).rules(names)
    expected = np.eye(4, dtype=bool)
    expected[0, 1] = expected[1, 0] = True
    expected[3] = True
    assert_array_equal(rules.forbidden, expected)
    assert_array_equal(np.argwhere(rules.required), [[2, 3]])


def test_a_label_that_is_a_pattern_means_the_label():
    rules = Knowledge(roots=["x[1]"]).rules(["x[1]", "x1"])
    assert_array_equal(rules.forbidden, [[True, False], [True, True]])


def test_tiers():
    """Variables in no tier are free; a pattern takes what no tier names."""
    rules = Knowledge(tiers=[["*"], ["c"]]).rules(["a", "b", "c"])
    assert edges(rules.forbidden & ~np.eye(3, dtype=bool)) == {("c", "a"), ("c", "b")}
    rules = Knowledge(tiers=[["a"], ["c"]]).rules(["a", "b", "c"])
    assert edges(rules.forbidden & ~np.eye(3, dtype=bool)) == {("c", "a")}


def test_required_paths_forbid_their_reverse():
    rules = Knowledge(required=[("a", "b"), ("b", "c")]).rules(["a", "b", "c", "d"])
    assert edges(rules.forbidden & ~np.eye(4, dtype=bool)) == {("b", "a"), ("c", "b"), ("c", "a")}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, "a -> b, b -> c, c -> a"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "a -> b is required, but forbidden by 'forbidden'"),
        ({"required": [("a", "b")], "roots": ["b"]}, "forbidden by 'roots'"),
        ({"required": [("a", "b")], "leaves": ["a"]}, "forbidden by 'leaves'"),
        ({"required": [("b", "a")], "tiers": [["a"], ["b"]]}, "forbidden by 'tiers'"),
        ({"required": [("b", "a")], "forbidden": [("b", "*")]}, "forbidden by 'forbidden'"),
        ({"required": [("a", "a")]}, "'a' cannot cause itself"),
        ({"tiers": [["a"], ["b"], ["a"]]}, "'a' is in tiers 1 and 3"),
        ({"hidden": [["a", "b", "c"], ["d", "e", "a"]]}, "'a' is a child of two hidden causes"),
        ({"hidden": [["a", "b", "c"]], "no_hidden": ["b"]}, "'b' is a child of two hidden causes, or of one and none"),
        ({"hidden": [["a", "b"]]}, "three children or more"),
    ],
)
def test_contradictions_are_named_at_once(parts, message):
    with pytest.raises(ValueError, match=message.replace("*", r"\*")):
        Knowledge(**parts)


def test_contradictions_that_need_the_table(chain):
    with pytest.raises(ValueError, match="a -> b is required, but forbidden by 'roots'"):
        Knowledge(required=[("a", "b")], roots=[1]).rules(["a", "b"])
    mask = np.ones((3, 3), dtype=bool)
    with pytest.raises(ValueError, match="forbidden by 'forbidden_edges'"):
        ICDH(knowledge={"required": [("a", "b")]}, forbidden_edges=mask).fit(chain)


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


def test_format_of_tetrad(tmp_path):
    (tmp_path / "k.txt").write_text(TETRAD)
    known = Knowledge.read(tmp_path / "k.txt")
    assert known.tiers == (("a", "b"), ("c",), ("d",), ("e",))
    assert known.required == (("b", "c"),)
    assert set(known.forbidden) == {("a", "d"), ("a", "b"), ("b", "a"), ("c", "e")}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("k.txt", "a b\n", "line 1.*/knowledge"),
        ("k.txt", "/knowledge\nforbiddirect\na b c\n", "line 3: 'a b c'"),
        ("k.txt", "/knowledge\naddtemporal\nx a b\n", "line 3: a tier begins with its number"),
        ("k.txt", "/knowledge\na b\n", "line 2"),
        ("k.json", "[1]", "object"),
        ("k.json", "{", "k.json"),
        ("k.toml", "tiers = [", "k.toml"),
        ("k.toml", "roots = 3", "k.toml: roots must be a list"),
        ("k.toml", "root = []", "no part 'root'"),
        ("k.toml", b"\xff\xfe", "not text"),
    ],
)
def test_malformed_files(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises((ValueError, TypeError), match=message):
        Knowledge.read(tmp_path / name)


def test_moves_leave_required_edges_alone():
    required = np.zeros((3, 3), dtype=bool)
    required[0, 1] = True
    kinds, causes, effects = legal_moves(((), (0,), (1,)), EdgeRules.of(np.eye(3, dtype=bool), required), 3)
    changes = kinds != KINDS.index("insert")
    assert [KINDS[kind] for kind in kinds[changes]] == ["delete", "reverse"]
    assert causes[changes].tolist() == [1, 1]
    assert effects[changes].tolist() == [2, 2]


def test_cycles_are_broken_around_required_edges():
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 5.0], [9.0, 0.0, 0.0]])
    required = np.zeros((3, 3), dtype=bool)
    required[0, 1] = True
    assert break_cycles(A).removed == [(0, 1)]
    kept = break_cycles(A, required)
    assert kept.removed == [(1, 2)]
    assert kept.adjacency[0, 1] == 1.0


def test_a_cycle_is_found():
    A = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]])
    assert find_cycle(A) == []
    A[2, 0] = 1
    cycle = find_cycle(A)
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {0, 1, 2}
    assert all(A[i, j] for i, j in pairwise(cycle))


def test_direction_of_what_is_known():
    X = hetero_chain(np.random.default_rng(0), 200)
    x, y = X[:, 0], X[:, 1]
    free = causal_direction(x, y, n_bags=2)
    assert free.direction == "x->y"
    known = causal_direction(x, y, n_bags=2, names=("dose", "cost"), knowledge={"required": [("cost", "dose")]})
    assert (known.direction, known.score, known.confidence) == ("y->x", free.score, np.inf)
    neither = causal_direction(x, y, n_bags=2, knowledge={"roots": ["x", "y"]})
    assert neither.direction == "undecided"


def test_command_line(tmp_path, capsys):
    write_table(tmp_path / "t.csv", hetero_chain(np.random.default_rng(0), 200), ["a", "b", "c"])
    (tmp_path / "k.json").write_text('{"roots": ["c"]}')
    arguments = [
        "fit",
        str(tmp_path / "t.csv"),
        "--method",
        "icdh",
        "--scaling",
        "standardize",
        "--knowledge",
        str(tmp_path / "k.json"),
    ]
    assert main([*arguments, "--require", "c,a", "--forbid", "b,*", "--tiers", "c; a b"]) == 0
    shown = capsys.readouterr().out
    assert "c -> a" in shown
    assert "b ->" not in shown
    assert "-> c" not in shown
    assert main([*arguments, "--require", "a,c"]) == 2
    assert "a -> c is required, but forbidden by 'roots'" in capsys.readouterr().err


def test_command_line_directions(tmp_path, capsys):
    """A path of required edges settles the direction of its ends."""
    write_table(tmp_path / "t.csv", hetero_chain(np.random.default_rng(0), 200), ["a", "b", "c"])
    assert main(["direction", str(tmp_path / "t.csv"), "--require", "c,b", "--require", "b,a"]) == 0
    shown = capsys.readouterr().out
    assert all(edge in shown for edge in ("b -> a", "c -> a", "c -> b"))
    pair = ["direction", str(tmp_path / "t.csv"), "--columns", "a", "b"]
    assert main([*pair, "--require", "c,b", "--forbid", "a,b"]) == 0
    assert "b -> a" in capsys.readouterr().out


def test_a_required_edge_at_a_constant_column_is_in_the_graph(chain):
    values = np.array(chain.values)
    values[:, 1] = 1.0
    for model in ESTIMATORS.values():
        with pytest.warns(DataWarning, match="constant column"):
            fitted = (
                clone(model)
                .set_params(knowledge={"required": [("c", "b"), ("b", "a")]})
                .fit(LabelledTable(values, ["a", "b", "c"]))
            )
        assert fitted.adjacency_matrix_[2, 1] > 0
        assert fitted.adjacency_matrix_[1, 0] > 0
        assert fitted.adjacency_matrix_[0, 2] == 0


def test_arrows_into_what_nothing_causes_are_asked_about(tmp_path, capsys):
    rng = np.random.default_rng(0)
    risk = rng.normal(size=300)
    age = risk**2 + 0.3 * rng.normal(size=300)
    lines = [",".join(f"{value:.6f}" for value in row) for row in zip(risk, age, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["risk,Age", *lines]), encoding="utf-8")
    assert main(["fit", str(tmp_path / "t.csv")]) == 0
    assert "can this be: risk -> Age? If nothing causes it, say --roots Age" in capsys.readouterr().err
    assert main(["fit", str(tmp_path / "t.csv"), "--roots", "Age"]) == 0
    out, err = capsys.readouterr()
    assert "can this be" not in err
    assert "-> Age" not in out
