"""Times of single updates and passes: in one process, or on whatever Dask runs on.

On the clock (the smallest of a run, since on a shared machine the others measure the neighbours),
and of the processor (the median; the slowest worker's on a cluster), which neighbours disturb less.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dask
import dask.array as da
import numpy as np

from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise
from unconfused.engines import LocalEngine
from unconfused.engines.dask.engine import DaskEngine
from unconfused.engines.dask.pool import PartPool
from unconfused.steps import STEPS

BLOCK_ROWS = 500_000
UPDATES = 8


def make_rows(n_rows: int, n_columns: int, n_classes: int) -> tuple[Any, Any]:
    """Gaussian rows around class centres; three labels in ten are of another class."""
    centres = np.random.default_rng(0).standard_normal((n_classes, n_columns))
    centres *= 2.5 / np.sqrt(n_columns)  # as far apart whatever the number of columns
    chunks = da.core.normalize_chunks((min(BLOCK_ROWS, -(-n_rows // 2)),), (n_rows,))[0]

    def labels_of(seed: int, size: int) -> np.ndarray:
        return np.random.default_rng([seed, 1]).integers(n_classes, size=size)

    def rows_of(seed: int, size: int) -> np.ndarray:
        rows = np.random.default_rng([seed, 2]).standard_normal((size, n_columns), np.float32)
        rows += centres[labels_of(seed, size)].astype(np.float32)
        return rows

    def seen_of(seed: int, size: int) -> np.ndarray:
        C = noise.symmetric(n_classes, 0.3)
        return noise.corrupt_labels(labels_of(seed, size), C, random_state=seed)

    def collect(function: Callable[[int, int], np.ndarray], *shape: int, dtype: Any) -> Any:
        blocks = [
            da.from_delayed(dask.delayed(function)(seed, size), (size, *shape), dtype)
            for seed, size in enumerate(chunks)
        ]
        return da.concatenate(blocks)

    return collect(rows_of, n_columns, dtype=np.float32), collect(seen_of, dtype=np.int64)


@dataclass
class Clocks:
    """Time on the clock and of the processor, one entry per update or pass."""

    wall: list[float] = field(default_factory=list)
    work: list[float] = field(default_factory=list)

    def medians(self, name: str) -> dict[str, float]:
        """Return the best time on the clock, and the median time of the processor."""
        return {name: min(self.wall), f"{name}_work": float(np.median(self.work))}


def with_time(part: Any, task: tuple[Callable[..., Any], Any]) -> tuple[Any, float]:
    """Carry out a task, and say how much of the processor's time it took."""
    function, argument = task
    started = time.thread_time()
    answer = function(part, argument)
    return answer, time.thread_time() - started


@contextmanager
def worker_time(spent: list[float]) -> Iterator[None]:
    """Note, for every question to all parts, the time of the slowest."""
    whole = PartPool.ask

    def ask(self: PartPool, function: Any, arguments: Any) -> list[Any]:
        pairs = whole(self, with_time, [(function, argument) for argument in arguments])
        spent.append(max(seconds for _, seconds in pairs))
        return [answer for answer, _ in pairs]

    PartPool.ask = ask  # type: ignore[method-assign]
    try:
        yield
    finally:
        PartPool.ask = whole  # type: ignore[method-assign]


def update_times(X: Any, y: Any, n_classes: int) -> Clocks:
    """Time every update of UMA."""
    ends: list[tuple[float, float]] = []
    spent: list[float] = []

    def step(*args: Any) -> np.ndarray:
        ends.append((time.perf_counter(), sum(spent) if spent else time.thread_time()))
        return STEPS["perceptron"](*args)

    C = noise.symmetric(n_classes, 0.3)
    with worker_time(spent):
        UMAClassifier(C, max_iter=UPDATES, step=step, whiten=False, n_jobs=1).fit(X, y)
    # The first goes from no weights to some.
    return Clocks(*np.diff(ends, axis=0)[1:].T.tolist())


def pass_times(X: Any, y: Any, n_classes: int, engine: type) -> Clocks:
    """Time every pass of the likelihood."""
    clocks, spent = Clocks(), []
    model = UnconfusedLogisticRegression(
        noise.symmetric(n_classes, 0.3), l2=1e-4, relabel=0, max_iter=2, tol=1e-3, n_jobs=1
    )
    whole = engine.likelihood

    def likelihood(*args: Any) -> Any:
        if args[0].n_features != X.shape[1] + 1:  # scores in the place of rows: a pass of nothing
            return whole(*args)
        started = time.perf_counter(), time.thread_time(), len(spent)
        answer = whole(*args)
        clocks.wall.append(time.perf_counter() - started[0])
        local = time.thread_time() - started[1]
        clocks.work.append(sum(spent[started[2] :]) if spent else local)
        return answer

    engine.likelihood = likelihood
    try:
        with worker_time(spent), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # two steps are not meant to converge
            model.fit(X, y)
    finally:
        engine.likelihood = whole
    return clocks


def measure(n_rows: int, n_columns: int, n_classes: int, local: bool) -> dict[str, float]:
    """Time updates and passes; in one process with the rows in memory, or as Dask sees fit."""
    X, y = make_rows(n_rows, n_columns, n_classes)
    if local:
        with dask.config.set(scheduler="synchronous"):
            X, y = dask.compute(X, y)
    updates = update_times(X, y, n_classes).medians("update")
    passes = pass_times(X, y, n_classes, LocalEngine if local else DaskEngine).medians("pass")
    return {"rows": n_rows, "columns": n_columns} | updates | passes
