"""Loops over rows, shared by a few threads.

The thread that asks takes its part in the work, so that one fewer has to be woken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from time import sleep
from typing import Any

import numpy as np

from unconfused.engines.rows import Rows

WORTH_A_THREAD = 200_000
"""Stored entries per thread below which starting a thread costs more than it saves."""

WORTH_ANOTHER = 500_000
"""Entries per thread, of uneven work, below which to wake another takes longer than it saves."""

SHORTEST_PAUSE, LONGEST_PAUSE = 5e-5, 1e-3
"""Seconds between two looks at whether all helpers are done, once they take long."""

PIECES_PER_THREAD = 2
"""Runs of rows per thread where the work per row is uneven."""


class RowThreads:
    """Runs loops over rows on a few threads."""

    def __init__(self, n_threads: int, rows: Rows) -> None:
        worth = max(1, rows.n_entries // WORTH_A_THREAD)
        self.n_threads = max(1, min(n_threads, worth, rows.n_rows))
        self._n_rows = rows.n_rows
        self._pool = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def __call__(self, loop: Callable[[int, int], None], *, uneven: bool = False) -> None:
        """Call ``loop(start, stop)`` so that every row is covered once.

        Each thread takes one run of rows, or several smaller ones where the work per row is
        `uneven`, so that no thread waits long for another.
        """
        pieces = PIECES_PER_THREAD * self.n_threads if uneven else self.n_threads
        self._share(loop, self._cut(self._n_rows, pieces))

    def each(self, work: Callable[[int], None], items: Iterable[int], n_entries: int) -> None:
        """Call ``work(item)`` for every item; together they go through `n_entries` numbers."""
        if self._pool is None or n_entries < 2 * WORTH_A_THREAD:
            for item in items:
                work(item)
            return
        self._share(work, [(item,) for item in items])

    def together(self, work: Callable[[], None], n_entries: int) -> None:
        """Call ``work()`` here, and in helpers, which share what there is to do among themselves.

        About `n_entries` numbers are gone through. Where these are few there are fewer helpers; one
        at least. Helpers that come late, once the work is done, are not waited for.
        """
        n_threads = int(min(self.n_threads, max(2, n_entries // WORTH_ANOTHER)))
        self._help(work, n_threads - 1)

    def _share(self, work: Callable[..., None], items: list[tuple[Any, ...]]) -> None:
        """Call ``work(*item)`` for every item, whoever is free taking the next one."""
        waiting = deque(items)

        def take() -> None:
            try:
                while item := _next(waiting):
                    work(*item)
            except BaseException:
                waiting.clear()
                raise

        self._help(take, min(self.n_threads, len(items)) - 1)

    def _help(self, work: Callable[[], None], n_helpers: int) -> None:
        """Call ``work()`` here, and in as many helpers as come in time."""
        if self._pool is None or n_helpers < 1:
            work()
            return
        from unconfused.engines._atomic_counter import close, enter, leave

        gate, errors = np.zeros(2, dtype=np.int64), list[BaseException]()

        def help_out() -> None:
            if enter(gate):
                try:
                    work()
                except BaseException as error:
                    errors.append(error)
                finally:
                    leave(gate)

        try:
            for _ in range(n_helpers):
                self._pool.submit(help_out)
            work()
        finally:
            # Nobody goes on writing once this has returned, be it because it was interrupted, here
            # or while it waits.
            pause = SHORTEST_PAUSE
            while True:
                try:
                    if close(gate):
                        break
                    sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
                except BaseException as error:
                    errors.append(error)
        if errors:
            raise errors[0]

    @staticmethod
    def _cut(n_rows: int, n_runs: int) -> list[tuple[int, int]]:
        edges = np.linspace(0, n_rows, min(n_runs, n_rows) + 1).astype(int).tolist()
        return list(pairwise(edges))


def _next(waiting: deque[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """Return what is waited for next, None if that is nothing; another thread may be faster."""
    try:
        return waiting.popleft()
    except IndexError:
        return None
