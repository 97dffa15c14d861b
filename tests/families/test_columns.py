"""Columns recorded on a grid: spread over their cells, so that neither the grid nor its fineness decides an arrow."""

import numpy as np
import pandas as pd
import pytest
from helpers import cases, scores_of_columns, standardised, to_grid
from support.families import (
    READERS,
    CountResponse,
    GaussianResponse,
    OrdinalResponse,
    Reading,
    columns_of,
    fit_node,
    noise_gain,
)
from support.table import Table, fit_transform, heap, is_heaped, point_mass, point_masses
from support.utils import cells

from icdh import DataWarning, HNMSearch
from icdh.exceptions import collected_warnings


def advantage(x, y):
    """By how many nats x -> y beats y -> x."""
    values = standardised(x, y)
    columns = columns_of(values, Table.of(values.T).kinds)
    scores = scores_of_columns(columns, noise="auto", n_restarts=3)
    families = [(0, ()), (1, (0,)), (1, ()), (0, (1,))]
    scores.polish(families)
    for graph in (families[:2], families[2:]):
        scores.choose_noise(graph)
    forward_root, forward, backward_root, backward = scores(families)
    return backward_root + backward - forward_root - forward


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("side", ["cause", "effect"])
def test_ever_coarser_rounding_never_turns_an_arrow_round(seed, side):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=600)
    y = np.tanh(1.5 * x) + 0.5 * x**2 * (seed > 1) + (0.2 + 0.3 * np.abs(x)) * rng.normal(size=600)
    exact = advantage(x, y)
    assert exact > 50
    for levels in (20, 9, 4, 2):
        rounded = advantage(to_grid(x, levels), y) if side == "cause" else advantage(x, to_grid(y, levels))
        assert rounded > (0.5 if levels >= 9 else -0.35) * exact


def test_finer_grids_than_the_noise_change_next_to_nothing():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    y = np.tanh(2 * x) + (0.2 + 0.3 * (x > 0)) * rng.normal(size=500)
    assert advantage(np.round(x, 2), np.round(y, 2)) == pytest.approx(advantage(x, y), abs=8)


@pytest.mark.parametrize("rows", [6000, pytest.param(30_000, marks=pytest.mark.slow)])
def test_independent_columns_of_whole_numbers_have_no_edge(rows):
    """Places that are even in every cell lost 75 nats of noise to any cause, whose means move them."""
    for seed in range(2):
        rng = np.random.default_rng([rows, seed])
        school = np.clip(np.round(12.0 + 2.5 * rng.normal(size=rows)), 6.0, 20.0)
        table = {"region": np.array(list("NSEW"))[rng.integers(4, size=rows)], "school": school}
        table["age"] = rng.integers(18, 80, size=rows)
        model = HNMSearch(kinds={"region": "categorical"}).fit(pd.DataFrame(table))
        assert not model.edge_list()


def test_every_value_stands_for_the_cell_half_way_to_its_neighbours():
    low, high = cells(np.array([3.0, 1.0, 3.0, 1.0, 9.0]))
    np.testing.assert_array_equal(low, [2.0, 0.0, 2.0, 0.0, 9.0])
    np.testing.assert_array_equal(high, [6.0, 2.0, 6.0, 2.0, 9.0])


def test_the_likelihood_of_a_cell_is_the_mean_over_it():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1, 300))
    y = np.round(x[0] + 0.5 * rng.normal(size=300))
    low, high = cells(y)
    target = GaussianResponse.over_cells(low, high, [y], None)
    theta = fit_node(x, target, precision_updates=0).theta
    penalty, factor = np.zeros(theta.size), np.empty((theta.size,) * 2)

    def objective(target):
        return target.minimiser(x, 5)(theta.copy(), penalty, 0, (0, 0.0, 1), factor)[0]

    shares = (np.arange(200) + 0.5) / 200
    mean = np.mean([objective(GaussianResponse.exact(low + share * (high - low), None)) for share in shares])
    assert objective(target) == pytest.approx(mean, rel=1e-4)


def test_transformed_columns_have_the_likelihood_of_the_values_as_they_were():
    """Evidence of the transformed column plus the log Jacobian: that of a log-normal density of the values."""
    values = standardised(np.exp(np.random.default_rng(2).normal(size=2000)))
    columns, plain = columns_of(values, ["continuous"], "log"), columns_of(values, ["continuous"])
    transformed = -fit_node(values[:0], columns.responses[0]).evidence + columns.log_jacobian
    gain = transformed + fit_node(values[:0], plain.responses[0]).evidence
    deviation = np.exp(0.5) * np.sqrt(np.expm1(1.0))  # of the log-normal; the two entropies differ by its logarithm
    assert gain / 2000 == pytest.approx(np.log(deviation), abs=0.2)
    np.testing.assert_allclose(columns.causes.std(axis=1), 1.0)


