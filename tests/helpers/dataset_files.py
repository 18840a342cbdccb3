"""Files for the tests of the loaders: real ones where they are, small ones made up."""

from __future__ import annotations

import bz2
import hashlib
import os
from pathlib import Path
from urllib.error import URLError

import pytest


def local_data(folder: str) -> Path:
    """Find the real files, for the tests that check real shapes."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    home = Path(os.environ.get("UNCONFUSED_DATA") or beside)
    if not (home / folder).is_dir():
        pytest.skip(f"no local copy of {folder}: set UNCONFUSED_DATA to the folder that has it")
    return home


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def write_bz2(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress(text.encode()))


def no_network(*args, **kwargs):
    raise URLError("nobody answers")
