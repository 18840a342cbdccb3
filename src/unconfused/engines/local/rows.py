"""Common interface to dense and CSR rows.

Only this module and `kernels/rows.py` distinguish the two.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray
from unconfused._typing import Rows as Matrix


class Rows(Protocol):
    """Rows of features, without the intercept."""

    n_rows: int
    n_columns: int
    n_entries: int
    dtype: Any
    longest: int
    """Largest number of stored entries in a row."""

    stored: tuple[Any, ...]
    """The underlying arrays, as the compiled loops expect them."""

    brings_threads: bool
    """Whether products with a matrix are already multithreaded (BLAS)."""

    score_dtype: Any
    """Data type of `scores`."""

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        """Write the scores of rows start..stop for weights of shape (features, Q)."""
        ...

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        """Add ``X[start:stop].T @ values`` to out, (features, Q)."""
        ...

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 array or CSR array."""
        ...


class DenseRows:
    """C-ordered array, float32 or float64, used without a copy."""

    brings_threads = True

    def __init__(self, X: Matrix) -> None:
        self._X = X
        self.stored = (X,)
        self.n_rows, self.n_columns = X.shape
        self.n_entries, self.dtype = X.size, X.dtype
        self.score_dtype = X.dtype  # mixed precision would copy the rows
        self.longest = X.shape[1]

    def scores(self, weights: FloatArray, start: int, stop: int, out: Any) -> None:
        rows = self._X[start:stop]
        if np.abs(weights).max(initial=0.0) < np.finfo(self.dtype).max:
            np.matmul(rows, weights.astype(self.dtype, copy=False), out=out)
        else:  # weights of tiny rows need not fit their type; scores do
            out[:] = rows.astype(np.float64) @ weights

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
        out += (values.T @ self._X[start:stop]).T

    def block(self, start: int, stop: int) -> Any:
        """Return rows start..stop as a float64 array."""
        return self._X[start:stop].astype(np.float64, copy=False)


class SparseRows:
    """CSR matrix or array, float32 or float64, used without a copy."""

    brings_threads = False

    def __init__(self, X: Matrix) -> None:
        self.stored = self._data, self._indices, self._indptr = X.data, X.indices, X.indptr
        self.n_rows, self.n_columns = X.shape
        self.n_entries, self.dtype = X.nnz, X.dtype
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
        pointers = self._indptr[start : stop + 1]
        entries = slice(pointers[0], pointers[-1])
        data = self._data[entries].astype(np.float64, copy=False)
        parts = (data, self._indices[entries], pointers - pointers[0])
        return sparse.csr_array(parts, shape=(stop - start, self.n_columns))


def wrap_rows(X: Any) -> Rows:
    """Wrap an array or CSR matrix without copying it."""
    return SparseRows(X) if sparse.issparse(X) else DenseRows(X)
