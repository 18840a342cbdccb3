"""Compiled loops over rows that change cells, in the order of the rows.

A row is read once, and leaves one sum as it joins another, while the sums of all cells stay in fast
memory. Where they are too large for that, rows are sorted by cell (`_transfer_kernels.py`), so that
several share one pass over a sum; each is then read twice, at two places of the list. All loops
release the interpreter; nothing is compiled when this file is imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._compile import compiled
from unconfused.engines._kernels import AHEAD, FETCHED_LINES, fetch_later
from unconfused.engines._prefetch import LINE_BYTES, prefetch


@compiled
def cells_between(
    rows: IntArray, before: IntArray, after: IntArray, codes: IntArray, n_codes: int,
    leaves: Any, joins: Any, seen: Any,
) -> None:  # fmt: skip
    """Write which cell every row leaves, and which it joins; region -1 has none, nor has -1.

    Regions that are left or joined are marked in `seen`, which has one place more, for -1.
    """
    for k in range(len(rows)):
        code = codes[rows[k]]
        leaves[k] = before[k] * n_codes + code if before[k] >= 0 else -1
        joins[k] = after[k] * n_codes + code if after[k] >= 0 else -1
        seen[before[k]] = seen[after[k]] = True


@compiled
def dense_move(
    X: Any, rows: IntArray, leaves: Any, joins: Any, weights: FloatArray, sums: FloatArray
) -> None:
    """Take each row, times its weight, out of one cell's sum and add it to another's."""
    n_rows, n_columns = len(rows), X.shape[1]
    intercept = sums.shape[1] > n_columns
    stride = LINE_BYTES // X.itemsize
    fetched = min(n_columns, FETCHED_LINES * stride)
    for k in range(n_rows):
        later = rows[min(k + AHEAD, n_rows - 1)]
        for j in range(0, fetched, stride):
            prefetch(X, later, j)  # type: ignore[call-arg]
        row, weight = X[rows[k]], weights[rows[k]]
        if leaves[k] >= 0 and joins[k] >= 0:
            old, new = sums[leaves[k]], sums[joins[k]]
            for j in range(n_columns):
                value = weight * row[j]
                old[j] -= value
                new[j] += value
        elif joins[k] >= 0:
            new = sums[joins[k]]
            for j in range(n_columns):
                new[j] += weight * row[j]
        elif leaves[k] >= 0:
            old = sums[leaves[k]]
            for j in range(n_columns):
                old[j] -= weight * row[j]
        if intercept and leaves[k] >= 0:
            sums[leaves[k], n_columns] -= weight
        if intercept and joins[k] >= 0:
            sums[joins[k], n_columns] += weight


@compiled
def sparse_move(
    data: Any, indices: Any, indptr: Any, rows: IntArray, leaves: Any, joins: Any,
    weights: FloatArray, n_columns: int, sums: FloatArray,
) -> None:  # fmt: skip
    """Do the same for rows in CSR."""
    intercept = sums.shape[1] > n_columns
    for k in range(len(rows)):
        fetch_later(data, indices, indptr, rows, k)
        i = rows[k]
        weight = weights[i]
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        if leaves[k] >= 0:
            old = sums[leaves[k]]
            for e in range(len(values)):
                old[places[e]] -= weight * values[e]
            if intercept:
                sums[leaves[k], n_columns] -= weight
        if joins[k] >= 0:
            new = sums[joins[k]]
            for e in range(len(values)):
                new[places[e]] += weight * values[e]
            if intercept:
                sums[joins[k], n_columns] += weight


@compiled
def move_counts_in_order(
    rows: IntArray, leaves: Any, joins: Any, weights: FloatArray, row_norms: FloatArray,
    members: IntArray, counts: FloatArray, squares: FloatArray,
) -> None:  # fmt: skip
    """Bring the tables of all cells, as one line each, up to date."""
    for k in range(len(rows)):
        weight = weights[rows[k]]
        square, member = weight * row_norms[rows[k]] ** 2, np.sign(weight)
        if leaves[k] >= 0:
            members[leaves[k]] -= member
            counts[leaves[k]] -= weight
            squares[leaves[k]] -= square
        if joins[k] >= 0:
            members[joins[k]] += member
            counts[joins[k]] += weight
            squares[joins[k]] += square
    for cell in range(len(members)):
        # Rounding must not leave a trace of rows in a cell that has none.
        if members[cell] == 0:
            counts[cell] = squares[cell] = 0.0


@compiled
def weigh_moves(
    rows: IntArray, leaves: Any, joins: Any, weights: FloatArray, row_norms: FloatArray,
    masses: FloatArray,
) -> None:  # fmt: skip
    """Add up, by cell, how long the rows are that leave or join."""
    for k in range(len(rows)):
        mass = weights[rows[k]] * row_norms[rows[k]]
        if leaves[k] >= 0:
            masses[leaves[k]] += mass
        if joins[k] >= 0:
            masses[joins[k]] += mass
