"""Triton kernels, which compute the same as `array_api`.

Triton passes a Python float in single precision, so numbers that must be exact are passed in
arrays.
"""

from __future__ import annotations

import triton
import triton.language as tl

NO_CLASS, NO_KIND = tl.constexpr(2147483647), tl.constexpr(1 << 62)


def power_of_two(n: int) -> int:
    """Return the smallest power of 2 that is at least n."""
    return 1 << max(0, n - 1).bit_length()


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


@triton.jit
def _apply(sums, kind, total, mass, squared, columns, n_columns, n_regions, n_codes):
    """Subtract a sum of rows from the cell that this kind left; add it to the one entered."""
    there = columns < n_columns
    cell_code, regions = kind % n_codes, kind // n_codes
    left, entered = regions // (n_regions + 1) - 1, regions % (n_regions + 1) - 1
    for side in tl.static_range(2):
        region, sign = tl.where(side == 0, left, entered), 2 * side - 1
        if region >= 0:
            into = sums + (region * n_codes + cell_code) * (n_columns + 2)
            tl.atomic_add(into + columns, sign * total, mask=there, sem="relaxed")
            if tl.program_id(1) == 0:
                tl.atomic_add(into + n_columns, sign * mass, sem="relaxed")
                tl.atomic_add(into + n_columns + 1, sign * squared, sem="relaxed")


@triton.jit(do_not_specialize=["n_moves"])
def add_moves(
    X, rows, kinds, weights, squares, sums, n_moves, n_columns, n_regions, n_codes,
    GROUP: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Move weighted rows from the cells they left to those they entered.

    The kind of a move encodes the region left, the region entered (0 for none, else the class plus
    1) and the label code. Rows are sorted by kind, and rows of one kind are summed first, so that
    there are few atomic additions to the same cell.

    A program walks through consecutive groups of rows and applies the accumulated sum whenever the
    kind changes; a group is processed once per kind in it.
    """
    n_groups = tl.cdiv(n_moves, GROUP)
    each = tl.cdiv(n_groups, tl.num_programs(0))
    begin = tl.program_id(0) * each
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = columns < n_columns
    places = tl.arange(0, GROUP)
    current = tl.full([], -1, tl.int64)
    total = tl.zeros([COLUMNS], tl.float64)
    mass, squared = tl.full([], 0.0, tl.float64), tl.full([], 0.0, tl.float64)
    for group in range(begin, tl.minimum(begin + each, n_groups)):
        at = group * GROUP + places
        inside = at < n_moves
        row = tl.load(rows + at, mask=inside, other=0)
        kind = tl.load(kinds + at, mask=inside, other=NO_KIND)
        mask = inside[:, None] & there[None, :]
        x = tl.load(X + row[:, None] * n_columns + columns[None, :], mask=mask, other=0.0)
        weight = tl.load(weights + row, mask=inside, other=0.0)
        square = tl.load(squares + row, mask=inside, other=0.0)
        present = tl.min(kind, axis=0)
        while present < NO_KIND:
            own = tl.where(kind == present, weight, 0.0)
            if present != current:
                if current >= 0:
                    _apply(
                        sums, current, total, mass, squared, columns, n_columns, n_regions, n_codes
                    )
                total = tl.zeros([COLUMNS], tl.float64)
                mass, squared = tl.full([], 0.0, tl.float64), tl.full([], 0.0, tl.float64)
                current = present
            total += tl.sum(x.to(tl.float64) * own[:, None], axis=0)
            mass += tl.sum(own, axis=0)
            squared += tl.sum(own * square, axis=0)
            kind = tl.where(kind == present, NO_KIND, kind)
            present = tl.min(kind, axis=0)
    if current >= 0:
        _apply(sums, current, total, mass, squared, columns, n_columns, n_regions, n_codes)


@triton.jit
def _softmax(levels):
    """Return the log-sum-exp and the softmax of every row."""
    highest = tl.max(levels, axis=1)
    shares = tl.exp(levels - highest[:, None])
    total = tl.sum(shares, axis=1)
    return highest + tl.log(total), shares * (1.0 / total)[:, None]


@triton.jit
def posterior_of(scores, log_chances):
    """Return -log P(label), P(class) - P(class | label) and P(class | label) of every row."""
    scores = scores - tl.max(scores, axis=1)[:, None]  # less cancellation in the loss
    log_total, shares = _softmax(scores)
    log_seen, posterior = _softmax(scores + log_chances)
    return log_total - log_seen, shares - posterior, posterior


@triton.jit
def scores_to_residuals(
    scores, offsets, order, tile_codes, weights, log_chances, counted,
    losses, offset_slope, table, n_classes, width,
    SLOTS: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """Replace scores by residuals, in place, and add up losses and posteriors.

    Every program handles a tile of `TILE` rows of one label code: `order` lists the rows in tiles,
    padded with -1. `width` is the padded number of classes in a row of scores. The loss, to which
    all programs add, is spread over `SLOTS` accumulators.
    """
    classes = tl.arange(0, CLASSES)
    known = classes < n_classes
    offset = tl.load(offsets + classes, mask=known, other=float("-inf"))
    begin = tl.program_id(0).to(tl.int64) * TILE
    code = tl.load(tile_codes + tl.program_id(0))
    logs = tl.load(log_chances + code * n_classes + classes, mask=known, other=float("-inf"))
    counts = tl.load(counted + code)
    residuals = tl.zeros([ROWS, CLASSES], tl.float32)
    posteriors = tl.zeros([ROWS, CLASSES], tl.float32)
    loss = tl.zeros([ROWS], tl.float64)
    for first in range(0, TILE, ROWS):
        rows = tl.load(order + begin + first + tl.arange(0, ROWS))
        inside = rows >= 0
        own = tl.load(weights + rows, mask=inside, other=0.0).to(tl.float32) * counts
        at = scores + rows[:, None] * width + classes[None, :]
        mask = inside[:, None] & (classes < width)[None, :]
        score = tl.load(at, mask=mask, other=0.0) + offset[None, :]
        lost, residual, posterior = posterior_of(score, logs[None, :])
        residual = own[:, None] * residual
        tl.store(at, residual, mask=mask)
        loss += (own * lost).to(tl.float64)
        residuals += residual
        posteriors += own[:, None] * posterior
    tl.atomic_add(losses + tl.program_id(0) % SLOTS, tl.sum(loss, axis=0))
    tl.atomic_add(offset_slope + classes, tl.sum(residuals, axis=0).to(tl.float64), mask=known)
    share = tl.sum(posteriors, axis=0).to(tl.float64)
    tl.atomic_add(table + code * n_classes + classes, share, mask=known)
