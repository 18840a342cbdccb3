"""Rows that go from one cell to another, on a CUDA device: listed by where from and to, then added.

A move is packed into one number: the row, and the regions it leaves and enters (0 for none, else
one more than the class). Moves are put into bins by a hash of both regions and the label code, so
that a bin holds (nearly always) moves of one kind. Moves of one kind have their rows summed before
the sum is taken from one cell and added to another: programs that add to the same cell wait for one
another, so the fewer sums the better.

Two numbers are counted as one, so that one addition tells both: rows that wait to be looked at in
the lower 32 bits, rows that moved in the upper ones.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def note(
    moving,
    rows,
    spots,
    old,
    new,
    codes,
    moves,
    bins,
    ranks,
    bin_counts,
    n_classes,
    n_codes,
    SHARES: tl.constexpr,
    BINS: tl.constexpr,
):
    """Write down rows that move from region `old` to `new`, and count them in their bins.

    `spots` are their places in the list; a kind of move has `SHARES` bins, so that not all programs
    wait for one number.
    """
    code = tl.load(codes + rows, mask=moving, other=0).to(tl.int32)
    kind = ((old + 1) * (n_classes + 1) + new + 1) * n_codes + code
    own_bin = (kind * SHARES + tl.program_id(0) % SHARES) & (BINS - 1)
    rank = tl.atomic_add(bin_counts + own_bin, 1, mask=moving, sem="relaxed")
    move = rows | ((old + 1).to(tl.int64) << 32) | ((new + 1).to(tl.int64) << 48)
    tl.store(moves + spots, move, mask=moving)
    tl.store(bins + spots, own_bin, mask=moving)
    tl.store(ranks + spots, rank, mask=moving)


@triton.jit
def take_spots(moving, waiting, counters):
    """Count rows that move and rows that wait; return the places of both in their lists."""
    flags = (moving.to(tl.int64) << 32) | waiting.to(tl.int64)
    before = tl.atomic_add(counters, tl.sum(flags, axis=0), sem="relaxed")
    spots = before + tl.cumsum(flags, axis=0) - flags
    return spots >> 32, spots & 0xFFFFFFFF


@triton.jit
def note_all(
    region,
    codes,
    counters,
    moves,
    bins,
    ranks,
    bin_counts,
    n_rows,
    n_classes,
    n_codes,
    SHARES: tl.constexpr,
    BINS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Write down all rows as if each entered its region from nowhere."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    new = tl.load(region + rows, mask=inside, other=-1)
    moving = inside & (new >= 0)
    spots, _ = take_spots(moving, new < -1, counters)
    note(
        moving, rows, spots, tl.full([ROWS], -1, tl.int32), new, codes, moves, bins, ranks,
        bin_counts, n_classes, n_codes, SHARES, BINS,
    )  # fmt: skip


@triton.jit
def list_by_bin(
    moves,
    bins,
    ranks,
    counters,
    bin_counts,
    bin_ends,
    listed,
    sizes,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
):
    """List the moves bin by bin, in groups of at most `GROUP`; a group is of one bin."""
    n_moved = (tl.load(counters) >> 32).to(tl.int32)
    for start in range(tl.program_id(0) * ROWS, n_moved, tl.num_programs(0) * ROWS):
        spots = start + tl.arange(0, ROWS)
        inside = spots < n_moved
        own_bin = tl.load(bins + spots, mask=inside, other=0)
        rank = tl.load(ranks + spots, mask=inside, other=0)
        count = tl.load(bin_counts + own_bin, mask=inside, other=0)
        groups = (count + GROUP - 1) // GROUP
        begin = (tl.load(bin_ends + own_bin, mask=inside, other=0) - groups).to(tl.int64)
        move = tl.load(moves + spots, mask=inside, other=0)
        tl.store(listed + begin * GROUP + rank, move, mask=inside)
        first = inside & (rank % GROUP == 0)
        tl.store(sizes + begin + rank // GROUP, tl.minimum(count - rank, GROUP), mask=first)


@triton.jit
def _book(sums, kind, total, mass, squared, columns, there, n_columns, n_codes):
    """Take a sum of rows from the cell that moves of this kind left, and add it where they came."""
    cell_code = kind & 0xFFFFFFFF
    left, entered = ((kind >> 32) & 0xFFFF) - 1, ((kind >> 48) & 0xFFFF) - 1
    if left >= 0:
        into = sums + (left * n_codes + cell_code) * (n_columns + 2)
        tl.atomic_add(into + columns, -total, mask=there, sem="relaxed")
        if tl.program_id(1) == 0:
            tl.atomic_add(into + n_columns, -mass, sem="relaxed")
            tl.atomic_add(into + n_columns + 1, -squared, sem="relaxed")
    if entered >= 0:
        into = sums + (entered * n_codes + cell_code) * (n_columns + 2)
        tl.atomic_add(into + columns, total, mask=there, sem="relaxed")
        if tl.program_id(1) == 0:
            tl.atomic_add(into + n_columns, mass, sem="relaxed")
            tl.atomic_add(into + n_columns + 1, squared, sem="relaxed")


@triton.jit
def add_moves(
    X,
    listed,
    sizes,
    bin_ends,
    codes,
    weights,
    squares,
    sums,
    n_columns,
    n_codes,
    BINS: tl.constexpr,
    GROUP: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Take rows, times weights, from the sums of the cells they left; add them where they came.

    A program goes through groups that follow one another, and books a sum when another kind comes.
    Two kinds of moves may share a bin: a group is gone through once for every kind in it.
    """
    n_groups = tl.load(bin_ends + BINS - 1)
    each = tl.cdiv(n_groups, tl.num_programs(0))
    begin = tl.program_id(0) * each
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = columns < n_columns
    places = tl.arange(0, GROUP)
    booked = tl.full([], -1, tl.int64)
    total = tl.zeros([COLUMNS], tl.float64)
    mass, squared = tl.full([], 0.0, tl.float64), tl.full([], 0.0, tl.float64)
    for group in range(begin, tl.minimum(begin + each, n_groups)):
        size = tl.load(sizes + group)
        inside = places < size
        move = tl.load(listed + group * GROUP + places, mask=inside, other=0)
        row = move & 0xFFFFFFFF
        mask = inside[:, None] & there[None, :]
        x = tl.load(X + row[:, None] * n_columns + columns[None, :], mask=mask, other=0.0)
        code = tl.load(codes + row, mask=inside, other=0)
        weight = tl.load(weights + row, mask=inside, other=0.0)
        # Of counts and squares the program of the first columns takes care.
        counted = places < tl.where(tl.program_id(1) == 0, size, 0)
        square = tl.load(squares + row, mask=counted, other=0.0)
        # Which of them are of one kind: the regions, and the code in place of the row.
        kind = tl.where(inside, ((move >> 32) << 32) | code, -1)
        present = tl.max(kind, axis=0)
        while present >= 0:
            own = tl.where(kind == present, weight, 0.0)
            if present != booked:
                if booked >= 0:
                    _book(sums, booked, total, mass, squared, columns, there, n_columns, n_codes)
                total = tl.zeros([COLUMNS], tl.float64)
                mass, squared = tl.full([], 0.0, tl.float64), tl.full([], 0.0, tl.float64)
                booked = present
            total += tl.sum(x.to(tl.float64) * own[:, None], axis=0)
            if tl.program_id(1) == 0:
                mass += tl.sum(own, axis=0)
                squared += tl.sum(own * square, axis=0)
            kind = tl.where(kind == present, -1, kind)
            present = tl.max(kind, axis=0)
    if booked >= 0:
        _book(sums, booked, total, mass, squared, columns, there, n_columns, n_codes)
