"""The same fits by two checkouts, in turn: what a change costs, or saves.

``python -m engine.beside OTHER`` (in the folder benchmarks) times UMA's updates here and in the
checkout OTHER on the same rows, alternating between two processes so that a slow spell of the
machine hits both alike. Medians of seconds per fit, and the ratio of speeds.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
SETS = ["dense", "sparse", "letter", "classes250", "classes1000", "likelihood"]


def make_problem(name: str, double: bool) -> tuple[Any, ...]:
    """Return rows, labels, confusion and intercept of one of `SETS`."""
    from engine.data import dense, named

    if name.startswith("classes"):
        problem = dense(30_000, n_columns=100, n_classes=int(name.removeprefix("classes")))
    else:
        problem = named(HERE / "results")["dense" if name == "likelihood" else name]()
    X = problem.X.astype(np.float64) if double else problem.X
    return X, problem.y, problem.confusion, problem.intercept


def make_fit(name: str, updates: int, n_jobs: int) -> Any:
    """Return a function that fits once to the problem on the standard input."""
    from unconfused import UMAClassifier, UnconfusedLogisticRegression

    X, y, confusion, intercept = pickle.load(sys.stdin.buffer)
    if name == "likelihood":
        model = UnconfusedLogisticRegression(confusion, l2=1e-4, relabel=0, n_jobs=n_jobs)
    else:
        model = UMAClassifier(
            confusion, max_iter=updates, tol=1e-9, fit_intercept=intercept, n_jobs=n_jobs
        )
        if hasattr(model, "whiten"):  # earlier checkouts have no such setting
            model.whiten = False
    return lambda: model.fit(X, y)


def serve(name: str, updates: int, n_jobs: int) -> None:
    """Fit once for every byte that comes in, and answer with wall-clock and CPU seconds."""
    warnings.simplefilter("ignore")
    fit = make_fit(name, updates, n_jobs)
    while sys.stdin.buffer.read(1):
        wall, cpu = time.perf_counter(), time.process_time()
        model = fit()
        took = time.perf_counter() - wall, time.process_time() - cpu
        checksum = float(np.abs(model.coef_).sum())
        print(*took, checksum, flush=True)


def start(
    tree: Path, name: str, problem: tuple[Any, ...], options: argparse.Namespace
) -> subprocess.Popen[bytes]:
    """Start a process that fits with the sources of one checkout."""
    environment = os.environ | {
        "PYTHONPATH": f"{tree / 'src'}:{HERE}",
        "NUMBA_CACHE_DIR": str(tree / "benchmarks" / "results" / "numba"),
    }
    if options.n_jobs == 1:
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable, "-m", "engine.beside", ".", "--serve", name,
        "--updates", str(options.updates), "--n-jobs", str(options.n_jobs),
    ]  # fmt: skip
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    # The problem is made once: checkouts may draw other labels from the same seed.
    pickle.dump(problem, process.stdin, protocol=5)
    process.stdin.flush()
    return process


def ask(process: subprocess.Popen[bytes]) -> tuple[float, float, float]:
    """Let a process fit once."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    wall, cpu, checksum = (float(word) for word in process.stdout.readline().split())
    return wall, cpu, checksum


def main() -> None:
    """Compare, and print a line for every set of rows."""
    parser = argparse.ArgumentParser(prog="python -m engine.beside", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("--only", nargs="*", default=SETS[:3], choices=SETS)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--double", action="store_true", help="rows in double precision")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.updates, options.n_jobs)
        return
    for name in options.only:
        trees = {"other": options.other.resolve(), "here": HERE.parent}
        problem = make_problem(name, options.double)
        processes = {who: start(tree, name, problem, options) for who, tree in trees.items()}
        times: dict[str, list[tuple[float, float, float]]] = {who: [] for who in trees}
        for turn in range(options.repeats + 1):
            for who, process in processes.items():
                answer = ask(process)
                if turn:  # the first fit compiles
                    times[who].append(answer)
        for process in processes.values():
            process.communicate()
        other, here = (np.median(times[who], axis=0) for who in trees)
        print(
            f"{name}: wall {other[0]:.2f} s -> {here[0]:.2f} s, speed {other[0] / here[0]:.2f}; "
            f"CPU {other[1]:.2f} s -> {here[1]:.2f} s, speed {other[1] / here[1]:.2f}; "
            f"weights differ by {abs(other[2] - here[2]) / other[2]:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
