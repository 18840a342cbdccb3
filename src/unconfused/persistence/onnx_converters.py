"""Converters of our classifiers and dates, as skl2onnx takes them.

A linear classifier becomes one LinearClassifier node; dates come as days since 1970, one double for
each, and become their place in each period.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import FloatTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

from unconfused._columns.steps import PERIODS, DateParts
from unconfused.estimators import all_estimators
from unconfused.estimators._base import LinearClassifier

DATES = "UnconfusedDateParts"


def register_converters() -> None:
    """Tell skl2onnx about every linear classifier of this package, and about dates."""
    update_registered_converter(DateParts, DATES, _shape, _convert_dates, parser=_parse)
    for kind in all_estimators():
        if issubclass(kind, LinearClassifier):
            update_registered_converter(
                kind,
                f"Unconfused{kind.__name__}",
                calculate_linear_classifier_output_shapes,
                _convert_linear,
                options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
            )


def _convert_linear(scope: Any, operator: Any, container: Any) -> None:
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


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare the operator; what comes out is in single precision, whatever goes in."""
    operator = scope.declare_local_operator(DATES, model)
    operator.inputs.extend(inputs)
    operator.outputs.append(scope.declare_local_variable("dates", FloatTensorType()))
    return operator.outputs


def _shape(operator: Any) -> None:
    columns = sum(one.type.shape[1] or 1 for one in operator.inputs)
    operator.outputs[0].type = FloatTensorType([None, columns * (1 + 2 * len(PERIODS))])


def _convert_dates(scope: Any, operator: Any, container: Any) -> None:
    """Write days, then sine and cosine of their place in each period, for one date after another.

    Angles are computed in double precision: days in single precision are minutes off.
    """

    def node(kind: str, inputs: list[str], **options: Any) -> str:
        out: str = scope.get_unique_variable_name(kind.lower())
        name = scope.get_unique_operator_name(kind)
        container.add_node(kind, inputs, [out], name=name, **options)
        return out

    def constant(value: float) -> str:
        name: str = scope.get_unique_variable_name("period")
        container.add_initializer(name, 11, [1], [value])  # a double
        return name

    columns = []
    for variable in operator.inputs:
        for place in range(variable.type.shape[1] or 1):
            index: str = scope.get_unique_variable_name("place")
            container.add_initializer(index, 7, [1], [place])  # an integer
            columns.append(node("Gather", [variable.full_name, index], axis=1, op_version=13))
    parts: list[str] = []
    for days in columns:
        parts.append(days)
        for period in PERIODS.values():
            # Within one period: runtimes take sines in single precision, of small angles only.
            turns = node("Div", [days, constant(period)], op_version=14)
            turns = node("Sub", [turns, node("Floor", [turns], op_version=13)], op_version=14)
            angle = node("Mul", [turns, constant(2 * np.pi)], op_version=14)
            single = node("Cast", [angle], to=1, op_version=13)
            for wave in ("Sin", "Cos"):
                parts.append(
                    node("Cast", [node(wave, [single], op_version=7)], to=11, op_version=13)
                )
    joined = node("Concat", parts, axis=1, op_version=13)
    container.add_node(
        "Cast",
        [joined],
        [operator.outputs[0].full_name],
        name=scope.get_unique_operator_name("Cast"),
        to=1,
        op_version=13,
    )
