"""Loops over rows, shared by a few threads.

The thread that asks takes its part in the work, so that one fewer has to be woken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

from unconfused.engines.rows import Rows

WORTH_A_THREAD = 200_000
"""Stored entries per thread below which starting a thread costs more than it saves."""

WORTH_ANOTHER = 500_000
"""Entries per thread, of uneven work, below which to wake another takes longer than it saves."""

PIECES_PER_THREAD = 2
"""Runs of rows per thread where the work per row is uneven."""


class RowThreads:
    """Runs loops over rows on a few threads."""

    def __init__(self, n_threads: int, rows: Rows) -> None:
        worth = max(1, rows.n_entries // WORTH_A_THREAD)
        self.n_threads = max(1, min(n_threads, worth, rows.n_rows))
        self._runs = self._cut(rows.n_rows, self.n_threads)
        self._n_rows = rows.n_rows
        self._pieces: dict[int, list[tuple[int, int]]] = {}
        self._pool = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def __call__(
        self,
        loop: Callable[[int, int], None],
        *,
        uneven: bool = False,
        n_entries: float = np.inf,
    ) -> None:
        """Call ``loop(start, stop)`` so that every row is covered once.

        Each thread takes one run of rows, or several smaller ones where the work per row is
        `uneven`, so that no thread waits long for another. Then there are fewer threads if about
        `n_entries` numbers are too few for all; two at least.
        """
        if self._pool is None:
            loop(*self._runs[0])
            return
        if not uneven:
            self._share(self._pool, loop, self._runs, self.n_threads)
            return
        n_threads = int(min(self.n_threads, max(2, n_entries // WORTH_ANOTHER)))
        if n_threads not in self._pieces:
            self._pieces[n_threads] = self._cut(self._n_rows, PIECES_PER_THREAD * n_threads)
        self._share(self._pool, loop, self._pieces[n_threads], n_threads)

    def each(self, work: Callable[[int], None], items: Iterable[int], n_entries: int) -> None:
        """Call ``work(item)`` for every item; together they go through `n_entries` numbers."""
        if self._pool is None or n_entries < 2 * WORTH_A_THREAD:
            for item in items:
                work(item)
            return
        self._share(self._pool, work, [(item,) for item in items], self.n_threads)

    def _share(
        self,
        pool: ThreadPoolExecutor,
        work: Callable[..., None],
        items: list[tuple[Any, ...]],
        n_threads: int,
    ) -> None:
        """Call ``work(*item)`` for every item, whoever is free taking the next one."""
        waiting = deque(items)

        def take() -> None:
            while True:
                try:
                    item = waiting.popleft()
                except IndexError:
                    return
                work(*item)

        n_helpers = min(n_threads, len(items)) - 1
        helpers: list[Future[None]] = []
        try:
            for _ in range(n_helpers):
                helpers.append(pool.submit(take))
            take()
        finally:
            # Nobody goes on writing once this has returned, be it because it was interrupted.
            waiting.clear()
            wait(helpers)
        for helper in helpers:
            helper.result()

    @staticmethod
    def _cut(n_rows: int, n_runs: int) -> list[tuple[int, int]]:
        edges = np.linspace(0, n_rows, min(n_runs, n_rows) + 1).astype(int).tolist()
        return list(pairwise(edges))
