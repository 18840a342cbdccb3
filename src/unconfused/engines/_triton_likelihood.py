"""The likelihood of labels on a CUDA device, for rows in single precision.

With few classes one kernel reads every row once, for its scores and for its part of the gradient.
With many, both are products of matrices, and a kernel turns the scores into the gradient by them.
"""

from __future__ import annotations

import triton
import triton.language as tl

NEGLIGIBLE = tl.constexpr(1e-30)
"""Below this chance of its label, only the likeliest class that allows the label counts."""


@triton.jit
def _posterior(scores, chances, classes):
    """Return -log P(label), P(class) - P(class | label) and P(class | label) of every row."""
    scores = scores - tl.max(scores, axis=1)[:, None]
    shares = tl.exp(scores)
    total = tl.sum(shares, axis=1)
    joint = chances * shares
    seen = tl.sum(joint, axis=1)
    likely = seen > NEGLIGIBLE
    divisor = tl.where(likely, seen, 1.0)
    possible = chances > 0
    levels = tl.where(possible, scores + tl.log(tl.where(possible, chances, 1.0)), float("-inf"))
    level, best = tl.max(levels, axis=1, return_indices=True)
    alone = (classes[None, :] == best[:, None]).to(tl.float32)
    posterior = tl.where(likely[:, None], joint / divisor[:, None], alone)
    losses = tl.log(total) - tl.where(likely, tl.log(divisor), level)
    return losses, shares / total[:, None] - posterior, posterior


@triton.jit
def few_classes(
    X,
    by_feature,
    offsets,
    chances,
    counted,
    codes,
    weights,
    losses,
    slope,
    table,
    n_rows,
    n_columns,
    n_classes,
    n_codes,
    GROUPS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CLASSES: tl.constexpr,
    CODES: tl.constexpr,
):
    """Make the whole pass over the rows of one program: loss, gradient and posterior table."""
    columns, classes = tl.arange(0, COLUMNS), tl.arange(0, CLASSES)
    there, known = columns < n_columns, classes < n_classes
    features = by_feature + columns[:, None] * n_classes + classes[None, :]
    weight_tile = tl.load(features, mask=there[:, None] & known[None, :], other=0.0)
    offset = tl.load(offsets + classes, mask=known, other=float("-inf"))
    pulls = tl.zeros([CLASSES, COLUMNS], tl.float32)
    offset_pulls = tl.zeros([CLASSES], tl.float32)
    by_code = tl.zeros([CODES, CLASSES], tl.float32)
    loss = tl.zeros([ROWS], tl.float64)
    for group in range(GROUPS):
        rows = (tl.program_id(0).to(tl.int64) * GROUPS + group) * ROWS + tl.arange(0, ROWS)
        inside = rows < n_rows
        mask = inside[:, None] & there[None, :]
        x = tl.load(X + rows[:, None] * n_columns + columns[None, :], mask=mask, other=0.0)
        code = tl.load(codes + rows, mask=inside, other=0)
        own = tl.load(weights + rows, mask=inside, other=0.0).to(tl.float32)
        own = own * tl.load(counted + code)
        entries = chances + code[:, None] * n_classes + classes[None, :]
        chance = tl.load(entries, mask=known[None, :], other=0.0)
        scores = tl.dot(x, weight_tile, input_precision="tf32x3") + offset[None, :]
        lost, pull, posterior = _posterior(scores, chance, classes)
        loss += (own * lost).to(tl.float64)
        pull = own[:, None] * pull
        pulls += tl.dot(tl.trans(pull), x, input_precision="tf32x3")
        offset_pulls += tl.sum(pull, axis=0)
        shown = (tl.arange(0, CODES)[:, None] == code[None, :]).to(tl.float32)
        by_code += tl.dot(shown, own[:, None] * posterior, input_precision="tf32x3")
    tl.store(losses + tl.program_id(0), tl.sum(loss, axis=0))
    width = n_columns + 1
    parts = slope + classes[:, None] * width + columns[None, :]
    tl.atomic_add(parts, pulls.to(tl.float64), mask=known[:, None] & there[None, :])
    tl.atomic_add(slope + classes * width + n_columns, offset_pulls.to(tl.float64), mask=known)
    label = tl.arange(0, CODES)
    cells = table + label[:, None] * n_classes + classes[None, :]
    seen = (label < n_codes)[:, None] & known[None, :]
    tl.atomic_add(cells, by_code.to(tl.float64), mask=seen)


@triton.jit
def scores_to_pulls(
    scores,
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
    GROUPS: tl.constexpr,
    ROWS: tl.constexpr,
    CLASSES: tl.constexpr,
):
    """Turn scores into the loss's gradient by them, in place; rows are taken by label code."""
    classes = tl.arange(0, CLASSES)
    known = classes < n_classes
    begin = tl.program_id(0).to(tl.int64) * GROUPS * ROWS
    first = tl.load(codes + begin)
    alike = first == tl.load(codes + tl.minimum(begin + GROUPS * ROWS, n_rows) - 1)
    offset_pulls = tl.zeros([CLASSES], tl.float32)
    together = tl.zeros([CLASSES], tl.float32)
    loss = tl.zeros([ROWS], tl.float64)
    for group in range(GROUPS):
        places = begin + group * ROWS + tl.arange(0, ROWS)
        inside = places < n_rows
        rows = tl.load(order + places, mask=inside, other=0)
        code = tl.load(codes + places, mask=inside, other=0)
        own = tl.load(weights + rows, mask=inside, other=0.0).to(tl.float32)
        own = own * tl.load(counted + code)
        entries = chances + code[:, None] * n_classes + classes[None, :]
        chance = tl.load(entries, mask=known[None, :], other=0.0)
        at = scores + rows[:, None] * n_classes + classes[None, :]
        mask = inside[:, None] & known[None, :]
        other = tl.where(known, 0.0, float("-inf"))[None, :]
        score = tl.where(mask, tl.load(at, mask=mask, other=0.0), other)
        lost, pull, posterior = _posterior(score, chance, classes)
        loss += (own * lost).to(tl.float64)
        pull = own[:, None] * pull
        tl.store(at, pull, mask=mask)
        offset_pulls += tl.sum(pull, axis=0)
        posterior = own[:, None] * posterior
        if alike:
            together += tl.sum(posterior, axis=0)
        else:
            cells = table + code[:, None] * n_classes + classes[None, :]
            tl.atomic_add(cells, posterior.to(tl.float64), mask=mask)
    tl.store(losses + tl.program_id(0), tl.sum(loss, axis=0))
    tl.atomic_add(offset_slope + classes, offset_pulls.to(tl.float64), mask=known)
    if alike:
        tl.atomic_add(table + first * n_classes + classes, together.to(tl.float64), mask=known)
