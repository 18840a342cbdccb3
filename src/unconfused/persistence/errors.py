"""What keeps a model from being saved or exported, and errors that say so."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from unconfused._pipelines import final_step
from unconfused._text import printable
from unconfused.estimators._base import SoftmaxClassifier
from unconfused.estimators.any_classifier import UnconfusedClassifier


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be loaded as one; the message says why."""


class ExportError(ValueError):
    """A model cannot be written in another format; the message says why."""


def in_words(error: BaseException) -> str:
    """Return type and message of an error, on one line."""
    text = printable(" ".join(str(error).split()))
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__


def refuse_unfitted(model: Any, kind: type[ValueError], done: str) -> None:
    """Raise an error of this kind if a model is not a fitted estimator; `done` is "saved", say."""
    if not isinstance(model, BaseEstimator):
        raise kind(f"Only scikit-learn estimators can be {done}; this is a {type(model).__name__}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise kind(
            f"This {type(model).__name__} is not fitted; only fitted models can be {done}."
        ) from None


def export_obstacle(model: Any) -> str | None:
    """Return why a fitted classifier, or pipeline, cannot be exported; None if it may be.

    This needs none of the packages that make the graph.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UMAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> export_obstacle(UMAClassifier().fit(X, y))
    >>> export_obstacle(UMAClassifier().fit(X, y.astype(float)))
    'ONNX takes labels that are integers or text; these are [0.0, 1.0, 2.0]. Convert ...
    """
    classifier, _ = final_step(model)
    if isinstance(classifier, UnconfusedClassifier):
        return (
            f"{type(classifier.estimator).__name__} through a confusion matrix cannot be exported "
            "to ONNX; a logistic regression can."
        )
    classes = np.asarray(classifier.classes_)
    text = classes.dtype.kind == "U" or all(isinstance(one, str) for one in classes.tolist())
    if not text and classes.dtype.kind not in "iub":
        return (
            f"ONNX takes labels that are integers or text; these are {classes.tolist()[:5]}. "
            "Convert the labels before you fit."
        )
    weighted = getattr(classifier, "class_weight", None) is not None
    if weighted and isinstance(classifier, SoftmaxClassifier):
        return (
            "With class_weight the predicted class is the cheapest, not the likeliest one, which "
            "an ONNX graph cannot express. Export with set_params(class_weight=None), and decide "
            "by the probabilities."
        )
    return None
