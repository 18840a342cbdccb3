"""Scores of rows by linear weights, right up to the ends of the floating-point range.

A score beyond the range would be infinite, and so would all others of its row: any class could
win. One below it would be 0, and the first class would win. Such rows are scored again in double
precision with rows and weights brought to 1, and their scores scaled together to what can be
written: which class is ahead, and on which side of 0 a score is, stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import safe_sparse_dot

from unconfused._typing import BoolArray, FloatArray
from unconfused.estimators._array_input import array_space, like, to_numpy


def class_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Return ``X @ coef.T + intercept``, (n, rows of coef)."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        scores = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    if array_space(X) is not None:
        on_host = to_numpy(scores)
        if not _rows_out_of_range(on_host, to_numpy(intercept)).any():
            return scores
        return like(class_scores(*map(to_numpy, (X, coef, intercept))), X, scores.dtype)
    scores = np.asarray(scores)
    rows = np.flatnonzero(_rows_out_of_range(scores, intercept))
    if len(rows):
        scores[rows] = _scaled_scores(X[rows], coef, intercept, scores.dtype)
    return scores


def fits_into(weights: FloatArray, dtype: Any) -> bool:
    """Whether weights can be written with all their digits as numbers of this type."""
    largest = np.abs(weights).max(initial=0.0)
    return bool(largest == 0 or _smallest(dtype) <= largest <= _largest(dtype))


def _smallest(dtype: Any) -> float:
    """Return what is so large that anything too small to be written does not count beside it."""
    info = np.finfo(dtype)
    return float(info.tiny / info.eps)


def _largest(dtype: Any) -> float:
    """Return a number whose double, with either sign, can still be written."""
    return float(np.finfo(dtype).max / 4)


def _rows_out_of_range(scores: FloatArray, intercept: FloatArray) -> BoolArray:
    """Say which rows have a score that is not finite or, through the origin, only tiny ones."""
    bad: BoolArray = np.zeros(len(scores), dtype=bool)
    if not (np.isfinite(scores.min()) and np.isfinite(scores.max())):
        bad |= ~np.isfinite(scores).all(axis=1)
    if not intercept.any():  # beside an intercept, tiny differences are rounded away anyhow
        smallest = _smallest(scores.dtype)
        sizes = np.abs(scores)
        if sizes.min() < smallest:
            bad |= sizes.max(axis=1) < smallest
    return bad


def _scaled_scores(X: Any, coef: FloatArray, intercept: FloatArray, dtype: Any) -> FloatArray:
    rows, weights = X.astype(np.float64), coef.astype(np.float64)
    sizes = abs(rows).max(axis=1)
    sizes = _or_one(sizes.toarray().ravel() if issparse(rows) else sizes)[:, np.newaxis]
    size = _or_one(np.abs(weights).max())
    with np.errstate(under="ignore"):
        rows = rows.multiply(1 / sizes).tocsr() if issparse(rows) else rows / sizes
        scores = rows @ (weights / size).T + intercept / sizes / size
        tops = _or_one(np.abs(scores).max(axis=1, keepdims=True))
        powers = np.log2(sizes) + np.log2(size) + np.log2(tops)
        powers = np.clip(powers, np.log2(_smallest(dtype)), np.log2(_largest(dtype)))
        scaled: FloatArray = scores / tops * 2.0**powers
    return scaled


def _or_one(sizes: Any) -> Any:
    return np.where(sizes > 0, sizes, 1.0)
