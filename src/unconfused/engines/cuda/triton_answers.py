"""What the solver asks after an update, worked out on a CUDA device and laid out for one transfer.

The numbers are small; what counts is that two kernels do it, as each takes longer to start than to
run. In the order of `answers`: the norms of all update vectors, how much every cell holds, the sums
of its squares, the longest vector, which one that is, and how many rows moved.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def measure(
    vectors,
    sums,
    total,
    answers,
    candidates,
    n_classes,
    n_cells,
    n_features,
    n_columns,
    PAIRS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Measure update vectors, and gather what cells hold.

    `candidates` gets the lengths of vectors from one class to another, -1 for all others.
    """
    n_pairs, width = n_classes * n_classes, n_columns + 2
    at = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    inside = at < n_pairs
    squared = tl.zeros([PAIRS], tl.float64)
    for first in range(0, n_features, COLUMNS):
        columns = first + tl.arange(0, COLUMNS)
        mask = inside[:, None] & (columns < n_features)[None, :]
        entries = tl.load(vectors + at[:, None] * width + columns[None, :], mask=mask, other=0.0)
        squared += tl.sum(entries * entries, axis=1)
    length = tl.sqrt(squared)
    tl.store(answers + at, length / tl.load(total), mask=inside)
    same = at // n_classes == at % n_classes
    tl.store(candidates + at, tl.where(same, -1.0, length), mask=inside)
    is_cell = at < n_cells
    for place in range(2):
        held = tl.load(sums + at * width + n_columns + place, mask=is_cell, other=0.0)
        tl.store(answers + n_pairs + place * n_cells + at, held, mask=is_cell)


@triton.jit
def show(
    vectors,
    longest,
    counters,
    total,
    answers,
    ahead,
    start,
    n_features,
    n_columns,
    COLUMNS: tl.constexpr,
):
    """Write down the longest vector, for the host and for the device's next projection."""
    pair = tl.load(longest)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    mask = columns < n_features
    entries = tl.load(vectors + pair * (n_columns + 2) + columns, mask=mask, other=0.0)
    entries = entries / tl.load(total)
    tl.store(ahead + columns, entries, mask=mask)
    tl.store(answers + start + columns, entries, mask=mask)
    if tl.program_id(0) == 0:
        tl.store(answers + start + n_features, pair.to(tl.float64))
        moved = tl.load(counters) >> 32
        tl.store(answers + start + n_features + 1, moved.to(tl.float64))
