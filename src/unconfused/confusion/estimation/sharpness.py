"""From probabilities of the true classes to those given the labels: Bayes' rule, calibrated."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from unconfused._typing import FloatArray
from unconfused.engines.array_api.namespace import logarithms, posterior

LARGEST_POWER = 20.0
"""Probabilities are raised to at most this power, and at least to its inverse."""

ROWS_FOR_THE_POWER = 20_000
"""Rows used to estimate the exponent."""


def posterior_given(probability: FloatArray, evidence: FloatArray) -> FloatArray:
    """Return the posterior by Bayes' rule; evidence is P(observation | true class), (n, Q)."""
    # Evidence that no class of the row allows says nothing: keep the row's own probabilities.
    allowed = ((probability > 0) & (evidence > 0)).any(axis=1, keepdims=True)
    log_evidence = logarithms(np.where(allowed, evidence, 1.0))
    found: FloatArray = posterior(np, logarithms(probability), log_evidence)[2]
    return found


def log_chances(probability: FloatArray, evidence: FloatArray) -> FloatArray:
    """Return the log-likelihood of the evidence on each row."""
    return np.asarray(np.log(np.maximum((probability * evidence).sum(axis=1), 1e-300)))


def sharpen(probability: FloatArray, power: float) -> FloatArray:
    """Raise probabilities to a power: above 1 makes them surer, below 1 less sure.

    Examples
    --------
    >>> sharpen(np.array([[0.8, 0.2]]), 2.0).round(2)
    array([[0.94, 0.06]])
    """
    return np.asarray(softmax(power * np.log(np.maximum(probability, 1e-12)), axis=1))


def best_power(
    probability: FloatArray, evidence: FloatArray, weight: FloatArray | None = None
) -> float:
    """Return the exponent (inverse temperature) that maximizes the likelihood of the evidence.

    A regularized model is underconfident, so that too few labels would seem wrong. Probabilities
    should be out-of-fold: otherwise labels only confirm the fit.
    """
    # Rows are in no order that matters here, or their numbers spread over all of it.
    step = max(1, len(probability) // ROWS_FOR_THE_POWER)
    logs, seen = np.log(np.maximum(probability[::step], 1e-12)), evidence[::step]
    counted = None if weight is None else weight[::step]
    if counted is not None and not counted.any():
        return 1.0

    def loss(log_power: float) -> float:
        likelihood = (softmax(np.exp(log_power) * logs, axis=1) * seen).sum(axis=1)
        return -float(np.average(np.log(np.maximum(likelihood, 1e-300)), weights=counted))

    limit = float(np.log(LARGEST_POWER))
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded", options={"xatol": 0.01})
    # Evidence that says nothing must not choose a power by rounding.
    return float(np.exp(found.x)) if found.fun < loss(0.0) - 1e-9 else 1.0


def sharpened_losses(
    margins: FloatArray, powers: FloatArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return every row's log-loss under that of some powers which makes their mean smallest.

    How sure a model is can be mended by one number; which classes it tells apart cannot. Models
    that differ in how sure they are should be compared by the latter. `margins` are scores less
    that of the true class, (n, Q).

    Examples
    --------
    >>> margins = np.array([[0.0, -1.0], [0.0, -2.0], [0.5, 0.0]])
    >>> sharpened_losses(margins, np.array([0.5, 1.0, 2.0])).round(2)
    array([0.31, 0.13, 0.97])
    """
    losses = [np.asarray(logsumexp(power * margins, axis=1)) for power in powers]
    return min(losses, key=lambda of_rows: float(np.average(of_rows, weights=weight)))
