"""The joint table of true class and prediction, estimated from noisy and trusted rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray

BATCH_CELLS = 2**21
"""Cells of the simulated tables that are held in memory at a time."""


@dataclass(frozen=True)
class JointTable:
    """Shares of (true class, column), with a column per prediction or pair of predictions.

    Labels and predictions are taken as independent given the true class. The table of the trusted
    rows and that of the others are averaged, weighted for the least total variance.
    """

    noisy: FloatArray
    """Counts of (label, column) of the rows with a noisy label only, (Q, M)."""
    trusted: FloatArray
    """Counts of (true class, column) of the trusted rows, (Q, M)."""
    unmixing: Unmixing | None

    @property
    def estimate(self) -> FloatArray:
        """The estimated shares; entries can be slightly negative."""
        if self.unmixing is None or not self.noisy.any():
            return _shares(self.trusted)
        unmixed = self.unmixing.coefficients.T @ _shares(self.noisy)
        if not self.trusted.any():
            return unmixed
        weight = self._trusted_weight()
        return np.asarray(weight * _shares(self.trusted) + (1 - weight) * unmixed)

    def draws(self, n_draws: int, seed: int) -> Iterator[FloatArray]:
        """Yield batches of simulated tables, (B, Q, M).

        Counts and rows of a counted C are drawn from their Dirichlet posteriors. The prior is worth
        one row in all: a combination that was not seen is rare, not impossible.
        """
        rng = np.random.default_rng(seed)
        both = bool(self.noisy.any() and self.trusted.any())
        weight = self._trusted_weight() if both else 0.0
        size = max(1, BATCH_CELLS // self.noisy.size)
        for start in range(0, n_draws, size):
            n = min(size, n_draws - start)
            trusted = _draw_tables(rng, self.trusted, n)
            if self.unmixing is None or not self.noisy.any():
                yield trusted
                continue
            inverse = _draw_inverses(rng, self.unmixing, n)
            unmixed = np.swapaxes(inverse, -1, -2) @ _draw_tables(rng, self.noisy, n)
            yield weight * trusted + (1 - weight) * unmixed

    def _trusted_weight(self) -> float:
        """Return the weight of the trusted rows that gives the table the least total variance.

        One weight for all cells. A weight per cell would lower the variance a little further, but
        cells that are low by chance would seem to have less variance, and get more weight.
        """
        assert self.unmixing is not None
        inverse, matrix = self.unmixing.coefficients, self.unmixing.matrix
        n_noisy, n_trusted = self.noisy.sum(), self.trusted.sum()
        pooled = np.maximum(inverse.T @ self.noisy, 0.0) + self.trusted
        columns = pooled.T / pooled.sum()
        squares = (columns**2).sum()
        reach = (inverse**2).sum(axis=1)  # total variance that one label of each kind adds
        of_noisy = ((columns @ matrix @ reach).sum() - squares) / n_noisy
        if self.unmixing.counts is not None:
            # The rows of C are multinomial: sum_k C[t, k] |inverse[k] - (C inverse)[t]|^2.
            spread = (matrix @ reach - 1.0) / (self.unmixing.counts.sum(axis=1) + 2.0)
            of_noisy += (columns**2).sum(axis=0) @ spread
        of_trusted = (1.0 - squares) / n_trusted
        return float(of_noisy / (of_noisy + of_trusted))


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / counts.sum())


def _draw_tables(rng: np.random.Generator, counts: FloatArray, n: int) -> FloatArray:
    drawn = rng.standard_gamma(counts + 1.0 / counts.size, size=(n, *counts.shape))
    return np.asarray(drawn / drawn.sum(axis=(-2, -1), keepdims=True))


def _draw_inverses(rng: np.random.Generator, unmixing: Unmixing, n: int) -> FloatArray:
    """Return the inverses of n draws of C, or the one inverse if C is known."""
    inverse, matrix = unmixing.coefficients, unmixing.matrix
    if unmixing.counts is None:
        return inverse[np.newaxis]
    totals = unmixing.counts.sum(axis=1, keepdims=True)
    alpha = matrix * totals + 1.0 / unmixing.n_labels
    drawn = rng.standard_gamma(alpha, size=(n, *alpha.shape))
    # A pseudo-inverse: a drawn C may be singular, by rounding, where a class was hardly counted.
    inverses = np.linalg.pinv(drawn / drawn.sum(axis=-1, keepdims=True))
    # Inverses of draws lie around another matrix than the inverse of C: to second order, the prior
    # moves the mean of the draws, and the inverse is convex. Without this, many classes counted on
    # few rows each would get intervals that lie too high.
    shrunk = 1.0 / unmixing.n_labels - matrix
    convex = matrix * (inverse.T - 1.0)
    return np.asarray(inverses - inverse @ ((convex - shrunk) / (totals + 1.0)) @ inverse)
