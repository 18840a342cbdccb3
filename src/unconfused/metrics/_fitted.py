"""Predictions of fitted models, inside searches and pipelines, as scores need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from unconfused._labels import encode_labels, label_array
from unconfused._pipelines import last_step
from unconfused._typing import ArrayLike, FloatArray, Labels, Rows
from unconfused.metrics._confusion_rate import _check_weight

SMALLEST_CHANCE = float(np.finfo(np.float64).eps)
"""One row the model calls impossible must not outweigh all others; scikit-learn's own bound."""


def probabilities_of(estimator: Any, X: Rows, classes: Labels) -> FloatArray:
    """Return the model's probabilities, a column per class; 0 for classes unknown to it."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(last_step(estimator)).__name__} has no predict_proba, which this score needs; "
            "an accuracy does without."
        )
    own = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    columns = encode_labels(classes_of(estimator), classes=classes, missing_label=None).observed
    table = np.zeros((len(own), len(classes)))
    table[:, columns] = own
    return table


def safe_log(chances: FloatArray) -> FloatArray:
    """Return logarithms of chances, none of them infinite."""
    return np.asarray(np.log(np.maximum(chances, SMALLEST_CHANCE)))


def mean_of(values: FloatArray, sample_weight: ArrayLike | None, kept: Labels, what: str) -> float:
    """Return the weighted mean over the rows kept; raise if there are none."""
    weight = _check_weight(sample_weight, len(kept))
    weight = np.ones(len(values)) if weight is None else weight[kept]
    if not weight.sum() > 0:
        raise ValueError(
            f"No row here has a {what} (and a positive weight) to score against. In "
            "cross-validation, use fewer folds, or folds that give each some."
        )
    return float(np.average(values, weights=weight))


def refuse_other_length(predicted: Labels, labels: Labels) -> None:
    """Raise if there are not as many labels as rows."""
    if len(predicted) != len(labels):
        raise ValueError(f"X has {len(predicted)} rows but there are {len(labels)} labels.")


def classes_of(estimator: Any) -> Labels:
    """Return the classes of a fitted classifier."""
    if not hasattr(estimator, "classes_"):
        raise ValueError(
            f"{type(estimator).__name__} has no classes_: these scores are for fitted classifiers."
        )
    return np.asarray(estimator.classes_)


def several_columns(y: Any) -> bool:
    """Return whether labels come from several annotators."""
    shape = y.shape if hasattr(y, "shape") else label_array(y).shape
    return len(shape) == 2 and shape[1] > 1


def votes_likelihood(
    estimator: Any, X: Rows, y: Any, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean log-likelihood of the votes on a row; rows without a vote are left out."""
    model = last_step(estimator)
    if not hasattr(model, "annotator_confusion_"):
        raise ValueError(
            f"y holds votes, but the {type(model).__name__} was not fitted to votes, so it does "
            "not know the annotators. Score it against one label per row."
        )
    chances = probabilities_of(estimator, X, classes_of(estimator))
    logs, voted = model._log_vote_chances(y)
    refuse_other_length(chances, logs)
    values = logsumexp(safe_log(chances) + logs, axis=1)[voted]
    return mean_of(np.asarray(values), sample_weight, voted, "vote")
