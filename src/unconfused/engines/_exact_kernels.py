"""Compiled loops that decide, in double precision, on rows too close to call in single.

There are few of them as a rule, and all of them where classes are tied. Nothing is compiled when
this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._compile import compiled

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

TOGETHER = 2**17
"""Scores that are held at once."""


@_sums
def dense_exact_scores(
    X: Any, chosen: IntArray, weights: FloatArray, constants: FloatArray, out: FloatArray
) -> None:
    """Write all scores of chosen rows in double precision."""
    for k in range(len(chosen)):
        for c in range(len(constants)):
            total = constants[c]
            for j in range(X.shape[1]):
                total += X[chosen[k], j] * weights[c, j]
            out[k, c] = total


@_sums
def sparse_exact_scores(
    data: Any, indices: Any, indptr: Any, chosen: IntArray, weights: FloatArray,
    constants: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """Write all scores of chosen rows in double precision."""
    for k in range(len(chosen)):
        i = chosen[k]
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for c in range(len(constants)):
            total, own = constants[c], weights[c]
            for m in range(len(values)):
                total += values[m] * own[places[m]]
            out[k, c] = total


@_exact
def decide_exactly(
    chosen: IntArray,
    scores: FloatArray,
    row_norms: FloatArray,
    alpha: float,
    tie: float,
    now: int,
    best: Any,
    budget: Any,
    slot: Any,
    rival: Any,
    spare: Any,
    region: Any,
    moved: Any,
    before: Any,
) -> int:
    """Find best class and region of chosen rows from double-precision scores, one row each.

    A row belongs to its best class, the lowest on a tie, if it leads every other class by at
    least `alpha`; otherwise to none (-1). Scores within `tie` times the row's norm are equal:
    some step rules leave rows exactly level, and the last bit must not decide for them. Rows that
    moved are listed, and from where; returns their number.
    """
    n_classes, n_moved = scores.shape[1], 0
    for k in range(len(chosen)):
        i = chosen[k]
        allowance = tie * row_norms[i]
        highest = -np.inf
        for c in range(n_classes):
            highest = max(highest, scores[k, c])
        first = 0
        while scores[k, first] < highest - allowance:
            first += 1
        runner_up = -np.inf
        for c in range(n_classes):
            if c != first:
                runner_up = max(runner_up, scores[k, c])
        inside = alpha == 0.0 or scores[k, first] - runner_up >= alpha - allowance
        place = first if inside else -1
        if place != region[i]:
            moved[n_moved], before[n_moved] = i, region[i]
            region[i] = place
            n_moved += 1
        best[i] = first  # after its old region was read: both may be kept at one place
        slot[i] = now
        # A row of zeros scores 0 whatever the weights; any other is looked at again next time.
        budget[i] = np.inf if row_norms[i] == 0.0 else -1.0
        if len(rival) > 0:
            rival[i], spare[i] = 0, budget[i]
    return n_moved


@_exact
def merge_moves(moved: IntArray, before: IntArray, n_first: int, n_second: int) -> None:
    """Bring two lists of rows that moved, one behind the other, into the order of the rows.

    Each is in order, and the second one short.
    """
    rows = moved[n_first : n_first + n_second].copy()
    origins = before[n_first : n_first + n_second].copy()
    at, first, second = n_first + n_second - 1, n_first - 1, n_second - 1
    while second >= 0:
        if first >= 0 and moved[first] > rows[second]:
            moved[at], before[at] = moved[first], before[first]
            first -= 1
        else:
            moved[at], before[at] = rows[second], origins[second]
            second -= 1
        at -= 1


@_exact
def settle_dense(
    X: Any, close: IntArray, weights: FloatArray, constants: FloatArray, row_norms: FloatArray,
    alpha: float, tie: float, now: int, best: Any, budget: Any, slot: Any, rival: Any,
    spare: Any, region: Any, moved: Any, before: Any, n_moved: int,
) -> int:  # fmt: skip
    """Decide on rows too close to call; list those that moved among the others, in order.

    Others that moved, `n_moved` of them, are listed already. Returns how many there are in all.
    """
    if len(close) == 0:
        return n_moved
    n_first, together = n_moved, max(1, TOGETHER // len(constants))
    scores = np.empty((min(len(close), together), len(constants)))
    for first in range(0, len(close), together):
        some = close[first : first + together]
        dense_exact_scores(X, some, weights, constants, scores)
        n_moved += decide_exactly(
            some, scores, row_norms, alpha, tie, now, best, budget, slot, rival, spare, region,
            moved[n_moved:], before[n_moved:],
        )  # fmt: skip
    merge_moves(moved, before, n_first, n_moved - n_first)
    return n_moved


@_exact
def settle_sparse(
    data: Any, indices: Any, indptr: Any, close: IntArray, weights: FloatArray,
    constants: FloatArray, row_norms: FloatArray, alpha: float, tie: float, now: int, best: Any,
    budget: Any, slot: Any, rival: Any, spare: Any, region: Any, moved: Any, before: Any,
    n_moved: int,
) -> int:  # fmt: skip
    """Do the same for rows in CSR."""
    if len(close) == 0:
        return n_moved
    n_first, together = n_moved, max(1, TOGETHER // len(constants))
    scores = np.empty((min(len(close), together), len(constants)))
    for first in range(0, len(close), together):
        some = close[first : first + together]
        sparse_exact_scores(data, indices, indptr, some, weights, constants, scores)
        n_moved += decide_exactly(
            some, scores, row_norms, alpha, tie, now, best, budget, slot, rival, spare, region,
            moved[n_moved:], before[n_moved:],
        )  # fmt: skip
    merge_moves(moved, before, n_first, n_moved - n_first)
    return n_moved
