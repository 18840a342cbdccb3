"""Compiled loops that decide on rows by their outline, and by the rows themselves where in doubt.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._atomic_counter import add_to
from unconfused.engines._compile import compiled
from unconfused.engines._exact_kernels import settle_dense
from unconfused.engines._kernels import AHEAD, FETCHED_LINES
from unconfused.engines._look_kernels import LOOKED_AT, MOVED, READ, SMALLEST, find
from unconfused.engines._prefetch import LINE_BYTES, prefetch
from unconfused.engines._rank_kernels import LOWEST, highest_but

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

FEW_MOVED = 4
"""Classes that moved up to which they are looked at one by one."""

RANKED_EVERY = 8
"""A row's classes are ranked anew at least so often, in looks."""


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
def pass_over(
    chosen: IntArray, scores: Any, left: Any, apart: Any, beyond: Any, beyond_apart: Any,
    row_norms: FloatArray, closeness: float, smallest: float, tie: float, now: int, stale: Any,
    best: Any, budget: Any, slot: Any, rival: Any, spare: Any, others: Any,
) -> int:  # fmt: skip
    """Decide on rows whose best class has not moved.

    Both budgets are still what they were, but for the classes that moved. Rows of which that does
    not tell that they stay where they are, are listed in `others`; their number is returned.
    """
    count = 0
    for k in range(len(chosen)):
        i = chosen[k]
        row, moved, first, second = scores[i], stale[slot[i]], best[i], rival[i]
        n_moved, norm = moved[0], row_norms[i]
        # Budgets can only shrink that way, so that now and then a row is ranked anew.
        listed = ((i + now) % RANKED_EVERY == 0) | (n_moved > FEW_MOVED) | (norm == 0.0)
        for m in range(1, min(n_moved, FEW_MOVED) + 1):
            listed |= moved[m] == first
        if listed:
            others[count] = i
            count += 1
            continue
        rest, other_rest = left[i], beyond[i]
        near = closeness * (norm + rest) + smallest
        own, other = apart[first], beyond_apart[first]
        highest, closest, farther = np.float64(row[first]), budget[i], spare[i]
        for m in range(1, n_moved + 1):
            c = moved[m]
            value = row[c] + (rest * own[c] + other_rest * other[c])
            lead = np.float32((highest - np.float64(value) - near) / norm)
            farther = min(farther, max(closest, lead))
            second = c if lead < closest else second
            closest = min(closest, lead)
        # As for rows that are not looked at: scores closer than this could be tied by now.
        if 4.0 * tie < closest < np.inf:
            slot[i] = now
            budget[i], rival[i], spare[i] = closest, second, farther
        else:
            others[count] = i
            count += 1
    return count


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
def _find_contenders(
    values: Any, bits: Any, rest: float, apart: Any, other_rest: float, beyond_apart: Any,
    near: float, contenders: Any,
) -> tuple[int, int, float, float]:  # fmt: skip
    """List the class with the highest score of an outline, and those that could score more.

    Returns how many they are, the closest of the others, and by how much this one, and all but it,
    could score more than the first at most: less than 0. `values`, whose bits are `bits`, are the
    scores, and lost.
    """
    first = highest_but(bits, -1, -1)
    highest = np.float64(values[first])
    own, other = apart[first], beyond_apart[first]
    for c in range(len(values)):
        values[c] += rest * own[c] + other_rest * other[c]
    contenders[0], count = first, 1
    values[first] = LOWEST
    for c in range(len(contenders)):
        if c != first and not np.float64(values[c]) + near < highest:
            contenders[count], values[c] = c, LOWEST
            count += 1
    closest = highest_but(bits, -1, -1)
    gap = np.float64(values[closest]) + near - highest
    next_gap = np.float64(values[highest_but(bits, closest, -1)]) + near - highest
    return count, closest, gap, next_gap


@_sums
def _score_contenders(
    row: Any, start: int, stop: int, contenders: Any, count: int, weights: FloatArray, out: Any
) -> None:
    """Add the products of columns start..stop of a row to its scores for a few classes."""
    own = row[start:stop]
    for m in range(0, count, 2):
        a, b = contenders[m], contenders[min(m + 1, count - 1)]
        one, two = weights[a, start:stop], weights[b, start:stop]
        of_a, of_b = out[a], out[b]
        for j in range(len(own)):
            entry = np.float64(own[j])
            of_a += entry * one[j]
            of_b += entry * two[j]
        out[a], out[b] = of_a, of_b


