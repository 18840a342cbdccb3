"""Where a fit of the likelihood starts when no row's truth is known.

With noise the objective is not convex, and at 0 nothing yet says which class is which: where some
classes are much larger than others, the way down from there can lead into a poor optimum.
"""

from __future__ import annotations

import numpy as np

from unconfused._matrix import ILL_CONDITIONED_BEYOND, Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine
from unconfused.solvers.discriminant import fit_discriminant
from unconfused.solvers.likelihood import Likelihood, LikelihoodState

SCALES = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
"""Multiples of the discriminant's weights from which the best is taken; 0 is among them."""

STANDARD_ERRORS = 3.0
"""By how many of these every class must stand out of the label noise to start from its mean."""


def start_at_discriminant(
    engine: Engine, likelihood: Likelihood, matrix: FloatArray
) -> LikelihoodState:
    """Return the discriminant's weights times that scale which the objective likes best.

    The discriminant's scale is set by its own ridge, not by the penalty of the likelihood: taken as
    it is, it can be a worse start than 0. Where C is the identity the objective is convex, and
    where C cannot well be undone the discriminant says little: these start at 0.
    """
    unmixing = Unmixing(matrix, trusted=len(engine.code_counts) > len(matrix))
    if np.array_equal(matrix, np.eye(len(matrix))) or not _can_be_undone(unmixing, engine):
        return LikelihoodState(np.zeros((len(matrix), engine.n_features)), matrix)
    weights = fit_discriminant(engine, unmixing).weights
    states = [LikelihoodState(scale * weights, matrix) for scale in SCALES]
    values = [likelihood.value(engine, state) for state in states]
    return states[int(np.argmin(values))]


def _can_be_undone(unmixing: Unmixing, engine: Engine) -> bool:
    """Say whether every class can be told from label noise by its mass alone."""
    if not unmixing.condition_number < ILL_CONDITIONED_BEYOND:
        return False
    masses = unmixing.masses(engine.code_counts)
    errors = unmixing.mass_errors(engine.code_counts)
    return bool(np.all(masses > STANDARD_ERRORS * errors))
