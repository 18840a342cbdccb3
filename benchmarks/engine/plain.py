"""UMA as a good engineer writes it in an afternoon: incremental, whole-array, nothing skipped.

It keeps every row's scores, its predicted class and the sums of all cells. An update is one product
of the rows with the update vector, and only rows that changed their class change sums. Sums of all
cells must fit in memory, so it serves dense rows and few classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np


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
        region = np.zeros(n_rows, dtype=int)
        sums = np.zeros((n_classes, n_classes, n_columns + 1))
        self.move(sums, X, y, region - 1, region, np.arange(n_rows))
        sums[1:] = sums[0]  # weights of 0 predict every class
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
            if self.n_iter_ == 0:
                sums[1:] = 0.0
            moved = np.flatnonzero(best != region)
            self.move(sums, X, y, region, best, moved)
            changed = np.union1d(region[moved], best[moved])
            changed = changed if self.n_iter_ else np.arange(n_classes)
            region = best
            self.n_iter_ += 1
        self.weights = W
        return self

    def move(
        self, sums: np.ndarray, X: Any, y: np.ndarray, old: np.ndarray, new: np.ndarray,
        rows: np.ndarray,
    ) -> None:  # fmt: skip
        """Move rows between the sums, (Q, Q, features + 1), of their old and new regions."""
        kinds = ((old[rows] + 1) * len(sums) + new[rows]) * len(sums) + y[rows]
        order = np.argsort(kinds, kind="stable")
        starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
        for same in np.split(rows[order], starts[1:]):
            if len(same):
                total = np.append(X[same].sum(axis=0, dtype=np.float64), len(same) * self.intercept)
                before, now, label = old[same[0]], new[same[0]], y[same[0]]
                sums[now, label] += total
                if before >= 0:
                    sums[before, label] -= total

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
