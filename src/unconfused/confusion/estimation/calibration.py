"""Bayes' rule, and probabilities that suit labels, votes or truths: calibrated, and averaged.

Calibration is an exponent (sharpening), class shifts and a floor; averages weigh models by their
log-probabilities (stacking).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import softmax

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.base import logarithms

LARGEST_POWER = 20.0
"""Probabilities are raised to at most this power, and at least to its inverse."""

ROWS_FOR_THE_POWER = 20_000
"""Rows used to estimate the exponent."""

PRECISION_OF_SHARES = 10.0
"""Precision of the normal prior on the log shifts of class shares: about a third either way."""

LARGEST_SHIFT = 5.0
"""Largest shift of a log class share."""

FLOORS = (1e-4, 0.01, 0.5)
"""The smallest share of a uniform distribution to mix in, the first tried, and the largest."""

PRECISION_OF_WEIGHTS = 10.0
"""Precision of the normal prior on the weights, around even ones: without it a dozen truths choose
by chance. (Digits, Music and generated problems; 3 does as well.)"""

NEGLIGIBLE = 0.01
"""A model with a smaller share is left out, and need not be fitted."""

SETTLED = 0.01
"""Gain in the log-likelihood of all rows at which a search ends: parameters are then within a
seventh of their standard errors."""

MOST_STEPS = 60

FIRST_DAMPING, DAMPING_FACTOR = 1.0, 10.0
"""Levenberg and Marquardt's damping, relative to the diagonal, and what it is divided by after a
step that gains, and multiplied by after one that does not."""


def posterior_given(probability: FloatArray, evidence: FloatArray) -> FloatArray:
    """Return the posterior by Bayes' rule; evidence is P(observation | true class), (n, Q)."""
    # Evidence that no class of the row allows says nothing: keep the row's own probabilities.
    allowed = ((probability > 0) & (evidence > 0)).any(axis=1, keepdims=True)
    log_evidence = logarithms(np.where(allowed, evidence, 1.0))
    return np.asarray(softmax(logarithms(probability) + log_evidence, axis=1))


