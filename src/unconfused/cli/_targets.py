"""Where results go: looked at before any work is done."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path

from unconfused._atomic import refuse_target


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
    check_folder(target)


def check_folder(target: Path) -> None:
    """Raise if nothing can be written beside a file."""
    scratch = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        scratch.touch()
    except OSError as error:
        raise OSError(
            f"Cannot write into {target.parent} ({error.strerror}); choose another place."
        ) from None
    scratch.unlink()


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
