"""The likelihood of labels on a CUDA device, for float32 rows and few classes, tile by tile.

Products are made by the tensor cores, which know numbers of 11 bits: every number is cut into two
such, and three of the four products are summed, which leaves float32's accuracy.
"""

from __future__ import annotations

import triton
import triton.language as tl

from unconfused.engines.cuda.triton_likelihood import posterior_of


@triton.jit
def pulls_by_tile(
    X,
    by_class,
    offsets,
    order,
    tile_codes,
    weights,
    chances,
    counted,
    pulls,
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
    """Write the loss's gradient by the scores of every row; rows are taken by label code.

    `order` lists the rows, tiles of `TILE` of one code each, filled up with -1. `width` is what a
    row of `pulls` takes, at least the number of classes; the rest becomes 0.
    """
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
    chance = tl.load(chances + code * n_classes + classes, mask=known, other=0.0)
    chance = tl.broadcast_to(chance[None, :], [ROWS, CLASSES])
    lost, pull, posterior = posterior_of(score, chance)
    own = tl.load(weights + rows, mask=inside, other=0.0).to(tl.float32) * tl.load(counted + code)
    pull = own[:, None] * pull
    at = pulls + rows[:, None] * width + classes[None, :]
    tl.store(at, pull, mask=inside[:, None] & (classes < width)[None, :])
    # Many programs add to the same few numbers: the loss, which all do, is kept in slots.
    loss = tl.sum((own * lost).to(tl.float64), axis=0)
    tl.atomic_add(losses + tl.program_id(0) % SLOTS, loss)
    tl.atomic_add(offset_slope + classes, tl.sum(pull, axis=0).to(tl.float64), mask=known)
    share = tl.sum(own[:, None] * posterior, axis=0).to(tl.float64)
    tl.atomic_add(table + code * n_classes + classes, share, mask=known)


@triton.jit
def add_slopes(
    X,
    pulls,
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
    """Add pull times row over `CHUNK` rows, in float32, to the slope, in float64."""
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
        at = pulls + rows[:, None] * width + classes[None, :]
        pull = tl.load(at, mask=inside[:, None] & (classes < width)[None, :], other=0.0)
        total = tl.dot(tl.trans(pull), x, total, input_precision="tf32x3")
    at = slope + classes[:, None] * n_columns + columns[None, :]
    mask = there[None, :] & (classes < n_classes)[:, None]
    tl.atomic_add(at, total.to(tl.float64), mask=mask)
