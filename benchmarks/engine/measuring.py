"""Times, memory and the machine's read bandwidth."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse


@dataclass
class Measured:
    """One way to fit, on one data set."""

    name: str
    seconds: list[float] = field(default_factory=list)
    updates: int | None = None
    error: float | None = None
    peak_bytes: int | None = None
    """Resident memory at its highest during a fit, over that before it, rows included."""

    @property
    def median(self) -> float:
        """Median time of a fit."""
        return float(np.median(self.seconds))


Fit = Callable[[], tuple[Callable[[Any], np.ndarray], int | None]]
"""Fits, and returns a function that predicts and the number of updates, if it makes any."""


def in_turn(fits: dict[str, Fit], X: Any, y: np.ndarray, repeats: int) -> list[Measured]:
    """Time every fit in turn, so that a slow spell of the machine hits all alike.

    The first round warms up (compilers, caches, threads) and is not counted. The literal
    transcription compiles nothing and is too long for caches: it sits that round out.
    """
    results = [Measured(name) for name in fits]
    for turn in range(repeats + 1):
        for result, fit in zip(results, fits.values(), strict=True):
            if turn == 0 and result.name.startswith("literal"):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of fits that stop at a limit, as they should
                begun = time.perf_counter()
                predict, result.updates = fit()
                seconds = time.perf_counter() - begun
            if turn:
                result.seconds.append(seconds)
            result.error = float(np.mean(predict(X) != y))
    return results


def read_seconds(X: Any, repeats: int = 7) -> float:
    """Return how long one read of all stored numbers takes, on all cores: the median."""
    arrays = [X.data, X.indices] if sparse.issparse(X) else [X]
    n_threads = os.cpu_count() or 1
    # Sums of whole machine words: no conversion may hold the reading up.
    parts = [
        part
        for array in arrays
        for part in np.array_split(array.reshape(-1).view(np.uint8), n_threads)
    ]
    words = [part[: len(part) // 8 * 8].view(np.int64) for part in parts]
    times = []
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(repeats + 1):
            begun = time.perf_counter()
            list(pool.map(np.bitwise_or.reduce, words))
            times.append(time.perf_counter() - begun)
    return float(np.median(times[1:]))


def _peak_of(fit: Callable[[], Any], warm_up: Callable[[], Any], answer: Any) -> None:
    warm_up()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # memory freed earlier must not hide what a fit takes
    before = _status("VmRSS")
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # sets the high-water mark back to what is resident now
    fit()
    answer.put(_status("VmHWM") - before)


def peak_bytes(fit: Callable[[], Any], warm_up: Callable[[], Any]) -> int | None:
    """Return how much more memory than now a fit needs at its peak; None if it cannot be told.

    It runs in a process of its own, forked from this one, with the rows already there. A fit to
    next to nothing warms it up: code that a process has to load, and what BLAS sets aside, are not
    this fit's.
    """
    if not os.path.exists("/proc/self/clear_refs"):
        return None
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=_peak_of, args=(fit, warm_up, answer))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child starts threads of its own
        child.start()
    try:
        return int(answer.get(timeout=3600))
    finally:
        child.join()


def _status(key: str) -> int:
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines[key].split()[0]) * 1024
