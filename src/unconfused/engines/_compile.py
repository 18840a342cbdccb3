"""Compilation of loops, cached on disk where there is a place for it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit


def compiled(function: Any, **options: Any) -> Any:
    """Compile a loop when it is first called; it releases the interpreter while it runs."""
    try:
        loop = njit(nogil=True, cache=True, **options)(function)
        _mind_all_sources(loop)
    except (RuntimeError, AttributeError):
        # Neither beside the sources nor in the user's cache can be written; or numba has changed.
        return njit(nogil=True, **options)(function)
    return loop


def _mind_all_sources(loop: Any) -> None:
    """Let what is cached of a loop be used only while no source of any loop has changed.

    numba minds the loop's own file alone. A loop has those that it calls compiled into it: after
    an upgrade that changed one of them it would go on with the old one, and call it wrongly.
    """
    index = loop._cache._cache_file
    index._source_stamp = index._source_stamp, sources_stamp()


@cache
def sources_stamp() -> str:
    """Return a text that is another for other sources of loops."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
