"""Dense and CSR rows: the only module that distinguishes the two.

Compiled loops get rows as a tuple, ``(X,)`` for an array and ``(data, indices, indptr)`` for CSR.
Its length is known at compile time, so only one of the two branches is compiled. Entries of a
sparse row are accessed through slices indexed from 0: for an index that might be negative, the
compiler would check every access for wraparound.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from scipy import sparse

from unconfused._compilation import compiled, instruction
from unconfused._typing import FloatArray
from unconfused._typing import Rows as Matrix

if TYPE_CHECKING:
    from unconfused.engines.base import RowMap
    from unconfused.engines.local.engine import RowThreads

BLOCK_BYTES = 16 * 2**20
"""Approximate size of a block of float64 rows, and of its products with vectors."""

AHEAD = 4
"""How many rows ahead to prefetch. Rows to be rescored or summed are scattered in memory: without
prefetching an update takes 1.3 times as long on dense rows of 200 columns."""

LINE_BYTES = 64
"""Size of a cache line."""

FETCHED_LINES = 16
"""Cache lines of the longest rows that are prefetched. The processor prefetches longer ones by
itself, and more hints slow it down: by a fifth on Letter, while short rows gain a sixth."""


SHORT_ROW_BYTES = 256
"""Rows with fewer bytes are not quantized: they are few cache lines in any case."""

SMALLEST_SCALE = 1e-300
"""Smallest scale of a column: the inverses of smaller ones overflow."""

ROUNDED = 0.5 + 1e-6
"""Largest rounding error of a quantized entry, as a multiple of its scale."""


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
        fits = self.dtype == weights.dtype
        if fits or np.abs(weights).max(initial=0.0) < np.finfo(self.dtype).max:
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

    def quantized(self, in_threads: RowThreads, most_bytes: float) -> QuantizedRows | None:
        """Return a copy in two bytes per entry, which is read faster than the rows.

        With it, fits to rows in double precision take half the time (200,000 x 200, and Letter
        with 1,600 features), to Letter in single precision 0.75 of it. None for short rows, rows on
        disk, too many rows, and columns of numbers without an inverse.
        """
        X, blocks = self._X, in_threads.pieces()
        short = X.itemsize * self.n_columns < SHORT_ROW_BYTES
        if short or is_on_disk(X) or 2 * X.size > most_bytes:
            return None
        largest = in_threads.each(lambda start, stop: largest_entries(X, start, stop), blocks)
        scales = np.max(largest, axis=0) / np.iinfo(np.int16).max
        if np.any((scales > 0.0) & (scales < SMALLEST_SCALE)):
            return None
        copy = np.empty(X.shape, dtype=np.int16)
        in_threads.each(lambda start, stop: quantize(X, scales, start, stop, copy), blocks)
        return QuantizedRows((copy,), scales, float(np.linalg.norm(scales)) * ROUNDED)


class QuantizedRows(NamedTuple):
    """Rows rounded to multiples of a scale of their column: half the bytes of float32 rows."""

    stored: tuple[Any, ...]
    """The multiples, as the compiled loops expect rows."""

    scales: FloatArray
    error: float
    """Bound on the distance of any row from its rounded one."""


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
        sparse_scores(self.stored, weights, start, stop, out)

    def quantized(self, in_threads: RowThreads, most_bytes: float) -> None:
        """Sparse rows are not quantized: they are short, and half of their bytes are indices."""

    def add_outer(self, values: Any, start: int, stop: int, out: FloatArray) -> None:
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


def is_on_disk(array: Any) -> bool:
    """Return whether an array is memory-mapped, or a view of one that is: checks make views."""
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def mapped_copy(rows: Rows, change: RowMap) -> Any:
    """Return changed copies of the rows as an array of their type.

    Copies of memory-mapped rows are in a temporary file, deleted when they are no longer used.
    """
    shape = (rows.n_rows, rows.n_columns)
    if is_on_disk(rows.stored[0]):
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


reassociating = partial(compiled, fastmath={"reassoc", "contract"})
"""Compile a loop whose sums may be reordered, so that it can be vectorized."""


@instruction(lambda address: None)
def prefetch(typing_context: Any, address: Any) -> Any:
    """Prefetch the cache line at an address; invalid ones are ignored."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # Read access (0), keep in all cache levels (3), data cache (1).
        flags = [ir.Constant(number, flag) for flag in (0, 3, 1)]
        builder.call(hint, [builder.inttoptr(arguments[0], byte), *flags])
        return context.get_dummy_value()

    return types.void(types.intp), write


@compiled
def fetch(rows: Any, i: int) -> None:
    """Prefetch a row."""
    if len(rows) == 1:
        fetch_entries(rows[0][i])
    else:
        data, indices, indptr = rows
        fetch_entries(data[indptr[i] : indptr[i + 1]])
        fetch_entries(indices[indptr[i] : indptr[i + 1]])


