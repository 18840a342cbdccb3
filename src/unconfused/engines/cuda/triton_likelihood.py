"""Triton kernel of the likelihood: the E-step, for float32 rows."""

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
