"""The private names of hidden causes that tests use, so that a move inside the package edits one file."""

from icdh._hidden_causes.district import Districts, extrapolated
from icdh._hidden_causes.linear import LinearGraphs, hidden_weights, sparse_and_low_rank
from icdh._hidden_causes.search import HiddenCauseSearch, HiddenGraph
