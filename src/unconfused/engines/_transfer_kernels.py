"""Compiled loops over rows that change cells. All release the interpreter.

There are few of them in an update, and a handful of array operations on each list would take
longer than to look at the rows. Nothing is compiled when this file is imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._compile import compiled


@compiled
def list_moves(
    rows: IntArray, before: IntArray, after: IntArray, codes: IntArray, weights: FloatArray,
    n_codes: int, n_cells: int,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return rows, cells and weights of rows that change regions, sorted by cell.

    A row leaves one cell, with a negative weight, and joins another; region -1 has no cells. Of a
    cell those that leave come first, and otherwise the order of the rows stays.
    """
    ends = np.zeros(n_cells + 1, dtype=np.int64)
    for k in range(len(rows)):
        code = codes[rows[k]]
        if before[k] >= 0:
            ends[before[k] * n_codes + code + 1] += 1
        if after[k] >= 0:
            ends[after[k] * n_codes + code + 1] += 1
    for cell in range(n_cells):
        ends[cell + 1] += ends[cell]
    of_row = np.empty(ends[n_cells], dtype=rows.dtype)
    of_cell = np.empty(ends[n_cells], dtype=np.int64)
    of_weight = np.empty(ends[n_cells])
    for joins in range(2):
        for k in range(len(rows)):
            i = rows[k]
            region = after[k] if joins else before[k]
            if region >= 0:
                cell = region * n_codes + codes[i]
                at = ends[cell]
                ends[cell] += 1
                of_row[at], of_cell[at] = i, cell
                of_weight[at] = weights[i] if joins else -weights[i]
    return of_row, of_cell, of_weight


@compiled
def move_counts(
    rows: IntArray, cells: IntArray, weights: FloatArray, row_norms: FloatArray,
    members: IntArray, counts: FloatArray, squares: FloatArray,
) -> None:  # fmt: skip
    """Bring the tables of all cells, as one line each, up to date with rows sorted by cell."""
    for k in range(len(rows)):
        cell, weight = cells[k], weights[k]
        members[cell] += np.sign(weight)
        counts[cell] += weight
        squares[cell] += weight * row_norms[rows[k]] ** 2
        # Rounding must not leave a trace of rows in a cell that has none.
        if members[cell] == 0 and (k + 1 == len(rows) or cells[k + 1] != cell):
            counts[cell] = squares[cell] = 0.0


@compiled
def sign_and_weigh(
    rows: IntArray, cells: IntArray, weights: FloatArray, row_norms: FloatArray,
    masses: FloatArray, signed: IntArray,
) -> None:  # fmt: skip
    """Write rows, those that leave as their complement; add their lengths up by cell."""
    for k in range(len(rows)):
        row, weight = rows[k], weights[k]
        signed[k] = ~row if np.signbit(weight) else row
        masses[cells[k]] += abs(weight) * row_norms[row]


@compiled
def count_flow(before: IntArray, after: IntArray, flow: IntArray, leaving: IntArray) -> None:
    """Count the rows that went from one region to another, and that left each."""
    for k in range(len(before)):
        if before[k] >= 0:
            leaving[before[k]] += 1
            if after[k] >= 0:
                flow[before[k], after[k]] += 1


@compiled
def other_moves(
    region: IntArray, rows: IntArray, before: IntArray, first: int, second: int
) -> tuple[Any, Any]:
    """Return the rows whose region is another after two regions have changed names, and from where.

    `rows` are those that moved, and `before` where they were; all others are where they were.
    """
    old = region.copy()
    for k in range(len(rows)):
        old[rows[k]] = before[k]
    n_changed = 0
    for i in range(len(old)):
        name = second if old[i] == first else (first if old[i] == second else old[i])
        old[i] = name
        n_changed += name != region[i]
    changed, origin = np.empty(n_changed, dtype=rows.dtype), np.empty(n_changed, dtype=old.dtype)
    n_changed = 0
    for i in range(len(old)):
        if old[i] != region[i]:
            changed[n_changed], origin[n_changed] = i, old[i]
            n_changed += 1
    return changed, origin
