"""BLAS on one thread while threads of our own are at work.

After a product, the other threads of OpenBLAS keep asking for more work for some 20 milliseconds
before they sleep. Meanwhile they take cores away from loops that follow: a fit that goes back and
forth between the two loses much of what threads bring it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_taken = threading.Lock()


@cache
def thread_pools() -> ThreadpoolController:
    """Find the libraries with threads of their own, once: it takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Let BLAS use one thread until this ends; of several at once, the first to come sees to it.

    The number of threads is the whole process's: if each of several put back what it found, the
    last one could put back the 1 of another. Whoever else changes it meanwhile has it put back.
    """
    if not _taken.acquire(blocking=False):
        yield
        return
    try:
        with thread_pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _taken.release()
