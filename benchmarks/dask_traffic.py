"""What crosses between a client and its workers, and what a byte and a task cost."""

from __future__ import annotations

import pickle
import time
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Client

from dask_timing import make_rows
from unconfused import UMAClassifier, noise
from unconfused.engines.dask.pool import PartPool
from unconfused.steps import STEPS


def bytes_per_update(
    n_rows: int, n_columns: int, n_classes: int, n_updates: int, n_workers: int
) -> dict[str, float]:
    """Count what crosses between the client and one worker: commands out, answers back."""
    X, y = make_rows(n_rows, n_columns, n_classes)
    block = -(-n_rows // n_workers)
    X, y = X.rechunk((block, -1)), y.rechunk(block)
    calls: list[tuple[int, int, int]] = []
    whole = PartPool.ask

    def ask(self: PartPool, function: Any, arguments: Any) -> list[Any]:
        answers = whole(self, function, arguments)
        pairs = len(getattr(arguments[0], "pairs", ()))
        sizes = (len(pickle.dumps(arguments[0])), len(pickle.dumps(answers[0])))
        calls.append((*sizes, pairs))
        return answers

    PartPool.ask = ask  # type: ignore[method-assign]
    try:
        ends: list[int] = []

        def step(*args: Any) -> np.ndarray:
            ends.append(len(calls))
            return STEPS["perceptron"](*args)

        C = noise.symmetric(n_classes, 0.3)
        UMAClassifier(C, max_iter=n_updates, step=step, whiten=False).fit(X, y)
    finally:
        PartPool.ask = whole  # type: ignore[method-assign]
    # The first update goes from no weights to some: what was known of the vectors is void.
    per_update = [np.sum(calls[start:stop], axis=0) for start, stop in pairwise(ends[1:])]
    sent, answered, vectors = np.array(per_update).T
    return {
        "rows": n_rows,
        "columns": n_columns,
        "classes": n_classes,
        "workers": n_workers,
        "updates": len(per_update),
        "rounds": float(np.diff(ends)[1:].mean()),
        "vectors": float(vectors.mean()),
        "vectors_most": float(vectors.max()),
        "sent": float(sent.mean()),
        "sent_most": float(sent.max()),
        "answered": float(answered.mean()),
        "answered_most": float(answered.max()),
        "restart": float(max(sent_first for sent_first, *_ in calls[: ends[0]])),
    }


def echo(n_bytes: int) -> np.ndarray:
    """Return so many bytes."""
    return np.zeros(n_bytes, dtype=np.uint8)


def seconds_per_byte(client: Client) -> float:
    """Return what one more byte from a worker costs."""
    sizes, best = (10_000, 20_000_000), []
    for size in sizes:
        times = []
        for _ in range(6):
            started = time.perf_counter()
            client.submit(echo, size, pure=False).result()
            times.append(time.perf_counter() - started)
        best.append(min(times))
    return (best[1] - best[0]) / (sizes[1] - sizes[0])


def seconds_per_task(client: Client, n_tasks: int = 500) -> float:
    """Return what one more task costs client, scheduler and worker together."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        client.gather([client.submit(echo, 1, pure=False) for _ in range(n_tasks)])
        times.append(time.perf_counter() - started)
    return min(times) / n_tasks
