"""Where results go: looked at before any work is done."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from unconfused._atomic import refuse_folder, refuse_target


def check_target(target: Path, endings: Iterable[str], *, force: bool) -> None:
    """Raise if a file could not, or should not, be written here.

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
    """Raise if two results would be the same file, or a result the file it is made from."""
    seen: set[Path] = set()
    for target in targets:
        if target is None:
            continue
        place = target.resolve()
        if place in seen:
            raise ValueError(f"{target} is named twice; give every file a name of its own.")
        seen.add(place)
