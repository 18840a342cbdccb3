"""Limit BLAS to one thread while our own threads run.

After a product, OpenBLAS threads busy-wait for some 20 milliseconds and take cores away from the
loops that follow, which costs a fit that alternates between the two much of its speed-up.
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
    """Return the loaded thread pools; cached, since the search takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside this context.

    The limit is global to the process, so of several concurrent contexts only the first sets and
    restores it; otherwise the last to exit could restore the limit of 1 set by another.
    """
    if not _taken.acquire(blocking=False):
        yield
        return
    try:
        with thread_pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _taken.release()
