"""Arrays of any library that follows the array API standard, and sums over their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 64 * 2**20
"""Rows are turned into the precise type, and summed by cell, in blocks of about this size."""


@dataclass(frozen=True)
class ArraySpace:
    """Where arrays live.

    Parameters
    ----------
    xp : the functions of their library, as the array API standard names them
    device : the device they are on
    to_host : turns one of them into a NumPy array
    """

    xp: Any
    device: Any
    to_host: Callable[[Any], NDArray[Any]]

    @cached_property
    def precise(self) -> Any:
        """The type sums are made in: float64, or float32 on a device that has no other."""
        known = self.xp.__array_namespace_info__().dtypes(kind="real floating", device=self.device)
        return known.get("float64", known["float32"])

    def put(self, array: NDArray[Any]) -> Any:
        """Copy a NumPy array here; floats become precise."""
        dtype = self.precise if array.dtype.kind == "f" else None
        # A copy: the array here must not change when the one it came from does.
        return self.xp.asarray(
            np.ascontiguousarray(array), dtype=dtype, device=self.device, copy=True
        )

    def zeros(self, *shape: int) -> Any:
        """Return zeros of the precise type."""
        return self.xp.zeros(shape, dtype=self.precise, device=self.device)

    def indices(self, n: int) -> Any:
        """Return 0 .. n - 1."""
        return self.xp.arange(n, dtype=self.xp.int64, device=self.device)

    def exact(self, array: Any) -> Any:
        """Return an array in the precise type; itself if it has that already."""
        return self.xp.astype(array, self.precise, copy=False)

    def sum_by_cell(self, values: Any, cells: Any, n_cells: int) -> Any:
        """Sum the rows of `values` that are in the same cell, (n_cells, columns).

        The standard has no scattered sum. Sorted by cell, the sum over a cell is the difference
        of two running sums.
        """
        xp = self.xp
        order = xp.argsort(cells)
        edges = xp.searchsorted(xp.take(cells, order, axis=0), self.indices(n_cells + 1))
        at_edges = xp.take(self._running_sums(xp.take(values, order, axis=0)), edges, axis=0)
        return at_edges[1:, :] - at_edges[:-1, :]

    def _running_sums(self, values: Any) -> Any:
        """Return the sums of the first 0, 1, 2, ... rows of `values`.

        Within runs of rows, then over the runs: on a GPU a column's running sum is one thread's
        work, so there must be many short ones.
        """
        xp, (n_rows, columns) = self.xp, values.shape
        length = isqrt(n_rows) + 1  # rows 0 to n_rows, the first of them empty, in runs of this
        first, last = self.zeros(1, columns), self.zeros(length * length - n_rows - 1, columns)
        runs = xp.reshape(xp.concat([first, values, last]), (length, length, columns))
        within = xp.cumulative_sum(runs, axis=1)
        before = xp.cumulative_sum(within[:, -1, :], axis=0) - within[:, -1, :]
        return xp.reshape(within + before[:, None, :], (length * length, columns))


def blocks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Cut rows into runs that fit into `BLOCK_BYTES` as float64."""
    size = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)
