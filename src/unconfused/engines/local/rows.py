"""Common interface to dense and CSR rows.

Only this module and `kernels/rows.py` distinguish the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray
from unconfused._typing import Rows as Matrix

if TYPE_CHECKING:
    from unconfused.engines.base import RowMap

BLOCK_BYTES = 16 * 2**20
"""Approximate size of a block of float64 rows, and of its products with vectors."""


class DenseRows:
    """Features of the rows, without the intercept: a C-ordered array, used without a copy.

    `stored` are the underlying arrays, as the compiled loops expect them, and `longest` is the
    largest number of stored entries in a row.
    """

    brings_threads = True
    """Whether products with a matrix are already multithreaded (BLAS)."""

    def __init__(self, X: Matrix) -> None:
        self._X = X
        self.stored: tuple[Any, ...] = (X,)
        self.n_rows, self.n_columns = map(int, X.shape)
        self.n_entries, self.dtype = int(X.size), X.dtype
        self.score_dtype = X.dtype  # mixed precision would copy the rows
        self.longest = X.shape[1]

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        """Write the scores of rows start..stop for weights of shape (features, Q)."""
        rows = self._X[start:stop]
        if np.abs(weights).max(initial=0.0) < np.finfo(self.dtype).max:
            np.matmul(rows, weights.astype(self.dtype, copy=False), out=out)
        else:  # weights of tiny rows need not fit their type; scores do
            out[:] = rows.astype(np.float64) @ weights

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        """Add ``X[start:stop].T @ values`` to out, (features, Q)."""
        out += (values.T @ self._X[start:stop]).T

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 array."""
        return self._X[start:stop].astype(np.float64, copy=False)

    def mapped(self, change: RowMap) -> Any:
        """Return changed copies of the rows."""
        return mapped_copy(self, change)


class SparseRows:
    """The same for a CSR matrix or array."""

    brings_threads = False

    def __init__(self, X: Matrix) -> None:
        self._X = X
        # Unsigned: compiled loops check every index that may be negative for wraparound.
        places = (index.view(f"u{index.itemsize}") for index in (X.indices, X.indptr))
        self.stored: tuple[Any, ...] = X.data, *places
        self.n_rows, self.n_columns = map(int, X.shape)
        self.n_entries, self.dtype = int(X.nnz), X.dtype
        self.score_dtype = np.dtype(np.float64)
        self.longest = int(np.diff(X.indptr).max(initial=0))

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        from unconfused.engines.local.kernels.likelihood import sparse_scores

        sparse_scores(self.stored, weights, start, stop, out)

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        from unconfused.engines.local.kernels.likelihood import sparse_outer

        sparse_outer(self.stored, values, start, stop, out)

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 CSR array."""
        pointers = self._X.indptr[start : stop + 1]
        entries = slice(pointers[0], pointers[-1])
        data = self._X.data[entries].astype(np.float64, copy=False)
        parts = (data, self._X.indices[entries], pointers - pointers[0])
        return sparse.csr_array(parts, shape=(stop - start, self.n_columns))

    def mapped(self, change: RowMap) -> Any:
        """Return changed copies of the rows; scaled ones share the indices of these."""
        if change.matrix.ndim > 1:
            return mapped_copy(self, change)
        data = (self._X.data * change.matrix[self._X.indices]).astype(self.dtype, copy=False)
        parts = (data, self._X.indices, self._X.indptr)
        return sparse.csr_array(parts, shape=(self.n_rows, self.n_columns))


Rows: TypeAlias = DenseRows | SparseRows


def wrap_rows(X: Any) -> Rows:
    """Wrap an array or CSR matrix without copying it."""
    return SparseRows(X) if sparse.issparse(X) else DenseRows(X)


def mapped_copy(rows: Rows, change: RowMap) -> Any:
    """Return changed copies of the rows as an array of their type.

    Copies of memory-mapped rows are in a temporary file, deleted when they are no longer used.
    """
    shape = (rows.n_rows, rows.n_columns)
    if isinstance(rows.stored[0], np.memmap):
        with TemporaryFile() as file:  # the mapping outlives the handle
            mapped: Any = np.memmap(file, dtype=rows.dtype, shape=shape)
    else:
        mapped = np.empty(shape, dtype=rows.dtype)
    for start, stop in row_blocks(0, rows.n_rows, rows.n_columns):
        mapped[start:stop] = change.apply(rows.block(start, stop))
    return mapped


def row_blocks(first: int, last: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of blocks of rows of about `BLOCK_BYTES`."""
    size = max(256, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(first, last, size):
        yield start, min(start + size, last)
