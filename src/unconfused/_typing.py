"""The few types the whole package shares."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]
"""Class labels as the user wrote them: integers, strings, booleans."""

Rows: TypeAlias = Any
"""A feature matrix: a dense array or a SciPy CSR matrix or array."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None

__all__ = ["ArrayLike", "BoolArray", "FloatArray", "IntArray", "Labels", "Rows", "Seed"]
