"""Linear scores of rows without overflow or underflow.

If scores overflowed, any class could win; if all of a row underflowed to 0, the first would. Such
rows are scored again in double precision, with rows and weights scaled to 1, and their scores are
rescaled into range. The order of the classes and the signs of the scores are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import safe_sparse_dot

from unconfused._typing import FloatArray
from unconfused.estimators._array_input import like, namespace, rows_at, to_numpy


def class_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """Return ``X @ coef.T + intercept``, (n, rows of coef)."""
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        scores = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
        all_finite = bool(xp.isfinite(xp.sum(scores)))
    # Beside an intercept, differences of tiny scores are rounded away anyhow.
    has_intercept = bool(xp.any(intercept != 0))
    if all_finite and has_intercept:
        return scores
    lowest = 0.0 if has_intercept else _smallest(np.finfo(to_numpy(intercept).dtype))
    sizes = to_numpy(xp.max(xp.abs(scores), axis=1))
    rows = np.flatnonzero(~((sizes >= lowest) & np.isfinite(sizes)))
    if not len(rows):
        return scores
    host, coef, intercept = map(to_numpy, (scores, coef, intercept))
    host[rows] = _scaled_scores(to_numpy(rows_at(X, rows)), coef, intercept, host.dtype)
    return like(host, X, scores.dtype)


def fits_into(weights: FloatArray, dtype: Any) -> bool:
    """Whether weights neither overflow nor lose digits in this type."""
    largest, info = np.abs(weights).max(initial=0.0), np.finfo(dtype)
    return bool(largest == 0 or _smallest(info) <= largest <= _largest(info))


def _smallest(info: Any) -> float:
    """Return the size from which on what underflows is less than a rounding error."""
    return float(info.smallest_normal) / float(info.eps)


def _largest(info: Any) -> float:
    """Return a bound on scores whose differences do not overflow."""
    return float(info.max) / 4


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
