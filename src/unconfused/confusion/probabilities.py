"""Work with predicted probabilities alone: estimate C, judge labels, rank the wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._labels import MISSING
from unconfused._matrix_labels import align_confusion, confusion_classes, confusion_labels
from unconfused._typing import ArrayLike, FloatArray
from unconfused.confusion._probability_table import Predicts, ProbabilityTable, read_probabilities
from unconfused.confusion.estimate import ConfusionEstimate, refuse_negative, refuse_uncounted
from unconfused.confusion.estimation.class_probabilities import ClassProbabilities, estimate_counts
from unconfused.confusion.estimation.label_quality import model_helps
from unconfused.confusion.estimation.pooled import shrink_to_symmetric
from unconfused.confusion.noisy import CAVEAT
from unconfused.confusion.ranking import LabelIssues


def from_probabilities(
    pred_probs: Any,
    y: ArrayLike,
    *,
    predicts: Predicts = "label",
    smoothing: float = 0.0,
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> ConfusionEstimate:
    """Estimate the confusion matrix from predicted probabilities and noisy labels.

    With a model of the noisy labels (``predicts="label"``) this is `from_noisy` without the
    features, with the same limits: no truth is seen. With one of the true classes
    (``predicts="class"``), such as a model trained on other, clean data, rows are counted by the
    posterior of their class.

    Parameters
    ----------
    pred_probs : array, memory map or DataFrame of shape (n, Q)
        Probabilities from models that were not trained on the row. Columns of a DataFrame are
        matched by name, those of an array follow `classes`, or the sorted labels.
    y : (n,), the noisy labels; rows where they are missing are left out
    predicts : "label" or "class"
        Whether the probabilities are of the noisy label or of the true class.
    smoothing : added to every count
    classes : the columns of an array
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    ConfusionEstimate

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=1000)
    >>> y = np.where(rng.random(1000) < 0.2, 1, truth)  # a fifth of all zeros become ones
    >>> pred_probs = np.array([[0.8, 0.2], [0.0, 1.0]])[truth]
    >>> from_probabilities(pred_probs, y).matrix.round(1)
    array([[0.8, 0.2],
           [0. , 1. ]])
    """
    table = read_probabilities(
        pred_probs, y, predicts, classes=classes, missing_label=missing_label
    )
    matrix, counts = _estimate(table, predicts)
    refuse_negative(smoothing)
    if smoothing:
        matrix = shrink_to_symmetric(counts, smoothing)
    else:
        refuse_uncounted(counts, table.columns, "no row is clearly of that class.")
    return ConfusionEstimate(matrix, counts, table.columns, caveat=CAVEAT)


def label_posterior(
    pred_probs: Any,
    y: ArrayLike,
    confusion: Any,
    *,
    predicts: Predicts = "label",
    calibrate: bool = True,
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
    out: Any = None,
) -> FloatArray:
    """Return P(true class | row, observed label) from a model's probabilities, by Bayes' rule.

    Parameters
    ----------
    pred_probs, predicts, classes, missing_label : as in `from_probabilities`
    y : (n,), the noisy labels. Where one is missing, the posterior is that of the row alone
    confusion : array-like of shape (Q, Q), DataFrame or ConfusionEstimate
        A DataFrame may have other labels than classes (its columns, its index), such as "unsure".
    calibrate : bool
        Calibrate the probabilities on the labels, seen through the matrix. With False they are used
        as they are, after unmixing if they are of labels.
    out : array or memory map of shape (n, Q), optional
        Where to write the result, if it is too large for memory.

    Returns
    -------
    (n, Q), columns in the order of the sorted classes

    Examples
    --------
    A model of the true class says "cat"; of the labels "dog", half are cats:

    >>> from unconfused.confusion import label_posterior
    >>> C = [[0.8, 0.2], [0.2, 0.8]]
    >>> pred_probs = [[0.9, 0.1], [0.5, 0.5]]
    >>> label_posterior(
    ...     pred_probs, ["dog", "dog"], C, predicts="class", classes=["cat", "dog"], calibrate=False
    ... ).round(2)
    array([[0.69, 0.31],
           [0.2 , 0.8 ]])
    """
    table = read_probabilities(
        pred_probs, y, predicts, confusion=confusion, classes=classes, missing_label=missing_label
    )
    matrix = _aligned(confusion, table, classes)
    model = _fit(table, matrix, predicts, calibrate)
    shape = (len(table.observed), len(matrix))
    found = np.empty(shape) if out is None else out
    if found.shape != shape:
        raise ValueError(f"out must have shape {shape}; it has {found.shape}.")
    for rows, block in table.blocks():
        found[rows] = model.posterior(block, table.observed[rows])
    return found


def rank_from_probabilities(
    pred_probs: Any,
    y: ArrayLike,
    confusion: Any = None,
    *,
    predicts: Predicts = "label",
    classes: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> LabelIssues:
    """Rank rows by how likely their label is wrong, from predicted probabilities alone.

    Like `rank_label_errors`, without features or a model. Without a matrix, it is estimated as by
    `from_probabilities`; if labels are no likelier through that than by the probabilities
    themselves, rows are ranked by these instead (``criterion="self_confidence"``).
    Rows are read in blocks, so `pred_probs` may be a memory map.

    Parameters
    ----------
    pred_probs, predicts, classes, missing_label : as in `from_probabilities`
    y : (n,), the noisy labels; rows without one are not ranked
    confusion : array-like of shape (Q, Q), DataFrame, ConfusionEstimate, "auto" or None
        "auto" and None: estimated from the probabilities.

    Returns
    -------
    LabelIssues

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # was 0
    >>> model = LogisticRegression(max_iter=1000)
    >>> pred_probs = cross_val_predict(model, X, y, method="predict_proba")
    >>> rank_from_probabilities(pred_probs, y).row[0]
    np.int64(7)
    """
    if isinstance(confusion, str):
        if confusion != "auto":
            raise ValueError(f"confusion must be a matrix, 'auto' or None; got {confusion!r}.")
        confusion = None
    table = read_probabilities(
        pred_probs, y, predicts, confusion=confusion, classes=classes, missing_label=missing_label
    )
    if not np.any(table.observed != MISSING):
        raise ValueError("y holds no labels to rank.")
    if confusion is not None:
        matrix = _aligned(confusion, table, classes)
        if confusion_labels(confusion) is not None:
            raise ValueError(
                "A label that is no class is neither right nor wrong, so there is nothing to rank "
                "with a rectangular matrix: use confusion.label_posterior."
            )
    else:
        matrix, _ = _estimate(table, predicts)
    model = _fit(table, matrix, predicts, calibrate=True)
    plain = confusion is None and predicts == "label" and not model_helps(model, *table.sample())
    n_rows = len(table.observed)
    own, best, leads = np.empty(n_rows), np.empty(n_rows, dtype=np.intp), np.empty(n_rows, bool)
    for rows, block in table.blocks():
        judged = block if plain else model.posterior(block, table.observed[rows])
        own[rows] = judged[np.arange(len(judged)), table.observed[rows]]
        best[rows] = judged.argmax(axis=1)
        leads[rows] = own[rows] >= judged.max(axis=1)
    ranked = np.flatnonzero(table.observed != MISSING)
    ranked = ranked[np.argsort(own[ranked], kind="stable")]
    observed = table.observed[ranked]
    return LabelIssues(
        ranked,
        table.labels[observed],
        table.labels[np.where(leads[ranked], observed, best[ranked])],
        np.clip(1.0 - own[ranked], 0.0, 1.0),
        "self_confidence" if plain else "posterior",
    )


def _aligned(confusion: Any, table: ProbabilityTable, order: ArrayLike | None) -> FloatArray:
    if (labels := confusion_labels(confusion)) is None:
        return align_confusion(confusion, table.columns, order)
    rows = confusion_classes(confusion)
    assert rows is not None
    return align_confusion(confusion, rows, labels=labels)


def _estimate(table: ProbabilityTable, predicts: Predicts) -> tuple[FloatArray, FloatArray]:
    """Return C and the counts behind it."""
    probability, observed = table.sample()
    if not len(observed):
        raise ValueError("y holds no labels to estimate a confusion matrix from.")
    return estimate_counts(probability, observed, of_labels=predicts == "label")


def _fit(
    table: ProbabilityTable, matrix: FloatArray, predicts: Predicts, calibrate: bool
) -> ClassProbabilities:
    probability, observed = table.sample()
    model = ClassProbabilities.of(probability, matrix, of_labels=predicts == "label")
    return model.calibrated(probability, observed) if calibrate and len(observed) else model
