"""BLAS on one thread while threads of our own are at work.

After a product, the other threads of OpenBLAS keep asking for more work for some 20 milliseconds
before they sleep. Meanwhile they take cores away from loops that follow: where a fit goes back and
forth between the two, loops take half as long again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_within = 0
_limit: Any = None


@cache
def thread_pools() -> ThreadpoolController:
    """Find the libraries with threads of their own, once: it takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Let BLAS use one thread until this ends; if it is used several times at once, until all end.

    The number of threads is the whole process's. If each use put back what it found, the last one
    could put back the 1 of another.
    """
    global _within, _limit
    with _lock:
        if _within == 0:
            _limit = thread_pools().limit(limits=1, user_api="blas")
            _limit.__enter__()
        _within += 1
    try:
        yield
    finally:
        with _lock:
            _within -= 1
            if _within == 0:
                _limit.__exit__(None, None, None)
                _limit = None
