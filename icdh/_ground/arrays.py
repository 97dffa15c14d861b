"""Types that the whole package shares: of arrays, of tables as users have them, and of what randomness comes from."""

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value")

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Cells: TypeAlias = NDArray[np.generic]  # of a type that is looked at first: numbers, texts, objects
RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
TableLike: TypeAlias = object  # array_like, or a frame of pandas, polars or pyarrow; checked where it is read
# Of a library that need not be installed, so that its types cannot be named: a frame, an index, axes, a graph. What
# comes back as an array or a frame, as the table of ``fit`` was, is one as well.
Foreign: TypeAlias = Any
# What users say of columns, by name or position. Mappings are invariant in their keys: one of `Hashable` would refuse a
# dictionary of texts.
ByColumn: TypeAlias = Mapping[Any, Value]
