"""Progress messages."""

from __future__ import annotations

import sys
import time


class Progress:
    """Prints the progress of a fit to stderr, every 2 / `verbose` seconds at most."""

    def __init__(self, verbose: int, what: str) -> None:
        self._pause = 2.0 / verbose if verbose > 0 else float("inf")
        self._what = what
        self._started = self._last = time.monotonic()

    def __call__(self, done: int, most: int, state: str) -> None:
        """Report that `done` of `most` steps are made, unless the last report was just now."""
        now = time.monotonic()
        if now - self._last >= self._pause:
            self._last = now
            self._print(done, most, state, now)

    def finish(self, done: int, most: int, state: str) -> None:
        """Report the final state, unless `verbose` is 0."""
        if self._pause < float("inf"):
            self._print(done, most, state, time.monotonic())

    def _print(self, done: int, most: int, state: str, now: float) -> None:
        elapsed = now - self._started
        print(f"{self._what} {done}/{most}, {elapsed:.1f} s: {state}", file=sys.stderr, flush=True)
