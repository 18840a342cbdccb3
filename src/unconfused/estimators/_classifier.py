"""What all classifiers here share: fits as a whole, labels as one column, scores by the truth."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import known_truth, label_array, refuse_other_order, split_missing
from unconfused._typing import ArrayLike, Labels
from unconfused.estimators._arrays import is_dask, to_numpy

Method = TypeVar("Method", bound=Callable[..., Any])


class FitInterrupted(KeyboardInterrupt):
    """Raised by a fit that Ctrl-C has ended early, once the model so far is complete."""


def all_at_once(fit: Method) -> Method:
    """Let `fit` or `partial_fit` work on a draft, whose attributes the estimator takes on together.

    An interrupt or an error, at whatever moment, leaves the estimator as it was: not fitted, or
    fitted as before. (The draft is a shallow copy: what is to be changed in place is copied.)
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        draft = object.__new__(type(self))
        vars(draft).update(vars(self))
        try:
            fit(draft, *args, **kwargs)
        except FitInterrupted:
            self.__dict__ = vars(draft)
            raise KeyboardInterrupt from None
        self.__dict__ = vars(draft)
        return self

    return cast(Method, whole)


def one_column(labels: Any) -> Labels:
    """Return labels as an array; a column vector as one of one dimension, with a warning."""
    array = label_array(to_numpy(labels))
    if array.ndim != 2 or array.shape[1] != 1:
        return array
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y "
        "to (n_samples,), for example using ravel().",
        DataConversionWarning,
        stacklevel=3,
    )
    return np.asarray(array[:, 0])


def checked_labels(estimator: Any, y: Any, X: Any) -> Labels:
    """Return the observed labels of the rows X, one column of classes."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    labels = one_column(y)
    check_consistent_length(X, labels)
    present, missing = split_missing(labels, "y", getattr(estimator, "missing_label", None))
    check_classification_targets(present[~missing])
    return labels


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
    predicted = to_numpy(np.asarray(self.predict(X)) if is_dask(X) else self.predict(X))
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
