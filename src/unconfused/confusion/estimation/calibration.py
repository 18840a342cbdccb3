"""Calibrate probabilities on labels, votes or truths: a floor, an exponent and class shifts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.sharpness import LARGEST_POWER, ROWS_FOR_THE_POWER, best_power

PRECISION_OF_SHARES = 10.0
"""Precision of the normal prior on the log shifts of class shares: about a third either way."""

LARGEST_SHIFT = 5.0
"""Largest shift of a log class share."""

FLOORS = (1e-4, 0.01, 0.5)
"""The smallest share of a uniform distribution to mix in, the first tried, and the largest."""


@dataclass(frozen=True)
class Calibration:
    """A calibration of log-probabilities.

    Parameters
    ----------
    power : exponent of the probabilities (inverse temperature)
    shift : (Q,), added to the log-probabilities of the classes after that
    floor : share of a uniform distribution mixed in first, as the probabilities of neighbours or
        trees can be exactly 0
    """

    power: float
    shift: FloatArray
    floor: float = 0.0

    def scores(self, logs: FloatArray) -> FloatArray:
        """Return logarithms of calibrated probabilities, each row up to a constant."""
        return np.asarray(self.power * raise_to(self.floor, logs) + self.shift)

    def apply(self, logs: FloatArray) -> FloatArray:
        """Return calibrated probabilities, given log-probabilities."""
        return np.asarray(softmax(self.scores(logs), axis=1))


def raise_to(floor: float, logs: FloatArray) -> FloatArray:
    """Mix a uniform distribution into probabilities, both as logarithms."""
    if not floor:
        return logs
    return np.asarray(np.logaddexp(np.log1p(-floor) + logs, np.log(floor / logs.shape[1])))


def evidence_loss(
    scores: FloatArray, evidence: FloatArray, weight: FloatArray
) -> tuple[float, FloatArray]:
    """Return minus the log-likelihood of the evidence, and its gradient by the scores, (n, Q)."""
    probability = softmax(scores, axis=1)
    joint = probability * evidence
    chance = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    slope = weight[:, np.newaxis] * (probability - joint / chance)
    return -float(weight @ np.log(chance[:, 0])), slope


def only_power(logs: FloatArray, evidence: FloatArray, weight: FloatArray) -> Calibration:
    """Return the exponent that maximizes the likelihood of the evidence; class shares are kept."""
    return Calibration(best_power(np.exp(logs), evidence, weight), np.zeros(logs.shape[1]))


def calibrate(
    logs: FloatArray, evidence: FloatArray, weight: FloatArray, zeros: bool = False
) -> Calibration:
    """Return the exponent and class shifts that maximize the likelihood of the evidence.

    A regularized model is underconfident, and predicts rare classes too rarely; if it is then
    fitted to its own predictions, they become rarer with every round. The label frequencies, seen
    through C, correct the class shares. Probabilities may be too sure where they are zeros, as a
    class that no neighbour voted for occurs nevertheless: `zeros` finds a floor, too.

    `logs` are out of fold, (n, Q), `evidence` is P(observation | true class), (n, Q).

    Examples
    --------
    A model that never predicts the rare class, although it recognises it:

    >>> logs = np.log([[0.9, 0.1]] * 80 + [[0.6, 0.4]] * 20)
    >>> seen = np.repeat([[1.0, 0.0], [0.0, 1.0]], [80, 20], axis=0)
    >>> fair = calibrate(logs, seen, np.ones(100)).apply(logs)
    >>> bool(fair[-1].argmax() == 1)
    True
    """
    # Rows are in no order that matters here, or their numbers spread over all of it.
    step = max(1, len(logs) // ROWS_FOR_THE_POWER)
    logs, evidence, weight = logs[::step], evidence[::step], weight[::step]
    total, n_classes = float(weight.sum()), logs.shape[1]
    if total <= 0:
        return Calibration(1.0, np.zeros(n_classes))
    # A power on the probabilities would be one on the classes' shares, too: these are kept apart.
    shares = np.log(np.maximum(np.average(np.exp(logs), axis=0, weights=weight), 1e-12))

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        power, moved = np.exp(at[0]), at[1 : n_classes + 1]
        floor = float(np.exp(at[-1])) if zeros else 0.0
        raised = raise_to(floor, logs)
        around = raised - shares
        value, slope = evidence_loss(power * around + shares + moved, evidence, weight)
        value += PRECISION_OF_SHARES * float(moved @ moved) / 2
        by_power = power * float(np.vdot(slope, around))
        slopes = [by_power, *(slope.sum(axis=0) + PRECISION_OF_SHARES * moved)]
        if zeros:
            by_floor = np.vdot(slope, np.exp(-raised) / n_classes - 1)
            slopes.append(power * floor / (1 - floor) * by_floor)
        return value / total, np.array(slopes) / total

    smallest, first, largest = np.log(FLOORS)
    limits = [(-np.log(LARGEST_POWER), np.log(LARGEST_POWER))]
    limits += [(-LARGEST_SHIFT, LARGEST_SHIFT)] * n_classes + [(smallest, largest)] * zeros
    begin = np.array([0.0] * (n_classes + 1) + [first] * zeros)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=limits).x
    power, shift = float(np.exp(found[0])), found[1 : n_classes + 1]
    shift = shift + (1 - power) * shares
    floor = float(np.exp(found[-1])) if zeros else 0.0
    return Calibration(power, shift - shift.mean(), floor)
