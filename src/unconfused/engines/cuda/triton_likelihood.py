"""Triton kernels of the likelihood, for float32 rows.

With few classes, products are computed tile by tile on tensor cores in tf32x3: every number is
split into two TF32 numbers and three of the four products are summed, which keeps the accuracy of
float32. `order` lists the rows in tiles of `TILE` rows of one label code, padded with -1; `width`
is the padded number of classes in a row of scores or residuals.
"""

from __future__ import annotations

import triton
import triton.language as tl


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
def _add_up(
    losses,
    offset_slope,
    table,
    loss,
    residuals,
    posterior,
    code,
    n_classes,
    SLOTS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Add the results of a program to the sums over all rows, in float64.

    The loss, to which all programs add, is spread over `SLOTS` accumulators.
    """
    classes = tl.arange(0, CLASSES)
    known = classes < n_classes
    tl.atomic_add(losses + tl.program_id(0) % SLOTS, tl.sum(loss.to(tl.float64), axis=0))
    tl.atomic_add(offset_slope + classes, tl.sum(residuals, axis=0).to(tl.float64), mask=known)
    share = tl.sum(posterior, axis=0).to(tl.float64)
    tl.atomic_add(table + code * n_classes + classes, share, mask=known)


@triton.jit
def scores_to_residuals(
    scores,
    offsets,
    order,
    tile_codes,
    weights,
    log_chances,
    counted,
    losses,
    offset_slope,
    table,
    n_classes,
    width,
    SLOTS: tl.constexpr,
    TILE: tl.constexpr,
    ROWS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Replace scores by residuals, in place, one tile of rows per program."""
    classes = tl.arange(0, CLASSES)
    known = classes < n_classes
    offset = tl.load(offsets + classes, mask=known, other=float("-inf"))
    begin = tl.program_id(0).to(tl.int64) * TILE
    code = tl.load(tile_codes + tl.program_id(0))
    logs = tl.load(log_chances + code * n_classes + classes, mask=known, other=float("-inf"))
    counts = tl.load(counted + code)
    offset_residuals = tl.zeros([ROWS, CLASSES], tl.float32)
    together = tl.zeros([ROWS, CLASSES], tl.float32)
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
        offset_residuals += residual
        together += own[:, None] * posterior
    _add_up(
        losses,
        offset_slope,
        table,
        loss,
        offset_residuals,
        together,
        code,
        n_classes,
        SLOTS,
        CLASSES,
    )


@triton.jit
def residuals_by_tile(
    X,
    by_class,
    offsets,
    order,
    tile_codes,
    weights,
    log_chances,
    counted,
    residuals,
    losses,
    offset_slope,
    table,
    n_columns,
    n_classes,
    width,
    SLOTS: tl.constexpr,
    TILE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CLASSES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Compute the residuals of every row, `ROWS` of a tile per program."""
    begin = tl.program_id(0).to(tl.int64) * ROWS
    rows = tl.load(order + begin + tl.arange(0, ROWS))
    inside = rows >= 0
    rows = tl.maximum(rows, 0)
    classes = tl.arange(0, CLASSES)
    known = classes < n_classes
    score = tl.zeros([ROWS, CLASSES], tl.float32)
    for first in tl.range(0, n_columns, COLUMNS, num_stages=STAGES):
        columns = first + tl.arange(0, COLUMNS)
        there = columns < n_columns
        at = X + rows[:, None] * n_columns + columns[None, :]
        x = tl.load(at, mask=there[None, :], other=0.0)
        at = by_class + classes[None, :] * n_columns + columns[:, None]
        w = tl.load(at, mask=there[:, None] & known[None, :], other=0.0)
        score = tl.dot(x, w, score, input_precision="tf32x3")
    score += tl.load(offsets + classes, mask=known, other=float("-inf"))[None, :]
    code = tl.load(tile_codes + begin // TILE)
    logs = tl.load(log_chances + code * n_classes + classes, mask=known, other=float("-inf"))
    lost, residual, posterior = posterior_of(score, logs[None, :])
    own = tl.load(weights + rows, mask=inside, other=0.0).to(tl.float32) * tl.load(counted + code)
    residual = own[:, None] * residual
    at = residuals + rows[:, None] * width + classes[None, :]
    tl.store(at, residual, mask=inside[:, None] & (classes < width)[None, :])
    posterior = own[:, None] * posterior
    loss = own * lost
    _add_up(losses, offset_slope, table, loss, residual, posterior, code, n_classes, SLOTS, CLASSES)


@triton.jit
def add_slopes(
    X,
    residuals,
    slope,
    n_rows,
    n_columns,
    n_classes,
    width,
    CHUNK: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CLASSES: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Add ``residuals.T @ X`` over `CHUNK` rows, in float32, to the gradient, in float64."""
    blocks = tl.cdiv(width, CLASSES)
    classes = tl.program_id(0) % blocks * CLASSES + tl.arange(0, CLASSES)
    columns = tl.program_id(0) // blocks * COLUMNS + tl.arange(0, COLUMNS)
    there = columns < n_columns
    begin = tl.program_id(1).to(tl.int64) * CHUNK
    total = tl.zeros([CLASSES, COLUMNS], tl.float32)
    for first in tl.range(0, CHUNK, ROWS, num_stages=STAGES):
        rows = begin + first + tl.arange(0, ROWS)
        inside = rows < n_rows
        at = X + rows[:, None] * n_columns + columns[None, :]
        x = tl.load(at, mask=inside[:, None] & there[None, :], other=0.0)
        at = residuals + rows[:, None] * width + classes[None, :]
        residual = tl.load(at, mask=inside[:, None] & (classes < width)[None, :], other=0.0)
        total = tl.dot(tl.trans(residual), x, total, input_precision="tf32x3")
    at = slope + classes[:, None] * n_columns + columns[None, :]
    mask = there[None, :] & (classes < n_classes)[:, None]
    tl.atomic_add(at, total.to(tl.float64), mask=mask)
