"""Compiled loops that update the cell tables, their Gram matrices and the norm bounds."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.kernels.rows import AHEAD, add_row, clear_row, dot_row, fetch

LONGER = 1.0 + 1e-7
"""Factor by which norm bounds are widened, for the rounding of a sum of many norms."""

ROUNDING = 3e-7
"""Error of a norm computed from inner products, relative to its Cauchy-Schwarz bound: taking the
square root halves the digits."""


class Labelled(NamedTuple):
    """Label code, weight and norm of every row."""

    codes: Any
    weights: FloatArray
    norms: FloatArray


class Tables(NamedTuple):
    """Statistics of every cell (region, label code)."""

    members: IntArray
    """Number of rows that count."""

    counts: FloatArray
    """Their total weight."""

    squares: FloatArray
    """Weighted sum of their squared norms."""

    moved: FloatArray
    """Weighted sum of the norms of rows that left or joined in the last call."""


@compiled
def move_rows(rows: Any, before: Any, region: Any, labelled: Labelled, tables: Tables) -> None:
    """Move rows from their previous regions to their current ones; -1 is none."""
    members, counts, squares, moved = tables
    for k in range(len(rows)):
        i = rows[k]
        code, weight, norm = labelled.codes[i], labelled.weights[i], labelled.norms[i]
        if weight == 0.0:
            continue
        old, new = before[k], region[i]
        if old >= 0:
            members[old, code] -= 1
            counts[old, code] -= weight
            squares[old, code] -= weight * norm * norm
            moved[old, code] += weight * norm
            if members[old, code] == 0:  # an empty cell must be exactly 0
                counts[old, code] = squares[old, code] = 0.0
        if new >= 0:
            members[new, code] += 1
            counts[new, code] += weight
            squares[new, code] += weight * norm * norm
            moved[new, code] += weight * norm


@compiled
def bound_norms(
    squared_norms: FloatArray, slack: FloatArray, longest: FloatArray, total: float,
    lower: FloatArray, upper: FloatArray,
) -> None:  # fmt: skip
    """Write bounds on norms of means, from the squared norms of sums when last measured.

    A sum differs from that by its slack at most, and its norm does not exceed `longest`. Means are
    over rows of weight `total`.
    """
    for p in range(len(slack)):
        for q in range(slack.shape[1]):
            norm, most = sqrt(squared_norms[p, q]) / total, longest[p, q] * LONGER / total
            if norm > most:  # rounding may have left a trace of rows that are gone
                norm = most
            lower[p, q] = upper[p, q] = norm
            if slack[p, q] > 0.0:
                off = (slack[p, q] * LONGER + ROUNDING * longest[p, q]) / total
                upper[p, q] = min(norm + off, most)
                lower[p, q] = min(max(norm - off, 0.0), upper[p, q])


class Moved(NamedTuple):
    """Rows that joined a region, or left it."""

    rows: IntArray
    codes: Any
    weights: FloatArray
    """Negative for rows that left."""


@compiled
def add_products(
    rows: Any, members: IntArray, ends: IntArray, moved: Moved, weights: FloatArray,
    intercept: bool, first_code: int, last_code: int, line: FloatArray, half: FloatArray,
) -> None:  # fmt: skip
    """Add half of the change of a region's Gram matrix to `half`, for some label codes.

    With S the current sums and D their change, the Gram matrix changes by
    ``S D' + D S' - D D' = H D' + D H'`` with ``H = S - D / 2``. Columns first_code..last_code of
    ``D H'`` are added to `half`. `members` are the current rows of the region, those with code s at
    ``ends[s]`` to ``ends[s + 1]``. `line` is a buffer for one sum, all zeros on entry and exit.
    """
    n_moved, last = len(moved.rows), len(line) - 1
    for s in range(first_code, last_code):
        own = members[ends[s] : ends[s + 1]]
        for k in range(len(own)):
            fetch(rows, own[min(k + AHEAD, len(own) - 1)])
            i = own[k]
            add_row(rows, i, weights[i], line)
            if intercept:
                line[last] += weights[i]
        for k in range(n_moved):
            if moved.codes[k] == s:
                add_row(rows, moved.rows[k], -0.5 * moved.weights[k], line)
                if intercept:
                    line[last] -= 0.5 * moved.weights[k]
        for k in range(n_moved):
            product = dot_row(rows, moved.rows[k], line)
            if intercept:
                product += line[last]
            half[moved.codes[k], s] += moved.weights[k] * product
        for i in own:
            clear_row(rows, i, line)
        for k in range(n_moved):
            if moved.codes[k] == s:
                clear_row(rows, moved.rows[k], line)
        line[last] = 0.0
