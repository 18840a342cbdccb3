"""The command group: names, help and global options."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperGroup

from unconfused import __version__
from unconfused._text import printable
from unconfused.cli.errors import EXIT_CODES, plain_errors

COMMANDS = (
    "fit", "predict", "evaluate", "estimate", "audit", "review", "apply", "corrupt", "export",
    "demo", "info",
)  # fmt: skip
"""Each is a function in the module of its name, under `commands`."""

NO_ARGUMENTS = ("demo", "info")
"""Commands that need none; the others show their help."""


class Commands(TyperGroup):
    """The commands, each imported when it is asked for; usage errors are safe to print."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; for an unknown name all of them, to suggest a similar one."""
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                self.commands[name] = _load(name)
        return self.commands.get(cmd_name)

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the global options."""
        with _safe_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, *args: Any, **options: Any) -> Any:
        """Parse the options of a command, and run it."""
        with _safe_usage_errors():
            return super().invoke(*args, **options)


@contextmanager
def _safe_usage_errors() -> Iterator[None]:
    """Escape what a usage error quotes: a shell's ``*`` may expand to hostile file names."""
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = printable(error.message)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    cls=Commands,
    help="Learn classifiers from noisy labels, and find the labels that are wrong.",
    epilog=f"Start with: unconfused demo\n\n{EXIT_CODES}",
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
    """Learn classifiers from noisy labels, and find the labels that are wrong."""
    context.obj = debug


def _load(name: str) -> Any:
    module = importlib.import_module(f"unconfused.cli.commands.{name}")
    command = getattr(module, name)
    # Typer keeps the ends of lines; a paragraph should be as wide as the terminal.
    paragraphs = str(inspect.getdoc(command)).split("\n\n")
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    alone.command(
        name,
        help="\n\n".join(" ".join(one.split()) for one in paragraphs),
        epilog="\n\n".join(["Examples:", *(f"unconfused {one}" for one in module.EXAMPLES)]),
        no_args_is_help=name not in NO_ARGUMENTS,
    )(_as_command(command))
    return typer.main.get_command(alone)


def _as_command(command: Callable[..., None]) -> Callable[..., None]:
    """Return a function for typer: options in place of groups of them, and errors in one line."""
    groups: dict[str, tuple[type, list[str]]] = {}
    flat = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *marks = get_args(hints[name]) or [hints[name]]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            flat.append(_parameter(name, hints[name], parameter.default))
            continue
        inner = get_type_hints(kind, include_extras=True)
        options = [
            _parameter(one.name, inner[one.name], one)
            for one in fields(kind)
            if one.metadata and one.name not in frozenset().union(*marks)
        ]
        groups[name] = (kind, [one.name for one in options])
        flat += options

    def run(context: typer.Context, **given: Any) -> None:
        with plain_errors(context.obj):
            made = {
                name: kind(**{one: given.pop(one) for one in options})
                for name, (kind, options) in groups.items()
            }
            command(**given, **made)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in flat}
    return run


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """Return a parameter as typer takes it, its option among the annotations."""
    if isinstance(default, Field):
        hint = Annotated[hint, default.metadata["option"]]
        default = default.default if default.default_factory is MISSING else []
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
