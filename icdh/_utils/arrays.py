"""Types that the whole package shares: of arrays, of tables as users have them, and of what randomness comes from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas

Value = TypeVar("Value")

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Cells: TypeAlias = NDArray[np.generic]  # of a type that is looked at first: numbers, texts, objects
RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
TableLike: TypeAlias = object  # array_like, or a frame of pandas, polars or pyarrow; checked where it is read
Observations: TypeAlias = "NDArray[Any] | pandas.DataFrame"  # what comes back, as the table of ``fit`` was
# Of a library that need not be installed, so that its types cannot be named: a frame, an index, a graph.
Foreign: TypeAlias = Any
# What users say of columns, by name or position. Mappings are invariant in their keys: one of `Hashable` would refuse a
# dictionary of texts.
ByColumn: TypeAlias = Mapping[Any, Value]
