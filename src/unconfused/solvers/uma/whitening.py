"""Whitened geometry for UMA, and a start in it.

Update vectors are sums of rows, so their noise is largest where the rows vary most.
With S the covariance of the rows and P = (S + ridge)^-1, UMA with steps ``P z`` and norms
``sqrt(z' P z)`` is UMA on rows mapped by a square root of P: the second-order Perceptron's idea
(Cesa-Bianchi, Conconi and Gentile, 2005). Sparse or very wide rows are scaled by the diagonal of S
only, which keeps them sparse.
"""

from __future__ import annotations

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Partition, RowMap
from unconfused.solvers._covariance import (
    WIDE,
    Covariance,
    DiagonalCovariance,
    NarrowCovariance,
    covariance_of,
)
from unconfused.solvers.discriminant import ClassStatistics, regularized_weights, unmix_classes
from unconfused.solvers.uma.all_pairs import adapted_partition
from unconfused.solvers.uma.moments import RunningMoments

ROUNDS = 3
"""Rounds of `refined_start`; more change next to nothing (Digits, Music and Reuters)."""

SMALLEST, LARGEST = 1e-60, 1e60
"""Range of the mean variance in which weights and their inverses fit single precision."""

DENSE = 0.5
"""Density from which sparse rows take no less memory than an array, and are fully whitened."""


class Whitening:
    """Covariance of the rows, and the geometry it defines.

    Parameters
    ----------
    rows : engine, or the moments of all rows of a stream so far
    unmixing : of the labels of these rows
    """

    def __init__(self, rows: Engine | RunningMoments, unmixing: Unmixing) -> None:
        self.classes = unmix_classes(rows, unmixing)
        self._rows = rows
        self._total = float(rows.code_counts.sum())
        self.covariance: Covariance
        if isinstance(rows, RunningMoments):
            kind = NarrowCovariance if len(self.classes.centre) <= WIDE else DiagonalCovariance
            self.covariance = kind(rows, self.classes.centre)
        else:
            self.covariance = covariance_of(rows, self.classes.centre)

    @classmethod
    def of(cls, rows: Engine | RunningMoments, unmixing: Unmixing) -> Whitening | None:
        """Return the whitening of these rows; None if they vary too little or too much."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not 0.0 < rows.code_squares.sum() < np.inf or rows.n_features == rows.intercept:
                return None
        found = cls(rows, unmixing)
        return found if SMALLEST < found.covariance.mean_variance < LARGEST else None

    def ridge(self) -> float:
        """Return the ridge that suits the noise of the unmixed class means."""
        return regularized_weights(self.classes, self.covariance, self._total)[1]

    def row_map(self, ridge: float) -> RowMap:
        """Return the map to whitened rows."""
        centre = self.classes.centre
        if isinstance(self.covariance, NarrowCovariance) and self._rows.density >= DENSE:
            return RowMap(*self.covariance.root(ridge), centre)
        squares = self._rows.feature_squares()[: len(centre)] / self._total
        roots = np.sqrt(np.maximum(squares - centre**2, 0.0) + ridge)
        return RowMap(1 / roots, roots, np.zeros_like(centre))


def refined_start(
    engine: Engine, unmixing: Unmixing, whitening: Whitening
) -> tuple[FloatArray, float]:
    """Return the discriminant of the rows, refined by unmixing its own regions, and its ridge.

    The class means are first unmixed by the inverse of C from all rows at once. The regions of the
    resulting classifier hold few classes each, so their sums can be unmixed with less noise
    (`adapt_to_regions`). Added up over the regions they give better means, and so on. The ridge
    follows the noise that is left (`choose_ridge`).
    """
    classes, total = whitening.classes, float(engine.code_counts.sum())
    weights, first = regularized_weights(classes, whitening.covariance, total)
    ridge, width = first, engine.n_features
    for _ in range(ROUNDS):
        partition, adapted = adapted_partition(engine, unmixing, weights[:, :width])
        if adapted is unmixing:
            break
        classes = region_statistics(partition, adapted, classes.centre, engine.intercept)
        weights, ridge = regularized_weights(classes, whitening.covariance, total, first)
    return weights[:, :width].copy(), ridge


def region_statistics(
    partition: Partition, unmixing: Unmixing, centre: FloatArray, intercept: bool
) -> ClassStatistics:
    """Return class statistics added up over the unmixed regions of a partition."""
    counts = partition.tables().counts
    n_classes, total, d = unmixing.n_classes, counts.sum(), len(centre)
    means, squares = np.zeros((n_classes, d)), np.zeros(n_classes)
    masses, noise = np.zeros(n_classes), np.zeros((n_classes, n_classes))
    for p in np.flatnonzero(counts.any(axis=1)).tolist():
        region = unmixing.of_region(p)
        partition.measure([(p, q) for q in range(n_classes)])  # all vectors in one request
        for q in range(n_classes):
            means[q] += partition.update_vector(p, q)[:d]
        masses += region.masses(counts[p])
        squares += counts[p] @ region.coefficients**2
        noise += region.mass_covariance(counts[p])
    shares = masses / total
    prior = np.maximum(shares, min(1 / total, 1 / n_classes))
    prior /= prior.sum()
    roots = np.sqrt(prior)
    return ClassStatistics(
        prior=prior,
        centre=centre,
        offsets=(means - np.outer(shares, centre)) / roots[:, np.newaxis],
        noise=noise / total**2 / np.outer(roots, roots),
        label_variance=float(np.sum(squares / total - shares**2 * intercept)),
    )
