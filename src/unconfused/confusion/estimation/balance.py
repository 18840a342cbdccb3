"""Posteriors that agree with C on average, for mistakes that depend on the row.

Bayes' rule through C assumes that mistakes depend on the class only. If the same rows are always
mistaken, a model learns these mistakes as if they were classes, and all labels seem right. A matrix
counted on checked labels still says how many rows of each label are of each class. The posteriors
are therefore moved as little as possible until they add up to C; the model decides which rows move.
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

BEYOND_CHANCE = 6.0
"""Counts further than this from what C says, in standard deviations, were not made by C alone."""

SHARE_OF_MISTAKES = 0.25
"""The difference matters only if it concerns this share of the mistakes that C predicts."""


def differs_from(counts: FloatArray, matrix: FloatArray, counted: FloatArray | None = None) -> bool:
    """Return whether counts of (class, label) are far from what C says, and beyond chance.

    `counted` says from how many labels of each class C was counted, (Q,); None if it is exact.

    Examples
    --------
    >>> C = np.array([[0.7, 0.3], [0.2, 0.8]])
    >>> differs_from(np.array([[72.0, 28.0], [19.0, 81.0]]), C)
    False
    >>> differs_from(np.array([[99.0, 1.0], [1.0, 99.0]]), C)
    True
    >>> differs_from(np.array([[99.0, 1.0], [1.0, 99.0]]), C, np.array([10, 10]))
    False
    """
    # A label that C calls impossible says that C is wrong, not that mistakes depend on rows.
    counts = np.where(matrix.sum(axis=0) > 0, counts, 0.0)
    expected = counts.sum(axis=1, keepdims=True) * matrix
    gaps, variance = counts - expected, expected * (1.0 - matrix)
    if counted is not None:
        # A pair that was never counted may still occur.
        rows, of_row = counts.sum(axis=1)[:, np.newaxis], np.maximum(counted, 1.0)[:, np.newaxis]
        share = (of_row * matrix + 0.5) / (of_row + 0.5 * len(matrix))
        variance = share * (1.0 - share) * rows * (1.0 + rows / of_row)
    enough = SHARE_OF_MISTAKES * float(expected.sum() - np.trace(expected))
    # With many classes the total may be significant where no cell is: fewer mistakes than C says.
    too_few = float(np.trace(gaps))
    if too_few > max(enough, BEYOND_CHANCE * float(np.trace(variance)) ** 0.5):
        return True
    size = np.maximum(expected, 1.0)
    excess = float(((gaps**2 - variance) / size).sum())
    deviation = float(((2.0 * variance**2 + variance) / size**2).sum()) ** 0.5
    by_chance = np.minimum(np.sqrt(2.0 * variance / np.pi), 2.0 * variance)
    moved = float((np.abs(gaps) - by_chance).sum()) / 2
    return excess > BEYOND_CHANCE * deviation and moved > enough


def class_shares(matrix: FloatArray, labels: FloatArray) -> FloatArray:
    """Return the class shares that best explain the label frequencies.

    Where they do not, a class is as frequent as its label.

    Examples
    --------
    >>> C = np.array([[0.7, 0.3], [0.2, 0.8]])
    >>> class_shares(C, np.array([60.0, 40.0])).round(2)
    array([0.8, 0.2])
    """
    shares = np.maximum(labels, SMALLEST) / np.maximum(labels, SMALLEST).sum()
    possible = np.where(matrix.sum(axis=0) > 0, labels, 0.0)
    if not possible.any():
        return np.asarray(shares)
    for _ in range(STEPS_OF_SHARES):
        shares = shares * (matrix @ (possible / np.maximum(shares @ matrix, SMALLEST)))
        shares /= shares.sum()
    return np.asarray(shares)


def balance(logs: FloatArray, codes: IntArray, joint: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the posteriors closest to these whose totals by label agree with C.

    Among the rows of each label, every class gets its own factor. `logs` are by models that had not
    seen the row, (n, Q), `joint` says how frequent each class is with each label, (Q, Q).

    Examples
    --------
    Two of five rows with label 0 are of class 1; the model finds none:

    >>> logs = np.log([[0.99, 0.01], [0.95, 0.05], [0.8, 0.2], [0.7, 0.3], [0.9, 0.1]])
    >>> joint = np.array([[0.6, 0.0], [0.4, 0.0]])
    >>> balance(logs, np.zeros(5, dtype=int), joint, np.ones(5))[:, 1].round(2)
    array([0.06, 0.24, 0.6 , 0.72, 0.4 ])
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

    How sure a model is of what it was not taught says little; which rows it is surest of does.
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
