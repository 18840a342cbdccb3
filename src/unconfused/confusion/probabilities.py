"""Work with predicted probabilities alone: estimate C, judge labels, rank the wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._arguments import check_not_negative
from unconfused._labels import MISSING
from unconfused._matrix_labels import confusion_labels, is_guess
from unconfused._typing import ArrayLike, FloatArray
from unconfused.confusion._probability_table import Predicts, read_probabilities
from unconfused.confusion.estimate import ConfusionEstimate, refuse_uncounted
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

    If the model was trained on the noisy labels (``predicts="label"``), this is `from_noisy`
    without the features, and has the same limitations, because no truth is known. If it was trained
    on other, clean data (``predicts="class"``), rows are counted by the posterior of their class.

    Parameters
    ----------
    pred_probs : array, memory map or DataFrame of shape (n, Q)
        Probabilities from models that were not trained on the row. Columns of a DataFrame are
        matched by name, those of an array follow `classes`, or the sorted labels.
    y : (n,), the noisy labels; rows where they are missing are left out
    predicts : whether the probabilities are of the noisy "label" or of the true "class"
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
    matrix, counts = table.estimate()
    if check_not_negative(smoothing, "smoothing"):
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
    y : (n,), the noisy labels. Where one is missing, the posterior depends on the row alone
    confusion : matrix, DataFrame or ConfusionEstimate. A DataFrame may have other labels than
        classes (its columns, its index), such as "unsure"
    calibrate : whether to calibrate the probabilities on the labels, given the matrix. If False,
        they are used as they are; those of labels are first converted into those of classes
    out : array or memory map of shape (n, Q) to write the result to, if it is too large for memory

    Returns
    -------
    (n, Q), columns in the order of the sorted classes

    Examples
    --------
    Both rows are labelled "dog"; the model thinks of the first that it is probably a cat:

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
    matrix = table.align(confusion, classes)
    model = table.model(matrix, calibrate, is_guess(confusion))
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

    This is `rank_label_errors` without features or a model. If no matrix is given, it is estimated
    as by `from_probabilities`. If that does not make the labels more likely than the probabilities
    themselves do, rows are ranked by 1 minus the probability of their label
    (``criterion="self_confidence"``). Rows are read in blocks, so `pred_probs` may be a memory map.

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
    matrix = table.estimate()[0] if confusion is None else table.align(confusion, classes)
    if confusion is not None and confusion_labels(confusion) is not None:
        raise ValueError(
            "A label that is no class is neither right nor wrong, so there is nothing to rank with "
            "a rectangular matrix: use confusion.label_posterior."
        )
    model = table.model(matrix, guessed=confusion is None or is_guess(confusion))
    plain = confusion is None and table.of_labels and not model_helps(model, *table.sample())
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
