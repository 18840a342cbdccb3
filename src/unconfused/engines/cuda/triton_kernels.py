"""Fused Triton kernels of the partition, which read the rows once.

They compute the same as `array_api.cells`. Triton passes a Python float in single precision, so
numbers that must be exact are passed in arrays.
"""

from __future__ import annotations

import triton
import triton.language as tl

NO_CLASS = tl.constexpr(2147483647)


def power_of_two(n: int, least: int = 1) -> int:
    """Return the smallest power of 2 that is at least n and `least`."""
    return max(least, 1 << max(0, n - 1).bit_length())


@triton.jit
def project(X, z, out, n_rows, n_columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Compute X z in float64; the last entry of z is the intercept's."""
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
def _swap(ahead, behind, leader, follower):
    """Sort two scores in descending order, with their classes."""
    overtaken = behind > ahead
    first, last = tl.where(overtaken, behind, ahead), tl.where(overtaken, ahead, behind)
    winner = tl.where(overtaken, follower, leader)
    return first, last, winner, tl.where(overtaken, leader, follower)


@triton.jit
def _challenge(outside, score, r, high, mid, low, best, after, third, others):
    """Insert the score of class r, unless it is one of the leading three, into their order."""
    over_high = outside & (score > high)
    over_mid, over_low = outside & (score > mid), outside & (score > low)
    dropped = tl.where(over_low, low, score)
    others = tl.where(outside, tl.maximum(others, dropped), others)
    low = tl.where(over_mid, mid, tl.where(over_low, score, low))
    third = tl.where(over_mid, after, tl.where(over_low, r, third))
    mid = tl.where(over_high, high, tl.where(over_mid, score, mid))
    after = tl.where(over_high, best, tl.where(over_mid, r, after))
    high, best = tl.where(over_high, score, high), tl.where(over_high, r, best)
    return high, mid, low, best, after, third, others


@triton.jit
def move_scores(
    scores,
    projection,
    settings,
    region,
    rival,
    next_rival,
    top,
    second,
    third,
    bound,
    unsure_rows,
    n_unsure,
    n_rows,
    n_classes,
    ROWS: tl.constexpr,
):
    """Update the scores of classes with a step, and reassign the rows that are clear.

    `top`, `second` and `third` are the scores of a row's three leading classes, `bound` is an upper
    bound on all others. If the best leads by more than the tie tolerance and the margin after the
    step, the classes without a step need not be read. Other rows are appended to `unsure_rows`.
    `settings` holds the tie tolerance per unit norm, the margin, the number of classes with a step,
    the largest row norm, the steps of all classes, and the classes with a step.
    """
    steps = settings + 4
    changed = steps + n_classes
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    along = tl.load(projection + rows, mask=inside, other=0.0)
    own = tl.load(region + rows, mask=inside, other=0)
    runner = tl.load(rival + rows, mask=inside, other=0)
    chaser = tl.load(next_rival + rows, mask=inside, other=0)
    old_top = tl.load(top + rows, mask=inside, other=0.0)
    old_second = tl.load(second + rows, mask=inside, other=0.0)
    old_third = tl.load(third + rows, mask=inside, other=0.0)
    old_bound = tl.load(bound + rows, mask=inside, other=0.0)
    high = old_top + tl.load(steps + tl.maximum(own, 0)) * along
    mid = old_second + tl.load(steps + runner) * along
    low = old_third + tl.load(steps + chaser) * along
    others = old_bound
    high, mid, best, after = _swap(high, mid, own, runner)
    mid, low, after, last = _swap(mid, low, after, chaser)
    high, mid, best, after = _swap(high, mid, best, after)
    # Two at a time, as most steps involve two classes: their loads overlap.
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
        outside = (own != r) & (runner != r) & (chaser != r)
        high, mid, low, best, after, last, others = _challenge(
            outside, score_r, r, high, mid, low, best, after, last, others
        )
        outside = (own != s) & (runner != s) & (chaser != s) & also
        high, mid, low, best, after, last, others = _challenge(
            outside, score_s, s, high, mid, low, best, after, last, others
        )
    tl.store(top + rows, high, mask=inside & (high != old_top))
    tl.store(second + rows, mid, mask=inside & (mid != old_second))
    tl.store(third + rows, low, mask=inside & (low != old_third))
    tl.store(bound + rows, others, mask=inside & (others != old_bound))
    # The tolerance of the longest row: a shorter row may be listed needlessly.
    allowance = tl.load(settings) * tl.load(settings + 3)
    lead = high - tl.maximum(mid, others)
    sure = (own >= 0) & (lead > tl.maximum(allowance, tl.load(settings + 1)))
    tl.store(rival + rows, after, mask=inside & sure & (after != runner))
    tl.store(next_rival + rows, last, mask=inside & sure & (last != chaser))
    tl.store(region + rows, best, mask=inside & sure & (best != own))
    unsure = inside & (sure == 0)
    flags = unsure.to(tl.int32)
    before = tl.atomic_add(n_unsure, tl.sum(flags, axis=0), sem="relaxed")
    tl.store(
        unsure_rows + before + tl.cumsum(flags, axis=0) - flags, rows.to(tl.int32), mask=unsure
    )


@triton.jit
def assign_exactly(
    scores,
    settings,
    norms,
    region,
    rival,
    next_rival,
    top,
    second,
    third,
    bound,
    unsure_rows,
    n_unsure,
    n_rows,
    n_classes,
    ROWS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Assign the listed rows by comparing all classes; find the leading three and the bound."""
    count = tl.load(n_unsure)
    classes = tl.arange(0, CLASSES)
    least = float("-inf")
    for start in range(tl.program_id(0) * ROWS, count, tl.num_programs(0) * ROWS):
        places = start + tl.arange(0, ROWS)
        inside = places < count
        rows = tl.load(unsure_rows + places, mask=inside, other=0).to(tl.int64)
        allowance = tl.load(settings) * tl.load(norms + rows, mask=inside, other=0.0)
        mask = (classes < n_classes)[:, None] & inside[None, :]
        at = scores + classes.to(tl.int64)[:, None] * n_rows + rows[None, :]
        score = tl.load(at, mask=mask, other=least)
        # The lowest class that is tied with the highest score.
        level = tl.max(score, axis=0) - allowance
        leading = tl.where(mask & (score >= level[None, :]), classes[:, None], NO_CLASS)
        best = tl.where(inside, tl.min(leading, axis=0), 0)
        is_best = classes[:, None] == best[None, :]
        own_score = tl.max(tl.where(is_best, score, least), axis=0)
        score = tl.where(is_best, least, score)
        mid, after = tl.max(score, axis=0, return_indices=True)
        score = tl.where(classes[:, None] == after[None, :], least, score)
        low, last = tl.max(score, axis=0, return_indices=True)
        last = tl.minimum(last, n_classes - 1)  # with two classes there is no third
        others = tl.max(tl.where(classes[:, None] == last[None, :], least, score), axis=0)
        wide = own_score - mid >= tl.load(settings + 1) - allowance
        tl.store(region + rows, tl.where(wide, best, -1), mask=inside)
        tl.store(rival + rows, after, mask=inside)
        tl.store(next_rival + rows, last, mask=inside)
        tl.store(top + rows, own_score, mask=inside)
        tl.store(second + rows, mid, mask=inside)
        tl.store(third + rows, low, mask=inside)
        tl.store(bound + rows, others, mask=inside)
