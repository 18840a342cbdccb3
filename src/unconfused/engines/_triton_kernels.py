"""Loops over rows on a CUDA device, fused so that the rows are read once.

They calculate what `_array_cells` and `_array_likelihood` say, and nothing else. Triton passes a
Python float in single precision, so what must be exact comes in arrays.
"""

from __future__ import annotations

import triton
import triton.language as tl


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
def follow(
    scores,
    projection,
    settings,
    norms,
    region,
    top,
    bound,
    waiting,
    counters,
    moved,
    left,
    n_rows,
    n_classes,
    ROWS: tl.constexpr,
):
    """Move the scores that change, and list the rows that move with them.

    `top` is the score of a row's class, `bound` is at least that of every other. While they are
    further apart than a tie and the margin, also after the step, the classes without a step need
    not be looked at; the other rows are put on the list of those that wait for it. `settings`
    holds the allowance for ties, the margin, how many classes have a step, the steps, and those
    classes.
    """
    steps = settings + 3
    changed = steps + n_classes
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    along = tl.load(projection + rows, mask=inside, other=0.0)
    own = tl.load(region + rows, mask=inside, other=0)
    step = tl.load(steps + tl.maximum(own, 0))
    highest = tl.load(top + rows, mask=inside, other=0.0) + step * along
    others = tl.load(bound + rows, mask=inside, other=0.0)
    best = own
    for place in range(tl.load(settings + 2).to(tl.int32)):
        r = tl.load(changed + place).to(tl.int32)
        at = scores + r.to(tl.int64) * n_rows + rows
        score = tl.load(at, mask=inside, other=0.0) + tl.load(steps + r) * along
        tl.store(at, score, mask=inside)
        higher = (own != r) & (score > highest)
        lower = tl.where(higher, highest, score)
        others = tl.where(own == r, others, tl.maximum(others, lower))
        highest = tl.where(higher, score, highest)
        best = tl.where(higher, r, best)
    tl.store(top + rows, highest, mask=inside)
    tl.store(bound + rows, others, mask=inside)
    allowance = tl.load(settings) * tl.load(norms + rows, mask=inside, other=0.0)
    apart = highest - others > tl.maximum(allowance, tl.load(settings + 1))
    sure = (own >= 0) & apart
    changes = inside & sure & (best != own)
    tl.store(region + rows, best, mask=changes)
    count = changes.to(tl.int32)
    spot = tl.atomic_add(counters + 1, tl.sum(count)) + tl.cumsum(count) - 1
    tl.store(moved + spot, rows, mask=changes)
    tl.store(left + spot, own.to(tl.int64), mask=changes)
    unsure = inside & (sure == 0)
    count = unsure.to(tl.int32)
    spot = tl.atomic_add(counters, tl.sum(count)) + tl.cumsum(count) - 1
    tl.store(waiting + spot, rows.to(tl.int32), mask=unsure)


