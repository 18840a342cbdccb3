"""The start of whitened UMA: an unmixed discriminant, then updates of all pairs."""

from __future__ import annotations

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Partition
from unconfused.solvers.discriminant import ClassStatistics, regularized_weights
from unconfused.solvers.uma.regions import refine_confusion, restart_adapted
from unconfused.solvers.uma.whitening import Whitening

DISCRIMINANT_ROUNDS = 2
"""Rounds of `unmixed_discriminant`; more change next to nothing (Digits, Music and Reuters)."""

ALL_PAIRS_ROUNDS = 10
"""Rounds of updates of all pairs; their weights are averaged."""

COSTS_NOTHING = 1e-6
"""Relative cost of mistakes on a class below which it is as good as free."""


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
