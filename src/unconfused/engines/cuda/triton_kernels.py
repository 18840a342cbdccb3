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
def move_scores(
    scores, projection, settings, region, top, bound, unsure_rows, n_unsure, n_rows, n_classes,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Update the scores of classes with a step; list the rows whose class may have changed.

    `top` is the score of a row's class, `bound` an upper bound on the scores of all others. While
    the class leads by more than the tie tolerance and the margin, the classes without a step need
    not be read. Other rows are appended to `unsure_rows`. `settings` holds the tie tolerance per
    unit norm, the margin, the number of classes with a step, the largest row norm, the steps of all
    classes, and the classes with a step.
    """
    steps, changed = settings + 4, settings + 4 + n_classes
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    along = tl.load(projection + rows, mask=inside, other=0.0)
    own = tl.load(region + rows, mask=inside, other=0)
    others = tl.load(bound + rows, mask=inside, other=0.0)
    high = tl.load(top + rows, mask=inside, other=0.0) + tl.load(steps + tl.maximum(own, 0)) * along
    for place in range(tl.load(settings + 2).to(tl.int32)):
        r = tl.load(changed + place).to(tl.int32)
        at = scores + r.to(tl.int64) * n_rows + rows
        score = tl.load(at, mask=inside, other=0.0) + tl.load(steps + r) * along
        tl.store(at, score, mask=inside)
        others = tl.where(own == r, others, tl.maximum(others, score))
    tl.store(top + rows, high, mask=inside)
    tl.store(bound + rows, others, mask=inside)
    # The tolerance of the longest row: a shorter row may be listed needlessly.
    allowance = tl.load(settings) * tl.load(settings + 3)
    sure = (own >= 0) & (high - others > tl.maximum(allowance, tl.load(settings + 1)))
    unsure = inside & (sure == 0)
    flags = unsure.to(tl.int32)
    before = tl.atomic_add(n_unsure, tl.sum(flags, axis=0), sem="relaxed")
    places = before + tl.cumsum(flags, axis=0) - flags
    tl.store(unsure_rows + places, rows.to(tl.int32), mask=unsure)


@triton.jit
def assign_exactly(
    scores, norms, settings, region, top, bound, unsure_rows, n_unsure, n_rows, n_classes,
    ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """Assign the listed rows by comparing all classes."""
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
        high = tl.max(tl.where(is_best, score, least), axis=0)
        others = tl.max(tl.where(is_best, least, score), axis=0)
        wide = high - others >= tl.load(settings + 1) - allowance
        tl.store(region + rows, tl.where(wide, best, -1), mask=inside)
        tl.store(top + rows, high, mask=inside)
        tl.store(bound + rows, others, mask=inside)
