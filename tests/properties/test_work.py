"""The guard of work: no fit of these tables takes more family fits, steps or rows than ``work.json`` says.

Time is measured in benchmarks; counts are the same on a busy machine.
If the work is wanted, run ``python tests/properties/test_work.py`` and say in the commit what it buys.
"""

import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import pytest
from support.work import counted_work

from icdh import ICDH, HNMSearch, Interventions, simulate
from icdh.files import LabelledTable

RECORD = Path(__file__).with_name("work.json")
MARGIN = 1.05


def simulated(nodes, edges_per_node, rows, seed, **options):
    graph = simulate.erdos_renyi(nodes, edges_per_node, random_state=seed)
    return simulate.simulate_sem(graph, rows, random_state=seed, **options).X


def hetero(nodes, edges_per_node, rows, seed):
    return simulated(nodes, edges_per_node, rows, seed, noise="softplus-shared")


def mixed(rows):
    """Numbers, grades, yes or no, and labels that cause one another."""
    rng = np.random.default_rng(11)
    age, region = rng.normal(size=rows), rng.integers(0, 4, size=rows)
    treated = age + rng.logistic(size=rows) > 0
    grade = np.digitize(age + 0.8 * (region == 2) + rng.logistic(size=rows), [-1.0, 0.5, 2.0])
    income = np.exp(0.4 * grade + 0.6 * treated + (0.3 + 0.2 * treated) * rng.normal(size=rows))
    columns = [income, region, treated, age, grade, np.round(3 + income + rng.normal(size=rows))]
    return LabelledTable(np.column_stack(columns), ["income", "region", "treated", "age", "grade", "visits"])


def with_zeros(X):
    """Half of the values of two columns are zero, the more likely the larger another column is."""
    X = np.exp(X / X.std(axis=0))
    X[X[:, 1] > np.median(X[:, 1]), 0] = 0.0
    X[X[:, 3] > np.median(X[:, 3]), 2] = 0.0
    return X


def experiment():
    rng = np.random.default_rng(4)
    condition = np.repeat(["none", "first", "second"], 200)
    first = np.where(condition == "first", 2.0, rng.normal(size=600))
    second = first**2 + rng.normal(size=600)
    third = np.where(condition == "second", 1.5, 1.0) * second + 0.5 * rng.normal(size=600)
    table = np.column_stack([third, first, second])
    return table, Interventions(condition, {"none": [], "first": [1], "second": None})


def fit_experiment():
    table, interventions = experiment()
    HNMSearch().fit(table, interventions=interventions)


FITS = {
    "dense, ten variables": lambda: HNMSearch().fit(hetero(10, 2, 500, 0)),
    "sparse, twenty variables": lambda: HNMSearch().fit(hetero(20, 1, 400, 5)),
    "linear, Laplace noise": lambda: HNMSearch().fit(
        simulated(8, 1, 400, 1, mechanism="linear", noise="homo-nv", distribution="laplace")
    ),
    "lines of varying spread": lambda: HNMSearch().fit(
        simulated(6, 1, 600, 2, mechanism="linear", noise="exp-bounded")
    ),
    "Gaussian processes": lambda: HNMSearch().fit(simulated(6, 2, 250, 0, mechanism="gp", noise="homo-nv")),
    "rounded": lambda: HNMSearch().fit(np.round(3 * hetero(6, 2, 400, 2))),
    "labels and grades": lambda: HNMSearch(kinds={"region": "categorical"}).fit(mixed(400)),
    "point masses": lambda: HNMSearch().fit(with_zeros(hetero(6, 1, 500, 8))),
    "experiment": fit_experiment,
    "groups": lambda: HNMSearch().fit(np.repeat(hetero(5, 1, 100, 9), 4, axis=0), groups=np.repeat(np.arange(100), 4)),
    "long": lambda: HNMSearch().fit(hetero(5, 1, 25_000, 3)),
    "all graphs": lambda: HNMSearch(search="exact").fit(hetero(5, 2, 300, 3)),
    "means told from spreads": lambda: HNMSearch().fit(hetero(6, 2, 400, 2)),
    "the same graph": lambda: HNMSearch().fit(hetero(6, 2, 400, 2)),
    "the article's method": lambda: ICDH().fit(hetero(8, 1, 500, 6)),
}


def work_of(fit):
    with counted_work() as counts, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()
    return dict(counts)


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_a_fit_takes_no_more_work_than_before(name):
    before, now = json.loads(RECORD.read_text())[name], work_of(FITS[name])
    assert min(now.values()) > 0
    more = {unit: f"{now[unit]} for {before[unit]}" for unit in before if now[unit] > MARGIN * before[unit]}
    assert not more, f"{more}; {__doc__.splitlines()[-1]}"


if __name__ == "__main__":
    counts = {name: work_of(fit) for name, fit in FITS.items()}
    RECORD.write_text(json.dumps(counts, indent=1) + "\n")
