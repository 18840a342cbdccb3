"""The converter of dates, as skl2onnx takes it.

Dates come as days since 1970, one double for each, and become their place in each period.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import FloatTensorType

from unconfused._columns.steps import PERIODS, DateParts


def register_dates() -> None:
    """Tell skl2onnx about dates."""
    update_registered_converter(
        DateParts, "UnconfusedDateParts", _shape, _convert_dates, parser=_parse
    )


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare the operator; what comes out is in single precision, whatever goes in."""
    operator = scope.declare_local_operator("UnconfusedDateParts", model)
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