@compiled
def fetch_entries(entries: Any) -> None:
    """Prefetch the memory of a short array."""
    n_bytes = len(entries) * entries.itemsize
    if n_bytes <= FETCHED_LINES * LINE_BYTES:
        for offset in range(0, n_bytes, LINE_BYTES):
            prefetch(entries.ctypes.data + offset)  # type: ignore[call-arg]


@reassociating
def score_two(rows: Any, i: int, one: Any, two: Any, of_one: Any, of_two: Any) -> Any:
    """Return a row's inner products with two vectors, plus two constants, in one pass."""
    if len(rows) == 1:
        row = rows[0][i]
        own_type = one.dtype.type  # entries may be integers
        for j in range(len(row)):
            value = own_type(row[j])
            of_one += value * one[j]
            of_two += value * two[j]
    else:
        data, indices, indptr = rows
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(values)):
            of_one += values[k] * one[places[k]]
            of_two += values[k] * two[places[k]]
    return of_one, of_two


@compiled
def largest_entries(X: Any, start: int, stop: int) -> FloatArray:
    """Return the largest absolute value of every column in rows start..stop."""
    largest = np.zeros(X.shape[1])
    for i in range(start, stop):
        for j in range(len(largest)):
            largest[j] = max(largest[j], abs(X[i, j]))
    return largest


@compiled
def quantize(X: Any, scales: FloatArray, start: int, stop: int, out: Any) -> None:
    """Write rows start..stop as multiples of the scales of their columns, rounded."""
    factors = np.zeros(len(scales))
    for j in range(len(scales)):
        if scales[j] > 0.0:
            factors[j] = 1.0 / scales[j]
    for i in range(start, stop):
        for j in range(len(scales)):
            out[i, j] = np.rint(X[i, j] * factors[j])


@compiled
def add_row(rows: Any, i: int, weight: float, total: FloatArray) -> None:
    """Add a weighted row to a sum."""
    if len(rows) == 1:
        row = rows[0][i]
        for j in range(len(row)):
            total[j] += weight * row[j]
    else:
        data, indices, indptr = rows
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(values)):
            total[places[k]] += weight * values[k]


@reassociating
def dot_row(rows: Any, i: int, line: FloatArray) -> float:
    """Return the inner product of a row and a vector."""
    total = 0.0
    if len(rows) == 1:
        row = rows[0][i]
        for j in range(len(row)):
            total += row[j] * line[j]
    else:
        data, indices, indptr = rows
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(values)):
            total += values[k] * line[places[k]]
    return total


@compiled
def clear_row(rows: Any, i: int, line: FloatArray) -> None:
    """Set a vector to 0 wherever a row has entries."""
    if len(rows) == 1:
        line[:] = 0.0
    else:
        _, indices, indptr = rows
        for place in indices[indptr[i] : indptr[i + 1]]:
            line[place] = 0.0


@reassociating
def squared_norms(rows: Any, start: int, stop: int, out: FloatArray) -> None:
    """Write the squared norms of rows start..stop."""
    for i in range(start, stop):
        total = 0.0
        row = rows[0][i] if len(rows) == 1 else rows[0][rows[2][i] : rows[2][i + 1]]
        for entry in row:
            value = np.float64(entry)
            total += value * value
        out[i] = total


@compiled
def add_rows(rows: Any, chosen: Any, cells: Any, weights: FloatArray, sums: FloatArray) -> None:
    """Add the weighted rows to the sums of their cells."""
    for k in range(len(chosen)):
        fetch(rows, chosen[min(k + AHEAD, len(chosen) - 1)])
        add_row(rows, chosen[k], weights[k], sums[cells[k]])


@compiled
def sparse_scores(rows: Any, weights: FloatArray, start: int, stop: int, out: Any) -> None:
    """Write the scores of rows start..stop into out[0..]; weights are (features, Q)."""
    data, indices, indptr = rows
    n_classes = weights.shape[1]
    for i in range(start, stop):
        own = out[i - start]
        own[:] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            column, value = weights[indices[k]], data[k]
            for q in range(n_classes):
                own[q] += value * column[q]


@compiled
def sparse_outer(rows: Any, values: Any, start: int, stop: int, out: FloatArray) -> None:
    """Add ``X[start:stop].T @ values`` to out, (features, Q); values are (rows, Q)."""
    data, indices, indptr = rows
    n_classes = out.shape[1]
    for i in range(start, stop):
        own = values[i - start]
        for k in range(indptr[i], indptr[i + 1]):
            total, value = out[indices[k]], data[k]
            for q in range(n_classes):
                total[q] += value * own[q]
