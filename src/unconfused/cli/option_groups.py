"""Groups of options: a command takes a dataclass, the command line the options in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from unconfused.cli.errors import plain_errors


@dataclass(frozen=True)
class Without:
    """Fields of a group that are no options of a command; they keep their defaults."""

    names: tuple[str, ...]


def without(*names: str) -> Without:
    """Mark a group, as ``Annotated[LabelOptions, without("votes")]``."""
    return Without(names)


def as_command(command: Callable[..., None]) -> Callable[..., None]:
    """Return a function for typer: options in place of groups of them, and errors in one line."""
    groups: dict[str, tuple[type, list[str]]] = {}
    flat = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *marks = (
            get_args(hints[name]) if get_origin(hints[name]) is Annotated else [hints[name]]
        )
        if not (isinstance(kind, type) and is_dataclass(kind)):
            flat.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))
            continue
        options = _options_of(kind, [one for mark in marks for one in mark.names])
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


def _options_of(group: type, left_out: list[str]) -> list[inspect.Parameter]:
    """Return the fields of a group that are marked as options."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=one.default if one.default_factory is MISSING else one.default_factory(),
            annotation=hints[one.name],
        )
        for one in fields(group)
        if get_origin(hints[one.name]) is Annotated and one.name not in left_out
    ]
