"""How our linear classifiers look in ONNX: one LinearClassifier node."""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes
from sklearn.base import BaseEstimator

from unconfused import estimators
from unconfused.estimators._base import LinearClassifier
from unconfused.persistence.onnx_dates import register_dates


def register_converters() -> None:
    """Tell skl2onnx about every linear classifier of this package, and about dates."""
    register_dates()
    for name in estimators.__all__:
        kind: type[BaseEstimator] = getattr(estimators, name)
        if issubclass(kind, LinearClassifier):
            update_registered_converter(
                kind,
                f"Unconfused{name}",
                calculate_linear_classifier_output_shapes,
                _convert,
                options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
            )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the weights, one row per class, into a node that scores, compares and normalises."""
    model = operator.raw_operator
    coefficients = np.asarray(model.coef_, dtype=np.float64)
    intercepts = np.asarray(model.intercept_, dtype=np.float64)
    probabilities = hasattr(model, "predict_proba")
    if len(model.classes_) == 2:
        # Half for either side would change the scores; both logistic functions sum to 1 as it is.
        coefficients = np.vstack([-coefficients, coefficients])
        intercepts = np.append(-intercepts, intercepts)
        transform = "LOGISTIC" if probabilities else "NONE"
    else:
        transform = "SOFTMAX" if probabilities else "NONE"
    container.add_node(
        "LinearClassifier",
        [operator.inputs[0].full_name],
        [output.full_name for output in operator.outputs],
        op_domain="ai.onnx.ml",
        name=scope.get_unique_operator_name("LinearClassifier"),
        coefficients=coefficients.ravel().tolist(),
        intercepts=intercepts.tolist(),
        multi_class=int(len(model.classes_) > 2),
        post_transform=transform,
        **_labels(model.classes_.tolist()),
    )


def _labels(classes: list[Any]) -> dict[str, Any]:
    if isinstance(classes[0], str):
        return {"classlabels_strings": classes}
    return {"classlabels_ints": [int(label) for label in classes]}
