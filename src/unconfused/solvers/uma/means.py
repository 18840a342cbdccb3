"""Unmixed class means as initial weights, from one pass over the rows."""

from __future__ import annotations

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, Partition

SHARES = (0.0, 0.5, 1.0)
"""Candidate factors on the squared norms of the means in the intercept."""

OVERFLOW = "The sums over rows overflow: scale the features down."


def start_at_means(
    engine: Engine, partition: Partition, unmixing: Unmixing, costs: FloatArray | None = None
) -> FloatArray:
    """Return the unmixed class means as weights, centred over the classes.

    With an intercept there are three candidates (`SHARES`): 1 predicts the class with the nearest
    mean; 0 compares only directions from the overall mean, which is more stable where the norms of
    the means are uncertain. The candidate with the lowest estimated error (or cost, see
    `estimated_hits`) is returned, and the partition is restarted from it.
    """
    candidates = [unmixed_means(engine, unmixing, share) for share in SHARES[: _choices(engine)]]
    if len(candidates) > 1:
        hits = [estimated_hits(partition, unmixing, weights, costs) for weights in candidates]
        candidates = [candidates[int(np.argmax(hits))]]
    partition.restart(candidates[0])
    return candidates[0]


def _choices(engine: Engine) -> int:
    return len(SHARES) if engine.intercept else 1


def estimated_hits(
    partition: Partition, unmixing: Unmixing, weights: FloatArray, costs: FloatArray | None = None
) -> float:
    """Return the estimated number of rows that these weights classify correctly.

    With `costs` of mistakes, (predicted, true), it is minus their estimated cost.
    """
    partition.restart(weights)
    masses = unmixing.masses(partition.tables().counts)
    return float(np.trace(masses)) if costs is None else -float(np.sum(costs * masses))


def unmixed_means(engine: Engine, unmixing: Unmixing, share: float) -> FloatArray:
    """Return the unmixed class means as weights, centred over the classes.

    A class with an estimated mass of less than one row gets the mean of all rows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weights = _unmixed_means(engine, unmixing, share)
    if not np.all(np.isfinite(weights)):
        raise ValueError(OVERFLOW)
    return weights


def _unmixed_means(engine: Engine, unmixing: Unmixing, share: float) -> FloatArray:
    counts, sums = engine.code_counts, engine.code_sums()
    total = counts.sum()
    centre = sums.sum(axis=0) / total
    masses = unmixing.masses(counts)
    held = masses >= min(1.0, total / unmixing.n_classes)
    means = np.tile(centre, (unmixing.n_classes, 1))
    means[held] = (unmixing.coefficients.T @ sums)[held] / masses[held, np.newaxis]
    if engine.intercept:
        offsets = means - centre
        squares = np.einsum("qj,qj->q", offsets, offsets)
        # Sampling noise biases the distance of a mean from the centre upwards.
        spread = engine.code_squares - 2 * sums @ centre + counts * (centre @ centre)
        noise = (spread @ unmixing.coefficients**2)[held] / masses[held] ** 2
        squares[held] -= noise - squares[held] / total
        means[:, -1] = -offsets @ centre - share / 2 * squares
    return np.asarray(means - means.mean(axis=0))
