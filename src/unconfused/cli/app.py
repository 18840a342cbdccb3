"""The commands together: their names, their help, and the options before them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from unconfused import __version__
from unconfused._printable import printable
from unconfused.cli.commands import (
    audit,
    corrupt,
    demo,
    estimate,
    export,
    fit,
    info,
    predict,
)
from unconfused.cli.errors import EXIT_CODES


class SafeGroup(TyperGroup):
    """The commands; what they say of wrong usage is safe to print."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Read the options before a command."""
        with _safe_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, *args: Any, **options: Any) -> Any:
        """Read the options of a command, and run it."""
        with _safe_usage_errors():
            return super().invoke(*args, **options)


@contextmanager
def _safe_usage_errors() -> Iterator[None]:
    """Escape what an error quotes: a shell's ``*`` puts names of files on the command line."""
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = printable(error.message)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    cls=SafeGroup,
    help="Learn from labels that are wrong in a way you can describe.",
    epilog=f"Begin with: unconfused demo\n\n{EXIT_CODES}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"unconfused {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the full traceback of an error.")
    ] = False,
) -> None:
    """Learn from labels that are wrong in a way you can describe."""
    context.obj = debug


def _add(command: Callable[..., Any], examples: Sequence[str]) -> None:
    # Typer keeps the ends of lines; a paragraph should be as wide as the terminal.
    paragraphs = str(inspect.getdoc(command)).split("\n\n")
    app.command(
        help="\n\n".join(" ".join(one.split()) for one in paragraphs),
        epilog="\n\n".join(["Examples:", *(f"unconfused {one}" for one in examples)]),
        no_args_is_help=command.__name__ not in NO_ARGUMENTS,
    )(command)


NO_ARGUMENTS = ("demo", "info")
"""Commands that need none; the others show their help."""

_add(fit.fit, fit.EXAMPLES)
_add(predict.predict, predict.EXAMPLES)
_add(estimate.estimate, estimate.EXAMPLES)
_add(audit.audit, audit.EXAMPLES)
_add(corrupt.corrupt, corrupt.EXAMPLES)
_add(export.export, export.EXAMPLES)
_add(demo.demo, demo.EXAMPLES)
_add(info.info, info.EXAMPLES)
