"""Maximum-likelihood confusion matrix given the weights of a model.

The penalty on the weights makes a model underconfident. An underconfident model explains wrong
labels by itself, which leaves too little noise for C. So C is estimated together with an inverse
temperature, an unpenalized factor on all scores. Both need only passes over the rows, and no refit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from unconfused._typing import FloatArray
from unconfused.engines.base import LikelihoodPass

Measure = Callable[[FloatArray, FloatArray], LikelihoodPass]
"""Likelihood pass, given weights and C."""

SMALLEST = 1e-12
"""Smallest initial entry of C, so that its logarithm is finite."""

MOST_STEPS = 30

SETTLED = 2e-3
"""C has settled when no entry moved by more than this in a turn."""

SHARPEST = 20.0
"""Largest inverse temperature; the smallest is one over its square root."""


def find_matrix(
    measure: Measure,
    weights: FloatArray,
    matrix: FloatArray,
    prior_counts: FloatArray,
    total: float,
    most_steps: int = MOST_STEPS,
) -> FloatArray:
    """Return the maximum-likelihood C for weights known up to a temperature, starting at `matrix`.

    `prior_counts` are known (true, observed) label counts; `total` is the weight of all rows.
    """
    if not weights.any():
        return matrix
    # One pseudo-count per class, spread evenly: an entry of 0 would stay 0.
    own = prior_counts.sum(axis=1, keepdims=True)
    matrix = (own * matrix + 1.0 / matrix.shape[1]) / (own + 1.0)

    found = minimize(
        matrix_objective(measure, weights, prior_counts, total),
        np.append(0.0, np.log(np.maximum(matrix, SMALLEST)).ravel()),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-0.5 * np.log(SHARPEST), np.log(SHARPEST))] + [(None, None)] * matrix.size,
        options={"maxiter": most_steps, "gtol": 1e-5},
    )
    return np.asarray(softmax(found.x[1:].reshape(matrix.shape), axis=1))


def matrix_objective(
    measure: Measure, weights: FloatArray, prior_counts: FloatArray, total: float
) -> Callable[[FloatArray], tuple[float, FloatArray]]:
    """Return the mean loss and its gradient by the log inverse temperature and the logits of C.

    The expected counts of each entry of C are the posterior summed by label for noisy rows; trusted
    pairs enter through the prior counts only.
    """
    used = prior_counts > 0

    def objective(parameters: FloatArray) -> tuple[float, FloatArray]:
        sharpness = np.exp(parameters[0])
        matrix = softmax(parameters[1:].reshape(prior_counts.shape), axis=1)
        measured = measure(sharpness * weights, matrix)
        known = np.sum(prior_counts[used] * np.log(np.maximum(matrix[used], 1e-300)))
        counts = measured.posterior[: matrix.shape[1]].T + prior_counts
        by_logits = matrix * counts.sum(axis=1, keepdims=True) - counts
        by_sharpness = sharpness * np.einsum("qj,qj->", measured.gradient, weights)
        gradient = np.append(by_sharpness, by_logits.ravel()) / total
        return float((measured.loss - known) / total), gradient

    return objective
