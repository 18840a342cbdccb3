"""Posteriors that agree with C on average, for mistakes that depend on the row.

Bayes' rule through C assumes that mistakes depend on the class only. If similar rows always get the
same wrong label, a model learns these mistakes as if they were classes, and all labels seem right.
A matrix counted on checked labels still says how many rows of each label are of each class. The
posteriors are therefore changed as little as possible so that they add up to C; the model decides
for which rows they change.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from unconfused._typing import FloatArray, IntArray

SMALLEST = 1e-12

MOST_STEPS = 200
CLOSE_ENOUGH = 1e-4
"""Shares of classes among the rows of a label are met to within this."""

STEPS_OF_SHARES = 1000

LARGEST_LOG_POWER, HALVINGS = 4.0, 8
"""Exponents that sharpen posteriors are searched up to e to this, by this many bisections."""

HELD_BY_COUNTS = (
    "Mistakes depend on the row, not only on its class: the matrix was used for the number of rows "
    "of each class and label, not for each row."
)
"""Message for users after that."""


def class_shares(matrix: FloatArray, labels: FloatArray) -> FloatArray:
    """Return the class shares that best explain the label frequencies (maximum likelihood).

    Examples
    --------
    >>> C = np.array([[0.7, 0.3], [0.2, 0.8]])
    >>> class_shares(C, np.array([60.0, 40.0])).round(2)
    array([0.8, 0.2])
    """
    start = labels if len(labels) == len(matrix) else np.ones(len(matrix))
    shares = np.maximum(start, SMALLEST) / np.maximum(start, SMALLEST).sum()
    possible = np.where(matrix.sum(axis=0) > 0, labels, 0.0)
    if not possible.any():
        return np.asarray(shares)
    for _ in range(STEPS_OF_SHARES):
        shares = shares * (matrix @ (possible / np.maximum(shares @ matrix, SMALLEST)))
        shares /= shares.sum()
    return np.asarray(shares)


def balance(logs: FloatArray, codes: IntArray, joint: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the posteriors closest to these whose totals by label agree with C.

    Among the rows of each label, every class gets its own factor. `logs` are out-of-fold
    log-probabilities, (n, Q), `joint` the frequency of each class with each label, (Q, Q).
    """
    posterior = np.empty_like(logs)
    for label in np.unique(codes):
        rows = np.flatnonzero(codes == label)
        target = joint[:, label]
        if weight[rows].sum() <= 0 or target.sum() <= 0:
            posterior[rows] = softmax(logs[rows], axis=1)
        else:
            posterior[rows] = _with_shares(logs[rows], target / target.sum(), weight[rows])
    return posterior


def balance_until_sure(
    logs: FloatArray,
    codes: IntArray,
    joint: FloatArray,
    weight: FloatArray,
    sure: float,
    share: float,
) -> FloatArray:
    """Balance probabilities, sharpened until a given share of the rows is sufficiently certain.

    The confidence of a model that is not calibrated is arbitrary; its order of the rows is not.
    """
    low, high = -LARGEST_LOG_POWER, LARGEST_LOG_POWER
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        posterior = balance(np.exp(middle) * logs, codes, joint, weight)
        found = np.average(posterior.max(axis=1) >= sure, weights=weight)
        low, high = (middle, high) if found < share else (low, middle)
    return posterior


def _with_shares(logs: FloatArray, target: FloatArray, weight: FloatArray) -> FloatArray:
    """Return probabilities with these mean shares of the classes."""
    share = weight / weight.sum()
    wanted = np.log(np.maximum(target, SMALLEST))
    factors = wanted.copy()
    for _ in range(MOST_STEPS):
        posterior = softmax(logs + factors, axis=1)
        found = share @ posterior
        if np.abs(found - target).max() <= CLOSE_ENOUGH:
            break
        factors += wanted - np.log(np.maximum(found, SMALLEST))
    return np.asarray(posterior)
