"""Compiled loops that update the cell tables and the norm bounds."""

from __future__ import annotations

from typing import Any, NamedTuple

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.compilation import compiled

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
    """Number of rows."""

    counts: FloatArray
    """Their total weight."""

    squares: FloatArray
    """Weighted sum of their squared norms."""

    moved: FloatArray
    """Weighted sum of the norms of rows that left or joined since the last reset."""


@compiled
def move_rows(rows: Any, before: Any, region: Any, labelled: Labelled, tables: Tables) -> None:
    """Move rows from their previous regions to their current ones; -1 is none."""
    members, counts, squares, moved = tables
    for k in range(len(rows)):
        i = rows[k]
        code, weight, norm = labelled.codes[i], labelled.weights[i], labelled.norms[i]
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
    norms: FloatArray, slack: FloatArray, longest: FloatArray, total: float,
    lower: FloatArray, upper: FloatArray,
) -> None:  # fmt: skip
    """Write lower and upper bounds on norms from their last measured values.

    A norm differs from that by its slack at most, and does not exceed `longest`. Norms are divided
    by the total weight of the rows; slack and `longest` are not.
    """
    for p in range(len(norms)):
        for q in range(norms.shape[1]):
            lower[p, q] = upper[p, q] = norms[p, q]
            if slack[p, q] > 0.0:
                off = (slack[p, q] * LONGER + ROUNDING * longest[p, q]) / total
                upper[p, q] = min(norms[p, q] + off, longest[p, q] * LONGER / total)
                lower[p, q] = min(max(norms[p, q] - off, 0.0), upper[p, q])
