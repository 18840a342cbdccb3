"""Compiled loops of the likelihood: the E-step, and products of sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._compilation import compiled
from unconfused._typing import FloatArray


@compiled
def posterior(
    scores: Any, codes: Any, row_weights: FloatArray, mixing: FloatArray, table: FloatArray
) -> float:
    """Replace the scores of rows by their residuals, the gradient of the loss, in place.

    With P the softmax of a row's scores and R its posterior given the label, the residual is the
    row's weight times P - R. R is summed by label code in `table`. Returns the weighted sum of
    -log P(label).
    """
    n_classes = scores.shape[1]
    loss = 0.0
    shares, levels = np.empty(n_classes), np.empty(n_classes)
    for i in range(len(scores)):
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
        # The label is almost impossible: log-sum-exp for its probability too.
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


@compiled
def sparse_scores(rows: Any, weights: FloatArray, start: int, stop: int, out: Any) -> None:
    """Write the scores of rows start..stop into out[0..]; weights are (features, Q)."""
    data, indices, indptr = rows
    n_classes = weights.shape[1]
    for i in range(start, stop):
        own = out[i - start]
        own[:] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            column, value = weights[indices[k]], data[k]
            for q in range(n_classes):
                own[q] += value * column[q]


@compiled
def sparse_outer(rows: Any, values: Any, start: int, stop: int, out: FloatArray) -> None:
    """Add ``X[start:stop].T @ values`` to out, (features, Q); values are (rows, Q)."""
    data, indices, indptr = rows
    n_classes = out.shape[1]
    for i in range(start, stop):
        own = values[i - start]
        for k in range(indptr[i], indptr[i + 1]):
            total, value = out[indices[k]], data[k]
            for q in range(n_classes):
                total[q] += value * own[q]
