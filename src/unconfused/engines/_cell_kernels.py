"""Compiled loops over the sums of cells. All release the interpreter, so threads can share them.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._compile import compiled
from unconfused.engines._kernels import fetch_later

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

LONGER = 1.0 + 1e-7
"""What a bound on a length is made longer by, for rounding: the sum of many of them."""

STRIP = 256
"""Features unmixed at once: few enough to stay in the fastest memory."""


@_sums
def unmixed_squares(
    all_sums: FloatArray, first_cells: IntArray, coefficients: FloatArray, out: FloatArray
) -> None:
    """Write the squared norms of the sums of regions' codes, unmixed into every class.

    The sums of a region's codes follow one another from its first cell on. `coefficients` is
    (codes, Q), `out` (regions, Q).
    """
    n_codes, n_classes = coefficients.shape
    n_features = all_sums.shape[1]
    mixed = np.empty(STRIP)
    out[:] = 0.0
    for k in range(len(first_cells)):
        sums = all_sums[first_cells[k] : first_cells[k] + n_codes]
        for start in range(0, n_features, STRIP):
            width = min(STRIP, n_features - start)
            for q in range(n_classes):
                mixed[:width] = 0.0
                for s in range(n_codes):
                    factor = coefficients[s, q]
                    if factor != 0.0:
                        own = sums[s, start : start + width]
                        for j in range(width):
                            mixed[j] += factor * own[j]
                total = 0.0
                for j in range(width):
                    total += mixed[j] * mixed[j]
                out[k, q] += total


@_exact
def unmix_pairs(
    all_sums: FloatArray, first_cells: IntArray, true: IntArray, coefficients: FloatArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """Write sums of regions' codes, each unmixed into one class, (pairs, features)."""
    out[:] = 0.0
    for k in range(len(true)):
        for s in range(len(coefficients)):
            factor, own = coefficients[s, true[k]], all_sums[first_cells[k] + s]
            if factor != 0.0:
                for j in range(len(own)):
                    out[k, j] += factor * own[j]


@_exact
def bound_norms(
    norms: FloatArray, debts: FloatArray, inaccuracy: FloatArray, longest: FloatArray,
    total: float, lower: FloatArray, upper: FloatArray,
) -> None:  # fmt: skip
    """Write numbers between which the norms of vectors lie that were measured some time ago.

    Each is off by its debt and an inaccuracy, unless it has no debt; none exceeds `longest`. Norms
    are means over rows of weight `total`, all others sums.
    """
    for p in range(len(norms)):
        for q in range(norms.shape[1]):
            lower[p, q] = upper[p, q] = norms[p, q]
            if debts[p, q] != 0.0:
                off = (debts[p, q] * LONGER + inaccuracy[p, q]) / total
                upper[p, q] = min(norms[p, q] + off, longest[p, q] * LONGER / total)
                lower[p, q] = min(max(norms[p, q] - off, 0.0), upper[p, q])


@_exact
def net_moves(moved: IntArray, net: Any, signs: Any) -> int:
    """Leave in `moved` the rows that joined or left in the end, with their signs; return how many.

    Rows that left are given by their complement. `net` holds a 0 for every row there is.
    """
    for row in moved:
        if row < 0:
            net[~row] -= 1
        else:
            net[row] += 1
    count = 0
    for k in range(len(moved)):
        row = ~moved[k] if moved[k] < 0 else moved[k]
        if net[row] != 0:
            moved[count], signs[count] = row, net[row]
            net[row] = 0
            count += 1
    return count


@_exact
def move_gram_dense(
    X: Any, members: IntArray, edges: IntArray, weights: FloatArray, movers: IntArray,
    mover_codes: IntArray, mover_weights: FloatArray, first_code: int, last_code: int,
    line: FloatArray, half: FloatArray,
) -> None:  # fmt: skip
    """Find how the Gram matrix of one region's cell sums has grown by the rows that moved.

    With S the sums now and D what was added to them, the products have grown by
    ``S D' + D S' - D D'``, which is ``H D' + D H'`` with ``H = S - D / 2``. `members` are the rows
    of the region now, code s from ``edges[s]`` to ``edges[s + 1]``; movers count negatively if
    they left. Columns first_code..last_code of ``D H'`` are added to `half`. `line` is room for
    one sum.
    """
    n_columns = X.shape[1]
    for s in range(first_code, last_code):
        line[:] = 0.0
        for m in range(edges[s], edges[s + 1]):
            i = members[m]
            for j in range(n_columns):
                line[j] += weights[i] * X[i, j]
        for m in range(len(movers)):
            if mover_codes[m] == s:
                for j in range(n_columns):
                    line[j] -= 0.5 * mover_weights[m] * X[movers[m], j]
        for m in range(len(movers)):
            total = 0.0
            for j in range(n_columns):
                total += line[j] * X[movers[m], j]
            half[mover_codes[m], s] += mover_weights[m] * total


