"""Compiled loops over rows that change cells, and over the bounds that follow from it."""

from __future__ import annotations

from typing import Any, NamedTuple

from unconfused._compilation import compiled
from unconfused._typing import FloatArray, IntArray

LONGER = 1.0 + 1e-7
"""What a bound on a length is widened by: the rounding of a sum of many lengths."""


ROUNDING = 3e-7
"""Share of its longest possible length by which a norm made of products may be off: half of the
digits."""


class Labelled(NamedTuple):
    """What counts of a row beside its entries."""

    codes: Any
    weights: FloatArray
    norms: FloatArray


class Tables(NamedTuple):
    """What every cell (region, code) holds."""

    members: IntArray
    """Number of rows."""

    counts: FloatArray
    """Their total weight."""

    squares: FloatArray
    """Weighted sum of their squared norms."""

    moved: FloatArray
    """Weighted sum of the norms of rows that left or joined since this was last set to 0."""


@compiled
def move_rows(rows: Any, before: Any, region: Any, labelled: Labelled, tables: Tables) -> None:
    """Let rows change from the regions they were in to those they are in; -1 is none."""
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
            if members[old, code] == 0:  # rounding must leave no trace of rows that are gone
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
    """Write numbers between which the norms of vectors lie that were measured some time ago.

    Each is off by its slack at most, and none exceeds `longest`. Norms are means over rows of
    weight `total`; slack and `longest` are sums.
    """
    for p in range(len(norms)):
        for q in range(norms.shape[1]):
            lower[p, q] = upper[p, q] = norms[p, q]
            if slack[p, q] > 0.0:
                off = (slack[p, q] * LONGER + ROUNDING * longest[p, q]) / total
                upper[p, q] = min(norms[p, q] + off, longest[p, q] * LONGER / total)
                lower[p, q] = min(max(norms[p, q] - off, 0.0), upper[p, q])