@_exact
def decide_by_contenders(
    X: Any, leading: int, chosen: IntArray, scores: Any, left: Any, apart: Any, beyond: Any,
    beyond_apart: Any, weights: FloatArray, constants: FloatArray, distinct: IntArray,
    row_norms: FloatArray, rough: float, smallest: float, closeness: float, now: int, best: Any,
    budget: Any, slot: Any, rival: Any, spare: Any,
) -> int:  # fmt: skip
    """Find best class and budget of rows in doubt, scored for the classes that could be best.

    First by their `leading` columns alone, among which are all that outlines keep. Rows too close
    to call are left alone and moved to the front of `chosen`; their number is returned. The scores
    that are kept stay those of outlines: two of a kind can be compared.
    """
    n_close, n_chosen, n_classes, n_columns = 0, len(chosen), len(constants), X.shape[1]
    stride = LINE_BYTES // X.itemsize
    fetched = min(leading, FETCHED_LINES * stride)
    exact, contenders = np.empty(n_classes), np.empty(n_classes, dtype=np.int64)
    values = np.full(apart.shape[1], LOWEST, dtype=np.float32)
    bits = values.view(np.int32)
    for k in range(n_chosen):
        i, later = chosen[k], chosen[min(k + AHEAD, n_chosen - 1)]
        for j in range(0, fetched, stride):
            prefetch(X, later, j)  # type: ignore[call-arg]
        for c in distinct:
            values[c] = scores[i, c]
        near = rough * (row_norms[i] + left[i]) + smallest
        count, closest, gap, next_gap = _find_contenders(
            values, bits, left[i], apart, beyond[i], beyond_apart, near, contenders
        )
        first = contenders[0]
        for m in range(count):
            exact[contenders[m]] = constants[contenders[m]]
        exact_near = closeness * row_norms[i] + SMALLEST
        start, stop, unread = 0, leading, float(beyond[i])
        while True:
            _score_contenders(X[i], start, stop, contenders, count, weights, exact)
            if stop == n_columns:
                unread = 0.0
            winner = first
            for m in range(1, count):
                if exact[contenders[m]] > exact[winner]:
                    winner = contenders[m]
            # What others could score, by what was not read of the row, or by its outline.
            reference = exact[first] + unread * beyond_apart[winner, first]
            runner_up, second, third = reference + gap, closest, reference + next_gap
            for m in range(count):
                c = contenders[m]
                value = exact[c] + unread * beyond_apart[winner, c]
                if c != winner and value > runner_up:
                    third, runner_up, second = runner_up, value, c
                elif c != winner and value > third:
                    third = value
            room = exact[winner] - runner_up - exact_near
            if room > 0.0 or stop == n_columns:
                break
            start, stop = leading, n_columns
        if row_norms[i] == 0.0 or not 0.0 < room < np.inf:
            chosen[n_close] = i
            n_close += 1
            continue
        best[i] = winner
        slot[i] = now
        budget[i] = room / row_norms[i]
        if len(rival) > 0:
            rival[i] = second
            spare[i] = (exact[winner] - third - exact_near) / row_norms[i]
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
    X: Any, leading: int, lines: Any, scales: Any, left: Any, apart: Any, beyond: Any,
    beyond_apart: Any, rough_weights: Any, rough_constants: Any, rough: float, smallest: float,
    weights: Any, constants: Any, stale: Any, scores: Any, bounds: Any, rival_bounds: Any,
    distinct: IntArray, row_norms: FloatArray, closeness: float, tie: float, now: int, best: Any,
    budget: Any, slot: Any, rival: Any, spare: Any, region: Any, moved: Any, before: Any,
    start: int, stop: int, together: int, taken: Any, counts: Any,
) -> None:  # fmt: skip
    """Find, refresh, decide and place rows start..stop by their outlines, `together` at a time.

    As `look_dense` does, without a margin; not all rows that it looked at had to be read.
    """
    chosen = np.empty(together, dtype=moved.dtype)
    in_doubt = np.empty_like(chosen)
    while True:
        own = add_to(taken, 0, 1)
        first = start + own * together
        if first >= stop:
            return
        last = min(first + together, stop)
        rows = find(budget, slot, best, bounds, first, last, chosen, rival, spare, rival_bounds)
        outline_refresh(lines, scales, rows, rough_weights, rough_constants, stale, slot, scores)
        ranked = rows
        if len(rival) > 0:
            count = pass_over(
                rows, scores, left, apart, beyond, beyond_apart, row_norms, rough, smallest, tie,
                now, stale, best, budget, slot, rival, spare, in_doubt,
            )  # fmt: skip
            ranked = in_doubt[:count]
        n_read = decide_by_outline(
            ranked, scores, left, apart, beyond, beyond_apart, distinct, row_norms, rough, smallest,
            now, best, budget, slot, rival, spare, in_doubt,
        )  # fmt: skip
        n_close = decide_by_contenders(
            X, leading, in_doubt[:n_read], scores, left, apart, beyond, beyond_apart, weights,
            constants, distinct, row_norms, rough, smallest, closeness, now, best, budget, slot,
            rival, spare,
        )  # fmt: skip
        n_moved = _take_places(rows, best, region, moved[first:], before[first:])
        n_moved = settle_dense(
            X, in_doubt[:n_close], weights, constants, row_norms, 0.0, tie, now, best,
            budget, slot, rival, spare, region, moved[first:], before[first:], n_moved,
        )  # fmt: skip
        counts[own, LOOKED_AT], counts[own, MOVED], counts[own, READ] = len(rows), n_moved, n_read
