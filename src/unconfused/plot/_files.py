"""Figures as files, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unconfused._atomic import refuse_folder, refuse_target, whole_file

FORMATS = (".png", ".pdf", ".svg")


def check_target(target: Path, *, replace: bool) -> None:
    """Raise before the work starts if a figure could not be written here."""
    if target.suffix.lower() not in FORMATS:
        raise ValueError(f"The figure's name must end in {', '.join(FORMATS)}; got {target}")
    refuse_target(target, force=replace)
    refuse_folder(target)


def save_figure(figure: Any, target: Path) -> None:
    """Write a figure, in place of one that may be there."""
    with whole_file(target, force=True) as scratch:
        figure.savefig(scratch, format=target.suffix[1:].lower(), dpi=130)