@pytest.mark.parametrize("n", [200, 2000])
def test_the_parameter_of_a_transform_costs_half_the_logarithm_of_the_observations(n):
    values = standardised(np.exp(np.random.default_rng(2).normal(size=n)))
    chosen = fit_transform("yeo-johnson", values[0], values[0].min(), None)
    gain = chosen.log_slope(values[0]).sum() - n * np.log(chosen.apply(values[0]).std())
    found = columns_of(values, ["continuous"], "yeo-johnson").log_jacobian
    assert found == pytest.approx(gain - 0.5 * np.log(n), abs=1e-6)


def test_a_point_mass_gets_a_wide_cell():
    rng = np.random.default_rng(3)
    x = np.where(rng.random(1000) < 0.4, 0.0, rng.normal(size=1000))
    values = standardised(x)
    (target,) = columns_of(values, ["gridded"]).responses
    zero = x == 0.0
    within = target.samples[0][zero] - values[0, zero]
    assert np.ptp(within) > 0.1
    assert within.max() == pytest.approx(-within.min(), rel=0.05)
    np.testing.assert_array_equal(target.samples[0][~zero], values[0, ~zero])
    assert np.isfinite(fit_node(values[:0], target).evidence)


def test_kinds_are_guessed_declared_and_reported():
    rng = np.random.default_rng(4)
    length, age, grade = rng.normal(size=300), rng.integers(20, 70, size=300), rng.integers(1, 6, size=300)
    frame = pd.DataFrame({"length": length, "age": age, "grade": grade, "smokes": rng.random(300) < 0.3})
    assert Table.of(frame.assign(site=1.0)).kinds == ["continuous", "gridded", "ordinal", "binary", "constant"]
    with pytest.warns(DataWarning, match="read as grades: 'grade'; mere codes"):
        model = HNMSearch(n_restarts=1).fit(frame)
    assert model.kinds_ == Table.of(frame).kinds
    model = HNMSearch(n_restarts=1, kinds={"grade": "gridded", 3: "binary", "age": "continuous"}).fit(frame)
    assert model.kinds_ == ["continuous", "continuous", "gridded", "binary"]
    kinds = [type(target) for target in columns_of(standardised(*frame.to_numpy(float).T), model.kinds_).responses]
    assert kinds == [GaussianResponse, GaussianResponse, GaussianResponse, OrdinalResponse]


@cases(
    ("kinds", "error", "message"),
    ({"x9": "binary"}, ValueError, "kinds has the variable 'x9', which is not one of x0"),
    ({"x0": "nominal"}, ValueError, r"kinds\['x0'\] must be one of"),
    ({"x0": "binary"}, ValueError, "'binary', but the column holds 100 different values"),
    ({0: "ordinal"}, ValueError, "'ordinal', but the column holds 100 different values, more than 50"),
    (["continuous"], TypeError, "kinds must map columns to kinds, got list"),
)
def test_wrong_kinds_are_named(kinds, error, message):
    with pytest.raises(error, match=message):
        HNMSearch(kinds=kinds).fit(np.random.default_rng(0).normal(size=(100, 2)))


def test_binary_effects_and_rounded_columns_are_found_whatever_the_order_and_sign():
    rng = np.random.default_rng(5)
    x = rng.normal(size=800)
    y = np.round(4 * (np.tanh(2 * x) + (0.1 + 0.3 * (x > 0)) * rng.normal(size=800)))
    probability = 1 / (1 + np.exp(-y))
    X = np.column_stack([x, y, rng.random(800) < probability]).astype(float)
    kinds = {1: "gridded", 2: "binary"}
    model = HNMSearch(kinds=kinds).fit(X)
    assert np.array_equal(model.adjacency_matrix_ != 0, np.eye(3, k=1))
    turned = HNMSearch(kinds={1: "gridded", 0: "binary"}).fit(X[:, ::-1])
    np.testing.assert_array_equal(turned.adjacency_matrix_, model.adjacency_matrix_[::-1, ::-1])
    mirrored = HNMSearch(kinds=kinds).fit(X * [-2.0, -3.0, -1.0] + [5.0, 1.0, 0.0])
    np.testing.assert_allclose(mirrored.adjacency_matrix_, model.adjacency_matrix_, rtol=0.01, atol=0.1)
    assert np.isfinite(model.score(X))
    assert np.abs(model.predict(X)[:, 2] - probability).max() < 0.25