@_sums
def dot_entries(values: Any, places: Any, line: FloatArray) -> float:
    """Return the product of a sparse row with a line of all columns."""
    total = 0.0
    for k in range(len(values)):
        total += values[k] * line[places[k]]
    return total


@_exact
def add_entries(values: Any, places: Any, weight: float, line: FloatArray) -> None:
    """Add a sparse row, times its weight, to a line of all columns."""
    for k in range(len(values)):
        line[places[k]] += weight * values[k]


@_exact
def clear_entries(places: Any, line: FloatArray) -> None:
    """Make a line 0 where a sparse row has entries."""
    for place in places:
        line[place] = 0.0


@_exact
def move_gram_sparse(
    data: Any, indices: Any, indptr: Any, members: IntArray, edges: IntArray, weights: FloatArray,
    movers: IntArray, mover_codes: IntArray, mover_weights: FloatArray, first_code: int,
    last_code: int, line: FloatArray, half: FloatArray,
) -> None:  # fmt: skip
    """Do the same for rows in CSR. `line` is all 0 before and after."""
    for s in range(first_code, last_code):
        own = members[edges[s] : edges[s + 1]]
        for m in range(len(own)):
            fetch_later(data, indices, indptr, own, m)
            i = own[m]
            first, last = indptr[i], indptr[i + 1]
            add_entries(data[first:last], indices[first:last], weights[i], line)
        for m in range(len(movers)):
            if mover_codes[m] == s:
                first, last = indptr[movers[m]], indptr[movers[m] + 1]
                own_half = -0.5 * mover_weights[m]
                add_entries(data[first:last], indices[first:last], own_half, line)
        for m in range(len(movers)):
            first, last = indptr[movers[m]], indptr[movers[m] + 1]
            grown = mover_weights[m] * dot_entries(data[first:last], indices[first:last], line)
            half[mover_codes[m], s] += grown
        for i in own:
            clear_entries(indices[indptr[i] : indptr[i + 1]], line)
        for m in range(len(movers)):
            if mover_codes[m] == s:
                clear_entries(indices[indptr[movers[m]] : indptr[movers[m] + 1]], line)


@_exact
def move_gram_sparse_by_few(
    data: Any, indices: Any, indptr: Any, members: IntArray, edges: IntArray, weights: FloatArray,
    movers: IntArray, mover_codes: IntArray, mover_weights: FloatArray, first_code: int,
    last_code: int, n_columns: int, half: FloatArray,
) -> None:  # fmt: skip
    """Do the same for few movers: no sum is written out.

    The movers are turned into lists by column, and the region's rows are read once, for the
    columns that are on a list.
    """
    first, columns, owners, entries = by_column(data, indices, indptr, movers, n_columns)
    products = np.zeros((len(movers), len(edges) - 1))
    for s in range(first_code, last_code):
        for m in range(edges[s], edges[s + 1]):
            fetch_later(data, indices, indptr, members, m)
            i = members[m]
            values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
            for k in range(len(values)):
                e = first[places[k]]
                if e >= 0:  # few are
                    while columns[e] == places[k]:
                        products[owners[e], s] += weights[i] * values[k] * entries[e]
                        e += 1
    for m in range(len(movers)):
        if not first_code <= mover_codes[m] < last_code:
            continue
        for k in range(indptr[movers[m]], indptr[movers[m] + 1]):
            e = first[indices[k]]
            while columns[e] == indices[k]:
                grown = mover_weights[m] * data[k] * entries[e]
                products[owners[e], mover_codes[m]] -= 0.5 * grown
                e += 1
    for m in range(len(movers)):
        for s in range(first_code, last_code):
            half[mover_codes[m], s] += mover_weights[m] * products[m, s]


@_exact
def by_column(data: Any, indices: Any, indptr: Any, rows: IntArray, n_columns: int) -> Any:
    """List the entries of some rows by column; `first` says where a column's begin, else -1.

    The list ends with a column that there is not.
    """
    total = 0
    for i in rows:
        total += indptr[i + 1] - indptr[i]
    columns = np.full(total + 1, -1, dtype=np.int64)
    owners = np.zeros(total, dtype=np.int64)
    entries = np.empty(total)
    at = 0
    for m in range(len(rows)):
        for k in range(indptr[rows[m]], indptr[rows[m] + 1]):
            columns[at], owners[at], entries[at] = indices[k], m, data[k]
            at += 1
    order = np.argsort(columns[:total], kind="mergesort")
    columns[:total], owners, entries = columns[:total][order], owners[order], entries[order]
    first = np.full(n_columns, -1, dtype=np.int32)
    for e in range(total - 1, -1, -1):
        first[columns[e]] = e
    return first, columns, owners, entries
