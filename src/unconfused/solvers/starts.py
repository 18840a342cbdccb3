"""Initial weights of the likelihood when no row's truth is known.

With noise the objective is not convex, and at 0 nothing yet says which class is which: where some
classes are much larger than others, the way down from there can lead into a poor optimum.
"""

from __future__ import annotations

import numpy as np

from unconfused._matrix import ILL_CONDITIONED_BEYOND, Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.uma.means import unmixed_means

SCALES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Lengths of a class's weights, in the mean, from which the best is taken; 0 is among them."""

STANDARD_ERRORS = 3.0
"""By how many of these every class must stand out of the label noise to start from its mean."""


def start_at_scaled_means(
    engine: Engine, likelihood: Likelihood, matrix: FloatArray
) -> LikelihoodState:
    """Return the multiple of the unmixed class means with the lowest objective.

    They cost a pass over the rows, and their lengths another, or one each where the rows' scores
    are too many to hold. Where C is the identity the objective is convex, and where C cannot well
    be undone the means say little: these start at 0.
    (The unmixed discriminant is the better classifier, but no better start, and takes longer.)
    """
    unmixing = Unmixing(matrix, trusted=len(engine.code_counts) > matrix.shape[1])
    nowhere = LikelihoodState(np.zeros((len(matrix), engine.n_features)), matrix)
    if np.array_equal(matrix, np.eye(len(matrix))) or not _can_be_undone(unmixing, engine):
        return nowhere
    means = unmixed_means(engine, unmixing, 0.0)
    if engine.intercept:
        means[:, -1] = 0.0
    length = float(np.sqrt(np.einsum("qj,qj->", means, means) / len(means)))
    if length == 0.0:
        return nowhere
    means /= length
    best = SCALES[int(np.argmin(likelihood.values(engine, matrix, means, SCALES)))]
    return LikelihoodState(best * means, matrix)


def _can_be_undone(unmixing: Unmixing, engine: Engine) -> bool:
    """Return whether the mass of every class is statistically significant."""
    if not unmixing.condition_number < ILL_CONDITIONED_BEYOND:
        return False
    masses = unmixing.masses(engine.code_counts)
    errors = unmixing.mass_errors(engine.code_counts)
    return bool(np.all(masses > STANDARD_ERRORS * errors))
