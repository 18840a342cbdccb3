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


FLOORS = (0.0, 0.003, 0.03, 0.1, 0.3, 0.5)
"""Candidate shares of a uniform distribution to mix in; with noisy labels large ones may fit."""

ROWS_FOR_THE_FLOOR = 3000


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


def best_floor(logs: FloatArray, evidence: FloatArray, weight: FloatArray) -> float:
    """Return the floor that maximizes the likelihood of the evidence, each at its best exponent.

    Examples
    --------
    A class that no neighbour voted for occurs nevertheless:

    >>> logs = np.log(np.maximum([[0.6, 0.4, 0.0]] * 10, 1e-12))
    >>> seen = np.eye(3)[[0, 0, 0, 0, 0, 1, 1, 1, 1, 2]]
    >>> best_floor(logs, seen, np.ones(10))
    0.1
    """
    step = max(1, len(logs) // ROWS_FOR_THE_FLOOR)
    logs, evidence, weight = logs[::step], evidence[::step], weight[::step]
    if not weight.any():
        return 0.0

    def likelihood(floor: float) -> float:
        raised = raise_to(floor, logs)
        power = best_power(np.exp(raised), evidence, weight)
        chance = (softmax(power * raised, axis=1) * evidence).sum(axis=1)
        return float(weight @ np.log(np.maximum(chance, 1e-300)))

    return max(FLOORS, key=likelihood)


def evidence_loss(
    scores: FloatArray, evidence: FloatArray, weight: FloatArray
) -> tuple[float, FloatArray]:
    """Return minus the log-likelihood of the evidence, and its gradient by the scores, (n, Q)."""
    probability = softmax(scores, axis=1)
    joint = probability * evidence
    chance = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    slope = weight[:, np.newaxis] * (probability - joint / chance)
    return -float(weight @ np.log(chance[:, 0])), slope


def only_power(
    logs: FloatArray, evidence: FloatArray, weight: FloatArray, floor: float = 0.0
) -> Calibration:
    """Return the exponent that maximizes the likelihood of the evidence; class shares are kept."""
    power = best_power(np.exp(raise_to(floor, logs)), evidence, weight)
    return Calibration(power, np.zeros(logs.shape[1]), floor)


def calibrate(
    logs: FloatArray, evidence: FloatArray, weight: FloatArray, floor: float = 0.0
) -> Calibration:
    """Return the exponent and class shifts that maximize the likelihood of the evidence.

    A regularized model is underconfident, and predicts rare classes too rarely; if it is then
    fitted to its own predictions, they become rarer with every round. The label frequencies, seen
    through C, correct the class shares.

    Parameters
    ----------
    logs : (n, Q), out-of-fold log-probabilities
    evidence : (n, Q), P(observation | true class)
    weight : (n,), weights of the rows
    floor : see `Calibration`

    Examples
    --------
    A model that never predicts the rare class, although it recognises it:

    >>> logs = np.log([[0.9, 0.1]] * 80 + [[0.6, 0.4]] * 20)
    >>> seen = np.repeat([[1.0, 0.0], [0.0, 1.0]], [80, 20], axis=0)
    >>> fair = calibrate(logs, seen, np.ones(100)).apply(logs)
    >>> bool(fair[-1].argmax() == 1)
    True
    """
    logs = raise_to(floor, logs)
    start = best_power(np.exp(logs), evidence, weight)
    # Rows are in no order that matters here, or their numbers spread over all of it.
    step = max(1, len(logs) // ROWS_FOR_THE_POWER)
    logs, evidence, weight = logs[::step], evidence[::step], weight[::step]
    total = float(weight.sum())
    if total <= 0:
        return Calibration(1.0, np.zeros(logs.shape[1]), floor)
    # A power on the probabilities would be one on the classes' shares, too: these are kept apart.
    shares = np.log(np.maximum(np.average(np.exp(logs), axis=0, weights=weight), 1e-12))
    around = logs - shares

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        power, moved = np.exp(at[0]), at[1:]
        value, slope = evidence_loss(power * around + shares + moved, evidence, weight)
        value += PRECISION_OF_SHARES * float(moved @ moved) / 2
        by_power = power * float(np.vdot(slope, around))
        by_shift = slope.sum(axis=0) + PRECISION_OF_SHARES * moved
        return value / total, np.concatenate([[by_power], by_shift]) / total

    limits = [(-np.log(LARGEST_POWER), np.log(LARGEST_POWER))]
    limits += [(-LARGEST_SHIFT, LARGEST_SHIFT)] * len(shares)
    begin = np.concatenate([[np.log(start)], np.zeros(len(shares))])
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=limits).x
    power = float(np.exp(found[0]))
    shift = found[1:] + (1 - power) * shares
    return Calibration(power, shift - shift.mean(), floor)
