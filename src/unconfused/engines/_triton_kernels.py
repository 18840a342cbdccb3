"""Loops over rows on a CUDA device, fused so that the rows are read once.

They calculate what `_array_cells` says, and nothing else. Triton passes a Python float in single
precision, so what must be exact comes in arrays.
"""

from __future__ import annotations

import triton
import triton.language as tl

from unconfused.engines._triton_moves import note, take_spots

NO_CLASS = tl.constexpr(2147483647)


@triton.jit
def project(X, z, out, n_rows, n_columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Multiply every row by a vector, whose last entry is the intercept's, in float64."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    total = tl.zeros([ROWS], tl.float64)
    for first in range(0, n_columns, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        there = columns < n_columns
        mask = inside[:, None] & there[None, :]
        x = tl.load(X + rows[:, None] * n_columns + columns[None, :], mask=mask, other=0.0)
        direction = tl.load(z + columns, mask=there, other=0.0)
        total += tl.sum(x.to(tl.float64) * direction[None, :], axis=1)
    tl.store(out + rows, total + tl.load(z + n_columns), mask=inside)


@triton.jit
def _challenge(outside, score, r, highest, best, next_high, after, others):
    """Put a score of class r, if it is none of the first two, in its place among all."""
    first, behind = outside & (score > highest), outside & (score > next_high)
    dropped = tl.where(behind, next_high, score)
    others = tl.where(outside, tl.maximum(others, dropped), others)
    next_high = tl.where(first, highest, tl.where(behind, score, next_high))
    after = tl.where(first, best, tl.where(behind, r, after))
    return tl.where(first, score, highest), tl.where(first, r, best), next_high, after, others


@triton.jit
def follow(
    scores,
    projection,
    settings,
    region,
    rival,
    top,
    second,
    bound,
    waiting,
    counters,
    codes,
    moves,
    move_bins,
    move_ranks,
    bin_counts,
    n_rows,
    n_classes,
    n_codes,
    SHARES: tl.constexpr,
    BINS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Move the scores that change, and list the rows that move with them.

    `top` and `second` are the scores of a row's class and of its rival, `bound` is at least that of
    every other class. While the best is further from the rest than a tie and the margin, also
    after the step, the classes without a step need not be looked at; the other rows are put on the
    list of those that wait for it. `settings` holds the allowance for ties of a row of length 1,
    the margin, how many classes have a step, the longest row, the steps, and those classes.
    """
    steps = settings + 4
    changed = steps + n_classes
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    along = tl.load(projection + rows, mask=inside, other=0.0)
    own = tl.load(region + rows, mask=inside, other=0)
    runner = tl.load(rival + rows, mask=inside, other=0)
    old_top = tl.load(top + rows, mask=inside, other=0.0)
    old_second = tl.load(second + rows, mask=inside, other=0.0)
    old_bound = tl.load(bound + rows, mask=inside, other=0.0)
    here = old_top + tl.load(steps + tl.maximum(own, 0)) * along
    there = old_second + tl.load(steps + runner) * along
    overtaken = there > here
    highest, next_high = tl.where(overtaken, there, here), tl.where(overtaken, here, there)
    best, after = tl.where(overtaken, runner, own), tl.where(overtaken, own, runner)
    others = old_bound
    # Two at a time, as most steps are of two classes: what they need is then read at once.
    count = tl.load(settings + 2).to(tl.int32)
    for place in range(0, count, 2):
        both = place + 1 < count
        also = tl.where(both, rows, n_rows) < n_rows
        r = tl.load(changed + place).to(tl.int32)
        s = tl.where(both, tl.load(changed + place + 1), 0.0).to(tl.int32)
        at_r = scores + r.to(tl.int64) * n_rows + rows
        at_s = scores + s.to(tl.int64) * n_rows + rows
        score_r = tl.load(at_r, mask=inside, other=0.0) + tl.load(steps + r) * along
        score_s = tl.load(at_s, mask=also, other=0.0) + tl.load(steps + s) * along
        tl.store(at_r, score_r, mask=inside)
        tl.store(at_s, score_s, mask=also)
        outside = (own != r) & (runner != r)
        highest, best, next_high, after, others = _challenge(
            outside, score_r, r, highest, best, next_high, after, others
        )
        outside = (own != s) & (runner != s) & also
        highest, best, next_high, after, others = _challenge(
            outside, score_s, s, highest, best, next_high, after, others
        )
    tl.store(top + rows, highest, mask=inside & (highest != old_top))
    tl.store(second + rows, next_high, mask=inside & (next_high != old_second))
    tl.store(bound + rows, others, mask=inside & (others != old_bound))
    # Every row is given the allowance of the longest: whoever needs less waits for nothing.
    allowance = tl.load(settings) * tl.load(settings + 3)
    lead = highest - tl.maximum(next_high, others)
    sure = (own >= 0) & (lead > tl.maximum(allowance, tl.load(settings + 1)))
    tl.store(rival + rows, after, mask=inside & sure & (after != runner))
    changes = inside & sure & (best != own)
    tl.store(region + rows, best, mask=changes)
    unsure = inside & (sure == 0)
    spots, places = take_spots(changes, unsure, counters)
    tl.store(waiting + places, rows.to(tl.int32), mask=unsure)
    note(
        changes, rows, spots, own, best, codes, moves, move_bins, move_ranks, bin_counts,
        n_classes, n_codes, SHARES, BINS,
    )  # fmt: skip


@triton.jit
def settle(
    scores,
    settings,
    norms,
    region,
    rival,
    top,
    second,
    bound,
    waiting,
    counters,
    codes,
    moves,
    move_bins,
    move_ranks,
    bin_counts,
    n_rows,
    n_classes,
    n_codes,
    SHARES: tl.constexpr,
    BINS: tl.constexpr,
    ROWS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Find the class of every row that waits and its rival, and list those that moved."""
    n_waiting = (tl.load(counters) & 0xFFFFFFFF).to(tl.int32)
    classes = tl.arange(0, CLASSES)
    least = float("-inf")
    for start in range(tl.program_id(0) * ROWS, n_waiting, tl.num_programs(0) * ROWS):
        places = start + tl.arange(0, ROWS)
        inside = places < n_waiting
        rows = tl.load(waiting + places, mask=inside, other=0).to(tl.int64)
        allowance = tl.load(settings) * tl.load(norms + rows, mask=inside, other=0.0)
        mask = (classes < n_classes)[:, None] & inside[None, :]
        at = scores + classes.to(tl.int64)[:, None] * n_rows + rows[None, :]
        score = tl.load(at, mask=mask, other=least)
        # The lowest class that is level with the highest.
        level = tl.max(score, axis=0) - allowance
        leading = tl.where(mask & (score >= level[None, :]), classes[:, None], NO_CLASS)
        best = tl.where(inside, tl.min(leading, axis=0), 0)
        is_best = classes[:, None] == best[None, :]
        own_score = tl.max(tl.where(is_best, score, least), axis=0)
        score = tl.where(is_best, least, score)
        next_high, after = tl.max(score, axis=0, return_indices=True)
        others = tl.max(tl.where(classes[:, None] == after[None, :], least, score), axis=0)
        wide = own_score - next_high >= tl.load(settings + 1) - allowance
        new = tl.where(wide, best, -1)
        old = tl.load(region + rows, mask=inside, other=-1)
        tl.store(region + rows, new, mask=inside)
        tl.store(rival + rows, after, mask=inside)
        tl.store(top + rows, own_score, mask=inside)
        tl.store(second + rows, next_high, mask=inside)
        tl.store(bound + rows, others, mask=inside)
        moving = inside & (new != old)
        spots, _ = take_spots(moving, moving & (inside == 0), counters)
        note(
            moving, rows, spots, old, new, codes, moves, move_bins, move_ranks, bin_counts,
            n_classes, n_codes, SHARES, BINS,
        )  # fmt: skip
