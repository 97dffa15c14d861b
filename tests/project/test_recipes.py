"""The recipes of the page "In other libraries" do what it says, wherever their libraries are installed."""

import runpy

import pytest
from helpers import ROOT

RUN = runpy.run_path(str(ROOT / ".ci" / "recipes.py"))
FIRST, RECIPES = RUN["recipes"]()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("library", "block"), RECIPES, ids=[library for library, _ in RECIPES])
def test_a_recipe_works(library, block):
    if not RUN["is_installed"](library):
        pytest.skip(f"needs {library}")
    exec(FIRST + block, {"__name__": "recipe"})


def test_the_page_has_a_recipe_and_an_orientation_for_each_library():
    recipes, matrices = (
        ["scikit-learn", "networkx", "pgmpy", "DoWhy", "gcastle", "causal-learn"],
        ["gcastle", "dagma", "lingam", "causal-learn"],
    )
    assert [library for library, _ in RECIPES] == recipes + matrices
    assert all(4 <= len([line for line in block.splitlines() if line.strip()]) <= 10 for _, block in RECIPES[2:6])