def judged_labels(table: FloatArray, observed: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the chance that each label is wrong (0 without a label), and the likeliest class.

    `table` holds P(true class | row, label), or what rows are ranked by, (n, Q). A tie with the
    label is no reason to suggest another class.
    """
    labelled = observed >= 0
    own = np.where(labelled, table[np.arange(len(table)), observed], 1.0)
    keep = labelled & (own >= table.max(axis=1))
    return np.clip(1.0 - own, 0.0, 1.0), np.where(keep, observed, table.argmax(axis=1))


def log_chances(
    probability: FloatArray, evidence: FloatArray, smallest: float = 1e-300
) -> FloatArray:
    """Return the log-likelihood of the evidence on each row."""
    return np.asarray(np.log(np.maximum((probability * evidence).sum(axis=1), smallest)))


def sharpen(probability: FloatArray, power: float) -> FloatArray:
    """Raise probabilities to a power: above 1 sharpens them, below 1 flattens them.

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
        shares = softmax(np.exp(log_power) * logs, axis=1)
        return -float(np.average(log_chances(shares, seen), weights=counted))

    limit = float(np.log(LARGEST_POWER))
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded", options={"xatol": 0.01})
    # Evidence that says nothing must not choose a power by rounding.
    return float(np.exp(found.x)) if found.fun < loss(0.0) - 1e-9 else 1.0


def sharpened(
    probability: FloatArray,
    evidence: FloatArray,
    counted: IntArray | slice = slice(None),
    weight: FloatArray | None = None,
) -> FloatArray:
    """Sharpen probabilities to the temperature that fits the evidence on some rows best."""
    return sharpen(probability, best_power(probability[counted], evidence[counted], weight))


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
        if self.floor:
            logs = np.log((1 - self.floor) * np.exp(logs) + self.floor / logs.shape[1])
        return np.asarray(self.power * logs + self.shift)

    def times(self, weight: float) -> Calibration:
        """Return it for an average, in which the scores have this weight."""
        return replace(self, power=weight * self.power, shift=weight * self.shift)

    def apply(self, logs: FloatArray) -> FloatArray:
        """Return calibrated probabilities, given log-probabilities."""
        return np.asarray(softmax(self.scores(logs), axis=1))


def evidence_loss(
    scores: FloatArray, evidence: FloatArray, weight: FloatArray
) -> tuple[float, FloatArray]:
    """Return minus the log-likelihood of the evidence, and its gradient by the scores, (n, Q)."""
    # softmax, without the cost of checks: optimisers call this hundreds of times
    probability = scores - scores.max(axis=1, keepdims=True)
    np.exp(probability, out=probability)
    probability /= probability.sum(axis=1, keepdims=True)
    chance = np.maximum(np.einsum("iq,iq->i", probability, evidence), 1e-300)
    slope = evidence * (-weight / chance)[:, np.newaxis]
    slope += weight[:, np.newaxis]
    slope *= probability
    return -float(weight @ np.log(chance)), slope


def only_power(logs: FloatArray, evidence: FloatArray, weight: FloatArray) -> Calibration:
    """Return the exponent that maximizes the likelihood of the evidence; class shares are kept."""
    return Calibration(best_power(np.exp(logs), evidence, weight), np.zeros(logs.shape[1]))


def maximize_likelihood(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    begin: FloatArray,
    limits: list[tuple[float, float]],
    weight: FloatArray,
    precision: FloatArray,
) -> FloatArray:
    """Return the parameters, (P,), within limits, that make the rows likeliest, by Fisher scoring.

    It takes few evaluations where rows are many and parameters few. The information matrix is the
    sum of squares of the rows' gradients.

    Parameters
    ----------
    loss : for given parameters, minus the log-likelihood, and its gradient row by row, (n, P)
    begin : first parameters
    limits : the smallest and largest value of each parameter
    weight : (n,), of the rows, already part of `loss`
    precision : of the normal prior on the parameters

    Examples
    --------
    The rate of three waiting times, as its logarithm:

    >>> times = np.array([1.0, 2.0, 3.0])
    >>> def loss(at):
    ...     return float(np.sum(np.exp(at) * times - at)), (np.exp(at) * times - 1)[:, np.newaxis]
    >>> found = maximize_likelihood(loss, np.zeros(1), [(-9.0, 9.0)], np.ones(3), np.zeros(1))
    >>> np.exp(found).round(1)
    array([0.5])
    """

    def with_prior(at: FloatArray) -> tuple[float, FloatArray]:
        value, rows = loss(at)
        return value + float(precision @ at**2) / 2, rows

    lowest, highest = np.array(limits).T
    root = np.sqrt(np.maximum(weight, 1e-300))[:, np.newaxis]
    at, damping = np.clip(begin, lowest, highest), FIRST_DAMPING
    value, rows = with_prior(at)
    for _ in range(MOST_STEPS):
        gradient = rows.sum(axis=0) + precision * at
        scaled = rows / root
        information = scaled.T @ scaled + np.diag(precision)
        information += np.diag(damping * np.diag(information) + 1e-9)
        free = ~((at <= lowest) & (gradient > 0) | (at >= highest) & (gradient < 0))
        step = np.zeros(len(at))
        step[free] = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        if gradient @ step < 2 * SETTLED:
            break
        new = np.clip(at - step, lowest, highest)
        new_value, new_rows = with_prior(new)
        if new_value < value:
            at, value, rows, damping = new, new_value, new_rows, damping / DAMPING_FACTOR
        else:
            damping *= DAMPING_FACTOR
    return at


def calibrate(
    logs: FloatArray,
    evidence: FloatArray,
    weight: FloatArray,
    zeros: bool = False,
    start: Calibration | None = None,
    power: float | None = None,
) -> Calibration:
    """Return the exponent and class shifts that maximize the likelihood of the evidence.

    A regularized model is underconfident, and predicts rare classes too rarely; if it is then
    fitted to its own predictions, they become rarer with every round. The label frequencies, given
    C, correct the class shares. Some classifiers predict probabilities of exactly 0, as for a class
    that no neighbour has, although it can occur: with `zeros`, a floor is found as well.

    `logs` are out of fold, (n, Q), `evidence` is P(observation | true class), (n, Q); `start` is a
    calibration near the one sought, `power` the exponent if it is known.
    """
    counted = np.flatnonzero(weight > 0)
    # Rows are in no order that matters here, or their numbers spread over all of it.
    some = counted[:: max(1, len(counted) // ROWS_FOR_THE_POWER)]
    logs, evidence, weight = logs[some], evidence[some], weight[some]
    total, n_classes = float(weight.sum()), logs.shape[1]
    if total <= 0:
        return Calibration(1.0, np.zeros(n_classes))
    # Sums over the classes of a row are several times faster where classes are contiguous columns.
    logs, evidence = np.asfortranarray(logs), np.asfortranarray(evidence)
    # A power on the probabilities would be one on the classes' shares, too: these are kept apart.
    probability = np.exp(logs)
    shares = np.log(np.maximum(weight @ probability / total, 1e-12))

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        power, moved = np.exp(at[0]), at[1 : n_classes + 1]
        floor = float(np.exp(at[-1])) if zeros else 0.0
        mixed = (1 - floor) * probability + floor / n_classes
        around = (np.log(mixed) if zeros else logs) - shares
        value, slope = evidence_loss(power * around + (shares + moved), evidence, weight)
        slopes = [power * np.einsum("iq,iq->i", slope, around), slope]
        if zeros:
            by_floor = np.einsum("iq,iq->i", slope, (1 / n_classes - probability) / mixed)
            slopes.append(power * floor * by_floor)
        return value, np.column_stack(slopes)

    smallest, first, largest = np.log(FLOORS)
    known = None if power is None else np.log(power)
    limits = [(-np.log(LARGEST_POWER), np.log(LARGEST_POWER)) if known is None else (known, known)]
    limits += [(-LARGEST_SHIFT, LARGEST_SHIFT)] * n_classes + [(smallest, largest)] * zeros
    begin = np.array([0.0] * (n_classes + 1) + [first] * zeros)
    precision = np.array([0.0] + [PRECISION_OF_SHARES] * n_classes + [0.0] * zeros)
    if start is not None:
        moved = start.shift - (1 - start.power) * shares
        begin = np.array([np.log(start.power), *(moved - moved.mean())])
        begin = np.append(begin, np.log(start.floor)) if zeros else begin
    found = maximize_likelihood(loss, begin, limits, weight, precision)
    power, shift = float(np.exp(found[0])), found[1 : n_classes + 1]
    shift = shift + (1 - power) * shares
    floor = float(np.exp(found[-1])) if zeros else 0.0
    return Calibration(power, shift - shift.mean(), floor)


def stacked(
    logs: FloatArray,
    evidence: FloatArray,
    weight: FloatArray,
    prior: FloatArray | None = None,
    precision: float = PRECISION_OF_WEIGHTS,
) -> FloatArray:
    """Return weights of models, (M,), that make the evidence likeliest.

    Logarithms of probabilities, (M, n, Q), are averaged; each model should be calibrated before.
    `evidence` is P(observation | true class), (n, Q), `weight` how much each row counts, `prior`
    weights from other evidence, (M,), and `precision` how much these count. Equal weights are as
    good where mistakes depend on the class alone, but not where they depend on the row (error 0.34
    against 0.26 with trusted rows, ten cells of two tables).
    """
    start = np.full(len(logs), 1.0 / len(logs)) if prior is None else prior
    if not weight.any():
        return start
    # Weights of any scale mean the same: as many rows as there are.
    weight = weight / weight[weight > 0].mean()
    # As in `calibrate`: sums over the classes are faster where they are contiguous columns.
    columns, evidence = logs.transpose(0, 2, 1).copy(), np.asfortranarray(evidence)

    def loss(at: FloatArray) -> tuple[float, FloatArray]:
        value, slope = evidence_loss(np.tensordot(at, columns, 1).T, evidence, weight)
        away = precision * (at - start)
        return value + float(away @ (at - start)) / 2, np.tensordot(columns, slope.T, 2) + away

    limits = [(0.0, LARGEST_POWER)] * len(logs)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x
    # Where all models mislead, the least misleading must do.
    return np.asarray(found if found.any() else min(np.eye(len(logs)), key=lambda w: loss(w)[0]))


def shares_of(weights: FloatArray, logs: FloatArray) -> FloatArray:
    """Return the share of each model in an average with these weights; 0 if it is negligible.

    The share is how far the model moves the scores of the classes apart: a model that is uncertain
    about every row contributes nothing.
    """
    parts = weights * np.maximum(logs.std(axis=2).mean(axis=1), 1e-12)
    parts[parts < NEGLIGIBLE * parts.sum()] = 0.0
    return np.asarray(parts / parts.sum())
