"""How fast rows come in that lie scattered, beside rows in order: the limit of looking at few.

Run in the folder benchmarks: python -m engine.scattered [--share 0.12]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from unconfused.engines._look_kernels import dense_refresh

from engine.data import dense
from engine.measuring import read_seconds

REPEATS = 25


def median_seconds(work: Callable[[], None]) -> float:
    """Return how long something takes, once warmed up."""
    work()
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def main() -> None:
    """Score rows for two classes: some anywhere, as many in order, and all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.12)
    share = parser.parse_args().share
    problem = dense()
    X, n_rows = problem.X, len(problem.X)
    rng, n_threads = np.random.default_rng(0), os.cpu_count() or 1
    pool = ThreadPoolExecutor(n_threads)
    weights = rng.standard_normal((2, X.shape[1]), dtype=np.float32)
    constants, slot = np.zeros(2, dtype=np.float32), np.zeros(n_rows, dtype=np.uint8)
    stale, scores = np.array([[2, 0, 1]], dtype=np.int32), np.zeros((n_rows, 2), dtype=np.float32)

    def score(rows: np.ndarray) -> None:
        def run(some: np.ndarray) -> None:
            dense_refresh(X, some, weights, constants, stale, slot, scores)

        list(pool.map(run, np.array_split(rows, n_threads)))

    n_some = int(share * n_rows)
    anywhere = [np.sort(rng.choice(n_rows, n_some, replace=False)) for _ in range(8)]
    starts = np.linspace(0, n_rows - n_some, 8).astype(int)
    in_order = [np.arange(start, start + n_some) for start in starts]
    everything = np.arange(n_rows)
    turns = iter(range(10**9))
    ways = {
        f"{share:.0%} of the rows, anywhere": (n_some, lambda: score(anywhere[next(turns) % 8])),
        f"{share:.0%} of the rows, in order": (n_some, lambda: score(in_order[next(turns) % 8])),
        "all rows, in order": (n_rows, lambda: score(everything)),
    }
    whole = read_seconds(X)
    print(f"{problem.name}: one read {1e3 * whole:.2f} ms ({X.nbytes / whole / 1e9:.1f} GB/s)")
    for name, (count, work) in ways.items():
        seconds = median_seconds(work)
        rate = count * X[0].nbytes / seconds / 1e9
        print(f"  {name:30s} {1e3 * seconds:6.2f} ms {rate:6.1f} GB/s {seconds / whole:6.2f} reads")


if __name__ == "__main__":
    main()
