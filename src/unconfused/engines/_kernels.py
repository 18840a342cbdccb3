"""Compiled loops over rows. All release the interpreter, so threads can share the rows.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.

A sparse row's entries are taken as slices, and counted from 0: of a place that might be negative
the compiler would have to ask, for every entry, whether it is meant from the end.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines._compile import compiled
from unconfused.engines._prefetch import LINE_BYTES, prefetch, prefetch_entry

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled

AHEAD = 4
"""How many rows ahead one is fetched."""

FETCHED_LINES = 16
"""How much of it: once a row is being read, the processor fetches the rest by itself."""


@_sums
def dense_dot(X: Any, vector: FloatArray, start: int, stop: int, out: FloatArray) -> None:
    """Multiply rows start..stop by a vector."""
    for i in range(start, stop):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * vector[j]
        out[i] = total


@_sums
def dense_squared_norms(X: Any, start: int, stop: int, out: FloatArray) -> None:
    """Squared norms of rows start..stop."""
    for i in range(start, stop):
        total = 0.0
        for j in range(X.shape[1]):
            value = np.float64(X[i, j])
            total += value * value
        out[i] = total


@_exact
def fetch_later(data: Any, indices: Any, indptr: Any, rows: Any, now: int) -> None:
    """Ask for the entries of a row some way ahead in a list: the rows of a cell lie scattered."""
    i = rows[min(now + AHEAD, len(rows) - 1)]
    first, last = indptr[i], indptr[i + 1]
    for k in range(first, last, LINE_BYTES // data.itemsize):
        prefetch_entry(data, k)  # type: ignore[call-arg]
    for k in range(first, last, LINE_BYTES // indices.itemsize):
        prefetch_entry(indices, k)  # type: ignore[call-arg]


@_exact
def dense_add(X: Any, rows: Any, cells: Any, weights: FloatArray, sums: FloatArray) -> None:
    """Add each chosen row, times its weight, to its cell's sum.

    Eight rows of one cell that follow one another share one pass over its sum.
    """
    stride = LINE_BYTES // X.itemsize
    fetched = min(X.shape[1], FETCHED_LINES * stride)
    k, n_rows = 0, len(rows)
    while k < n_rows:
        together = 8 if k + 7 < n_rows else 1
        for m in range(k + 1, k + together):
            if cells[m] != cells[k]:
                together = 1
        for ahead in range(k + 8, k + 8 + together):
            for j in range(0, fetched, stride):
                prefetch(X, rows[min(ahead, n_rows - 1)], j)  # type: ignore[call-arg]
        own, a, of_a = sums[cells[k]], X[rows[k]], weights[k]
        if together == 1:
            for j in range(len(a)):
                own[j] += of_a * a[j]
            k += 1
            continue
        b, c, d = X[rows[k + 1]], X[rows[k + 2]], X[rows[k + 3]]
        e, f, g, h = X[rows[k + 4]], X[rows[k + 5]], X[rows[k + 6]], X[rows[k + 7]]
        of_b, of_c, of_d = weights[k + 1], weights[k + 2], weights[k + 3]
        of_e, of_f, of_g, of_h = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
        for j in range(len(a)):
            own[j] += ((of_a * a[j] + of_b * b[j]) + (of_c * c[j] + of_d * d[j])) + (
                (of_e * e[j] + of_f * f[j]) + (of_g * g[j] + of_h * h[j])
            )
        k += 8


@_sums
def sparse_dot(
    data: Any, indices: Any, indptr: Any, vector: FloatArray, start: int, stop: int, out: FloatArray
) -> None:
    """Multiply rows start..stop by a vector."""
    for i in range(start, stop):
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        total = 0.0
        for k in range(len(values)):
            total += values[k] * vector[places[k]]
        out[i] = total


@_sums
def sparse_squared_norms(data: Any, indptr: Any, start: int, stop: int, out: FloatArray) -> None:
    """Squared norms of rows start..stop."""
    for i in range(start, stop):
        total = 0.0
        for entry in data[indptr[i] : indptr[i + 1]]:
            value = np.float64(entry)
            total += value * value
        out[i] = total


@_exact
def sparse_add(
    data: Any,
    indices: Any,
    indptr: Any,
    rows: Any,
    cells: Any,
    weights: FloatArray,
    sums: FloatArray,
) -> None:
    """Add each chosen row, times its weight, to its cell's sum."""
    for m in range(len(rows)):
        fetch_later(data, indices, indptr, rows, m)
        i, own, weight = rows[m], sums[cells[m]], weights[m]
        values, places = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(values)):
            own[places[k]] += weight * values[k]


