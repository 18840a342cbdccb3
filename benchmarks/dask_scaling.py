"""Fits on Dask collections beside one process: overhead, throughput, bytes, and a cost model.

Run: OMP_NUM_THREADS=1 python benchmarks/dask_scaling.py [--rows N ...] [--workers N] [--json FILE].
Rows are made on the workers, float32, 10 classes. Times are those of single updates and passes:
on the clock (the smallest of a run, since on a shared machine the others measure the neighbours),
and of the processor (the median; the slowest worker's on a cluster), which neighbours disturb
less. The cost model is fitted to the latter, and asked about 1e9 x 512 on 100 workers.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise
from unconfused.engines import LocalEngine
from unconfused.engines._dask_pool import PartPool
from unconfused.engines.dask import DaskEngine
from unconfused.steps import STEPS

BLOCK_ROWS = 500_000
UPDATES = 8


def make_rows(n_rows: int, n_columns: int, n_classes: int) -> tuple[Any, Any]:
    """Gaussian rows around class centres; three labels in ten are of another class."""
    centres = np.random.default_rng(0).standard_normal((n_classes, n_columns)) * 0.35
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
        UMAClassifier(C, max_iter=UPDATES, step=step, n_jobs=1).fit(X, y)
    # The first goes from no weights to some.
    return Clocks(*np.diff(ends, axis=0)[1:].T.tolist())


def pass_times(X: Any, y: Any, n_classes: int, engine: type) -> Clocks:
    """Time every pass of the likelihood."""
    clocks, spent = Clocks(), []
    model = UnconfusedLogisticRegression(
        noise.symmetric(n_classes, 0.3), max_iter=2, tol=1e-3, n_jobs=1
    )
    whole = engine.likelihood

    def likelihood(*args: Any) -> Any:
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


def bytes_per_update(n_columns: int, n_classes: int, n_updates: int) -> dict[str, float]:
    """Count what crosses between the client and one worker: commands out, answers back."""
    X, y = make_rows(20_000, n_columns, n_classes)
    X, y = X.persist(), y.persist()
    calls: list[tuple[int, int]] = []
    whole = PartPool.ask

    def ask(self: PartPool, function: Any, arguments: Any) -> list[Any]:
        answers = whole(self, function, arguments)
        calls.append((len(pickle.dumps(arguments[0])), len(pickle.dumps(answers[0]))))
        return answers

    PartPool.ask = ask  # type: ignore[method-assign]
    try:
        ends: list[int] = []

        def step(*args: Any) -> np.ndarray:
            ends.append(len(calls))
            return STEPS["perceptron"](*args)

        C = noise.symmetric(n_classes, 0.3)
        UMAClassifier(C, max_iter=n_updates, step=step).fit(X, y)
    finally:
        PartPool.ask = whole  # type: ignore[method-assign]
    per_update = [np.sum(calls[start:stop], axis=0) for start, stop in pairwise(ends[1:])]
    rounds = np.diff(ends)[1:]
    sent, answered = np.array(per_update).T
    return {
        "classes": n_classes,
        "columns": n_columns,
        "rounds": float(rounds.mean()),
        "sent": float(sent.mean()),
        "answered": float(answered.mean()),
        "answered_most": float(answered.max()),
        "all_vectors": 8.0 * n_classes**2 * (n_columns + 1),
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


def cost_model(local: list[dict[str, float]], key: str) -> dict[str, float]:
    """Fit seconds = rows * (per_row + per_value * columns) to one process's times."""
    table = np.array([[run["rows"], run["rows"] * run["columns"]] for run in local])
    seconds = np.array([run[key] for run in local])
    # In shares of each time: otherwise the largest run alone would decide.
    solution, *_ = np.linalg.lstsq(table / seconds[:, None], np.ones(len(seconds)), rcond=None)
    return {"per_row": float(solution[0]), "per_value": float(solution[1])}


def predict(
    model: dict[str, float], overhead: float, per_byte: float, n_bytes: float
) -> dict[str, float]:
    """Return seconds for 1e9 x 512 on 100 workers of one thread each."""
    rows, columns, workers = 1e9, 512, 100
    work = rows / workers * (model["per_row"] + model["per_value"] * columns)
    # All workers answer one client, one after another through its network.
    return {"work": work, "overhead": overhead, "network": workers * n_bytes * per_byte}


def main() -> None:
    """Measure, print a table, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    found: dict[str, Any] = {"workers": options.workers}
    shapes = [(1000, 50), *((rows, 50) for rows in options.rows), (100_000, 512)]
    update_times(*dask.compute(*make_rows(1000, 50, 10)), 10)  # compile
    found["one_process"] = [show(measure(*shape, 10, True), "one process") for shape in shapes]
    found["threads"] = show(measure(1000, 50, 10, False), "threads")
    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        update_times(*make_rows(1000, 50, 10), 10)
        found["cluster"] = [show(measure(*shape, 10, False), "cluster") for shape in shapes]
        found["bytes"] = [bytes_per_update(*shape, 60) for shape in ((50, 10), (512, 30))]
        found["seconds_per_byte"] = seconds_per_byte(client)
    for line in found["bytes"]:
        print(json.dumps(line))
    print(f"seconds per byte: {found['seconds_per_byte']:.3g}")
    for key in ("update", "pass"):
        model = cost_model(found["one_process"][1:], f"{key}_work")
        n_bytes = 8 * 513 * (10 if key == "pass" else 4) + 8 * 400
        tiny = found["cluster"][0][key]
        found[f"model_{key}"] = model
        found[f"prediction_{key}"] = predict(model, tiny, found["seconds_per_byte"], n_bytes)
        print(key, json.dumps(model), json.dumps(found[f"prediction_{key}"]))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


def show(result: dict[str, float], how: str) -> dict[str, float]:
    """Print one line of the table as soon as it is there."""
    print(
        f"{how:12} {result['rows']:>10,} x {result['columns']:<4} "
        f"update {1e3 * result['update']:9.2f} ms (work {1e3 * result['update_work']:9.2f})  "
        f"pass {1e3 * result['pass']:9.2f} ms (work {1e3 * result['pass_work']:9.2f})",
        flush=True,
    )
    return result


if __name__ == "__main__":
    main()
