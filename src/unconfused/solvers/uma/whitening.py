"""Whitened geometry for UMA, and the start in it: an unmixed discriminant, updates of all pairs.

Update vectors are sums of rows, so their noise is largest where the rows vary most.
With S the covariance of the rows and P = (S + ridge)^-1, UMA with steps ``P z`` and norms
``sqrt(z' P z)`` is UMA on rows mapped by a square root of P: the second-order Perceptron's idea
(Cesa-Bianchi, Conconi and Gentile, 2005). Sparse or very wide rows are scaled by the diagonal of S
only, which keeps them sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from unconfused.solvers.uma.regions import refine_confusion, restart_adapted

SMALLEST, LARGEST = 1e-60, 1e60
"""Range of the mean variance in which weights and their inverses fit single precision."""

DENSE = 0.5
"""Density from which sparse rows take no less memory than an array, and are fully whitened."""

DISCRIMINANT_ROUNDS = 2
"""Rounds of `unmixed_discriminant`; more change next to nothing (Digits, Music and Reuters)."""

ALL_PAIRS_ROUNDS = 10
"""Rounds of updates of all pairs; their weights are averaged."""

COSTS_NOTHING = 1e-6
"""Relative cost of mistakes on a class below which it is as good as free."""


@dataclass(frozen=True)
class RunningMoments:
    """Moments of all rows so far, with the part of an engine's interface that needs no rows.

    There are always 2 Q label codes, the second half for trusted labels.
    """

    intercept: bool
    code_counts: FloatArray
    code_squares: FloatArray
    sums: FloatArray
    """(2 Q, features)."""

    second: FloatArray
    """(features, features), or its diagonal, (features,), if there are too many."""

    density: float

    @classmethod
    def of(cls, engine: Engine, n_classes: int) -> RunningMoments:
        """Return the moments of the rows of an engine."""
        missing = 2 * n_classes - len(engine.code_counts)
        wide = engine.n_features - engine.intercept > WIDE
        return cls(
            intercept=engine.intercept,
            code_counts=np.pad(engine.code_counts, (0, missing)),
            code_squares=np.pad(engine.code_squares, (0, missing)),
            sums=np.pad(engine.code_sums(), ((0, missing), (0, 0))),
            second=engine.feature_squares() if wide else engine.second_moment(),
            density=engine.density,
        )

    def __add__(self, other: RunningMoments) -> RunningMoments:
        """Add the moments of two blocks of rows."""
        added = ("code_counts", "code_squares", "sums", "second")
        totals = {name: getattr(self, name) + getattr(other, name) for name in added}
        return replace(self, **totals, density=min(self.density, other.density))

    @property
    def n_features(self) -> int:
        """Number of features, including the intercept."""
        return int(self.sums.shape[1])

    def code_sums(self) -> FloatArray:
        """Return the weighted sum of the rows with each label code, (2 Q, features)."""
        return self.sums

    def second_moment(self) -> FloatArray:
        """Return the weighted sum of x x' over the rows, (features, features)."""
        return self.second

    def feature_squares(self) -> FloatArray:
        """Return the weighted sum of the rows' squared entries, (features,)."""
        return np.diagonal(self.second).copy() if self.second.ndim == 2 else self.second


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
            self.covariance = covariance_of(rows, self.classes.centre, precise=False)

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


def with_costs(weights: FloatArray, costs: FloatArray | None, intercept: bool) -> FloatArray:
    """Move the intercepts of log-odds: a class whose rows cost more needs less evidence."""
    if costs is None or not intercept:
        return weights
    cost = np.maximum(costs.sum(axis=0), COSTS_NOTHING * costs.max())
    weights[:, -1] += np.log(cost) - np.log(cost).mean()
    return weights


def unmixed_discriminant(
    engine: Engine, unmixing: Unmixing, whitening: Whitening
) -> tuple[FloatArray, float, float, Unmixing]:
    """Return the discriminant of the rows, its ridge, its degrees of freedom, and the unmixing.

    The class means are first unmixed by the inverse of C from all rows at once. The regions of the
    resulting classifier hold few classes each, so their sums can be unmixed with less noise
    (`adapt_to_regions`). Added up over the regions they give better means, and so on. The ridge
    follows the noise that is left (`choose_ridge`). A C from trusted rows is refined first.
    """
    classes, total = whitening.classes, float(engine.code_counts.sum())
    weights, first, freedom = regularized_weights(classes, whitening.covariance, total)
    ridge, width = first, engine.n_features
    partition = engine.partition(unmixing, 0.0)
    partition.restart(weights[:, :width])
    unmixing = refine_confusion(unmixing, partition.tables().counts)
    for _ in range(DISCRIMINANT_ROUNDS):
        adapted = restart_adapted(partition, unmixing, weights[:, :width])
        if adapted is unmixing:
            break
        classes = region_statistics(partition, adapted, classes.centre, engine.intercept)
        weights, ridge, freedom = regularized_weights(classes, whitening.covariance, total, first)
    return weights[:, :width].copy(), ridge, freedom, unmixing


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
        means += partition.update_vectors(p)[:, :d]
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


def update_all_pairs(
    engine: Engine, unmixing: Unmixing, weights: FloatArray, costs: FloatArray | None
) -> FloatArray:
    """Return the weights after `ALL_PAIRS_ROUNDS` updates of all pairs, averaged.

    Single pairs stand out of the label noise only if they confuse many rows; together they still
    tell where the classifier errs. The regions are unmixed anew in every round. `weights` are
    log-odds, about Q times as large as after one update of all pairs from zero; so are the steps.
    """
    n_classes = unmixing.n_classes
    mean = np.zeros_like(weights)
    partition = engine.partition(unmixing, 0.0)
    for _ in range(ALL_PAIRS_ROUNDS):
        adapted = restart_adapted(partition, unmixing, weights)
        weights = weights + n_classes * _shrunken_step(partition, adapted, costs)
        mean += weights / ALL_PAIRS_ROUNDS
    return mean


def _shrunken_step(
    partition: Partition, unmixing: Unmixing, costs: FloatArray | None
) -> FloatArray:
    """Return the sum of the updates of all pairs, (Q, features)."""
    tables = partition.tables()
    total = tables.counts.sum()
    step: FloatArray | None = None
    for p in np.flatnonzero(tables.counts.any(axis=1)).tolist():
        z = partition.update_vectors(p)
        norms = np.einsum("qj,qj->q", z, z)
        noise = tables.squares[p] @ unmixing.of_region(p).coefficients ** 2 / total**2
        kept = np.maximum(1 - noise / np.maximum(norms, np.finfo(np.float64).tiny), 0.0)
        kept = kept if costs is None else kept * costs[p]
        kept[p] = 0.0
        step = np.zeros_like(z) if step is None else step
        step += kept[:, np.newaxis] * z
        step[p] -= kept @ z
    assert step is not None
    return step
