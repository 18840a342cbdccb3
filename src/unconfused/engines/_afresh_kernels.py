"""Compiled loops that find the region of rows whose scores are not kept.

With very many classes, or short rows, the scores of all rows would be most of what a fit takes.
Rows without are scored for all classes whenever they are looked at, as many at a time as stay in
fast memory with their scores. Nothing is compiled when this file is imported.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._atomic_counter import add_to
from unconfused.engines._compile import compiled
from unconfused.engines._exact_kernels import settle_dense, settle_sparse
from unconfused.engines._look_kernels import LOOKED_AT, MOVED, READ, decide, find

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

SCORES = 2**15
"""Scores that are held at once."""

TILE = 64
"""Rows that are scored at once, at most: they stay in fast memory from one class to the next."""


@_sums
def score_dense(
    X: Any, chosen: IntArray, weights: Any, constants: Any, distinct: IntArray, scores: Any
) -> None:
    """Write the scores of chosen rows, in their order, for all classes that differ."""
    last = len(distinct) - 1
    for m in range(0, last + 1, 2):
        # Past the end of the list its last class is scored again.
        a, b = distinct[m], distinct[min(m + 1, last)]
        one, two = weights[a], weights[b]
        for k in range(len(chosen)):
            row = X[chosen[k]]
            of_a, of_b = constants[a], constants[b]
            for j in range(X.shape[1]):
                of_a += row[j] * one[j]
                of_b += row[j] * two[j]
            scores[k, a], scores[k, b] = of_a, of_b


@_sums
def score_sparse(
    data: Any, indices: Any, indptr: Any, chosen: IntArray, weights: Any, constants: Any,
    distinct: IntArray, scores: Any,
) -> None:  # fmt: skip
    """Do the same for rows in CSR."""
    last = len(distinct) - 1
    for m in range(0, last + 1, 2):
        a, b = distinct[m], distinct[min(m + 1, last)]
        one, two = weights[a], weights[b]
        for k in range(len(chosen)):
            i = chosen[k]
            of_a, of_b = constants[a], constants[b]
            # Slices, counted from 0: no entry is asked whether it is meant from the end.
            values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
            for e in range(len(values)):
                of_a += values[e] * one[places[e]]
                of_b += values[e] * two[places[e]]
            scores[k, a], scores[k, b] = of_a, of_b


@_exact
def look_dense_afresh(
    X: Any, weights: Any, constants: Any, exact_weights: FloatArray, exact_constants: FloatArray,
    bounds: Any, rival_bounds: Any, distinct: IntArray, has_twin: Any, row_norms: FloatArray,
    alpha: float, closeness: float, tie: float, now: int, best: Any, budget: Any, slot: Any,
    rival: Any, spare: Any, region: Any, moved: Any, before: Any, start: int, stop: int,
    together: int, taken: Any, counts: Any,
) -> None:  # fmt: skip
    """Find, score, decide and place rows start..stop, as `look_dense` does."""
    n_classes, chosen = len(constants), np.empty(together, dtype=moved.dtype)
    tile = min(TILE, max(1, SCORES // n_classes))
    scores = np.empty((tile, n_classes), dtype=np.float32)
    while True:
        own = add_to(taken, 0, 1)
        first = start + own * together
        if first >= stop:
            return
        last = min(first + together, stop)
        found = find(budget, slot, best, bounds, first, last, chosen, rival, spare, rival_bounds)
        n_moved = 0
        for k in range(0, len(found), tile):
            rows, at = found[k : k + tile], first + n_moved
            score_dense(X, rows, weights, constants, distinct, scores)
            n_close, count = decide(
                rows, scores, distinct, has_twin, row_norms, alpha, closeness, tie, now,
                best, budget, slot, rival, spare, region, moved[at:], before[at:], True,
            )  # fmt: skip
            n_moved += settle_dense(
                X, rows[:n_close], exact_weights, exact_constants, row_norms, alpha, tie, now,
                best, budget, slot, rival, spare, region, moved[at:], before[at:], count,
            )  # fmt: skip
        counts[own, LOOKED_AT], counts[own, MOVED] = len(found), n_moved
        counts[own, READ] = len(found)


@_exact
def look_sparse_afresh(
    data: Any, indices: Any, indptr: Any, weights: Any, constants: Any, exact_weights: FloatArray,
    exact_constants: FloatArray, bounds: Any, rival_bounds: Any, distinct: IntArray, has_twin: Any,
    row_norms: FloatArray, alpha: float, closeness: float, tie: float, now: int, best: Any,
    budget: Any, slot: Any, rival: Any, spare: Any, region: Any, moved: Any, before: Any,
    start: int, stop: int, together: int, taken: Any, counts: Any,
) -> None:  # fmt: skip
    """Do the same for rows in CSR."""
    n_classes, chosen = len(constants), np.empty(together, dtype=moved.dtype)
    tile = min(TILE, max(1, SCORES // n_classes))
    scores = np.empty((tile, n_classes), dtype=np.float32)
    while True:
        own = add_to(taken, 0, 1)
        first = start + own * together
        if first >= stop:
            return
        last = min(first + together, stop)
        found = find(budget, slot, best, bounds, first, last, chosen, rival, spare, rival_bounds)
        n_moved = 0
        for k in range(0, len(found), tile):
            rows, at = found[k : k + tile], first + n_moved
            score_sparse(data, indices, indptr, rows, weights, constants, distinct, scores)
            n_close, count = decide(
                rows, scores, distinct, has_twin, row_norms, alpha, closeness, tie, now,
                best, budget, slot, rival, spare, region, moved[at:], before[at:], True,
            )  # fmt: skip
            n_moved += settle_sparse(
                data, indices, indptr, rows[:n_close], exact_weights, exact_constants, row_norms,
                alpha, tie, now, best, budget, slot, rival, spare, region, moved[at:], before[at:],
                count,
            )  # fmt: skip
        counts[own, LOOKED_AT], counts[own, MOVED] = len(found), n_moved
        counts[own, READ] = len(found)