@cases(
    ("spoiled", "found"),
    (lambda x, rng: np.maximum(x, np.quantile(x, 0.2)), True),  # censored
    (lambda x, rng: np.where(rng.random(x.size) < 0.1, 0.0, x), True),  # zeros put in
    (lambda x, rng: np.where(rng.random(x.size) < 0.3, 0, rng.poisson(20, size=x.size)), True),
    (lambda x, rng: np.where(rng.random(x.size) < 0.06, np.median(x), x), True),
    (lambda x, rng: np.where(rng.random(x.size) < 0.06, x.min() - 0.2, x), True),
    (lambda x, rng: np.where(rng.random(x.size) < 0.03, 0.0, x), False),
    (lambda x, rng: np.where(np.abs(x - 0.3) < 0.1, 0.3, x), False),  # rounded where it is near
    (lambda x, rng: np.where(rng.random(x.size) < 0.3, np.round(2 * x) / 2, x), False),  # some rows rounded
    (lambda x, rng: np.round(x, 1), False),
    (lambda x, rng: np.round(2 * np.exp(x)), False),
    (lambda x, rng: rng.geometric(0.4, size=x.size), False),
    (lambda x, rng: np.zeros_like(x), False),
)
def test_point_masses_are_told_from_grids(spoiled, found):
    rng = np.random.default_rng(0)
    x = spoiled(rng.normal(size=1000), rng)
    mass = point_mass(x)
    assert (mass is not None) == found
    if found:
        assert mass.share == np.mean(x == mass.value) == point_mass(7.0 - 3.0 * x).share


def reported_at_round_numbers(x, rng):
    """Return a number a day: half of it in tens, a quarter in fives."""
    exact, how = np.round(20.0 + 7.0 * x).clip(0), rng.random(x.size)
    return np.where(how < 0.5, 10 * np.round(exact / 10), np.where(how < 0.75, 5 * np.round(exact / 5), exact))


def test_few_values_at_heaps_are_no_heaps():
    exact, heaps = np.arange(400.0), np.arange(20.0, 400.0, 20.0)
    assert not is_heaped(np.append(exact, np.repeat(heaps[::6], 20)))
    assert is_heaped(np.append(exact, np.repeat(heaps, 20)))


@pytest.mark.parametrize(("n_values", "in_heap", "heaped"), [(9, 10, False), (10, 9, False), (10, 10, True)])
def test_heaps_are_ten_rows_each_among_ten_values(n_values, in_heap, heaped):
    counts = np.full(n_values, 3)
    counts[1:9:3] = in_heap
    assert is_heaped(np.repeat(np.arange(float(n_values)), counts)) == heaped


