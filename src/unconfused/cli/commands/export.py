"""`unconfused export`: a model for use without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from unconfused.cli import options as opt
from unconfused.cli.console import console, print_json
from unconfused.cli.errors import plain_errors
from unconfused.cli.output.targets import check_target, refuse_same_target

EXAMPLES = ["export model.skops --onnx", "export model.skops --onnx -o pets.onnx"]


def export(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `fit`.")],
    onnx: Annotated[bool, typer.Option("--onnx", help="Export to ONNX.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file for the graph.",
            show_default="MODEL with the ending .onnx",
        ),
    ] = None,
    locale: Annotated[
        str | None,
        typer.Option(
            help="For text: a locale of the machine that will run the graph, such as C.UTF-8.",
            show_default="US English",
        ),
    ] = None,
    force: opt.Force = False,
    as_json: opt.AsJson = False,
) -> None:
    """Write a model as an ONNX graph, which many programs and languages can run.

    The graph is compared with the model before it is written. It has one input for each column.
    """
    with plain_errors(context.obj):
        if not onnx:
            raise typer.BadParameter("Name a format: --onnx is the only one.")
        target = model.with_suffix(".onnx") if output is None else output
        refuse_same_target(model, target)
        check_target(target, [".onnx"], force=force)
        from unconfused import load
        from unconfused.cli.output.onnx_example import example_rows
        from unconfused.persistence.errors import ExportError
        from unconfused.persistence.onnx import to_onnx

        loaded = load(model)
        try:
            graph = to_onnx(
                loaded, target, example=example_rows(loaded), force=force, text_locale=locale
            )
        except ExportError as error:
            if "locale" not in str(error):
                raise
            raise ExportError(
                "The graph needs a locale to convert text to lower case, and this machine does not "
                f"have {locale or 'en_US.UTF-8'}. Try --locale C.UTF-8."
            ) from None
        _tell(graph, target, as_json)


def _tell(graph: Any, target: Path, as_json: bool) -> None:
    inputs = [one.name for one in graph.graph.input]
    outputs = [one.name for one in graph.graph.output]
    if as_json:
        found = {"output": str(target), "inputs": inputs, "outputs": outputs}
        print_json(found)
        return
    some = ", ".join(inputs[:6]) + ", ..." * (len(inputs) > 6)
    console().print(f"Inputs: {some}. Outputs: {', '.join(outputs)}.")
    console().print(f"Graph: {target}")
