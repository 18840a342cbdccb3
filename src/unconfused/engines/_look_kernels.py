"""Compiled loops that find the region of rows, looking only at rows that could have left it.

A loop works on rows start..stop or on a list of chosen rows; threads share the rows between them.
Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._atomic_counter import add_to
from unconfused.engines._compile import compiled
from unconfused.engines._exact_kernels import settle_dense, settle_sparse
from unconfused.engines._kernels import AHEAD, FETCHED_LINES
from unconfused.engines._prefetch import LINE_BYTES, prefetch, prefetch_entry

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

TILE = 256
"""Sparse rows scored together: they stay in fast memory from one class to the next."""

LOOKED_AT, MOVED, READ = range(3)
"""What is counted of rows that were looked at together."""

FETCHED_AHEAD = 8
"""How many rows ahead what is known of one is fetched, when rows are decided on."""

LOWEST = np.float32(-np.inf)
TINY, HUGE = 1e-42, 1e26
"""Between these, the tie of a row as long as 1, and of a row, say that scores keep to the range of
single precision, partial sums included: a tie is 1e-12 of the largest score there could be."""

SMALLEST = 1e-44
"""Scores smaller than this have no digits left in single precision."""


@_exact
def find(
    budget: Any, slot: Any, best: Any, bounds: Any, start: int, stop: int, chosen: Any,
    rival: Any, spare: Any, rival_bounds: Any,
) -> Any:  # fmt: skip
    """Return the rows of start..stop that must be looked at, the first part of `chosen`.

    Their budget for the closest rival does not exceed how far it has come, or their spare one how
    far any other has. Where `rival` has no room for the rows, there is one budget for all classes.
    """
    unsafe = np.empty(stop - start, dtype=np.uint8)
    since, own, left = slot[start:stop], best[start:stop], budget[start:stop]
    # Tables are read as one line each, at places that cannot be meant from the end, and what was
    # found is listed afterwards: so the compiler takes many rows at a time.
    n_classes, farthest = np.uint32(bounds.shape[1]), bounds.reshape(-1)
    if len(rival) > 0:
        other, others_left = rival[start:stop], spare[start:stop]
        apart = rival_bounds.reshape(-1)
        for k in range(len(unsafe)):
            at = np.uint32(since[k]) * n_classes + np.uint32(own[k])
            alone = apart[at * n_classes + np.uint32(other[k])]
            unsafe[k] = (not (left[k] > alone)) | (not (others_left[k] > farthest[at]))
    else:
        for k in range(len(unsafe)):
            at = np.uint32(since[k]) * n_classes + np.uint32(own[k])
            unsafe[k] = not (left[k] > farthest[at])
    found = 0
    for k in range(len(unsafe)):
        # Written without a branch: which rows are safe is as good as random.
        chosen[found] = start + k
        found += unsafe[k]
    return chosen[:found]


@_sums
def dense_refresh(
    X: Any, chosen: IntArray, weights: Any, constants: Any, stale: Any, slot: Any, scores: Any
) -> None:
    """Score chosen rows anew for the classes that moved since they were last looked at.

    The weights come in the rows' own precision, and so do the sums. Two classes share one pass
    over a row, as most often two have moved, and a row some way ahead is fetched meanwhile.
    """
    n_chosen, n_columns = len(chosen), X.shape[1]
    stride = LINE_BYTES // X.itemsize
    fetched = min(n_columns, FETCHED_LINES * stride)
    for k in range(n_chosen):
        i, later = chosen[k], chosen[min(k + AHEAD, n_chosen - 1)]
        for j in range(0, fetched, stride):
            prefetch(X, later, j)  # type: ignore[call-arg]
        row, classes = X[i], stale[slot[i]]
        last = classes[0]
        for m in range(1, last + 1, 2):
            # Past the end of the list its last class is scored again.
            a, b = classes[m], classes[min(m + 1, last)]
            one, two = weights[a], weights[b]
            of_a, of_b = constants[a], constants[b]
            for j in range(n_columns):
                of_a += row[j] * one[j]
                of_b += row[j] * two[j]
            scores[i, a], scores[i, b] = of_a, of_b


@_sums
def sparse_refresh(
    data: Any, indices: Any, indptr: Any, chosen: IntArray, weights: Any, constants: Any,
    stale: Any, slot: Any, scores: Any,
) -> None:  # fmt: skip
    """Do the same for rows in CSR.

    Weights are read at random, so that few of them should be in use at a time: a tile of rows is
    scored for two classes, then for the next two of the list.
    """
    n_chosen = len(chosen)
    for start in range(0, n_chosen, TILE):
        stop = min(start + TILE, n_chosen)
        longest = 0
        for k in range(start, stop):
            longest = max(longest, stale[slot[chosen[k]], 0])
        for m in range(1, longest + 1, 2):
            for k in range(start, stop):
                i = chosen[k]
                classes = stale[slot[i]]
                if m > classes[0]:
                    continue
                a, b = classes[m], classes[min(m + 1, classes[0])]
                one, two = weights[a], weights[b]
                of_a, of_b = constants[a], constants[b]
                # Slices, counted from 0: no entry is asked whether it is meant from the end.
                values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
                for e in range(len(values)):
                    of_a += values[e] * one[places[e]]
                    of_b += values[e] * two[places[e]]
                scores[i, a], scores[i, b] = of_a, of_b


@_exact
def _first_two(row: Any, distinct: IntArray) -> tuple[Any, Any, int]:
    """Return the two highest scores, and the class of the first."""
    highest, runner_up, first = LOWEST, LOWEST, -1
    # Without branches: which class is best is as good as random.
    for m in range(len(distinct)):
        value = row[distinct[m]]
        runner_up = max(runner_up, min(highest, value))
        first = distinct[m] if value > highest else first
        highest = max(highest, value)
    return highest, runner_up, first


@_exact
def _first_three(row: Any, distinct: IntArray) -> tuple[Any, Any, int, Any, int]:
    """Return the same, the third score and the second class."""
    highest, runner_up, third, first, second = LOWEST, LOWEST, LOWEST, -1, -1
    for m in range(len(distinct)):
        c = distinct[m]
        value = row[c]
        third = max(third, min(runner_up, value))
        second = c if value > runner_up else second
        second = first if value > highest else second
        runner_up = max(runner_up, min(highest, value))
        first = c if value > highest else first
        highest = max(highest, value)
    return highest, runner_up, first, third, second


@_exact
def decide(
    chosen: IntArray,
    scores: Any,
    distinct: IntArray,
    has_twin: Any,
    row_norms: FloatArray,
    alpha: float,
    closeness: float,
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
    by_place: bool,
) -> tuple[int, int]:
    """Find best class, region and budget of chosen rows from single-precision scores.

    Scores are listed by row, or `by_place` in the order of the chosen rows.
    Rows too close to call are left alone and moved to the front of `chosen`. Of the others, those
    that moved are listed, and from where. Returns the numbers of both. Of several classes with
    equal weights only the lowest is in `distinct`. Where `rival` has no room for the rows, rivals
    are not looked for.
    """
    n_close, n_moved, n_chosen, with_rivals = 0, 0, len(chosen), len(rival) > 0
    for k in range(n_chosen):
        i, later = chosen[k], chosen[min(k + FETCHED_AHEAD, n_chosen - 1)]
        prefetch_entry(row_norms, later)  # type: ignore[call-arg]
        prefetch_entry(region, later)  # type: ignore[call-arg]
        row = scores[k] if by_place else scores[i]
        third, second = LOWEST, -1
        if with_rivals:
            highest, runner_up, first, third, second = _first_three(row, distinct)
        else:
            highest, runner_up, first = _first_two(row, distinct)
        near = closeness * row_norms[i] + SMALLEST
        lead = np.float64(highest) - np.float64(runner_up)
        clear = lead > near
        if not has_twin[max(first, 0)]:
            room = lead - near
            if alpha > 0.0:
                distance = abs(lead - alpha)
                clear = clear and distance > near
                room = min(room, distance - near)
            inside = lead >= alpha
        else:
            room = lead - near
            inside = alpha <= tie * row_norms[i]
        # Where scores could overflow, or have lost digits, single precision says nothing.
        extreme = not (tie > TINY and TINY < tie * row_norms[i] < HUGE)
        if extreme or not clear or not np.isfinite(room):
            chosen[n_close], chosen[k] = i, chosen[n_close]
            n_close += 1
            continue
        place = first if inside else -1
        if place != region[i]:
            moved[n_moved], before[n_moved] = i, region[i]
            region[i] = place
            n_moved += 1
        best[i] = first  # after its old region was read: both may be kept at one place
        slot[i] = now
        budget[i] = room / row_norms[i]
        if with_rivals:
            rival[i] = max(second, 0)
            # With a lead of less than alpha over the closest rival, others would have to overtake.
            ahead_of_others = np.float64(highest) - np.float64(third) - near - alpha
            spare[i] = max(room, ahead_of_others) / row_norms[i]
    return n_close, n_moved


@_exact
def look_dense(
    X: Any, weights: Any, constants: Any, exact_weights: FloatArray, exact_constants: FloatArray,
    stale: Any, scores: Any, bounds: Any, rival_bounds: Any, distinct: IntArray, has_twin: Any,
    row_norms: FloatArray, alpha: float, closeness: float, tie: float, now: int, best: Any,
    budget: Any, slot: Any, rival: Any, spare: Any, region: Any, moved: Any, before: Any,
    start: int, stop: int, together: int, taken: Any, counts: Any,
) -> None:  # fmt: skip
    """Find, refresh, decide and place rows start..stop, `together` at a time.

    What is known of a row is then still in fast memory when it is decided on. Several threads may
    do so at once, each taking the next rows. Rows too close to call are decided on in double
    precision. Counted is, of all rows that were taken together, how many were looked at, how many
    moved (they are listed from their first place in `moved` on, in order), and how many were read.
    """
    chosen = np.empty(together, dtype=moved.dtype)
    while True:
        own = add_to(taken, 0, 1)
        first = start + own * together
        if first >= stop:
            return
        last = min(first + together, stop)
        rows = find(budget, slot, best, bounds, first, last, chosen, rival, spare, rival_bounds)
        dense_refresh(X, rows, weights, constants, stale, slot, scores)
        n_close, n_moved = decide(
            rows, scores, distinct, has_twin, row_norms, alpha, closeness, tie, now,
            best, budget, slot, rival, spare, region, moved[first:], before[first:], False,
        )  # fmt: skip
        n_moved = settle_dense(
            X, rows[:n_close], exact_weights, exact_constants, row_norms, alpha, tie, now,
            best, budget, slot, rival, spare, region, moved[first:], before[first:], n_moved,
        )  # fmt: skip
        counts[own, LOOKED_AT], counts[own, MOVED] = len(rows), n_moved
        counts[own, READ] = len(rows)


@_exact
def look_sparse(
    data: Any, indices: Any, indptr: Any, weights: Any, constants: Any, exact_weights: FloatArray,
    exact_constants: FloatArray, stale: Any, scores: Any, bounds: Any, rival_bounds: Any,
    distinct: IntArray, has_twin: Any, row_norms: FloatArray, alpha: float, closeness: float,
    tie: float, now: int, best: Any, budget: Any, slot: Any, rival: Any, spare: Any, region: Any,
    moved: Any, before: Any, start: int, stop: int, together: int, taken: Any, counts: Any,
) -> None:  # fmt: skip
    """Do the same for rows in CSR."""
    chosen = np.empty(together, dtype=moved.dtype)
    while True:
        own = add_to(taken, 0, 1)
        first = start + own * together
        if first >= stop:
            return
        last = min(first + together, stop)
        rows = find(budget, slot, best, bounds, first, last, chosen, rival, spare, rival_bounds)
        sparse_refresh(data, indices, indptr, rows, weights, constants, stale, slot, scores)
        n_close, n_moved = decide(
            rows, scores, distinct, has_twin, row_norms, alpha, closeness, tie, now,
            best, budget, slot, rival, spare, region, moved[first:], before[first:], False,
        )  # fmt: skip
        n_moved = settle_sparse(
            data, indices, indptr, rows[:n_close], exact_weights, exact_constants, row_norms, alpha,
            tie, now, best, budget, slot, rival, spare, region, moved[first:], before[first:],
            n_moved,
        )  # fmt: skip
        counts[own, LOOKED_AT], counts[own, MOVED] = len(rows), n_moved
        counts[own, READ] = len(rows)


@_exact
def bring_together(
    moved: Any, before: Any, start: int, together: int, counts: Any, n_before: int
) -> int:
    """Move the lists of rows taken together one behind the other, and behind `n_before` others.

    Returns how many are listed then.
    """
    at = n_before
    for own in range(len(counts)):
        first = start + own * together
        for k in range(counts[own, MOVED]):  # never past what is still to be read
            moved[at], before[at] = moved[first + k], before[first + k]
            at += 1
    return at


@_exact
def list_stale(distinct: IntArray, moved_at: Any, slot_times: Any, out: Any) -> None:
    """List, for every slot, the classes that moved since; the first entry is their number."""
    for s in range(len(slot_times)):
        count = 0
        for c in distinct:
            if moved_at[c] > slot_times[s]:
                count += 1
                out[s, count] = c
        out[s, 0] = count
