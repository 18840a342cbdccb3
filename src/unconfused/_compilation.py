"""Just-in-time compilation with a fault-tolerant disk cache.

A cache problem costs compile time and nothing else: unreadable files are replaced, and without a
writable folder nothing is cached. Either is reported by one warning per process.
"""

# mypy: allow-untyped-calls
# (numba's classes have no types)

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic

Writer = TypeVar("Writer", bound=Callable[..., Any])


def compiled(function: Any, **options: Any) -> Any:
    """Compile a function on its first call; it releases the GIL while it runs."""
    loop = njit(nogil=True, **options)(function)
    if loop is function:  # NUMBA_DISABLE_JIT
        return loop
    try:
        loop._cache = _LoopCache(function)
    except (RuntimeError, OSError) as error:  # not cached then
        _tell("there is no folder to write to", error)
    return loop


def instruction(plain: Callable[..., Any]) -> Callable[[Writer], Writer]:
    """Return a decorator for an LLVM intrinsic that numba does not expose.

    `plain`, its Python equivalent, is used where NUMBA_DISABLE_JIT turns compilation off.
    """
    make: Any = (lambda write: plain) if vars(config)["DISABLE_JIT"] else intrinsic
    return cast(Callable[[Writer], Writer], make)


class _LoopCache(FunctionCache):
    """Cache of a compiled function that never makes a call fail."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        file = self._cache_file
        base = file._index_name.removesuffix(".nbi")
        # numba checks only the function's own source file, but callees are compiled into it: the
        # stamp covers all sources, so that a change to a callee invalidates the cache.
        stamp = file._source_stamp, sources_stamp()
        self._cache_file = _KeyedFile(file._cache_path, base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types; None if there is no usable one."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            with suppress(OSError):
                self.flush()  # a damaged index would make saving fail too
            _tell(f"{self._cache_file._index_path} cannot be used", error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled function for later processes, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _tell(f"{self._cache_path} cannot be written to", error)


class _KeyedFile(IndexDataCacheFile):
    """Cache files that say which loop they hold, of which sources."""

    def save(self, key: Any, data: Any) -> None:
        """Save the data of a key, along with the key."""
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """Return the data of a key; None if there is none."""
        found = super().load(key)
        if found is None:
            return None
        # Concurrent processes can use one file name for two functions, and a stale file can have
        # the name of one that was never written.
        stamp, saved_key, data = found
        return data if (stamp, saved_key) == (self._source_stamp, key) else None


_told = False


def _tell(what: str, error: Exception) -> None:
    """Warn about the cache, once per process."""
    global _told
    if not _told:
        _told = True
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"The cache of compiled loops: {what} ({reason}). Every process compiles them again, "
            "which takes a while; the results are the same. Set NUMBA_CACHE_DIR to a writable "
            "folder.",
            RuntimeWarning,
            stacklevel=2,
        )


@cache
def sources_stamp() -> str:
    """Return a hash of all source files that contain compiled functions."""
    package = Path(__file__).parent
    places = [package / "steps.py", package / "engines", package / "solvers"]
    files = [file for place in places for file in sorted([place, *place.rglob("*.py")])]
    sources = [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"".join(sources)).hexdigest()
