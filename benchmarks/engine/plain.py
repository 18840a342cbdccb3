"""UMA as a good engineer writes it in an afternoon: incremental, whole-array, nothing skipped.

It keeps every row's scores, its predicted class and the sums of all cells. An update is one product
of the rows with the update vector, and only rows that changed their class change sums. Sums of all
cells must fit in memory, so it serves dense rows and few classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class PlainUMA:
    """Perceptron steps on the pair with the longest update vector, from weights 0."""

    def __init__(self, confusion: np.ndarray, max_iter: int, intercept: bool) -> None:
        self.inverse = np.linalg.inv(confusion)
        self.max_iter = max_iter
        self.intercept = intercept

    def fit(self, X: Any, y: np.ndarray) -> PlainUMA:
        """Make the updates; the last column of `weights` is the intercept's."""
        n_rows, n_columns = X.shape
        n_classes = len(self.inverse)
        W = np.zeros((n_classes, n_columns + 1))
        scores = np.zeros((n_classes, n_rows))
        everything = self.sums(X, y, np.zeros(n_rows, dtype=int), np.arange(n_rows), n_classes)[0]
        sums = np.repeat(everything[np.newaxis], n_classes, axis=0)
        region = np.full(n_rows, -1)
        norms, changed = np.zeros((n_classes, n_classes)), np.arange(n_classes)
        self.n_iter_ = 0
        while self.n_iter_ < self.max_iter:
            Z = self.inverse.T @ sums[changed] / n_rows
            norms[changed] = np.linalg.norm(Z, axis=2)
            found = self.choose(W, sums, norms.copy(), n_rows)
            if found is None:
                break
            z, up, down = found
            W[up] += z
            W[down] -= z
            product = X @ z[:-1].astype(X.dtype) + z[-1]
            scores[up] += product
            scores[down] -= product
            best = scores.argmax(axis=0)
            moved = np.flatnonzero(best != region)
            if self.n_iter_ == 0:
                sums[:] = 0.0
            else:
                sums -= self.sums(X, y, region, moved, n_classes)
            sums += self.sums(X, y, best, moved, n_classes)
            changed = np.union1d(region[moved], best[moved])
            changed = changed[changed >= 0] if self.n_iter_ else np.arange(n_classes)
            region = best
            self.n_iter_ += 1
        self.weights = W
        return self

    def sums(
        self, X: Any, y: np.ndarray, region: np.ndarray, rows: np.ndarray, n_classes: int
    ) -> np.ndarray:
        """Sum some rows by region and label, the constant last, (Q, Q, features + 1)."""
        cells = region[rows] * n_classes + y[rows]
        shape = (n_classes**2, len(rows))
        members = sparse.csr_array((np.ones(len(rows)), (cells, np.arange(len(rows)))), shape)
        total = np.asarray(members @ X[rows], dtype=np.float64)
        constant = members.sum(axis=1) * self.intercept
        return np.hstack([total, constant[:, np.newaxis]]).reshape(n_classes, n_classes, -1)

    def choose(
        self, W: np.ndarray, sums: np.ndarray, norms: np.ndarray, n_rows: int
    ) -> tuple[np.ndarray, int, int] | None:
        """Return the longest vector that has an error set, and the classes it moves."""
        np.fill_diagonal(norms, -1.0)
        while norms.max() > 0:
            # Ties go to the lowest pair, up to rounding.
            p, q = divmod(int(np.argmax(norms >= norms.max() * (1 - 1e-12))), len(W))
            z = self.inverse[:, q] @ sums[p] / n_rows
            scores = W @ z
            rivals = np.flatnonzero(scores >= scores[q] - 1e-12 * np.abs(scores).max())
            rivals = rivals[rivals != q]
            if len(rivals):
                return z, q, p if p in rivals else int(rivals[np.argmax(scores[rivals])])
            norms[p, q] = -1.0
        return None
