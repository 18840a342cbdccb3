"""Initial weights of the likelihood when no row's truth is known.

With noise the objective is not convex, and zero weights do not distinguish the classes: if classes
differ in size, descent from there can end in a poor optimum.
"""

from __future__ import annotations

import numpy as np

from unconfused._matrix import ILL_CONDITIONED_BEYOND, Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.uma.means import unmixed_means

SCALES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Candidate root mean square norms of the weights of a class; 0 starts at zero."""

STANDARD_ERRORS = 3.0
"""Significance that the mass of every class needs for a start from the means."""


def start_at_scaled_means(
    engine: Engine, likelihood: Likelihood, matrix: FloatArray
) -> LikelihoodState:
    """Return the multiple of the unmixed class means with the lowest objective.

    This costs one pass over the rows for the means, and one for all multiples, or one each if the
    scores do not fit into memory. The start is 0 if C is the identity, where the objective is
    convex, or if C is too ill-conditioned to unmix the means. (The unmixed discriminant is a better
    classifier, but not a better start, and takes longer.)
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
