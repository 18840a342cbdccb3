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

    Labels and predictions are taken as independent given the true class. The two sources are
    combined column by column with the weights of generalised least squares: the unbiased
    combination of least variance if columns are independent.
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
        return _combine(_shares(self.trusted), unmixed, self._weights())

    def draws(self, n_draws: int, seed: int) -> Iterator[FloatArray]:
        """Yield batches of simulated tables, (B, Q, M).

        Counts and rows of a counted C are drawn from their Dirichlet posteriors. The prior is worth
        one row in all: a combination that was not seen is rare, not impossible.
        """
        rng = np.random.default_rng(seed)
        both = bool(self.noisy.any() and self.trusted.any())
        weights = self._weights() if both else None
        size = max(1, BATCH_CELLS // self.noisy.size)
        for start in range(0, n_draws, size):
            n = min(size, n_draws - start)
            trusted = _draw_tables(rng, self.trusted, n)
            if self.unmixing is None or not self.noisy.any():
                yield trusted
                continue
            inverse = _draw_inverses(rng, self.unmixing, n)
            unmixed = np.swapaxes(inverse, -1, -2) @ _draw_tables(rng, self.noisy, n)
            yield unmixed if weights is None else _combine(trusted, unmixed, weights)

    def _weights(self) -> FloatArray:
        """Return the weight matrix of the trusted rows in every column, (M, Q, Q)."""
        assert self.unmixing is not None
        inverse, matrix = self.unmixing.coefficients, self.unmixing.matrix
        n_noisy, n_trusted = self.noisy.sum(), self.trusted.sum()
        # Both variances follow from one pooled table; with their own, luck would draw weight.
        pooled = np.maximum(inverse.T @ self.noisy, 0.0) + self.trusted + 1.0 / self.noisy.size
        columns = pooled.T / pooled.sum()
        identity = np.eye(len(matrix))
        of_trusted = columns[:, :, np.newaxis] * identity / n_trusted
        of_labels = (columns @ matrix)[:, :, np.newaxis] * identity / n_noisy
        if self.unmixing.counts is not None:
            spread = matrix[:, :, np.newaxis] * (identity - matrix[:, np.newaxis, :])
            spread /= self.unmixing.counts.sum(axis=1)[:, np.newaxis, np.newaxis] + 2.0
            of_labels = of_labels + np.tensordot(columns**2, spread, axes=1)
        of_noisy = inverse.T @ of_labels @ inverse
        # of_noisy (of_noisy + of_trusted)^-1, both symmetric
        return np.swapaxes(np.linalg.solve(of_noisy + of_trusted, of_noisy), -1, -2)


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / counts.sum())


def _combine(trusted: FloatArray, unmixed: FloatArray, weights: FloatArray) -> FloatArray:
    difference = np.swapaxes(trusted - unmixed, -1, -2)[..., np.newaxis]
    moved = np.swapaxes((weights @ difference)[..., 0], -1, -2)
    table = unmixed + moved
    return np.asarray(table / table.sum(axis=(-2, -1), keepdims=True))


def _draw_tables(rng: np.random.Generator, counts: FloatArray, n: int) -> FloatArray:
    drawn = rng.standard_gamma(counts + 1.0 / counts.size, size=(n, *counts.shape))
    return np.asarray(drawn / drawn.sum(axis=(-2, -1), keepdims=True))


def _draw_inverses(rng: np.random.Generator, unmixing: Unmixing, n: int) -> FloatArray:
    """Return the inverses of n draws of C, or the one inverse if C is known."""
    if unmixing.counts is None:
        return unmixing.coefficients[np.newaxis]
    totals = unmixing.counts.sum(axis=1, keepdims=True)
    alpha = unmixing.matrix * totals + 1.0 / unmixing.n_labels
    drawn = rng.standard_gamma(alpha, size=(n, *alpha.shape))
    # A pseudo-inverse: a drawn C may be singular, by rounding, where a class was hardly counted.
    return np.linalg.pinv(drawn / drawn.sum(axis=-1, keepdims=True))
