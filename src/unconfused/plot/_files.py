"""Figures as files, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FORMATS = (".png", ".pdf", ".svg")


def check_target(target: Path, *, replace: bool) -> None:
    """Raise before the work starts if a figure could not be written here."""
    if target.suffix.lower() not in FORMATS:
        raise ValueError(f"The figure's name must end in {', '.join(FORMATS)}; got {target}")
    if not target.parent.is_dir():
        raise OSError(f"There is no folder {target.parent}; create it first.")
    if target.is_dir():
        raise OSError(f"{target} is a folder; name a file in it.")
    if target.exists() and not replace:
        raise OSError(f"{target} exists already; pass --force to replace it.")
    scratch = _scratch(target)
    try:
        scratch.touch()
    except OSError as error:
        raise OSError(
            f"Cannot write into {target.parent} ({error.strerror}); choose another place."
        ) from None
    scratch.unlink()


def save_figure(figure: Any, target: Path) -> None:
    """Write a figure whole or not at all: beside its place first, then renamed."""
    scratch = _scratch(target)
    try:
        figure.savefig(scratch, format=target.suffix[1:].lower(), dpi=130)
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)


def _scratch(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")
