"""Parallel loops over rows, and BLAS limited to one thread beside them.

After a product, OpenBLAS threads busy-wait for some 20 milliseconds and take cores away from the
loops that follow, which costs a fit that alternates between the two much of its speed-up.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, reduce
from itertools import pairwise
from numbers import Real
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from unconfused.engines.local.rows import Rows

WORTH_A_THREAD = 200_000
"""Minimum number of stored entries per thread: below, a thread costs more than it saves."""

FEW_ENTRIES = 2**22
"""Stored entries up to which BLAS threads cost more than they gain: a product of such rows takes
less time than the threads' synchronization."""

_blas_limited = threading.Lock()


class RowThreads:
    """Runs loops over rows in a thread pool; the calling thread does its share."""

    def __init__(self, n_threads: int, rows: Rows) -> None:
        worth = max(1, rows.n_entries // WORTH_A_THREAD)
        self.n_threads = max(1, min(n_threads, worth, rows.n_rows))
        self._n_rows, self._brings_threads = rows.n_rows, rows.brings_threads
        self._pool = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def pieces(self, n_pieces: int | None = None, multiple_of: int = 1) -> list[tuple[int, int]]:
        """Split the rows into chunks of about equal size, by default one per thread."""
        n_blocks = -(-self._n_rows // multiple_of)
        edges = np.linspace(0, n_blocks, min(n_pieces or self.n_threads, n_blocks) + 1).astype(int)
        return list(pairwise(np.minimum(edges * multiple_of, self._n_rows).tolist()))

    def __call__(self, loop: Callable[[int, int], None]) -> None:
        """Call ``loop(start, stop)`` on chunks that cover every row once."""
        self.each(loop, self.pieces())

    def total(self, measure: Callable[[int, int], Any]) -> Any:
        """Add up ``measure(start, stop)`` over chunks that cover every row once."""
        # Rows whose products are multithreaded already are measured in one chunk.
        pieces = [(0, self._n_rows)] if self._brings_threads else self.pieces()
        return reduce(add, self.each(measure, pieces))

    def each(self, work: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Return ``work(*item)`` of every item, in order; a thread that is free takes the next."""
        waiting = deque(enumerate(items))
        found: list[Any] = [None] * len(waiting)

        def take() -> None:
            while waiting:
                try:
                    place, item = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                found[place] = work(*item)

        n_helpers = min(self.n_threads, len(waiting)) - 1
        if self._pool is None or n_helpers < 1:
            take()
            return found
        futures = [self._pool.submit(take) for _ in range(n_helpers)]
        try:
            take()
            wait(futures)
        except BaseException:
            # No helper may still be writing when this returns, not even after an interrupt.
            waiting.clear()
            wait(futures)
            raise
        for future in futures:
            future.result()
        return found


@cache
def thread_pools() -> ThreadpoolController:
    """Return the loaded thread pools; cached, since the search takes milliseconds."""
    return ThreadpoolController()


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for: all cores this process may use if -1.

    None asks for as many, up to the current limit of OpenMP, which threadpoolctl, the environment
    and joblib's workers set where several processes share the cores.
    """
    available = cpu_count()
    if n_jobs is None:
        pools = thread_pools().info()
        loops = [pool["num_threads"] for pool in pools if pool["user_api"] == "openmp"]
        return int(max(1, min([available, *loops])))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: use 1 for one thread, -1 for all cores.")
    return n_jobs if n_jobs > 0 else max(1, int(available) + 1 + n_jobs)


@contextmanager
def quiet_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside this context.

    The limit is global to the process, so of several concurrent contexts only the first sets and
    restores it; otherwise the last to exit could restore the limit of 1 set by another.
    """
    if not _blas_limited.acquire(blocking=False):
        yield
        return
    try:
        with thread_pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _blas_limited.release()


def n_entries(X: Any) -> int:
    """Return the number of stored entries of rows; `sys.maxsize` if it is unknown."""
    if hasattr(X, "nnz"):
        return int(X.nnz)
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    # The number of rows of a Dask collection may be unknown: NaN (array) or lazy (frame).
    known = len(shape) == 2 and isinstance(shape[0], Real) and shape[0] == shape[0]
    return int(shape[0] * shape[1]) if known else sys.maxsize


def blas_threads_for(X: Any) -> AbstractContextManager[None]:
    """Return a context that limits BLAS to one thread if the rows are few."""
    return quiet_blas() if n_entries(X) <= FEW_ENTRIES else nullcontext()
