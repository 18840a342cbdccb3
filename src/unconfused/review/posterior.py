"""What models that have not seen a row say of its label."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from unconfused._labels import MISSING, encode_labels
from unconfused._typing import ArrayLike, FloatArray
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.sharpness import best_power, posterior_given, sharpen
from unconfused.review.checked import CheckedRows

FOLDS = 5


def cross_fitted_posterior(
    fitted: Any, X: Any, y: ArrayLike, checked: CheckedRows | None = None, seed: int = 0
) -> FloatArray:
    """Return P(true class | row, label) of every row, by models fitted without it, (n, Q).

    The matrix and the settings stay as the fitted model has them.

    Parameters
    ----------
    fitted : a fitted UnconfusedLogisticRegression, or a Pipeline that ends in one
    X, y : rows and labels
    checked : verdicts, which the models learn from too
    seed : of the folds
    """
    prefix = f"{fitted.steps[-1][0]}__" if isinstance(fitted, Pipeline) else ""
    final = fitted.steps[-1][1] if prefix else fitted
    classes, matrix = final.classes_, np.asarray(final.confusion_)
    unfitted = clone(fitted).set_params(**_frozen(final, prefix))
    labels = encode_labels(y, classes=classes, missing_label=final.missing_label).observed
    targets = classes.astype(object)[labels]
    targets[labels == MISSING] = None
    truth = None if checked is None or not checked.known.any() else checked.y_true
    known = np.zeros(len(labels), bool) if truth is None else checked_known(truth)
    usable = np.flatnonzero((labels != MISSING) | known)
    probability = np.full((len(labels), len(classes)), 1.0 / len(classes))
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(usable):
        rows = usable[train]
        given = {f"{prefix}y_true": truth[rows]} if truth is not None and known[rows].any() else {}
        one = clone(unfitted).fit(_safe_indexing(X, rows), targets[rows], **given)
        probability[usable[test]] = one.predict_proba(_safe_indexing(X, usable[test]))
    evidence = np.where((labels != MISSING)[:, np.newaxis], matrix.T[labels], 1.0)
    noisy = labels != MISSING
    power = best_power(probability[noisy], evidence[noisy])
    return posterior_given(sharpen(probability, power), evidence)


def checked_known(truth: Any) -> Any:
    """Return a mask of the truths that are there."""
    return np.array([one is not None for one in truth.tolist()], dtype=bool)


def _frozen(final: Any, prefix: str) -> dict[str, Any]:
    """Return parameters that keep what a fit found."""
    counts = getattr(final.confusion, "counts", None)
    matrix = np.asarray(final.confusion_)
    scale = np.ones((len(matrix), 1)) if counts is None else counts.sum(axis=1, keepdims=True)
    frozen = {
        "confusion": ConfusionEstimate(matrix, scale * matrix, final.classes_),
        "classes": final.classes_,
        "refine": False,
        "warm_start": False,
        "relabel": 0,
    }
    for name in ("l2", "noisy_weight"):
        if hasattr(final, f"{name}_"):
            frozen[name] = getattr(final, f"{name}_")
    there = final.get_params(deep=False)
    return {f"{prefix}{name}": value for name, value in frozen.items() if name in there}
