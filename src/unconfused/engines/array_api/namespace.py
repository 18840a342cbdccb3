"""Array API namespaces, and sums over rows with standard functions only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 64 * 2**20
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

        The standard has no scatter-add. With rows sorted by cell, the sum over a cell is a
        difference of two cumulative sums.
        """
        xp = self.xp
        order = xp.argsort(cells)
        edges = xp.searchsorted(xp.take(cells, order, axis=0), self.indices(n_cells + 1))
        at_edges = xp.take(self._running_sums(xp.take(values, order, axis=0)), edges, axis=0)
        return at_edges[1:, :] - at_edges[:-1, :]

    def _running_sums(self, values: Any) -> Any:
        """Return the sums of the first 0, 1, 2, ... rows of `values`.

        In two levels, within runs of rows and over the runs: on a GPU one thread computes the
        cumulative sum of a column, so many short ones are faster.
        """
        xp, (n_rows, columns) = self.xp, values.shape
        length = isqrt(n_rows) + 1  # of a run; there are n_rows + 1 sums, the first of them 0
        first, last = self.zeros(1, columns), self.zeros(length * length - n_rows - 1, columns)
        runs = xp.reshape(xp.concat([first, values, last]), (length, length, columns))
        within = xp.cumulative_sum(runs, axis=1)
        before = xp.cumulative_sum(within[:, -1, :], axis=0) - within[:, -1, :]
        return xp.reshape(within + before[:, None, :], (length * length, columns))


def blocks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of blocks of rows that fit into `BLOCK_BYTES` as float64."""
    size = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)