@pytest.mark.parametrize("seed", range(5))
def test_values_rounded_to_heaps_seem_no_other_noise(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(10.0, 2.0, size=1000)
    heaped = np.where(rng.random(1000) < 0.4, np.round(x), np.round(x, 2))
    fine, rounded = (columns_of(standardised(y), ["gridded"]).responses[0].samples for y in (np.round(x, 2), heaped))
    of_fine, of_rounded = (noise_gain(samples, "free", None)[0] for samples in (fine, rounded))
    assert abs(of_rounded - of_fine) < 15.0  # 220 to 290 more, if every value has its own cell


@pytest.mark.parametrize("seed", [0, 2])
def test_heaps_among_heaps_hide_no_cause(seed):
    """Wages an hour of salaries that are told in hundreds and thousands a year."""
    rng = np.random.default_rng(seed)
    causes = np.stack([rng.integers(0, 2, 6000), rng.integers(25, 60, 6000)], axis=1).astype(float)
    salary = np.exp(10.3 + causes @ [0.2, 0.01] + 0.5 * rng.normal(size=6000))
    step = rng.choice([1, 500, 1000, 5000, 10_000], 6000, p=[0.1, 0.15, 0.3, 0.25, 0.2])
    tables = [np.column_stack([wages / 2080, causes]) for wages in (salary, step * np.round(salary / step))]
    exact, heaped = (HNMSearch(knowledge={"roots": [1, 2]}).fit(table).adjacency_matrix_[1:, 0] for table in tables)
    assert (exact > 80.0).all()
    assert (heaped > 0.75 * exact).all()  # before, none


@pytest.mark.parametrize("seed", range(10))
def test_heaps_are_told_from_grids(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=500)
    smooth = np.round(5 * x), np.round(2 * np.exp(x)), np.where(x < 0.5, 0.0, np.round(9 * x)), rng.poisson(9, size=500)
    assert not any(is_heaped(grid) for grid in smooth)
    heaped = reported_at_round_numbers(x, rng)
    assert is_heaped(heaped)
    assert is_heaped(70.0 - 0.1 * heaped)
    assert Table.of(np.column_stack([x, heaped])).kinds == ["continuous", "ordinal"]


def test_an_edge_to_heaps_is_found():
    rng = np.random.default_rng(0)
    group = (rng.random(1000) < 0.5).astype(float)
    day = reported_at_round_numbers(0.6 * group + rng.normal(size=1000), rng)
    with pytest.warns(DataWarning, match="as grades"):
        found = HNMSearch(knowledge={"roots": [0]}).fit(np.column_stack([group, day]))
    assert found.adjacency_matrix_[0, 1] > 10.0  # before, it gained nothing


def test_point_masses_are_named_and_found_beside_the_largest_numbers():
    rng = np.random.default_rng(1)
    spend = np.maximum(rng.normal(size=(400, 1)), 0.25)
    with pytest.warns(DataWarning, match=r"point mass.*'x1' \(0.25 in 65 % of the rows\)"):
        Table.of(np.hstack([rng.normal(size=(400, 1)), spend])).warn()
    far = 1.2e308 * np.linspace(1.0, 1.1, 10)
    assert point_mass(np.concatenate([-far, np.zeros(50), far])).value == 0.0


@pytest.mark.parametrize("transform", ["log", "yeo-johnson"])
def test_one_value_beside_a_point_mass_is_not_transformed(transform):
    """As a context of an experiment: zeros, and ones."""
    values = np.repeat([0.0, 1.0], [300, 40])
    values = (values - values.mean()) / values.std()
    read = columns_of(values[np.newaxis], ["continuous"], transform, masses=[[float(values[0])]])
    assert read.transforms[0].transform.kind == "none"
    np.testing.assert_allclose(read.causes[0], values, atol=1e-9)


@pytest.mark.parametrize("transform", ["none", "log", "yeo-johnson"])
def test_numbers_beside_a_point_mass_have_their_place_among_all_values(transform):
    values = standardised(np.maximum(np.exp(np.random.default_rng(4).normal(size=500)), 0.7))
    read = columns_of(values, ["continuous"], transform, masses=[[values.min()]])
    response, column = read.responses[0], values[0] if transform == "none" else read.causes[0]
    dense, law = response.masses == 0, response.law
    np.testing.assert_allclose(law.offset + law.scale * response.numbers.centre[dense], column[dense], atol=1e-12)
    np.testing.assert_allclose(law.masses, column[~dense][:1], atol=1e-12)
    assert transform != "log" or read.transforms[0].transform.low == values.min()


class WithDensity(CountResponse):
    density = GaussianResponse.exact(np.zeros(8), None).density


@pytest.mark.parametrize("differs", ["weights", "a density"])
def test_a_reader_that_contradicts_its_column_is_refused(monkeypatch, differs):
    counts, weights = np.arange(8.0), np.arange(1.0, 9.0)
    response = CountResponse(counts, None) if differs == "weights" else WithDensity(counts, weights)
    monkeypatch.setitem(READERS, "count", lambda column: Reading(column.values[np.newaxis], response))
    with pytest.raises(TypeError, match=f"of a count column has {differs}"):
        columns_of(counts[np.newaxis], ["count"], weights=weights)


def schooling(rng, share, rows=3000):
    """Return a cause, and years of school from 8 to 18 of which a share is set to 12."""
    x = rng.normal(size=rows)
    years = np.clip(np.round(13.0 + 0.8 * x + 2.0 * rng.normal(size=rows)), 8.0, 18.0)
    years[rng.random(rows) < share] = 12.0
    return x, years


@pytest.mark.parametrize(("share", "is_heap"), [(0.0, False), (0.1, False), (0.3, True), (0.35, True), (0.6, False)])
def test_a_heap_inside_a_column_that_may_hide_its_causes_is_named(share, is_heap):
    """Rarer ones hide no cause; more frequent ones are point masses."""
    x, years = schooling(np.random.default_rng(0), share)
    of = heap(years, 50)
    assert (of is not None and of.value == 12.0) == is_heap
    with collected_warnings() as said:
        HNMSearch().fit(pd.DataFrame({"x": x, "years": years}))
    heaps = [text for text, _ in said if "heap" in text]
    assert heaps == (
        [
            f"column with a heap: 'years' ({of}): noise explains it without causes, so that an arrow there may be "
            "missing or point the wrong way; compare kinds={'years': 'ordinal'}"
        ]
        if is_heap
        else []
    )
    assert heap(-years, 50) == (None if of is None else of._replace(value=-12.0))
    assert heap(years, 10) is None  # there are eleven values
    assert heap(np.where(years == 12.0, 8.0, years), 50) is None  # at an end it may be a floor


def test_the_next_numbers_of_a_grid_are_what_a_frequent_one_is_held_against():
    _, years = schooling(np.random.default_rng(0), 0.45)
    assert point_masses(years) == [12.0]
