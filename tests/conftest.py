import numpy as np
import pytest
from helpers import hetero_chain

from icdh import ICDH
from icdh.files import LabelledTable


@pytest.fixture(scope="session")
def chain():
    """400 observations of x0 -> x1 -> x2, columns named a, b, c."""
    return LabelledTable(hetero_chain(np.random.default_rng(0), 400), ["a", "b", "c"])


@pytest.fixture(scope="session")
def fitted(chain):
    """Fitted to the chain; tests must not change it."""
    return ICDH(scaling="standardize", random_state=0).fit(chain)