@_exact
def posterior(
    scores: Any,
    codes: Any,
    row_weights: FloatArray,
    mixing: FloatArray,
    start: int,
    stop: int,
    table: FloatArray,
) -> float:
    """Turn scores of rows into the likelihood's gradient with respect to them, in place.

    With P the softmax of a row's scores and R its posterior given the label, the gradient is the
    row's weight times P - R. R is added up by label code in `table`; the weighted sum of
    -log P(label) is returned.
    """
    n_classes = scores.shape[1]
    loss = 0.0
    shares, levels = np.empty(n_classes), np.empty(n_classes)
    for i in range(start, stop):
        code, weight = codes[i], row_weights[i]
        highest = -np.inf
        for q in range(n_classes):
            highest = max(highest, float(scores[i, q]))
        total, seen = 0.0, 0.0
        for q in range(n_classes):
            shares[q] = np.exp(float(scores[i, q]) - highest)
            total += shares[q]
            seen += mixing[code, q] * shares[q]
        if seen > 1e-280:
            loss += weight * (np.log(total) - np.log(seen))
            for q in range(n_classes):
                responsible = mixing[code, q] * shares[q] / seen
                table[code, q] += weight * responsible
                scores[i, q] = weight * (shares[q] / total - responsible)
            continue
        # The label is all but impossible: take the largest exponential out of its sum, too.
        level = -np.inf
        for q in range(n_classes):
            levels[q] = float(scores[i, q]) - highest + np.log(mixing[code, q])
            level = max(level, levels[q])
        seen = 0.0
        for q in range(n_classes):
            levels[q] = np.exp(levels[q] - level)
            seen += levels[q]
        loss += weight * (np.log(total) - level - np.log(seen))
        for q in range(n_classes):
            responsible = levels[q] / seen
            table[code, q] += weight * responsible
            scores[i, q] = weight * (shares[q] / total - responsible)
    return loss


@_exact
def sparse_scores(
    data: Any, indices: Any, indptr: Any, weights: FloatArray, start: int, stop: int, out: Any
) -> None:
    """Write the scores of rows start..stop into out[0..]; weights are (features, Q).

    Four entries of a row at a time: a row's scores are fetched and stored a fourth as often.
    """
    n_classes = weights.shape[1]
    for i in range(start, stop):
        own = out[i - start]
        own[:] = 0.0
        k, end = indptr[i], indptr[i + 1]
        while k + 4 <= end:
            a, b, c, d = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
            of_a, of_b, of_c, of_d = data[k], data[k + 1], data[k + 2], data[k + 3]
            for q in range(n_classes):
                own[q] += (of_a * weights[a, q] + of_b * weights[b, q]) + (
                    of_c * weights[c, q] + of_d * weights[d, q]
                )
            k += 4
        while k < end:
            a, of_a = indices[k], data[k]
            for q in range(n_classes):
                own[q] += of_a * weights[a, q]
            k += 1


@_exact
def sparse_outer(
    data: Any, indices: Any, indptr: Any, values: Any, start: int, stop: int, out: FloatArray
) -> None:
    """Add the products of rows start..stop with their values, (rows, Q), to out, (features, Q)."""
    n_classes = out.shape[1]
    for i in range(start, stop):
        own = values[i - start]
        k, end = indptr[i], indptr[i + 1]
        while k + 2 <= end:
            a, b = indices[k], indices[k + 1]
            of_a, of_b = data[k], data[k + 1]
            for q in range(n_classes):
                out[a, q] += of_a * own[q]
                out[b, q] += of_b * own[q]
            k += 2
        if k < end:
            a, of_a = indices[k], data[k]
            for q in range(n_classes):
                out[a, q] += of_a * own[q]
