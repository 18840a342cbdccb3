"""Accuracy against the truth where it is known; agreement with noisy labels is not accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import known_truth, refuse_other_order, split_missing
from unconfused._typing import ArrayLike, Labels
from unconfused.estimators._arrays import one_column, to_numpy


def score_by_truth(
    self: Any,
    X: Any,
    y: ArrayLike,
    y_true: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the accuracy: against the truth where `y_true` gives it, else against `y`.

    Agreement with noisy labels is not accuracy: pass the truth where you know it. With `y_true`,
    only rows whose truth is known count.
    """
    predicted = np.asarray(to_numpy(self.predict(X)))  # also computes those on Dask rows
    if y_true is None:
        # Of a list, an array of objects was made, which scikit-learn does not score.
        labels, missing = split_missing(one_column(y), "y", None)
        if missing.any():
            raise ValueError("y holds missing labels: drop these rows, or pass y_true.")
        if hasattr(self, "labels_"):
            others = np.setdiff1d(labels.astype(str), self.classes_.astype(str))
            if len(others):
                raise ValueError(
                    f"Labels such as {others.tolist()[:3]} are not classes, so no prediction can "
                    "agree with them. Pass the truth: score(X, y, y_true=...)."
                )
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))
    refuse_other_order(y, y_true)
    return accuracy_where_known(self, predicted, y_true, sample_weight, "y_true")


def accuracy_where_known(
    estimator: Any, predicted: Labels, y_true: Any, sample_weight: Any, name: str
) -> float:
    """Return the accuracy on the rows whose label is not missing."""
    missing_label = getattr(estimator, "missing_label", "auto")
    truth, missing = known_truth(one_column(y_true), estimator.classes_, missing_label)
    check_consistent_length(predicted, truth, sample_weight)
    if missing.all():
        raise ValueError(f"{name} holds no label to score against.")
    weight = None if sample_weight is None else np.asarray(to_numpy(sample_weight))[~missing]
    return float(np.average(truth[~missing] == predicted[~missing], weights=weight))
