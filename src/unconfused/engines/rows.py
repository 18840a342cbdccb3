"""Rows in memory, dense or CSR, behind one small interface.

This is where the two differ; nothing above this file knows which it has.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray
from unconfused._typing import Rows as Matrix

FEW_MOVERS = 16
"""Sparse rows up to which multiplying them by all rows of a region beats summing the region."""


class Rows(Protocol):
    """Rows of features, without the intercept's constant."""

    n_rows: int
    n_columns: int
    n_entries: int
    entries_per_row: int
    dtype: Any
    longest: int
    """Most entries any row stores."""

    dense: Any
    """The rows as an array; None if they are sparse."""

    brings_threads: bool
    """Whether products with many vectors at once use several threads by themselves."""

    def dot(self, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write the products of rows start..stop with a vector."""
        ...

    def squared_norms(self, start: int, stop: int, out: FloatArray) -> None:
        """Write the squared norms of rows start..stop."""
        ...

    def look(self, *known: Any) -> None:
        """Look at rows: find, refresh, decide and place them; see `_look_kernels.look_dense`."""
        ...

    def look_afresh(self, *known: Any) -> None:
        """Do so with rows whose scores are not kept; see `_afresh_kernels.look_dense_afresh`."""
        ...

    def move_gram(
        self, members: IntArray, edges: IntArray, weights: FloatArray, movers: IntArray,
        mover_codes: IntArray, mover_weights: FloatArray, first_code: int, last_code: int,
        half: FloatArray,
    ) -> None:  # fmt: skip
        """Find half of how the products of one region's sums have grown, for some codes."""
        ...

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        ...

    def move(
        self, rows: IntArray, leaves: IntArray, joins: IntArray, weights: FloatArray,
        sums: FloatArray,
    ) -> None:  # fmt: skip
        """Let rows, times their weights, leave the sums of some cells and join those of others.

        Sums have the intercept's constant, if there is one, in their last column.
        """
        ...

    score_dtype: Any
    """What `scores` are calculated in."""

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        """Write the products of rows start..stop with weights, (features, Q)."""
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
        from unconfused.engines import (
            _afresh_kernels,
            _cell_kernels,
            _kernels,
            _look_kernels,
            _order_kernels,
        )

        self._kernels, self._look, self._cell = _kernels, _look_kernels, _cell_kernels
        self._order, self._afresh = _order_kernels, _afresh_kernels
        self.dense = X
        self.n_rows, self.n_columns = X.shape
        self.n_entries, self.dtype = X.size, X.dtype
        self.score_dtype = X.dtype  # a product in another precision would copy the rows
        self.entries_per_row = self.longest = X.shape[1]
        self.brings_threads = True

    def dot(self, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write the products of rows start..stop with a vector."""
        self._kernels.dense_dot(self.dense, vector, start, stop, out)

    def squared_norms(self, start: int, stop: int, out: FloatArray) -> None:
        """Write the squared norms of rows start..stop."""
        self._kernels.dense_squared_norms(self.dense, start, stop, out)

    def look(self, *known: Any) -> None:
        """Look at rows: find, refresh, decide and place them; see `_look_kernels.look_dense`."""
        self._look.look_dense(self.dense, *known)

    def look_afresh(self, *known: Any) -> None:
        """Do so with rows whose scores are not kept."""
        self._afresh.look_dense_afresh(self.dense, *known)

    def move_gram(
        self, members: IntArray, edges: IntArray, weights: FloatArray, movers: IntArray,
        mover_codes: IntArray, mover_weights: FloatArray, first_code: int, last_code: int,
        half: FloatArray,
    ) -> None:  # fmt: skip
        """Find half of how the products of one region's sums have grown, for some codes."""
        self._cell.move_gram_dense(
            self.dense, members, edges, weights, movers, mover_codes, mover_weights,
            first_code, last_code, np.zeros(self.n_columns), half,
        )  # fmt: skip

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        self._kernels.dense_add(self.dense, rows, cells, weights, sums)

    def move(
        self, rows: IntArray, leaves: IntArray, joins: IntArray, weights: FloatArray,
        sums: FloatArray,
    ) -> None:  # fmt: skip
        """Let rows, times their weights, leave some sums and join others."""
        self._order.dense_move(self.dense, rows, leaves, joins, weights, sums)

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        """Write the products of rows start..stop with weights, (features, Q)."""
        np.matmul(self.dense[start:stop], weights.astype(self.dtype, copy=False), out=out)

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        """Add the products of rows start..stop with their values to out, (features, Q)."""
        out += (values.T @ self.dense[start:stop]).T

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 array."""
        return self.dense[start:stop].astype(np.float64, copy=False)


class SparseRows:
    """A CSR matrix or array, float32 or float64, used in place."""

    def __init__(self, X: Matrix) -> None:
        from unconfused.engines import (
            _afresh_kernels,
            _cell_kernels,
            _kernels,
            _look_kernels,
            _order_kernels,
        )

        self._kernels, self._look, self._cell = _kernels, _look_kernels, _cell_kernels
        self._order, self._afresh = _order_kernels, _afresh_kernels
        self._stored = X.data, X.indices, X.indptr
        self._data, self._indices, self._indptr = X.data, X.indices, X.indptr
        self.dense: Any = None
        self.n_rows, self.n_columns = X.shape
        self.n_entries, self.dtype = X.nnz, X.dtype
        self.score_dtype = np.dtype(np.float64)
        self.entries_per_row = X.nnz // max(1, X.shape[0])
        self.longest = int(np.diff(X.indptr).max(initial=0))
        self.brings_threads = False

    def dot(self, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
        """Write the products of rows start..stop with a vector."""
        self._kernels.sparse_dot(self._data, self._indices, self._indptr, vector, start, stop, out)

    def squared_norms(self, start: int, stop: int, out: FloatArray) -> None:
        """Write the squared norms of rows start..stop."""
        self._kernels.sparse_squared_norms(self._data, self._indptr, start, stop, out)

    def look(self, *known: Any) -> None:
        """Look at rows: find, refresh, decide and place them; see `_look_kernels.look_dense`."""
        self._look.look_sparse(*self._stored, *known)

    def look_afresh(self, *known: Any) -> None:
        """Do so with rows whose scores are not kept."""
        self._afresh.look_sparse_afresh(*self._stored, *known)

    def move_gram(
        self, members: IntArray, edges: IntArray, weights: FloatArray, movers: IntArray,
        mover_codes: IntArray, mover_weights: FloatArray, first_code: int, last_code: int,
        half: FloatArray,
    ) -> None:  # fmt: skip
        """Find half of how the products of one region's sums have grown, for some codes."""
        moved = (
            *self._stored, members, edges, weights, movers, mover_codes, mover_weights,
            first_code, last_code,
        )  # fmt: skip
        if len(movers) <= FEW_MOVERS:
            self._cell.move_gram_sparse_by_few(*moved, self.n_columns, half)
        else:
            self._cell.move_gram_sparse(*moved, np.zeros(self.n_columns), half)

    def add(self, rows: IntArray, cells: IntArray, weights: FloatArray, sums: FloatArray) -> None:
        """Add each chosen row, times its weight, to its cell's sum."""
        self._kernels.sparse_add(
            self._data, self._indices, self._indptr, rows, cells, weights, sums
        )

    def move(
        self, rows: IntArray, leaves: IntArray, joins: IntArray, weights: FloatArray,
        sums: FloatArray,
    ) -> None:  # fmt: skip
        """Let rows, times their weights, leave some sums and join others."""
        self._order.sparse_move(*self._stored, rows, leaves, joins, weights, self.n_columns, sums)

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        """Write the products of rows start..stop with weights, (features, Q)."""
        self._kernels.sparse_scores(
            self._data, self._indices, self._indptr, weights, start, stop, out
        )

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
