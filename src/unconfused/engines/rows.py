"""Rows in memory, dense or CSR, behind one small interface.

This is where the two differ; nothing above this file knows which it has.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray
from unconfused._typing import Rows as Matrix

WORTH_A_THREAD = 200_000
"""Stored entries per thread below which starting a thread costs more than it saves."""


class Rows(Protocol):
    """Rows of features, without the intercept's constant."""

    n_rows: int
    n_columns: int
    n_entries: int
    brings_threads: bool
    """Whether products with many vectors at once use several threads by themselves."""

    def dot(self, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write the products of rows start..stop with a vector."""
        ...

    def squared_norms(self, start: int, stop: int, out: FloatArray) -> None:
        """Write the squared norms of rows start..stop."""
        ...

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        ...

    def scores(self, weights: FloatArray, start: int, stop: int) -> Any:
        """Return the products of rows start..stop with weights, (features, Q)."""
        ...

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        """Add the products of rows start..stop with their values to out, (features, Q)."""
        ...

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 array, or CSR array, to calculate with."""
        ...


class DenseRows:
    """A C-ordered array, float32 or float64, used in place."""

    def __init__(self, X: Matrix) -> None:
        from unconfused.engines import _kernels

        self._kernels = _kernels
        self._X = X
        self.n_rows, self.n_columns = X.shape
        self.n_entries = X.size
        self.brings_threads = True

    def dot(self, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write the products of rows start..stop with a vector."""
        self._kernels.dense_dot(self._X, vector, start, stop, out)

    def squared_norms(self, start: int, stop: int, out: FloatArray) -> None:
        """Write the squared norms of rows start..stop."""
        self._kernels.dense_squared_norms(self._X, start, stop, out)

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        self._kernels.dense_add(self._X, rows, cells, weights, sums)

    def scores(self, weights: FloatArray, start: int, stop: int) -> Any:
        """Return the products of rows start..stop with weights, (features, Q)."""
        # In the rows' own precision: a product in another one would copy the rows.
        return self._X[start:stop] @ weights.astype(self._X.dtype, copy=False)

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        """Add the products of rows start..stop with their values to out, (features, Q)."""
        out += (values.T @ self._X[start:stop]).T

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 array."""
        return self._X[start:stop].astype(np.float64, copy=False)


class SparseRows:
    """A CSR matrix or array, float32 or float64, used in place."""

    def __init__(self, X: Matrix) -> None:
        from unconfused.engines import _kernels

        self._kernels = _kernels
        self._data, self._indices, self._indptr = X.data, X.indices, X.indptr
        self.n_rows, self.n_columns = X.shape
        self.n_entries = X.nnz
        self.brings_threads = False

    def dot(self, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write the products of rows start..stop with a vector."""
        self._kernels.sparse_dot(self._data, self._indices, self._indptr, vector, start, stop, out)

    def squared_norms(self, start: int, stop: int, out: FloatArray) -> None:
        """Write the squared norms of rows start..stop."""
        self._kernels.sparse_squared_norms(self._data, self._indptr, start, stop, out)

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        self._kernels.sparse_add(
            self._data, self._indices, self._indptr, rows, cells, weights, sums
        )

    def scores(self, weights: FloatArray, start: int, stop: int) -> Any:
        """Return the products of rows start..stop with weights, (features, Q)."""
        out = np.empty((stop - start, weights.shape[1]))
        self._kernels.sparse_scores(
            self._data, self._indices, self._indptr, weights, start, stop, out
        )
        return out

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        """Add the products of rows start..stop with their values to out, (features, Q)."""
        self._kernels.sparse_outer(
            self._data, self._indices, self._indptr, values, start, stop, out
        )

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 CSR array."""
        pointers = self._indptr[start : stop + 1]
        entries = slice(pointers[0], pointers[-1])
        data = self._data[entries].astype(np.float64, copy=False)
        parts = (data, self._indices[entries], pointers - pointers[0])
        return sparse.csr_array(parts, shape=(stop - start, self.n_columns))


def wrap_rows(X: Any) -> Rows:
    """Put the interface over an array or a CSR matrix, without copying it."""
    return SparseRows(X) if sparse.issparse(X) else DenseRows(X)


class RowThreads:
    """Runs a loop over rows on a few threads, each taking one run of rows."""

    def __init__(self, n_threads: int, rows: Rows) -> None:
        worth = max(1, rows.n_entries // WORTH_A_THREAD)
        self._n_threads = max(1, min(n_threads, worth, rows.n_rows))
        edges = np.linspace(0, rows.n_rows, self._n_threads + 1).astype(int).tolist()
        self._runs = list(pairwise(edges))
        self._pool = ThreadPoolExecutor(self._n_threads) if self._n_threads > 1 else None

    def __call__(self, loop: Callable[[int, int], None]) -> None:
        """Call ``loop(start, stop)`` so that every row is covered once."""
        if self._pool is None:
            loop(*self._runs[0])
            return
        for done in [self._pool.submit(loop, *run) for run in self._runs]:
            done.result()
