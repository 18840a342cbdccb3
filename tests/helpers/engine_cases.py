"""Rows that are hard on an engine, and what it must say of them, from scratch."""

import numpy as np

from unconfused.engines.local.gram import GramSums
from unconfused.engines.local.partition import KeptSums, LazySums, SumsOnDemand

STRATEGIES = [KeptSums, LazySums, GramSums, SumsOnDemand]


def force(patch, strategy):
    """Let partitions sum rows by this strategy, whatever there is room for."""
    patch.setattr("unconfused.engines.local.engine.cell_sums", strategy)


def make_rows(rng, n, d, dtype=np.float64):
    """Rows of all lengths, some of them zero, some of them twice, some with few entries."""
    X = rng.randn(n, d) * 10.0 ** rng.randint(-2, 2, (n, 1))
    X[rng.rand(n, d) < 0.4] = 0.0
    X[::7] = 0.0
    X[1::7] = X[2::7][: len(X[1::7])]
    X[3::7] = np.round(X[3::7])
    return X.astype(dtype)


def full_rows(X, intercept):
    """Rows in double precision, with the constant 1 if there is an intercept."""
    X = np.asarray(X, dtype=np.float64)
    return np.hstack([X, np.ones((len(X), 1))]) if intercept else X


def exact_regions(X, W, alpha):
    """Regions as the paper has them, with the library's meaning of a tie, row by row."""
    scores = X @ W.T
    near = 1e-12 * np.linalg.norm(X, axis=1) * np.sqrt((W**2).sum(axis=1).max())
    best = (scores >= scores.max(axis=1, keepdims=True) - near[:, None]).argmax(axis=1)
    own = np.take_along_axis(scores, best[:, None], axis=1)[:, 0]
    np.put_along_axis(scores, best[:, None], -np.inf, axis=1)
    inside = own - scores.max(axis=1) >= alpha - near
    return np.where(inside | (alpha == 0.0), best, -1)


def plain_cells(X, codes, weights, region, coefficients):
    """Return counts, squares, (Q, S) each, and unmixed sums, (Q, Q, features), by plain loops.

    `region` is None where every row is in every class.
    """
    S, Q = coefficients.shape
    counts, squares, sums = np.zeros((Q, S)), np.zeros((Q, S)), np.zeros((Q, Q, X.shape[1]))
    for i, x in enumerate(X):
        for p in range(Q):
            if region is None or region[i] == p:
                counts[p, codes[i]] += weights[i]
                squares[p, codes[i]] += weights[i] * (x @ x)
                sums[p] += weights[i] * np.outer(coefficients[codes[i]], x)
    return counts, squares, sums
