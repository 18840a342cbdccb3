"""Array API namespaces, and sums over rows with standard functions only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 256 * 2**20
"""Approximate size of the blocks in which rows are converted and summed."""


@dataclass(frozen=True)
class ArraySpace:
    """Namespace and device of an array, and a function that converts it to NumPy."""

    xp: Any
    device: Any
    to_host: Callable[[Any], NDArray[Any]]

    @cached_property
    def precise(self) -> Any:
        """Data type of sums: float64, or float32 on a device without it."""
        known = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return known.get("float64", known["float32"])

    def put(self, array: NDArray[Any]) -> Any:
        """Copy a NumPy array to the device; floats become `precise`."""
        dtype = self.precise if array.dtype.kind == "f" else None
        # Always a copy: on the CPU, the result could share memory with the argument.
        return self.xp.asarray(
            np.ascontiguousarray(array), dtype=dtype, device=self.device, copy=True
        )

    def zeros(self, *shape: int) -> Any:
        """Return zeros of type `precise`."""
        return self.xp.zeros(shape, dtype=self.precise, device=self.device)

    def indices(self, n: int) -> Any:
        """Return 0 .. n - 1."""
        return self.xp.arange(n, dtype=self.xp.int64, device=self.device)

    def exact(self, array: Any) -> Any:
        """Convert an array to `precise`, without a copy if it is that already."""
        return self.xp.astype(array, self.precise, copy=False)

    def sum_by_cell(self, values: Any, cells: Any, n_cells: int) -> Any:
        """Sum the rows of `values` by cell, (n_cells, columns).

        The standard has no scatter-add. A product with indicators of the cells takes more
        operations than sums over sorted rows, but few and large ones, which suit a GPU.
        """
        indicators = self.exact(cells[:, None] == self.indices(n_cells)[None, :])
        return indicators.T @ values


def blocks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of blocks of rows that fit into `BLOCK_BYTES` as float64."""
    size = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)
