"""Compilation of loops, cached on disk where there is a place for it."""

from __future__ import annotations

from typing import Any

from numba import njit


def compiled(function: Any, **options: Any) -> Any:
    """Compile a loop when it is first called; it releases the interpreter while it runs."""
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # neither beside the sources nor in the user's cache can be written
        return njit(nogil=True, **options)(function)
