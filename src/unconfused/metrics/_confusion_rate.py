"""Confusion rate of predictions, and noise level of a confusion matrix."""

from __future__ import annotations

import numpy as np

from unconfused._arguments import check_weight
from unconfused._labels import MISSING, count_pairs, encode_labels, sorted_classes
from unconfused._matrix_labels import check_confusion
from unconfused._typing import ArrayLike, Labels


def confusion_rate(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    normalize: bool = True,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the normalized off-diagonal Frobenius norm of the confusion matrix of predictions.

    Let ``H[t, p]`` be the share of rows of true class t that are predicted p, and 0 for p = t. The
    rate is the Frobenius norm of H divided by sqrt(Q). Every class has the same weight, however
    rare, and mistakes concentrated on one class weigh more than spread-out ones. The rate lies in
    [0, 1]; it is 1 if each class is always predicted as one particular other class.

    Parameters
    ----------
    y_true : true labels
    y_pred : predicted labels. One that does not occur in `y_true` is a mistake like any other
    normalize : whether to divide by sqrt(Q). The figures of Louche and Ralaivola show the plain
        norm, which is at most sqrt(Q)
    labels : all classes; other labels raise an error. Q is their number, by default the number of
        classes in `y_true`. A class without true rows adds 0 to the norm
    sample_weight : frequency weight of every row

    Returns
    -------
    float
        0 if all predictions are correct; smaller is better.

    Examples
    --------
    >>> from unconfused.metrics import confusion_rate
    >>> confusion_rate([0, 0, 1, 1], [0, 1, 1, 1])
    0.3535...
    >>> confusion_rate([0, 0, 1, 1], [0, 1, 1, 1], normalize=False)
    0.5
    """
    # Both sides are complete, so -1 is an ordinary label.
    encoded = encode_labels(y_pred, y_true, missing_label=None)
    truth, predicted, size = encoded.truth, encoded.observed, len(encoded.classes)
    if np.any(truth == MISSING) or np.any(predicted == MISSING):
        raise ValueError("y_true and y_pred must not hold missing labels (None or NaN).")
    weight = check_weight(sample_weight, len(truth))
    counts = count_pairs(truth, predicted, size, weight)
    totals = counts.sum(axis=1)
    if not np.any(totals > 0):
        raise ValueError("There are no rows (of positive weight) to compute a rate from.")
    n_classes = int(np.sum(totals > 0)) if labels is None else _count(labels, encoded.classes)
    np.fill_diagonal(counts, 0.0)
    shares = counts / np.where(totals > 0, totals, 1.0)[:, np.newaxis]
    norm = float(np.linalg.norm(shares))
    return norm / n_classes**0.5 if normalize else norm


def _count(labels: ArrayLike, present: Labels) -> int:
    """Return the number of `labels`, after checking that they cover all present classes."""
    named = sorted_classes(labels).tolist()
    outside = sorted(set(present.tolist()) - set(named))
    if outside:
        raise ValueError(f"y_true or y_pred holds {outside}, which `labels` does not name.")
    return len(named)


def off_diagonal_norm(confusion: ArrayLike) -> float:
    """Frobenius norm of the off-diagonal part of a (Q, Q) confusion matrix, a measure of noise.

    It is 0 for clean labels, and at most sqrt(Q).

    Examples
    --------
    >>> from unconfused.metrics import off_diagonal_norm
    >>> off_diagonal_norm([[0.7, 0.3], [0.4, 0.6]])
    0.5
    """
    matrix = check_confusion(confusion)
    np.fill_diagonal(matrix, 0.0)
    return float(np.linalg.norm(matrix))
