"""Whether a classifier can become an ONNX graph, known without the packages that make one."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._pipelines import final_step
from unconfused.estimators import UnconfusedClassifier
from unconfused.estimators._noisy_classifier import SoftmaxClassifier


def export_obstacle(model: Any) -> str | None:
    """Return why a fitted classifier, or pipeline, cannot be exported; None if it may be.

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
