"""Compiled loops that decide on rows by their outline, and by the rows themselves where in doubt.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._compile import compiled
from unconfused.engines._exact_kernels import settle_dense
from unconfused.engines._kernels import AHEAD, FETCHED_LINES
from unconfused.engines._look_kernels import AT_A_TIME, SMALLEST, find
from unconfused.engines._prefetch import LINE_BYTES, prefetch
from unconfused.engines._rank_kernels import LOWEST, highest_but

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

# Entries of rows are numbers, which have been checked.
_bounded = partial(compiled, fastmath={"reassoc", "contract", "nnan", "nsz"})

LARGEST = 127.0


@_bounded
def measure_columns(X: Any, start: int, stop: int, ranges: FloatArray, squares: FloatArray) -> None:
    """Bring the largest magnitude and the squares of every column up to rows start..stop."""
    for i in range(start, stop):
        for j in range(X.shape[1]):
            entry = np.float64(X[i, j])
            ranges[j] = max(ranges[j], abs(entry))
            squares[j] += entry * entry


@_bounded
def draw_outline(
    X: Any, ranges: FloatArray, shares: FloatArray, kept: IntArray, others: IntArray, start: int,
    stop: int, lines: Any, scales: Any, left: Any, beyond: Any,
) -> None:  # fmt: skip
    """Round the kept columns of rows start..stop to one byte each, and measure what is left out.

    An entry is its byte, times the scale of its row, times the range of its column. `shares` are
    the inverses of the ranges. What rounding leaves out of a row is as long as `left` says, what
    the other columns hold as `beyond` does.
    """
    for i in range(start, stop):
        row, line = X[i], lines[i]
        largest = 0.0
        for j in range(len(kept)):
            largest = max(largest, abs(row[kept[j]] * shares[j]))
        scale = np.float64(np.float32(largest / LARGEST))
        per_step = 1.0 / scale if scale > 0.0 else 0.0
        squares = 0.0
        for j in range(len(kept)):
            entry = np.float64(row[kept[j]])
            byte = min(max(np.rint(entry * shares[j] * per_step), -LARGEST), LARGEST)
            line[j] = np.int8(byte)
            rest = entry - byte * (scale * ranges[j])
            squares += rest * rest
        scales[i] = scale
        left[i] = np.sqrt(squares) * (1.0 + 1e-6) + SMALLEST
        squares = 0.0
        for j in others:
            squares += np.float64(row[j]) ** 2
        beyond[i] = np.sqrt(squares) * (1.0 + 1e-6) + (SMALLEST if len(others) else 0.0)


@_sums
def outline_refresh(
    lines: Any, scales: Any, chosen: IntArray, weights: Any, constants: Any, stale: Any,
    slot: Any, scores: Any,
) -> None:  # fmt: skip
    """Score the outlines of chosen rows anew for the classes that moved since."""
    n_chosen, n_columns = len(chosen), lines.shape[1]
    fetched = min(n_columns, FETCHED_LINES * LINE_BYTES)
    for k in range(n_chosen):
        i, later = chosen[k], chosen[min(k + AHEAD, n_chosen - 1)]
        for j in range(0, fetched, LINE_BYTES):
            prefetch(lines, later, j)  # type: ignore[call-arg]
        line, scale, classes = lines[i], scales[i], stale[slot[i]]
        last = classes[0]
        for m in range(1, last + 1, 2):
            # Past the end of the list its last class is scored again.
            a, b = classes[m], classes[min(m + 1, last)]
            one, two = weights[a], weights[b]
            of_a, of_b = np.float32(0.0), np.float32(0.0)
            for j in range(n_columns):
                entry = np.float32(line[j])
                of_a += entry * one[j]
                of_b += entry * two[j]
            scores[i, a] = scale * of_a + constants[a]
            scores[i, b] = scale * of_b + constants[b]


@_sums
def distances(
    weights: FloatArray, movers: IntArray, n_kept: int, apart: Any, beyond_apart: Any
) -> None:
    """Write upper bounds of how far all classes' weights are from those of some.

    Those in the first columns, which are kept, and those in the others. The weights of a class are
    read once, for all that have moved.
    """
    for c in range(len(weights)):
        for own in movers:
            squares = 0.0
            for j in range(n_kept):
                away = weights[c, j] - weights[own, j]
                squares += away * away
            apart[own, c] = apart[c, own] = np.sqrt(squares) * (1.0 + 1e-6)
            squares = 0.0
            for j in range(n_kept, weights.shape[1]):
                away = weights[c, j] - weights[own, j]
                squares += away * away
            beyond_apart[own, c] = beyond_apart[c, own] = np.sqrt(squares) * (1.0 + 1e-6)


@_sums
def decide_by_outline(
    chosen: IntArray, scores: Any, left: Any, apart: Any, beyond: Any, beyond_apart: Any,
    distinct: IntArray, row_norms: FloatArray, closeness: float, smallest: float, now: int,
    best: Any, budget: Any, slot: Any, rival: Any, spare: Any, in_doubt: Any,
) -> int:  # fmt: skip
    """Find best class and budget of chosen rows from the scores of their outlines.

    The scores of two outlines differ from those of the rows by what is left out, times how far the
    weights of the two classes are apart: in the columns that are kept, and in those that are not.
    Rows in doubt are left alone, and listed in `in_doubt`; their number is returned.
    """
    count, n_classes, width = 0, scores.shape[1], apart.shape[1]
    values = np.full(width, LOWEST, dtype=np.float32)
    bits = values.view(np.int32)
    for k in range(len(chosen)):
        i = chosen[k]
        row, rest, other_rest = scores[i], left[i], beyond[i]
        # Written out, as the compiler makes more of it than of a call.
        if len(distinct) == n_classes:
            for c in range(n_classes):
                values[c] = row[c]
        else:
            for c in distinct:
                values[c] = row[c]
        first = highest_but(bits, -1, -1)
        highest = values[first]
        own, other = apart[first], beyond_apart[first]
        for c in range(width):
            values[c] += rest * own[c] + other_rest * other[c]
        second = highest_but(bits, first, -1)
        runner_up, third = values[second], values[highest_but(bits, first, second)]
        near = closeness * (row_norms[i] + rest) + smallest
        room = np.float64(highest) - np.float64(runner_up) - near
        if row_norms[i] == 0.0 or not 0.0 < room < np.inf:
            in_doubt[count] = i
            count += 1
            continue
        best[i] = first
        slot[i] = now
        budget[i] = room / row_norms[i]
        if len(rival) > 0:
            rival[i] = second
            spare[i] = (np.float64(highest) - np.float64(third) - near) / row_norms[i]
    return count


@_sums
def _score_contenders(
    row: Any, contenders: Any, count: int, weights: FloatArray, constants: FloatArray, out: Any
) -> None:
    """Score one row for a few classes, in double precision."""
    for m in range(0, count, 2):
        a, b = contenders[m], contenders[min(m + 1, count - 1)]
        one, two = weights[a], weights[b]
        of_a, of_b = constants[a], constants[b]
        for j in range(len(row)):
            entry = np.float64(row[j])
            of_a += entry * one[j]
            of_b += entry * two[j]
        out[a], out[b] = of_a, of_b


@_exact
def decide_by_contenders(
    X: Any, chosen: IntArray, scores: Any, left: Any, apart: Any, beyond: Any, beyond_apart: Any,
    weights: FloatArray, constants: FloatArray, distinct: IntArray, row_norms: FloatArray,
    rough: float, smallest: float, closeness: float, now: int, best: Any, budget: Any, slot: Any,
    rival: Any, spare: Any,
) -> int:  # fmt: skip
    """Find best class and budget of rows in doubt, scored for the classes that could be best.

    Rows too close to call are left alone and moved to the front of `chosen`; their number is
    returned. The scores that are kept stay those of outlines: two of a kind can be compared.
    """
    n_close, n_chosen, n_classes = 0, len(chosen), len(constants)
    stride = LINE_BYTES // X.itemsize
    fetched = min(X.shape[1], FETCHED_LINES * stride)
    values, contenders = np.empty(n_classes), np.empty(n_classes, dtype=np.int64)
    own_scores = np.full(apart.shape[1], LOWEST, dtype=np.float32)
    bits = own_scores.view(np.int32)
    for k in range(n_chosen):
        i, later = chosen[k], chosen[min(k + AHEAD, n_chosen - 1)]
        for j in range(0, fetched, stride):
            prefetch(X, later, j)  # type: ignore[call-arg]
        for c in distinct:
            own_scores[c] = scores[i, c]
        first = highest_but(bits, -1, -1)
        highest = own_scores[first]
        near = rough * (row_norms[i] + left[i]) + smallest
        contenders[0], count = first, 1
        for m in range(len(distinct)):
            c = distinct[m]
            # By how much a class could score more than the first.
            off = left[i] * apart[first, c] + beyond[i] * beyond_apart[first, c]
            values[c] = np.float64(scores[i, c]) + off + near - highest
            if c != first and not values[c] < 0.0:
                contenders[count] = c
                count += 1
        _score_contenders(X[i], contenders, count, weights, constants, values)
        own, n_seen = values[first], 1
        highest_value, runner_up, third, winner, second = -np.inf, -np.inf, -np.inf, 0, 0
        for m in range(len(distinct)):
            c = distinct[m]
            if n_seen < count and c == contenders[n_seen]:
                n_seen += 1
            elif c != first:
                values[c] += own
            value = values[c]
            if value > highest_value:
                third, runner_up, second = runner_up, highest_value, winner
                highest_value, winner = value, c
            elif value > runner_up:
                third, runner_up, second = runner_up, value, c
            elif value > third:
                third = value
        exact_near = closeness * row_norms[i] + SMALLEST
        room = highest_value - runner_up - exact_near
        if row_norms[i] == 0.0 or not 0.0 < room < np.inf:
            chosen[n_close] = i
            n_close += 1
            continue
        best[i] = winner
        slot[i] = now
        budget[i] = room / row_norms[i]
        if len(rival) > 0:
            rival[i] = second
            spare[i] = (highest_value - third - exact_near) / row_norms[i]
    return n_close


@_exact
def _take_places(chosen: IntArray, best: Any, region: Any, moved: Any, before: Any) -> int:
    """Put chosen rows into their regions; list those that moved, and from where.

    Rows too close to call still have the best class of their old region.
    """
    n_moved = 0
    for i in chosen:
        if best[i] != region[i]:
            moved[n_moved], before[n_moved] = i, region[i]
            region[i] = best[i]
            n_moved += 1
    return n_moved


@_exact
def look_outlined(
    X: Any, lines: Any, scales: Any, left: Any, apart: Any, beyond: Any, beyond_apart: Any,
    rough_weights: Any, rough_constants: Any, rough: float, smallest: float, weights: Any,
    constants: Any, stale: Any, scores: Any, bounds: Any, rival_bounds: Any, distinct: IntArray,
    row_norms: FloatArray, closeness: float, tie: float, now: int, best: Any, budget: Any,
    slot: Any, rival: Any, spare: Any, region: Any, moved: Any, before: Any, chosen: IntArray,
    start: int, stop: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Find, refresh, decide and place rows start..stop by their outlines, a few at a time.

    As `look_dense` does, without a margin; not all rows that it looked at had to be read.
    """
    n_looked, n_close, n_moved, n_read = 0, 0, 0, 0
    in_doubt = np.empty(AT_A_TIME, dtype=chosen.dtype)
    for first in range(start, stop, AT_A_TIME):
        last = min(first + AT_A_TIME, stop)
        rows = find(budget, slot, best, bounds, first, last, chosen, rival, spare, rival_bounds)
        outline_refresh(lines, scales, rows, rough_weights, rough_constants, stale, slot, scores)
        count = decide_by_outline(
            rows, scores, left, apart, beyond, beyond_apart, distinct, row_norms, rough, smallest,
            now, best, budget, slot, rival, spare, in_doubt,
        )  # fmt: skip
        close = decide_by_contenders(
            X, in_doubt[:count], scores, left, apart, beyond, beyond_apart, weights, constants,
            distinct, row_norms, rough, smallest, closeness, now, best, budget, slot, rival, spare,
        )  # fmt: skip
        at = start + n_moved
        n_moved += _take_places(rows, best, region, moved[at:], before[at:])
        for k in range(close):  # never past the rows that are being read
            chosen[start + n_close + k] = in_doubt[k]
        n_close += close
        n_looked += len(rows)
        n_read += count
    n_moved = settle_dense(
        X, chosen[start : start + n_close], weights, constants, row_norms, 0.0, tie, now, best,
        budget, slot, rival, spare, region, moved[start:], before[start:], n_moved,
    )  # fmt: skip
    return n_looked, n_moved, n_read
