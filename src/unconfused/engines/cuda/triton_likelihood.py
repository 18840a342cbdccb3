"""The likelihood of labels on a CUDA device, for rows in single precision.

Scores and gradient are products of matrices; this is what happens in between.
"""

from __future__ import annotations

import triton
import triton.language as tl

NEGLIGIBLE = tl.constexpr(1e-30)
"""Below this chance of its label, logarithms are worth their price."""


@triton.jit
def posterior_of(scores, chances):
    """Return -log P(label), P(class) - P(class | label) and P(class | label) of every row."""
    scores = scores - tl.max(scores, axis=1)[:, None]
    shares = tl.exp(scores)
    total = tl.sum(shares, axis=1)
    joint = chances * shares
    seen = tl.sum(joint, axis=1)
    likely = seen > NEGLIGIBLE
    divisor = tl.where(likely, seen, 1.0)
    posterior = joint * (1.0 / divisor)[:, None]
    level = tl.log(divisor)
    if tl.min(likely.to(tl.int32), axis=0) == 0:
        possible = chances > 0
        logs = tl.log(tl.where(possible, chances, 1.0))
        levels = tl.where(possible, scores + logs, float("-inf"))
        highest = tl.max(levels, axis=1)
        among = tl.exp(levels - highest[:, None])
        together = tl.sum(among, axis=1)
        posterior = tl.where(likely[:, None], posterior, among * (1.0 / together)[:, None])
        level = tl.where(likely, level, highest + tl.log(together))
    return tl.log(total) - level, shares * (1.0 / total)[:, None] - posterior, posterior


@triton.jit
def scores_to_pulls(
    scores,
    offsets,
    order,
    codes,
    weights,
    chances,
    counted,
    losses,
    offset_slope,
    table,
    n_rows,
    n_classes,
    width,
    GROUPS: tl.constexpr,
    ROWS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Turn scores into the loss's gradient by them, in place; rows are taken by label code.

    `width` is what a row of scores takes, at least the number of classes; the rest becomes 0.
    """
    classes = tl.arange(0, CLASSES)
    known = classes < n_classes
    offset = tl.load(offsets + classes, mask=known, other=float("-inf"))
    begin = tl.program_id(0).to(tl.int64) * GROUPS * ROWS
    first = tl.load(codes + begin)
    alike = first == tl.load(codes + tl.minimum(begin + GROUPS * ROWS, n_rows) - 1)
    common = tl.load(chances + first * n_classes + classes, mask=known, other=0.0)
    offset_pulls = tl.zeros([ROWS, CLASSES], tl.float32)
    together = tl.zeros([ROWS, CLASSES], tl.float32)
    loss = tl.zeros([ROWS], tl.float64)
    for group in range(GROUPS):
        places = begin + group * ROWS + tl.arange(0, ROWS)
        inside = places < n_rows
        rows = tl.load(order + places, mask=inside, other=0)
        code = tl.load(codes + places, mask=inside, other=0)
        own = tl.load(weights + rows, mask=inside, other=0.0).to(tl.float32)
        own = own * tl.load(counted + code)
        if alike:
            chance = tl.broadcast_to(common[None, :], [ROWS, CLASSES])
        else:
            entries = chances + code[:, None] * n_classes + classes[None, :]
            chance = tl.load(entries, mask=known[None, :], other=0.0)
        at = scores + rows[:, None] * width + classes[None, :]
        mask = inside[:, None] & (classes < width)[None, :]
        score = tl.load(at, mask=mask, other=0.0) + offset[None, :]
        lost, pull, posterior = posterior_of(score, chance)
        loss += (own * lost).to(tl.float64)
        pull = own[:, None] * pull
        tl.store(at, pull, mask=mask)
        offset_pulls += pull
        posterior = own[:, None] * posterior
        if alike:
            together += posterior
        else:
            cells = table + code[:, None] * n_classes + classes[None, :]
            tl.atomic_add(cells, posterior.to(tl.float64), mask=mask & known[None, :])
    tl.store(losses + tl.program_id(0), tl.sum(loss, axis=0))
    pulled = tl.sum(offset_pulls.to(tl.float64), axis=0)
    tl.atomic_add(offset_slope + classes, pulled, mask=known)
    if alike:
        shared = tl.sum(together.to(tl.float64), axis=0)
        tl.atomic_add(table + first * n_classes + classes, shared, mask=known)
