"""Labels corrupted by a confusion matrix, or near a classifier's decision boundary."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._arguments import own_stream
from unconfused._labels import encode_complete
from unconfused._matrix_labels import align_confusion, confusion_classes, confusion_labels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Seed


def corrupt_labels(
    y: ArrayLike, confusion: Any, random_state: Seed = None, *, classes: ArrayLike | None = None
) -> Labels:
    """Replace each true label by one drawn from its row of the confusion matrix.

    Parameters
    ----------
    y : true labels, without missing values; -1 is a label like any other
    confusion : probability of each observed label (columns) given the true class (rows). A
        DataFrame, or an object with a `classes` attribute, is aligned by its labels. The columns of
        a DataFrame may be other labels than classes (`label_sets`)
    random_state : the same seed and the same input give the same labels. If a number is given, the
        noise is independent of data that were drawn with the same number as seed
    classes : classes in the order of a plain array; by default the sorted labels in `y`

    Returns
    -------
    Observed labels, with the dtype of `y` (strings widen for longer class names)

    Examples
    --------
    Here every "cat" keeps its label and half of the dogs are called cats:

    >>> from unconfused.noise import corrupt_labels
    >>> y = ["cat", "dog"] * 3
    >>> corrupt_labels(y, [[1.0, 0.0], [0.5, 0.5]], random_state=0).tolist()
    ['cat', 'dog', 'cat', 'dog', 'cat', 'cat']
    """
    named = confusion_classes(confusion) if classes is None else classes
    encoded = encode_complete(y, named, "y")
    labels = confusion_labels(confusion)
    matrix = align_confusion(confusion, encoded.classes, classes, labels)
    uniform = own_stream(random_state, "corrupt_labels").random_sample(len(encoded.observed))
    drawn = _draw_columns(matrix, encoded.observed, uniform)
    return labels[drawn] if labels is not None else _like(encoded.classes, np.asarray(y))[drawn]


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
    drawn = np.searchsorted(ends.ravel(), position, side="right") - rows * matrix.shape[1]
    return np.asarray(drawn, dtype=np.intp)


def _like(classes: Labels, y: Labels) -> Labels:
    """Cast the classes to the dtype of `y`, unless that would change a class."""
    dtype = np.result_type(classes, y) if y.dtype.kind in "US" else y.dtype
    cast = classes.astype(dtype)
    return cast if np.array_equal(cast, classes) else classes


def boundary(
    y: ArrayLike,
    scores: ArrayLike,
    rates: Any,
    random_state: Seed = None,
    *,
    softness: float | None = None,
    classes: ArrayLike | None = None,
) -> Labels:
    """Corrupt labels more often near the decision boundary of a given classifier.

    This is noise that depends on the row. The probability that a row of class q is labelled k
    decreases with its distance from the boundary between q and k; on average over the rows of class
    q it is ``rates[q, k]``. So the confusion matrix of the labels is `rates`.

    Parameters
    ----------
    y : true labels, without missing ones
    scores : (n, Q), or (n,) with two classes: the classifier's score of each class, in sorted order
        (or that of `classes`), such as its ``decision_function``; with two classes, positive for
        the second. How far a row is from a boundary is the difference of two scores
    rates : confusion matrix as in `corrupt_labels`: the share of each true class with each label
    random_state : as in `corrupt_labels`
    softness : difference of scores over which the rate of mistakes falls by a factor of e. By
        default the median difference between the true class and the highest other one. Large values
        approach noise that depends on the class alone
    classes : classes in the order of the scores and of a plain matrix

    Returns
    -------
    Observed labels. If rows at the boundary would have to be mislabelled with a probability above 1
    to reach `rates`, rows further away are mislabelled instead

    Examples
    --------
    Of ten rows of each class, the two nearest to the boundary are mislabelled more often:

    >>> import numpy as np
    >>> from unconfused.noise import boundary
    >>> score = np.linspace(-1, 1, 2000)
    >>> y = (score > 0).astype(int)
    >>> seen = boundary(y, score, [[0.8, 0.2], [0.2, 0.8]], random_state=0, softness=0.2)
    >>> wrong, near = seen != y, abs(score) < 0.2
    >>> print(f"{wrong.mean():.1f} {wrong[near].mean():.1f} {wrong[~near].mean():.1f}")
    0.2 0.6 0.1
    """
    named = confusion_classes(rates) if classes is None else classes
    encoded = encode_complete(y, named, "y")
    truth, n_classes = encoded.observed, len(encoded.classes)
    matrix = align_confusion(rates, encoded.classes, order=classes)
    columns = _check_scores(scores, len(truth), n_classes)
    if classes is not None:
        columns = columns[:, np.argsort(np.asarray(classes), kind="stable")]
    ahead = columns[np.arange(len(truth)), truth][:, np.newaxis] - columns
    if softness is None:
        rivals = ahead.copy()
        rivals[np.arange(len(truth)), truth] = np.inf
        softness = float(np.median(np.abs(rivals.min(axis=1)))) or 1.0
    if not np.isfinite(softness) or softness <= 0:
        raise ValueError(f"softness must be a positive number; got {softness!r}.")
    chances = np.eye(n_classes)[truth]
    for q in range(n_classes):
        rows = np.flatnonzero(truth == q)
        chances[rows] = _monotonic_chances(ahead[rows] / softness, matrix[q], q)
    uniform = own_stream(random_state, "boundary").random_sample(len(truth))
    drawn = np.argmax(np.cumsum(chances, axis=1) > uniform[:, np.newaxis], axis=1)
    return np.asarray(_like(encoded.classes, np.asarray(y))[drawn])


def _monotonic_chances(distances: FloatArray, rates: FloatArray, own: int) -> FloatArray:
    """Return P(label) of rows of one class: decreasing in the distance, with the rates as means.

    Label k has the chance ``s_k exp(-distance)``, all labels of a row together at most 1. The
    scales s_k are found by iterative proportional fitting: rows that would exceed 1 are scaled down
    to it, and labels whose mean falls short are scaled up.
    """
    if not len(distances):
        return distances
    others = np.delete(np.arange(len(rates)), own)
    near = np.exp(-np.maximum(distances[:, others], 0.0))
    scales = rates[others] / np.maximum(near.mean(axis=0), np.finfo(float).tiny)
    for _ in range(1000):
        wrong = near * scales
        wrong /= np.maximum(wrong.sum(axis=1, keepdims=True), 1.0)
        reached = wrong.mean(axis=0)
        if np.allclose(reached, rates[others], rtol=1e-6, atol=1e-9):
            break
        scales = scales * rates[others] / np.maximum(reached, np.finfo(float).tiny)
    chances = np.empty((len(distances), len(rates)))
    chances[:, others] = wrong
    chances[:, own] = np.maximum(1.0 - wrong.sum(axis=1), 0.0)
    return chances


def _check_scores(scores: ArrayLike, n_rows: int, n_classes: int) -> FloatArray:
    columns = np.asarray(scores, dtype=np.float64)
    if columns.ndim == 1 and n_classes == 2:
        columns = np.column_stack([np.zeros(len(columns)), columns])
    if columns.shape != (n_rows, n_classes) or not np.all(np.isfinite(columns)):
        raise ValueError(
            f"scores must be finite, of shape ({n_rows}, {n_classes}): one row per label and one "
            f"column per class; the shape is {np.shape(scores)}."
        )
    return columns
