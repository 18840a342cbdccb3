"""Rows that go from one cell to another, on a CUDA device.

A kind of move is a number made of the region left, the one entered (0 for none, else one more than
the class) and the label code. Rows come sorted by kind: those of one kind are summed before the sum
is taken from one cell and added to another. Programs that add to the same cell wait for one
another, so the fewer sums the better.
"""

from __future__ import annotations

import triton
import triton.language as tl

NO_KIND = tl.constexpr(1 << 62)


@triton.jit
def _book(sums, kind, total, mass, squared, columns, n_columns, n_regions, n_codes):
    """Take a sum of rows from the cell that moves of this kind left, and add it where they came."""
    there = columns < n_columns
    cell_code, regions = kind % n_codes, kind // n_codes
    left, entered = regions // (n_regions + 1) - 1, regions % (n_regions + 1) - 1
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


@triton.jit(do_not_specialize=["n_moves"])
def add_moves(
    X,
    rows,
    kinds,
    weights,
    squares,
    sums,
    n_moves,
    n_columns,
    n_regions,
    n_codes,
    GROUP: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Take rows, times weights, from the sums of the cells they left; add them where they came.

    A program goes through groups of rows that follow one another, and books a sum when another kind
    comes: a group is gone through once for every kind in it.
    """
    n_groups = tl.cdiv(n_moves, GROUP)
    each = tl.cdiv(n_groups, tl.num_programs(0))
    begin = tl.program_id(0) * each
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = columns < n_columns
    places = tl.arange(0, GROUP)
    noted = tl.full([], -1, tl.int64)
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
            if present != noted:
                if noted >= 0:
                    _book(sums, noted, total, mass, squared, columns, n_columns, n_regions, n_codes)
                total = tl.zeros([COLUMNS], tl.float64)
                mass, squared = tl.full([], 0.0, tl.float64), tl.full([], 0.0, tl.float64)
                noted = present
            total += tl.sum(x.to(tl.float64) * own[:, None], axis=0)
            mass += tl.sum(own, axis=0)
            squared += tl.sum(own * square, axis=0)
            kind = tl.where(kind == present, NO_KIND, kind)
            present = tl.min(kind, axis=0)
    if noted >= 0:
        _book(sums, noted, total, mass, squared, columns, n_columns, n_regions, n_codes)
