"""Triton kernels that move rows between cells.

The kind of a move encodes the region left, the region entered (0 for none, else the class plus 1)
and the label code. Rows are sorted by kind, and rows of one kind are summed first, so that there
are few atomic additions to the same cell.
"""

from __future__ import annotations

import triton
import triton.language as tl

NO_KIND = tl.constexpr(1 << 62)


@triton.jit
def _apply(sums, kind, total, mass, squared, columns, n_columns, n_regions, n_codes):
    """Subtract a sum of rows from the cell that this kind left; add it to the one entered."""
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
    X, rows, kinds, weights, squares, sums, n_moves, n_columns, n_regions, n_codes,
    GROUP: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Move weighted rows from the cells they left to those they entered.

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
