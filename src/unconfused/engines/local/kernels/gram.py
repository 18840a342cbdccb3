"""Compiled loop that updates a Gram matrix after rows moved."""

from __future__ import annotations

from typing import Any, NamedTuple

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.kernels.rows import AHEAD, add_row, clear_row, dot_row, fetch


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
            add_row(rows, own[k], weights[own[k]], line)
            if intercept:
                line[last] += weights[own[k]]
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
