"""Fits with verdicts: all truths are learnt from, only rows drawn at random are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._labels import MISSING, count_pairs, encode_labels, label_array
from unconfused._pipelines import final_step
from unconfused._typing import ArrayLike
from unconfused.confusion.estimate import ConfusionEstimate, divide_rows
from unconfused.review.checked import CheckedRows
from unconfused.review.left_out import LeftOut, judge_left_out

GUESS_ROWS = 20.0
"""Checked rows per label that an estimate from left-out labels counts as. With 5, the first 24 rows
drawn at random took accuracy on Reuters from 0.78 to 0.34; with 20 it rose to 0.82."""

ROWS_TO_GUESS_FROM = 10_000
"""Rows that the estimate is made from, at most: more make it slower, not better."""


def fit_checked(
    model: Any,
    X: Any,
    y: ArrayLike,
    checked: CheckedRows,
    *,
    left_out: LeftOut | None = None,
    random_state: int = 0,
) -> Any:
    """Fit a model with verdicts, without selection bias.

    Rows that were checked because they looked wrong correct their own labels, but do not make all
    other labels look wrong. For this, the model is fitted twice. The first fit knows only the truth
    of rows drawn at random, and determines the confusion matrix and all settings that are chosen on
    held-out truths. With these fixed, the second fit uses all truths.

    In the second fit, rows that were not drawn at random count as much as noisy rows; with a higher
    weight, classes that often look wrong would be taken for frequent. If they are the majority of
    the verdicts, too few rows were drawn at random to choose the weight of noisy rows, which is
    then 1.

    Parameters
    ----------
    model : an estimator of this library, or a Pipeline that ends in one; it is cloned. A
        `confusion` that was given is kept
    X, y : rows and labels
    checked : from `match_verdicts`
    left_out : from `judge_left_out` with the same rows, labels and verdicts, to save its fits
    random_state : seed of the estimate of C

    Returns
    -------
    The fitted model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UnconfusedLogisticRegression, noise
    >>> X, truth = load_iris(return_X_y=True)
    >>> y = noise.corrupt_labels(truth, noise.pairwise(3, 0.3), random_state=0)
    >>> y_true = np.full(150, None, dtype=object)
    >>> y_true[::5] = truth[::5]
    >>> drawn = np.where(np.arange(150) % 5 == 0, 0.2, np.nan)
    >>> how = np.where(np.isfinite(drawn), "random", "").astype(object)
    >>> checked = CheckedRows(y_true, drawn, how)
    >>> fitted = fit_checked(UnconfusedLogisticRegression(), X, y, checked)
    >>> bool(fitted.score(X, truth) > 0.85)
    True
    """
    if not isinstance(checked, CheckedRows):
        raise TypeError(
            "checked must be a CheckedRows, from match_verdicts. If it is the truth of rows drawn "
            "at random, call model.fit(X, y, y_true=...)."
        )
    model = clone(model)
    final, prefix = final_step(model)
    known = {f"{prefix}y_true": checked.y_true}
    if final.confusion is None or isinstance(final.confusion, str):  # "auto"
        estimate = confusion_of_checked(
            X if left_out is not None else features_of(model, X),
            y,
            checked,
            classes=final.classes,
            left_out=left_out,
            random_state=random_state,
        )
        model.set_params(**{f"{prefix}confusion": estimate})
        if getattr(final, "refine", None) == "auto":
            # A handful of rows would be no match for what a model that learns labels by heart says.
            model.set_params(**{f"{prefix}refine": False})
    chosen = checked.known & ~checked.representative
    # Whether a learner chooses settings, or adjusts C, by truths it is given.
    left = [getattr(final, name, None) for name in ("l2", "noisy_weight", "refine")]
    chooses = any(isinstance(one, str) or one is True for one in left)
    if not chooses or (checked.known.any() and not chosen.any()):
        return model.fit(X, y, **known)
    if 2 * chosen.sum() > checked.known.sum() and getattr(final, "noisy_weight", 1.0) == "auto":
        model.set_params(**{f"{prefix}noisy_weight": 1.0})
    sample = {f"{prefix}y_true": checked.y_random} if checked.representative.any() else {}
    first = final_step(clone(model).fit(X, y, **sample))[0]
    weight = np.where(chosen, getattr(first, "noisy_weight_", 1.0), 1.0)
    if (weight != 1.0).any():
        known[f"{prefix}sample_weight"] = weight
    return model.set_params(**_kept(first, prefix)).fit(X, y, **known)


def features_of(model: Any, X: Any) -> Any:
    """Return the rows as the learner at the end of a pipeline sees them."""
    return model[:-1].fit_transform(X) if len(getattr(model, "steps", ())) > 1 else X


def _kept(fitted: Any, prefix: str) -> dict[str, Any]:
    """Return what a fit chose, as parameters."""
    known = fitted.get_params(deep=False)
    matrix = np.asarray(fitted.confusion_)
    counts = getattr(fitted.confusion, "counts", None)
    scale = np.ones(len(matrix)) if counts is None else np.asarray(counts).sum(axis=1)
    tried = getattr(fitted, "choice_", {})
    if tried and tried["share"] @ tried["believed"] > 0.5:  # mostly a model of labels as they are
        matrix = np.eye(len(matrix))
    kept: dict[str, Any] = {
        "confusion": ConfusionEstimate(
            matrix, scale[:, np.newaxis] * matrix, fitted.classes_, fitted.class_prior_
        ),
        "refine": False,
    }
    for name in ("l2", "noisy_weight"):
        if hasattr(fitted, f"{name}_"):
            kept[name] = getattr(fitted, f"{name}_")
    return {f"{prefix}{name}": value for name, value in kept.items() if name in known}


def confusion_of_checked(
    features: Any,
    y: ArrayLike,
    checked: CheckedRows,
    *,
    classes: ArrayLike | None = None,
    left_out: LeftOut | None = None,
    random_state: int = 0,
) -> ConfusionEstimate:
    """Estimate C from the rows drawn at random and from what left-out labels say.

    Among the rows of a label, the estimate from all labels (`LeftOut.confusion`) counts as twenty
    checked rows. Only rows drawn at random represent others; a verdict on any other row represents
    that row alone.
    """
    if classes is None:
        classes = encode_labels(y, checked.y_true, missing_label=None).classes
    if left_out is None:
        left_out = _on_some_rows(features, y, checked, classes, random_state)
    guess = left_out.confusion
    if not checked.representative.any():
        return guess
    labels = encode_labels(y, checked.y_random, classes=classes, missing_label=None)
    n_classes, present = len(labels.classes), labels.observed != MISSING
    assert guess.class_prior is not None
    joint = guess.class_prior[:, np.newaxis] * guess.matrix
    share = joint / np.maximum(joint.sum(axis=0), 1e-300)
    weight = checked.weight_within_labels(checked.representative & present, labels.observed)
    counts = count_pairs(labels.truth, labels.observed, n_classes, weight)
    share = (counts + GUESS_ROWS * share) / (counts.sum(axis=0) + GUESS_ROWS)
    joint = share * np.bincount(labels.observed[present], minlength=n_classes)
    matrix = divide_rows(np.where(joint.sum(axis=1, keepdims=True) > 0, joint, guess.matrix), 0.0)
    rows = counts.sum(axis=1, keepdims=True) + GUESS_ROWS
    total = np.maximum(joint.sum(axis=1), 1e-12)
    return ConfusionEstimate(matrix, rows * matrix, labels.classes, total / total.sum())


def _on_some_rows(
    features: Any, y: ArrayLike, checked: CheckedRows, classes: ArrayLike, seed: int
) -> LeftOut:
    """Judge labels on at most `ROWS_TO_GUESS_FROM` rows."""
    labels = label_array(y)
    rows = np.arange(len(labels))
    if len(rows) > ROWS_TO_GUESS_FROM:
        rows = np.sort(np.random.RandomState(seed).choice(rows, ROWS_TO_GUESS_FROM, replace=False))
    X = _safe_indexing(features, rows)
    return judge_left_out(X, labels[rows], checked.at(rows), classes=classes, random_state=seed)
