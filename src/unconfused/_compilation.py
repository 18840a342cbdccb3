"""Compilation of loops, cached on disk where there is a place for it.

Compiled loops that cannot be read from the cache, or not written to it, cost time and nothing else:
what is damaged is compiled again and replaced, and a folder that is full or cannot be written to
is done without. A warning says so once.
"""

# mypy: allow-untyped-calls
# (numba's classes have no types)

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.extending import intrinsic

Writer = TypeVar("Writer", bound=Callable[..., Any])

DIGEST_BYTES = hashlib.sha256().digest_size


def compiled(function: Any, **options: Any) -> Any:
    """Compile a loop when it is first called; it releases the interpreter while it runs."""
    loop = njit(nogil=True, **options)(function)
    if loop is function:  # NUMBA_DISABLE_JIT
        return loop
    try:
        loop._cache = _LoopCache(function)
    except (RuntimeError, OSError) as error:  # no folder could be written to
        loop._cache = _NoCache(error)
    return loop


def instruction(plain: Callable[..., Any]) -> Callable[[Writer], Writer]:
    """Return a decorator for an instruction numba has no name for; `plain` is it in Python.

    That is called instead where NUMBA_DISABLE_JIT lets nothing be compiled.
    """
    make: Any = (lambda write: plain) if vars(config)["DISABLE_JIT"] else intrinsic
    return cast(Callable[[Writer], Writer], make)


class _LoopCache(FunctionCache):
    """A cache that never makes a call fail."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        file = self._cache_file
        base = file._index_name.removesuffix(".nbi")
        # numba minds the loop's own file alone. A loop has those that it calls compiled into it:
        # after an upgrade that changed one of them it would go on with the old one.
        stamp = file._source_stamp, sources_stamp()
        self._cache_file = _CheckedFile(file._cache_path, base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled loop for these types, None if there is none that can be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            with suppress(OSError):
                self.flush()  # or it could not be saved either
            _tell(f"{self._cache_file._index_path} cannot be used", error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled loop for the next process, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _tell(f"{self._cache_path} cannot be written to", error)


class _NoCache(NullCache):
    """Nothing is kept; a warning says so where something would have been."""

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep nothing."""
        _tell("there is no folder to write to", self._reason)


class _CheckedFile(IndexDataCacheFile):
    """The files of a cache, each with a checksum: damaged machine code must not be run."""

    def save(self, key: Any, data: Any) -> None:
        """Save what belongs to a key, with the key."""
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """Return what belongs to a key; None if there is nothing."""
        found = super().load(key)
        if found is None:
            return None
        # Two processes can give two loops the same name, and a file of an older version can bear
        # the name of one that was never written.
        stamp, saved_key, data = found
        return data if (stamp, saved_key) == (self._source_stamp, key) else None

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()  # pickle does not mind what follows

    def _load_index(self) -> Any:
        with suppress(FileNotFoundError), open(self._index_path, "rb") as file:
            if pickle.load(file) == self._version:
                _check(file.read())
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(Path(self._data_path(name)).read_bytes())
        return super()._load_data(name)


def _check(data: bytes) -> None:
    if hashlib.sha256(data[:-DIGEST_BYTES]).digest() != data[-DIGEST_BYTES:]:
        raise ValueError("the file is damaged")


_told = False


def _tell(what: str, error: Exception) -> None:
    """Warn of the cache, once in a process."""
    global _told
    if not _told:
        _told = True
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"The cache of compiled loops: {what} ({reason}). Loops are compiled anew, which takes "
            "a while in every process; the results are the same. NUMBA_CACHE_DIR names another "
            "folder for it.",
            RuntimeWarning,
            stacklevel=2,
        )


@cache
def sources_stamp() -> str:
    """Return a text that is another for other sources of loops."""
    package = Path(__file__).parent
    places = [package / "steps.py", package / "engines", package / "solvers"]
    files = [file for place in places for file in sorted([place, *place.rglob("*.py")])]
    sources = [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"".join(sources)).hexdigest()
