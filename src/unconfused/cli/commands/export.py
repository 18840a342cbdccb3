"""`unconfused export`: a model for use without Python."""

from __future__ import annotations

from pathlib import Path

from unconfused.cli import options as opt
from unconfused.cli.console import tell
from unconfused.cli.errors import check_target, refuse_same_target

EXAMPLES = ["export model.skops", "export model.skops -o pets.onnx"]

DOUBLE = 11
"""ONNX's number for the type."""


def export(
    model: opt.Model,
    output: Path | None = opt.plain(
        "--output -o", "Output file for the graph.", show_default="MODEL with the ending .onnx"
    ),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Write a model as an ONNX graph, which many programs and languages can run.

    The graph is compared with the model before it is written. It has one input for each column.
    """
    target = model.with_suffix(".onnx") if output is None else output
    refuse_same_target(model, target)
    check_target(target, [".onnx"], force=force)
    from unconfused.persistence import ExportError, load
    from unconfused.persistence.onnx import PLAIN_LOCALE, export_obstacle, to_onnx
    from unconfused.persistence.onnx_check import example_rows

    loaded = load(model)
    if (why := export_obstacle(loaded)) is not None:
        raise ExportError(why)
    given, locale = {"example": example_rows(loaded), "force": force}, None
    try:
        graph = to_onnx(loaded, target, **given)
    except ExportError as error:
        if "text_locale" not in str(error):
            raise
        locale = PLAIN_LOCALE
        graph = to_onnx(loaded, target, **given, text_locale=locale)
    inputs = [one.name for one in graph.graph.input]
    outputs = [one.name for one in graph.graph.output]
    some = ", ".join(inputs[:6]) + ", ..." * (len(inputs) > 6)
    lines = [f"Inputs: {some}. Outputs: {', '.join(outputs)}.", f"Graph: {target}"]
    dates = [one.name for one in graph.graph.input if one.type.tensor_type.elem_type == DOUBLE]
    if dates:
        lines.append(f"Dates ({', '.join(dates)}) go in as days since 1970-01-01, as doubles.")
    if locale is not None:
        lines.append(f"Text is converted to lower case by the locale {locale}.")
    found = {"output": str(target), "inputs": inputs, "outputs": outputs, "locale": locale}
    tell(as_json, found, lines)
