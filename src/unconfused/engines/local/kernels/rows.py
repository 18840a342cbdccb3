"""Compiled operations on single rows, the only ones that distinguish dense from sparse.

Rows are passed as a tuple, ``(X,)`` for an array and ``(data, indices, indptr)`` for CSR. Its
length is known at compile time, so only one of the two branches is compiled.

Entries of a sparse row are accessed through slices indexed from 0: for an index that might be
negative, the compiler would check every access for wraparound.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from unconfused._compilation import compiled, instruction
from unconfused._typing import FloatArray

reassociating = partial(compiled, fastmath={"reassoc", "contract"})
"""Compile a loop whose sums may be reordered, so that it can be vectorized."""

AHEAD = 4
"""How many rows ahead to prefetch. Rows to be rescored or summed are scattered in memory: without
prefetching an update takes 1.3 times as long on dense rows of 200 columns."""

LINE_BYTES = 64
"""Size of a cache line."""

FETCHED_LINES = 16
"""Cache lines of the longest rows that are prefetched. The processor prefetches longer ones by
itself, and more hints slow it down: by a fifth on Letter, while short rows gain a sixth."""


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
        for j in range(len(row)):
            of_one += row[j] * one[j]
            of_two += row[j] * two[j]
    else:
        data, indices, indptr = rows
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(values)):
            of_one += values[k] * one[places[k]]
            of_two += values[k] * two[places[k]]
    return of_one, of_two


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
