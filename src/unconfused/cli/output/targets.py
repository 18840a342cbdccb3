"""Checks of output files, made before any work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from unconfused._atomic import refuse_folder, refuse_target


def check_target(target: Path, endings: Iterable[str], *, force: bool) -> None:
    """Raise if a file cannot, or should not, be written here.

    Examples
    --------
    >>> check_target(Path("page.txt"), [".html"], force=False)
    Traceback (most recent call last):
        ...
    ValueError: page.txt: the name must end in .html.
    """
    allowed = list(endings)
    if target.suffix.lower() not in allowed:
        raise ValueError(f"{target}: the name must end in {' or '.join(allowed)}.")
    refuse_target(target, force=force)
    refuse_folder(target)


def refuse_same_target(*targets: Path | None) -> None:
    """Raise if two outputs, or an output and its input, are the same file."""
    seen: set[Path] = set()
    for target in targets:
        if target is None:
            continue
        place = target.resolve()
        if place in seen:
            raise ValueError(
                f"{target} is named twice; inputs and outputs must be different files."
            )
        seen.add(place)
