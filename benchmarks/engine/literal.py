"""UMA as the paper writes it, with whole-array products: what the engine is measured against.

Every update scores all rows against all classes, cuts them by the best class, and sums every
region's rows, unmixed into every class. BLAS does the dense products on all cores. SciPy's sparse
products use one core each, so blocks of rows, and regions, are given to one thread per core.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse


class LiteralUMA:
    """Perceptron steps on the pair with the longest update vector, from weights 0."""

    def __init__(self, confusion: np.ndarray, max_iter: int, intercept: bool) -> None:
        self.inverse = np.linalg.inv(confusion)
        self.max_iter = max_iter
        self.intercept = intercept

    def fit(self, X: Any, y: np.ndarray) -> LiteralUMA:
        """Make the updates; the last column of `weights` is the intercept's."""
        n_rows, n_columns = X.shape
        n_classes = len(self.inverse)
        W = np.zeros((n_classes, n_columns + 1))
        n_threads = os.cpu_count() or 1 if sparse.issparse(X) else 1
        cuts = np.linspace(0, n_rows, n_threads + 1).astype(int)
        blocks = [X[a:b] for a, b in pairwise(cuts)] if n_threads > 1 else [X]
        self.n_iter_ = 0
        with ThreadPoolExecutor(n_threads) as pool:
            for _ in range(self.max_iter):
                if self.n_iter_ == 0:
                    regions = [np.arange(n_rows)] * n_classes
                    Z = np.stack([self.unmixed(X, y, regions[0])] * n_classes)
                else:
                    weights = W[:, :-1].T.astype(X.dtype)
                    scores = list(pool.map(lambda block, w=weights: block @ w, blocks))
                    best = (np.vstack(scores) + W[:, -1]).argmax(axis=1)
                    regions = [np.flatnonzero(best == p) for p in range(n_classes)]
                    Z = np.stack(list(pool.map(lambda rows: self.unmixed(X, y, rows), regions)))
                if not self.update(W, Z / n_rows):
                    break
        self.weights = W
        return self

    def unmixed(self, X: Any, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Sum the rows, weighted by how much each counts as every class: (Q, features + 1)."""
        share = self.inverse[y[rows]]
        sums = np.asarray((X[rows].T @ share.astype(X.dtype)).T, dtype=np.float64)
        constant = share.sum(axis=0) if self.intercept else np.zeros(len(sums))
        return np.hstack([sums, constant[:, np.newaxis]])

    def update(self, W: np.ndarray, Z: np.ndarray) -> bool:
        """Step along the longest vector that has an error set; False if there is none."""
        norms = np.linalg.norm(Z, axis=2)
        np.fill_diagonal(norms, -1.0)
        while norms.max() > 0:
            # Ties go to the lowest pair, up to rounding.
            p, q = divmod(int(np.argmax(norms >= norms.max() * (1 - 1e-12))), len(W))
            z = Z[p, q]
            scores = W @ z
            rivals = np.flatnonzero(scores >= scores[q] - 1e-12 * np.abs(scores).max())
            rivals = rivals[rivals != q]
            if len(rivals):
                down = p if p in rivals else rivals[np.argmax(scores[rivals])]
                W[q] += z
                W[down] -= z
                self.n_iter_ += 1
                return True
            norms[p, q] = -1.0
        return False
