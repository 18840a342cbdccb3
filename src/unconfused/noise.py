"""Synthetic label noise: confusion matrices, and labels corrupted by them.

Rows of every matrix are true classes, columns are observed labels, and rows sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from unconfused._labels import MISSING, encode_labels
from unconfused._matrix import align_confusion, check_confusion, confusion_classes
from unconfused._random import random_state as make_random_state
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Seed

__all__ = ["corrupt_labels", "drift_family", "pairwise", "random_confusion", "symmetric"]


def corrupt_labels(
    y: ArrayLike,
    confusion: Any,
    random_state: Seed = None,
    *,
    classes: ArrayLike | None = None,
) -> Labels:
    """Replace each true label by one drawn from its row of the confusion matrix.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True labels: integers, strings or booleans, without missing values. -1 is an ordinary label
        here.
    confusion : array-like of shape (n_classes, n_classes), DataFrame or estimate
        Probability of each observed label (columns) given the true class (rows). A DataFrame,
        or an object with a `classes` attribute, is aligned by its labels.
    random_state : int, RandomState, Generator or None
        The same seed and the same input give the same labels.
    classes : array-like of shape (n_classes,), optional
        Classes in the order of a plain array. By default the sorted labels in `y`.

    Returns
    -------
    ndarray of shape (n_samples,)
        Observed labels, with the dtype of `y` (strings widen for longer class names).

    Examples
    --------
    Here every "cat" keeps its label and half of the dogs are called cats:

    >>> from unconfused.noise import corrupt_labels
    >>> y = ["cat", "dog"] * 3
    >>> corrupt_labels(y, [[1.0, 0.0], [0.5, 0.5]], random_state=1).tolist()
    ['cat', 'dog', 'cat', 'cat', 'cat', 'cat']
    """
    named = confusion_classes(confusion) if classes is None else classes
    # True labels are complete, so -1 does not mean "missing".
    encoded = encode_labels(y, classes=named, missing_label=None)
    if np.any(encoded.observed == MISSING):
        raise ValueError(
            "y holds missing labels (None or NaN); only known labels can be corrupted."
        )
    matrix = align_confusion(confusion, encoded.classes, order=classes)
    uniform = make_random_state(random_state).random_sample(len(encoded.observed))
    drawn = _draw_columns(matrix, encoded.observed, uniform)
    return _like(encoded.classes, np.asarray(y))[drawn]


def _draw_columns(matrix: FloatArray, rows: IntArray, uniform: FloatArray) -> IntArray:
    """Invert the cumulative distribution of row ``rows[i]`` at ``uniform[i]``, for all i at once.

    Row q of the cumulative table is shifted to the interval [q, q + 1], so that one sorted array
    serves all rows. A column of probability 0 has an empty interval and is never drawn.
    """
    cumulative = np.cumsum(matrix, axis=1)
    # Dividing makes the end of each row exactly 1, also before trailing zeros.
    ends = cumulative / cumulative[:, -1:] + np.arange(len(matrix))[:, np.newaxis]
    # q + u can round up to q + 1, which would belong to the next row.
    below_end = np.nextafter(np.arange(1.0, len(matrix) + 1), 0.0)
    position = np.minimum(rows + uniform, below_end[rows])
    drawn = np.searchsorted(ends.ravel(), position, side="right") - rows * len(matrix)
    return np.asarray(drawn, dtype=np.intp)


def _like(classes: Labels, y: Labels) -> Labels:
    """Cast the classes to the dtype of `y`, unless that would change a class."""
    dtype = np.result_type(classes, y) if y.dtype.kind in "US" else y.dtype
    cast = classes.astype(dtype)
    return cast if np.array_equal(cast, classes) else classes


def symmetric(n_classes: int, rate: float) -> FloatArray:
    """Confusion matrix of symmetric noise: wrong labels are uniform over the other classes.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    rate : float
        Probability of a wrong label, in [0, 1]. The diagonal is ``1 - rate``.

    Examples
    --------
    >>> from unconfused.noise import symmetric
    >>> symmetric(3, 0.2)
    array([[0.8, 0.1, 0.1],
           [0.1, 0.8, 0.1],
           [0.1, 0.1, 0.8]])
    """
    n_classes = _check_n_classes(n_classes)
    rate = _check_share(rate, "rate")
    matrix = np.full((n_classes, n_classes), rate / (n_classes - 1))
    np.fill_diagonal(matrix, 1.0 - rate)
    return matrix


def pairwise(n_classes: int, rate: float, *, pairs: Mapping[int, int] | None = None) -> FloatArray:
    """Confusion matrix of pairwise noise: each class is mislabelled as one other class.

    Parameters
    ----------
    n_classes : int
        Number of classes Q, at least 2.
    rate : float
        Probability of a wrong label, in [0, 1], for classes in `pairs`.
    pairs : mapping from int to int, optional
        Maps the index of a class to the index of its wrong label; classes left out have no noise.
        By default class k is mislabelled as k + 1, and the last class as the first.

    Examples
    --------
    >>> from unconfused.noise import pairwise
    >>> pairwise(3, 0.25)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    >>> pairwise(3, 0.25, pairs={2: 0})
    array([[1.  , 0.  , 0.  ],
           [0.  , 1.  , 0.  ],
           [0.25, 0.  , 0.75]])
    """
    n_classes = _check_n_classes(n_classes)
    rate = _check_share(rate, "rate")
    if pairs is None:
        pairs = {k: (k + 1) % n_classes for k in range(n_classes)}
    matrix = np.eye(n_classes)
    for true, observed in pairs.items():
        for index in (true, observed):
            if not isinstance(index, Integral) or not 0 <= index < n_classes:
                raise ValueError(
                    f"pairs must map class indices from 0 to {n_classes - 1}; got {index!r}."
                )
        if true == observed:
            raise ValueError(f"pairs maps class {true} to itself; leave it out instead.")
        matrix[true, true] = 1.0 - rate
        matrix[true, observed] = rate
    return matrix


def random_confusion(
    n_classes: int, *, strength: float = 1.0, random_state: Seed = None
) -> FloatArray:
    """Draw a random invertible confusion matrix.

    A matrix M with uniform entries, rows divided by their sums, is redrawn until it is invertible,
    as in the toy experiments of Louche and Ralaivola. M is very noisy (labels are right with
    probability 1/Q on average), so `strength` mixes it with the identity:
    ``(1 - strength) * I + strength * M`` has wrong labels with probability
    ``strength * (1 - 1/Q)`` on average over draws.

    Parameters
    ----------
    n_classes : int
        Number of classes Q, at least 2.
    strength : float, default=1.0
        0 for no noise, 1 for M itself.
    random_state : int, RandomState, Generator or None
        Seed of the draw. A seed gives the same M for every strength, up to redraws.

    Examples
    --------
    >>> from unconfused.noise import random_confusion
    >>> random_confusion(3, strength=0.3, random_state=0).round(2)
    array([[0.79, 0.11, 0.1 ],
           [0.1 , 0.78, 0.12],
           [0.06, 0.12, 0.83]])
    """
    n_classes = _check_n_classes(n_classes)
    strength = _check_share(strength, "strength")
    rng = make_random_state(random_state)
    while True:
        entries = rng.random_sample((n_classes, n_classes))
        mixed = _mix(entries / entries.sum(axis=1, keepdims=True), strength)
        if np.linalg.matrix_rank(mixed) == n_classes:
            return mixed


def drift_family(
    reference: ArrayLike | int,
    n_steps: int = 20,
    *,
    reference_step: int = 10,
    random_state: Seed = None,
) -> FloatArray:
    """Family of confusion matrices from the identity to a reference matrix M and beyond.

    Member i (from 1 to `n_steps`) is ``I + i (M - I) / reference_step`` with negative entries set
    to 0 and rows divided by their sums. Member `reference_step` is M; later ones move more mass off
    the diagonal. The defaults give the family of the toy experiments of Louche and Ralaivola.
    Members are not necessarily invertible.

    Parameters
    ----------
    reference : int or array-like of shape (n_classes, n_classes)
        The matrix M, or a number of classes to draw M with `random_confusion`.
    n_steps : int, default=20
        Number of members.
    reference_step : int, default=10
        Index i of the member that equals M.
    random_state : int, RandomState, Generator or None
        Used when the reference is drawn.

    Returns
    -------
    ndarray of shape (n_steps, n_classes, n_classes)
        Member i is at index ``i - 1``.

    Examples
    --------
    >>> from unconfused.noise import drift_family
    >>> family = drift_family([[0.7, 0.3], [0.6, 0.4]])
    >>> family.shape
    (20, 2, 2)
    >>> family[[0, 9, 19]].round(2)
    array([[[0.97, 0.03],
            [0.06, 0.94]],
           [[0.7 , 0.3 ],
            [0.6 , 0.4 ]],
           [[0.4 , 0.6 ],
            [1.  , 0.  ]]])
    """
    for name, value in (("n_steps", n_steps), ("reference_step", reference_step)):
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 on; got {value!r}.")
    if isinstance(reference, Integral):
        matrix = random_confusion(int(reference), random_state=random_state)
    else:
        matrix = check_confusion(reference)
    return np.stack([_mix(matrix, i / reference_step) for i in range(1, n_steps + 1)])


def _mix(matrix: FloatArray, strength: float) -> FloatArray:
    """Extrapolate from the identity through `matrix`, clipped to the simplex."""
    identity = np.eye(len(matrix))
    clipped = np.maximum(identity + strength * (matrix - identity), 0.0)
    return np.asarray(clipped / clipped.sum(axis=1, keepdims=True))


def _check_n_classes(n_classes: int) -> int:
    if not isinstance(n_classes, Integral) or n_classes < 2:
        raise ValueError(f"n_classes must be a whole number from 2 on; got {n_classes!r}.")
    return int(n_classes)


def _check_share(value: float, name: str) -> float:
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1; got {value!r}.")
    return float(value)
