"""Whitened geometry for UMA, and the start in it: an unmixed discriminant, updates of all pairs.

Update vectors are sums of rows, so their noise is largest where the rows vary most.
With S the covariance of the rows and P = (S + ridge)^-1, UMA with steps ``P z`` and norms
``sqrt(z' P z)`` is UMA on rows mapped by a square root of P: the second-order Perceptron's idea
(Cesa-Bianchi, Conconi and Gentile, 2005). Sparse or very wide rows are scaled by the diagonal of S
only, which keeps them sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Moments, Partition, RowMap
from unconfused.solvers.discriminant import (
    WIDE,
    ClassStatistics,
    Covariance,
    DiagonalCovariance,
    NarrowCovariance,
    WideCovariance,
    regularized_weights,
    unmix_classes,
)

SMALLEST, LARGEST = 1e-60, 1e60
"""Range of the mean variance in which weights and their inverses fit single precision."""

DENSE = 0.5
"""Density from which sparse rows take no less memory than an array, and are fully whitened."""

DISCRIMINANT_ROUNDS = 2
"""Rounds of `unmixed_discriminant`; more change next to nothing (Digits, Music and Reuters)."""

ALL_PAIRS_ROUNDS = 10
"""Rounds of updates of all pairs; their weights are averaged."""

CLEAN_STEPS = 3
"""Factor on the steps of these updates if labels are taken as right: their update vectors have no
noise from unmixing. 2 to 5 do about as well on Digits; through C, 4 diverges on Reuters."""

MOST_CLASSES = 128
"""Number of classes above which all regions use the inverse: coefficients take 8 Q^3 bytes."""

EM_STEPS = 100

MOST_ROWS = 1e6
"""Rows of a region beyond which its coefficients no longer change."""

PSEUDO_COUNT = 0.5
"""Pseudocount of every class in the composition of a region."""

COSTS_NOTHING = 1e-6
"""Smallest cost of mistakes on a class, relative to the largest."""


MakeCovariance = Callable[[Any, FloatArray], Covariance]
"""From rows or their moments, and their centre."""

rough_covariance: MakeCovariance = partial(WideCovariance, precise=False)
"""Covariance of wide rows to start with."""


class Whitening:
    """Covariance of the rows, and the geometry it defines.

    Parameters
    ----------
    rows : engine, or the moments of all rows of a stream so far
    unmixing : of the labels of these rows
    wide : covariance of rows with more than `WIDE` features
    """

    def __init__(
        self, rows: Moments, unmixing: Unmixing, wide: MakeCovariance = rough_covariance
    ) -> None:
        self.classes = unmix_classes(rows, unmixing)
        self._rows = rows
        self._total = float(rows.code_counts.sum())
        centre = self.classes.centre
        full = NarrowCovariance(rows, centre) if len(centre) <= WIDE else None
        self.covariance = full or wide(rows, centre)
        self._full = full if rows.density >= DENSE else None

    @classmethod
    def of(
        cls, rows: Moments, unmixing: Unmixing, wide: MakeCovariance = rough_covariance
    ) -> Whitening | None:
        """Return the whitening of these rows; None if they vary too little or too much."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not 0.0 < rows.code_squares.sum() < np.inf or rows.n_features == rows.intercept:
                return None
        found = cls(rows, unmixing, wide)
        return found if SMALLEST < found.covariance.mean_variance < LARGEST else None

    def ridge(self) -> float:
        """Return the ridge that suits the noise of the unmixed class means."""
        return regularized_weights(self.classes, self.covariance, self._total)[1]

    def row_map(self, ridge: float) -> RowMap:
        """Return the linear map from the rows to whitened rows."""
        centre = self.classes.centre
        if self._full is not None:
            return RowMap(*self._full.root(ridge), centre)
        scales = DiagonalCovariance(self._rows, centre).root(ridge)
        return RowMap(*scales, np.zeros_like(centre))


def with_costs(weights: FloatArray, costs: FloatArray | None, intercept: bool) -> FloatArray:
    """Add log costs to the intercepts: classes whose mistakes cost more are predicted sooner."""
    if costs is None or not intercept:
        return weights
    cost = np.maximum(costs.sum(axis=0), COSTS_NOTHING * costs.max())
    weights[:, -1] += np.log(cost) - np.log(cost).mean()
    return weights


def restart_adapted(partition: Partition, unmixing: Unmixing, weights: FloatArray) -> Unmixing:
    """Restart a partition from these weights; return the unmixing adapted to its regions."""
    partition.restart(weights)
    adapted = adapt_to_regions(unmixing, partition.tables().counts)
    partition.set_unmixing(adapted)
    return adapted


