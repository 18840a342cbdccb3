"""The confusion matrix that labels and weights agree on.

The penalty keeps weights small, and so leaves the model less sure than it could be. Taken at its
word, an unsure model explains wrong labels by itself, and C comes out with too little noise. So C
is found together with a sharpness: one factor on all scores, free of any penalty. Both cost only
passes over the rows, and no second fit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from unconfused._typing import FloatArray
from unconfused.engines.base import LikelihoodPass

Measure = Callable[[FloatArray, FloatArray], LikelihoodPass]
"""Given weights and C, measure them against the labels."""

SMALLEST = 1e-12
"""Smallest probability an entry of C starts from: a logarithm must be finite."""

MOST_STEPS = 30

SHARPEST = 20.0
"""Scores are multiplied by no more than this, and divided by no more than its square root."""


def find_matrix(
    measure: Measure,
    weights: FloatArray,
    matrix: FloatArray,
    prior_counts: FloatArray,
    total: float,
    most_steps: int = MOST_STEPS,
) -> FloatArray:
    """Return the likeliest C for weights known up to their sharpness.

    Parameters
    ----------
    measure : passes over the rows
    weights : (Q, features), the intercept's column included
    matrix : (Q, Q), where to start
    prior_counts : (Q, Q), labels counted beforehand, by true class
    total : what all rows count together
    most_steps : of the search
    """
    if not weights.any():
        return matrix
    # One count more per class, spread evenly: an entry at 0 would stay there.
    own = prior_counts.sum(axis=1, keepdims=True)
    matrix = (own * matrix + 1.0 / len(matrix)) / (own + 1.0)
    objective = MatrixObjective(measure, weights, prior_counts, total)
    found = minimize(
        objective,
        np.append(0.0, np.log(np.maximum(matrix, SMALLEST)).ravel()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-0.5 * np.log(SHARPEST), np.log(SHARPEST))] + [(None, None)] * matrix.size,
        options={"maxiter": most_steps, "gtol": 1e-5},
    )
    return objective.split(found.x)[1]


class MatrixObjective:
    """Mean loss of the labels, as a function of log sharpness and log C, with its gradient."""

    def __init__(
        self, measure: Measure, weights: FloatArray, prior_counts: FloatArray, total: float
    ) -> None:
        self._measure, self._weights = measure, weights
        self._prior, self._total = prior_counts, total

    def split(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the sharpness and C."""
        logits = parameters[1:].reshape(self._prior.shape)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return float(np.exp(parameters[0])), shares / shares.sum(axis=1, keepdims=True)

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient."""
        sharpness, matrix = self.split(parameters)
        measured = self._measure(sharpness * self._weights, matrix)
        known, by_logits = _of_matrix(matrix, measured.posterior, self._prior)
        by_sharpness = sharpness * float(np.einsum("qj,qj->", measured.gradient, self._weights))
        gradient = np.append(by_sharpness, by_logits.ravel()) / self._total
        return (measured.loss + known) / self._total, gradient


def _of_matrix(
    matrix: FloatArray, posterior: FloatArray, prior: FloatArray
) -> tuple[float, FloatArray]:
    """Return what C's own counts add to the loss, and the gradient by the logarithms of C.

    The posterior summed by label is what the noisy rows count for each entry of C; the trusted
    pairs stand in the prior counts, once.
    """
    used = prior > 0
    value = -float(np.sum(prior[used] * np.log(np.maximum(matrix[used], 1e-300))))
    counts = posterior[: len(matrix)].T + prior
    return value, matrix * counts.sum(axis=1, keepdims=True) - counts
