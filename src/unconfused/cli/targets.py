"""Checks of output files and their columns, made before any work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from unconfused._atomic import refuse_folder, refuse_target
from unconfused._files.types import clean_name


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


def refuse_clash(option: str, copied: Iterable[str], made: Iterable[str]) -> None:
    """Raise if a copied column would have the name of a computed one.

    Examples
    --------
    >>> refuse_clash("--id", ["name"], ["row", "label"])
    >>> refuse_clash("--id", ["row"], ["row", "label"])
    Traceback (most recent call last):
        ...
    ValueError: --id 'row': the output has a column 'row' of its own. Rename ...
    """
    ours = Counter(clean_name(name) for name in made)
    clash = [name for name in copied if clean_name(name) in ours]
    if clash:
        raise ValueError(
            f"{option} {clash[0]!r}: the output has a column {clean_name(clash[0])!r} of its own. "
            "Rename the one in the data, or drop the option: rows keep their order."
        )
    twice = [name for name, times in ours.items() if times > 1]
    if twice:
        raise ValueError(f"Two columns of the output would be called {twice[0]!r}.")
