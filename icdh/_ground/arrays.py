"""Types of arrays, and of what randomness comes from."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
