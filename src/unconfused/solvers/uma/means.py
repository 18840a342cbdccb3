"""Unmixed class means as initial weights, from one pass over the rows."""

from __future__ import annotations

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine

SHARES = (0.0, 0.5, 1.0)
"""Candidate factors on the squared norms of the means in the intercept."""

OVERFLOW = "The sums over rows overflow: scale the features down."


def start_at_means(
    engine: Engine, unmixing: Unmixing, costs: FloatArray | None = None
) -> FloatArray:
    """Return the unmixed class means as weights, centred over the classes.

    With an intercept there are three candidates (`SHARES`): 1 predicts the class with the nearest
    mean; 0 compares only directions from the overall mean, which is more stable where the norms of
    the means are uncertain. The candidate with the lowest estimated cost of mistakes is returned.
    """
    partition = engine.partition(unmixing, 0.0)  # all rows, whatever their margin
    mistakes = 1.0 - np.eye(unmixing.n_classes) if costs is None else costs  # (predicted, true)

    def estimated_cost(weights: FloatArray) -> float:
        partition.restart(weights)
        return float(np.sum(mistakes * unmixing.masses(partition.tables().counts)))

    shares = SHARES if engine.intercept else SHARES[:1]
    return min((unmixed_means(engine, unmixing, one) for one in shares), key=estimated_cost)


@np.errstate(over="ignore", invalid="ignore")
def unmixed_means(engine: Engine, unmixing: Unmixing, share: float) -> FloatArray:
    """Return the unmixed class means as weights, centred over the classes.

    A class with an estimated mass of less than one row gets the mean of all rows.
    """
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
    weights = np.asarray(means - means.mean(axis=0))
    if not np.all(np.isfinite(weights)):
        raise ValueError(OVERFLOW)
    return weights


def fall_back_to_means(
    engine: Engine, unmixing: Unmixing, prior: FloatArray, costs: FloatArray | None
) -> FloatArray:
    """Return weights in place of zero weights, which predict only the first class."""
    weights = start_at_means(engine, unmixing, costs)
    if engine.intercept and not weights.any():
        weights[:, -1] = prior - prior.mean()  # the features carry no information
    return weights
