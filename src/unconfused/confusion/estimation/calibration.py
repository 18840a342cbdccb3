"""Probabilities made as sure, and classes as frequent, as what was seen warrants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.sharpness import LARGEST_POWER, ROWS_FOR_THE_POWER, best_power

PRECISION_OF_SHARES = 10.0
"""Of the belief that classes are as frequent as predicted: give or take a third, before any row."""

LARGEST_SHIFT = 5.0
"""A class's share is changed by no more than this, as a logarithm."""


FLOORS = (0.0, 0.003, 0.03, 0.1, 0.3, 0.5)
"""Shares of an even distribution that may be mixed in; among noisy labels large ones are right."""

ROWS_FOR_THE_FLOOR = 3000


@dataclass(frozen=True)
class Calibration:
    """What makes logarithms of probabilities fair.

    Parameters
    ----------
    power : the probabilities are raised to it
    shift : (Q,), added to the classes' logarithms after that
    floor : share of an even distribution mixed in before. Votes of neighbours or trees can be
        exactly 0, which no power mends
    """

    power: float
    shift: FloatArray
    floor: float = 0.0

    def apply(self, logs: FloatArray) -> FloatArray:
        """Return the probabilities, given logarithms of those before."""
        raised = self.power * raise_to(self.floor, logs) + self.shift
        return np.asarray(softmax(raised, axis=1))


def raise_to(floor: float, logs: FloatArray) -> FloatArray:
    """Mix an even distribution into probabilities, both as logarithms."""
    if not floor:
        return logs
    return np.asarray(np.logaddexp(np.log1p(-floor) + logs, np.log(floor / logs.shape[1])))


def best_floor(logs: FloatArray, evidence: FloatArray, weight: FloatArray) -> float:
    """Return the floor under which what was seen is likeliest, at the best power for each.

    Examples
    --------
    A class that no neighbour voted for is seen all the same:

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


def only_power(
    logs: FloatArray, evidence: FloatArray, weight: FloatArray, floor: float = 0.0
) -> Calibration:
    """Return the power under which what was seen is likeliest; the classes' shares are left."""
    power = best_power(np.exp(raise_to(floor, logs)), evidence, weight)
    return Calibration(power, np.zeros(logs.shape[1]), floor)


def calibrate(
    logs: FloatArray, evidence: FloatArray, weight: FloatArray, floor: float = 0.0
) -> Calibration:
    """Return the power and the classes' shares under which what was seen is likeliest.

    A model kept simple is not only less sure than it could be, it also predicts rare classes too
    rarely. If its own predictions are then learnt from, they become rarer with every round. How
    often each label was seen, C told, says how frequent the classes are.

    Parameters
    ----------
    logs : (n, Q), logarithms of probabilities, by models that had not seen the row
    evidence : (n, Q), the chance of what was seen given each true class
    weight : (n,), what each row counts
    floor : see `Calibration`

    Examples
    --------
    A model that notices the rare class, but never predicts it:

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
        probability = softmax(power * around + shares + moved, axis=1)
        joint = probability * evidence
        chance = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        slope = weight[:, np.newaxis] * (probability - joint / chance)
        belief = PRECISION_OF_SHARES * float(moved @ moved) / 2
        value = belief - float(weight @ np.log(chance[:, 0]))
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
