"""Weights of models in an average: stacking, as a logarithmic pool.

Even weights do as well where mistakes depend on the class alone, but not where they depend on the
row (error 0.34 against 0.26 with trusted rows, ten cells of two tables).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import evidence_loss

PRECISION_OF_WEIGHTS = 10.0
"""Precision of the normal prior on the weights, around even ones: without it a dozen truths choose
by chance. (Digits, Music and generated problems; 3 does as well.)"""

LARGEST_WEIGHT = 20.0

NEGLIGIBLE = 0.01
"""A model with a smaller share is left out, and need not be fitted."""

SMALLEST = 1e-12


def stacked(logs: FloatArray, evidence: FloatArray, weight: FloatArray) -> FloatArray:
    """Return weights of models, (M,), that make the evidence likeliest.

    The average is of logarithms of probabilities, (M, n, Q); models should be calibrated, each on
    its own. `evidence` is P(observation | true class), (n, Q), `weight` what each row counts.

    Examples
    --------
    The first is right on every row, the second no better than chance:

    >>> truth = np.eye(2)[np.arange(40) % 2]
    >>> good, bad = np.log(0.1 + 0.8 * truth), np.log(0.1 + 0.8 * np.eye(2)[np.arange(40) // 2 % 2])
    >>> stacked(np.array([good, bad]), truth, np.ones(40)).round(1)
    array([1.2, 0.2])
    """
    even = np.full(len(logs), 1.0 / len(logs))
    # Weights of any scale mean the same: as many rows as there are.
    weight = weight / max(float(weight.mean()), 1e-12)

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        value, slope = evidence_loss(np.tensordot(at, logs, 1), evidence, weight)
        away = PRECISION_OF_WEIGHTS * (at - even)
        return value + float(away @ (at - even)) / 2, np.tensordot(logs, slope, 2) + away

    limits = [(0.0, LARGEST_WEIGHT)] * len(logs)
    found = minimize(loss, even, jac=True, method="L-BFGS-B", bounds=limits).x
    # Where all models mislead, the least misleading must do.
    return np.asarray(found if found.any() else min(np.eye(len(logs)), key=lambda w: loss(w)[0]))


def shares_of(weights: FloatArray, logs: FloatArray) -> FloatArray:
    """Return the share of each model in an average with these weights; 0 if it is negligible.

    It is how far the model moves the scores of the classes apart: one that is sure of nothing adds
    nothing.
    """
    parts = weights * np.maximum(logs.std(axis=2).mean(axis=1), SMALLEST)
    parts[parts < NEGLIGIBLE * parts.sum()] = 0.0
    return np.asarray(parts / parts.sum())