@triton.jit
def settle(
    scores,
    settings,
    norms,
    region,
    top,
    bound,
    waiting,
    counters,
    moved,
    left,
    n_rows,
    n_classes,
    ROWS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Find the class of every row that waits, and list those that moved to another."""
    n_waiting = tl.load(counters)
    for start in range(tl.program_id(0) * ROWS, n_waiting, tl.num_programs(0) * ROWS):
        places = start + tl.arange(0, ROWS)
        inside = places < n_waiting
        rows = tl.load(waiting + places, mask=inside, other=0).to(tl.int64)
        allowance = tl.load(settings) * tl.load(norms + rows, mask=inside, other=0.0)
        highest = tl.full([ROWS], float("-inf"), tl.float64)
        second = tl.full([ROWS], float("-inf"), tl.float64)
        best = tl.zeros([ROWS], tl.int32)
        for first in range(0, n_classes, CLASSES):
            classes = first + tl.arange(0, CLASSES)
            mask = (classes < n_classes)[:, None] & inside[None, :]
            at = scores + classes.to(tl.int64)[:, None] * n_rows + rows[None, :]
            score = tl.load(at, mask=mask, other=float("-inf"))
            here, index = tl.max(score, axis=0, return_indices=True)
            alone = classes[:, None] == first + index[None, :]
            next_here = tl.max(tl.where(alone, float("-inf"), score), axis=0)
            best = tl.where(here > highest, first + index, best)
            second = tl.maximum(tl.minimum(highest, here), tl.maximum(second, next_here))
            highest = tl.maximum(highest, here)
        if tl.max((inside & (second >= highest - allowance)).to(tl.int32), axis=0) > 0:
            # Some are level: the lowest class that is level with the highest.
            level = highest - allowance
            best = tl.full([ROWS], 2147483647, tl.int32)
            for first in range(0, n_classes, CLASSES):
                classes = first + tl.arange(0, CLASSES)
                mask = (classes < n_classes)[:, None] & inside[None, :]
                at = scores + classes.to(tl.int64)[:, None] * n_rows + rows[None, :]
                score = tl.load(at, mask=mask, other=float("-inf"))
                leading = tl.where(mask & (score >= level[None, :]), classes[:, None], 2147483647)
                best = tl.minimum(best, tl.min(leading, axis=0))
        best = tl.where(inside, best, 0)
        own_score = tl.load(scores + best.to(tl.int64) * n_rows + rows, mask=inside, other=0.0)
        # Whichever is level but lower in number leaves the highest score to another class.
        runner_up = tl.where(own_score < highest, highest, second)
        wide = own_score - runner_up >= tl.load(settings + 1) - allowance
        new = tl.where(wide, best, -1)
        old = tl.load(region + rows, mask=inside, other=-1)
        tl.store(region + rows, new, mask=inside)
        tl.store(top + rows, own_score, mask=inside)
        tl.store(bound + rows, runner_up, mask=inside)
        changes = inside & (new != old)
        count = changes.to(tl.int32)
        place = tl.atomic_add(counters + 1, tl.sum(count)) + tl.cumsum(count) - 1
        tl.store(moved + place, rows, mask=changes)
        tl.store(left + place, old.to(tl.int64), mask=changes)


@triton.jit
def tally(
    moved,
    left,
    region,
    codes,
    weights,
    counters,
    places,
    rows,
    bins,
    signed,
    n_codes,
    SHARES: tl.constexpr,
    ROWS: tl.constexpr,
    WRITE: tl.constexpr,
):
    """Count how many rows leave and enter each cell; or, the second time, list them by cell.

    `places` has one number per bin: how many there are, then where the next one goes. A cell has
    `SHARES` bins, so that not all programs wait for one number.
    """
    n_moved = tl.load(counters + 1)
    share = tl.program_id(0) % SHARES
    for start in range(tl.program_id(0) * ROWS, n_moved, tl.num_programs(0) * ROWS):
        spots = start + tl.arange(0, ROWS)
        inside = spots < n_moved
        row = tl.load(moved + spots, mask=inside, other=0)
        code = tl.load(codes + row, mask=inside, other=0)
        old = tl.load(left + spots, mask=inside, other=-1)
        new = tl.load(region + row, mask=inside, other=-1).to(tl.int64)
        leaving, entering = inside & (old >= 0), inside & (new >= 0)
        from_bin = (old * n_codes + code) * SHARES + share
        to_bin = (new * n_codes + code) * SHARES + share
        left_at = tl.atomic_add(places + from_bin, 1, mask=leaving)
        entered_at = tl.atomic_add(places + to_bin, 1, mask=entering)
        if WRITE:
            weight = tl.load(weights + row, mask=inside, other=0.0)
            tl.store(rows + left_at, row, mask=leaving)
            tl.store(bins + left_at, from_bin, mask=leaving)
            tl.store(signed + left_at, -weight, mask=leaving)
            tl.store(rows + entered_at, row, mask=entering)
            tl.store(bins + entered_at, to_bin, mask=entering)
            tl.store(signed + entered_at, weight, mask=entering)


@triton.jit
def add_rows(
    X,
    rows,
    bins,
    weights,
    squares,
    sums,
    ends,
    count,
    n_columns,
    SHARES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Add rows, times weights, to the sums of their cells.

    The entries of a bin begin at a multiple of `ROWS` and stop at its end: every group of them is
    of one cell, and is summed before it is written.
    """
    n_entries = tl.load(count).to(tl.int32)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = columns < n_columns
    for start in range(tl.program_id(0) * ROWS, n_entries, tl.num_programs(0) * ROWS):
        own_bin = tl.load(bins + start)
        entries = start + tl.arange(0, ROWS)
        inside = entries < tl.load(ends + own_bin)
        row = tl.load(rows + entries, mask=inside, other=0)
        weight = tl.load(weights + entries, mask=inside, other=0.0)
        mask = inside[:, None] & there[None, :]
        x = tl.load(X + row[:, None] * n_columns + columns[None, :], mask=mask, other=0.0)
        own = sums + own_bin // SHARES * (n_columns + 2)
        total = tl.sum(x.to(tl.float64) * weight[:, None], axis=0)
        tl.atomic_add(own + columns, total, mask=there)
        if tl.program_id(1) == 0:
            square = tl.load(squares + row, mask=inside, other=0.0) * weight
            tl.atomic_add(own + n_columns, tl.sum(weight, axis=0))
            tl.atomic_add(own + n_columns + 1, tl.sum(square, axis=0))
