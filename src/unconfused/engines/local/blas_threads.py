"""Limit BLAS to one thread while our own threads run.

After a product, OpenBLAS threads busy-wait for some 20 milliseconds and take cores away from the
loops that follow, which costs a fit that alternates between the two much of its speed-up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from numbers import Real
from typing import Any

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


SMALL = 2**22
"""Entries of rows up to which BLAS threads cost more than they gain: products of such rows take
less time than threads take to meet, and these wait busily in between."""


def n_entries(X: Any) -> int:
    """Return how many entries rows hold, as far as they know it; many if they do not."""
    if hasattr(X, "nnz"):
        return int(X.nnz)
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    # Lazy rows may not know their number: NaN in arrays, not even a number in frames.
    known = len(shape) == 2 and isinstance(shape[0], Real) and shape[0] == shape[0]
    return int(shape[0] * shape[1]) if known else sys.maxsize


def blas_threads_for(X: Any) -> AbstractContextManager[None]:
    """Return a context that limits BLAS to one thread if the rows are few."""
    return quiet_blas() if n_entries(X) <= SMALL else nullcontext()