def unmixed_discriminant(
    engine: Engine, unmixing: Unmixing, whitening: Whitening
) -> tuple[FloatArray, float, float]:
    """Return the discriminant of the rows, its ridge, and its degrees of freedom.

    The class means are first unmixed by the inverse of C from all rows at once. The regions of the
    resulting classifier hold few classes each, so their sums can be unmixed with less noise
    (`adapt_to_regions`). Added up over the regions they give better means, and so on. The ridge
    follows the noise that is left (`choose_ridge`).
    """
    classes, total = whitening.classes, float(engine.code_counts.sum())
    weights, first, freedom = regularized_weights(classes, whitening.covariance, total)
    ridge, width = first, engine.n_features
    partition = engine.partition(unmixing, 0.0)
    for _ in range(DISCRIMINANT_ROUNDS):
        adapted = restart_adapted(partition, unmixing, weights[:, :width])
        if adapted is unmixing:
            break
        classes = region_statistics(partition, adapted, classes.centre, engine.intercept)
        weights, ridge, freedom = regularized_weights(classes, whitening.covariance, total, first)
    return weights[:, :width].copy(), ridge, freedom


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
    tell where the classifier errs. The regions are unmixed again in every round. `weights` are
    log-odds, about Q times as large as after one update of all pairs from zero; so are the steps.
    """
    factor = unmixing.n_classes * (CLEAN_STEPS if unmixing.is_identity else 1)
    mean = np.zeros_like(weights)
    partition = engine.partition(unmixing, 0.0)
    for _ in range(ALL_PAIRS_ROUNDS):
        adapted = restart_adapted(partition, unmixing, weights)
        weights = weights + factor * _shrunken_step(partition, adapted, costs, weights.shape)
        mean += weights / ALL_PAIRS_ROUNDS
    return mean


def _shrunken_step(
    partition: Partition, unmixing: Unmixing, costs: FloatArray | None, shape: tuple[int, ...]
) -> FloatArray:
    """Return the sum of the updates of all pairs, (Q, features)."""
    tables = partition.tables()
    total = tables.counts.sum()
    step = np.zeros(shape)
    for p in np.flatnonzero(tables.counts.any(axis=1)).tolist():
        z = partition.update_vectors(p)
        norms = np.einsum("qj,qj->q", z, z)
        noise = tables.squares[p] @ unmixing.of_region(p).coefficients ** 2 / total**2
        kept = np.maximum(1 - noise / np.maximum(norms, np.finfo(np.float64).tiny), 0.0)
        kept = kept if costs is None else kept * costs[p]
        kept[p] = 0.0
        step += kept[:, np.newaxis] * z
        step[p] -= kept @ z
    return step


def adapt_to_regions(unmixing: Unmixing, counts: FloatArray) -> Unmixing:
    """Return an unmixing adapted to regions with these counts, (Q, S)."""
    if unmixing.n_classes > MOST_CLASSES:
        return unmixing
    noisy = least_squares_coefficients(unmixing.matrix, composition(unmixing.matrix, counts)[0])
    if unmixing.trusted:
        shape = len(noisy), unmixing.n_classes, unmixing.n_classes
        identity = np.broadcast_to(np.eye(unmixing.n_classes), shape)
        noisy = np.concatenate([noisy, identity], axis=1)
    return replace(unmixing, by_region=noisy)


def composition(
    matrix: FloatArray, counts: FloatArray, behind: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the number of noisy rows of each true class in each region, (Q, Q), and C.

    Maximum likelihood by the EM algorithm, from the counts per label code; those of trusted
    classes follow those of labels. C is estimated too if the counts `behind` it are passed.

    Examples
    --------
    >>> composition(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[8.0, 2.0]]))[0].round()
    array([[10.,  0.]])
    """
    n_classes, n_labels = matrix.shape
    noisy, trusted = counts[:, :n_labels], counts[:, n_labels:]
    tiny = np.finfo(np.float64).tiny
    shares = np.full((len(counts), n_classes), 1.0 / n_classes)
    matrix = matrix.copy()
    for _ in range(EM_STEPS):
        ratio = noisy / np.maximum(shares @ matrix, tiny)
        found = shares * (ratio @ matrix.T)
        if behind is not None:
            counted = behind.any(axis=1)  # a row of C without counts was assumed, and stays
            labels = (behind + matrix * (shares.T @ ratio))[counted]
            matrix[counted] = labels / labels.sum(axis=1, keepdims=True)
        shares = found + trusted if trusted.shape[1] else found
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), tiny)
    return shares * noisy.sum(axis=1, keepdims=True), matrix


def least_squares_coefficients(matrix: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the coefficients of the noisy labels in each region, (Q, Q, Q).

    With n_t rows of class t in a region, the coefficients b of a class q minimize the squared bias
    plus the variance of its mass, ``sum_t n_t^2 (E[b | t] - 1[t = q])^2 + sum_t n_t Var[b | t]``.

    Examples
    --------
    Class 2 is absent; so label 2 must be a mistake, and is counted as a row of class 1:

    >>> C = np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3], [0.0, 0.3, 0.7]])
    >>> least_squares_coefficients(C, np.array([[0.0, 1e6, 0.0]]))[0].round(1) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    # More rows would only increase rounding errors.
    scale = MOST_ROWS / np.maximum(rows.sum(axis=1, keepdims=True), MOST_ROWS)
    rows = rows * scale + PSEUDO_COUNT
    squared_bias = (matrix.T * (rows**2)[:, np.newaxis]) @ matrix
    variance = -(matrix.T * rows[:, np.newaxis]) @ matrix
    np.einsum("pkk->pk", variance)[:] += rows @ matrix
    curvature = squared_bias + variance
    return np.asarray(np.linalg.solve(curvature, matrix.T * (rows**2)[:, np.newaxis]))
