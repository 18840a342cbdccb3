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

from unconfused._typing import FloatArray, IntArray
from unconfused.estimators._array_input import array_space, like, rows_at, to_numpy


def class_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Return ``X @ coef.T + intercept``, (n, rows of coef)."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        scores = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    space = array_space(X)
    if space is None:
        scores = np.asarray(scores)
        rows = _rows_out_of_range(X, scores, coef, intercept)
    elif _all_in_range(scores, intercept, space.xp):  # no more than that crosses to the host
        return scores
    else:
        scores, coef, intercept = map(to_numpy, (scores, coef, intercept))
        rows = _rows_out_of_range(X, scores, coef, intercept)
    if len(rows):
        scores[rows] = _scaled_scores(to_numpy(rows_at(X, rows)), coef, intercept, scores.dtype)
    return scores if space is None else like(scores, X, X.dtype)


def fits_into(weights: FloatArray, dtype: Any) -> bool:
    """Whether weights can be written with all their digits as numbers of this type."""
    largest, info = np.abs(weights).max(initial=0.0), np.finfo(dtype)
    return bool(largest == 0 or _smallest(info) <= largest <= _largest(info))


def _smallest(info: Any) -> float:
    """Return what is so large that anything too small to be written does not count beside it."""
    return float(info.smallest_normal) / float(info.eps)


def _largest(info: Any) -> float:
    """Return a number whose double, with either sign, can still be written."""
    return float(info.max) / 4


def _rows_out_of_range(
    X: Any, scores: FloatArray, coef: FloatArray, intercept: FloatArray
) -> IntArray:
    """Return the rows with a score that is not finite or, through the origin, only tiny ones."""
    rows: IntArray = np.zeros(0, dtype=np.intp)
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.vdot(scores, scores))  # the fastest way to see that all are
    if not finite:
        rows = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if intercept.any():  # beside it, tiny differences are rounded away anyhow
        return rows
    smallest = _smallest(np.finfo(scores.dtype))
    # Few rows are left after a look at one class, and one by which rows are not all scored 0.
    widest = int(np.abs(coef).max(axis=1).argmax())
    tiny = np.flatnonzero(np.abs(scores[:, widest]) < smallest)
    if issparse(X):  # an empty row has the score it should have
        tiny = tiny[X.indptr[tiny] < X.indptr[tiny + 1]]
    if not len(tiny):
        return rows
    return np.union1d(rows, tiny[np.abs(scores[tiny]).max(axis=1) < smallest])


def _all_in_range(scores: Any, intercept: Any, xp: Any) -> bool:
    if not bool(xp.isfinite(xp.sum(scores))):
        return False
    if bool(xp.any(intercept != 0)):
        return True
    sizes = xp.max(xp.abs(scores), axis=1)
    return bool(xp.min(sizes) >= _smallest(xp.finfo(scores.dtype)))


def _scaled_scores(X: Any, coef: FloatArray, intercept: FloatArray, dtype: Any) -> FloatArray:
    rows, weights = X.astype(np.float64), coef.astype(np.float64)
    sizes = abs(rows).max(axis=1)
    sizes = _or_one(sizes.toarray().ravel() if issparse(rows) else sizes)[:, np.newaxis]
    size, info = _or_one(np.abs(weights).max()), np.finfo(dtype)
    with np.errstate(under="ignore"):
        if issparse(rows):
            rows.data /= np.repeat(sizes[:, 0], np.diff(rows.indptr))
        else:
            rows /= sizes
        scores = rows @ (weights / size).T + intercept / sizes / size
        tops = _or_one(np.abs(scores).max(axis=1, keepdims=True))
        powers = np.log2(sizes) + np.log2(size) + np.log2(tops)
        powers = np.clip(powers, np.log2(_smallest(info)), np.log2(_largest(info)))
        scaled: FloatArray = scores / tops * 2.0**powers
    return scaled


def _or_one(sizes: Any) -> Any:
    return np.where(sizes > 0, sizes, 1.0)
