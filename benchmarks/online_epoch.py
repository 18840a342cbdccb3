"""One epoch of UltraconservativeClassifier beside one of scikit-learn's Perceptron.

Run: python benchmarks/online_epoch.py [--rows N]. Both learners see the same rows in one process,
in turn, after a warm-up; the medians and their ratio are what counts, as machines differ.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.linear_model import Perceptron

from unconfused import UltraconservativeClassifier
from unconfused.steps import STEPS

N_CLASSES = 10
REPEATS = 5


def make_rows(n_rows: int, n_features: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows labelled by a linear concept, one in ten at random: never free of mistakes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    y = (X @ rng.standard_normal((n_features, N_CLASSES), dtype=np.float32)).argmax(axis=1)
    wrong = rng.random(n_rows) < 0.1
    y[wrong] = rng.integers(N_CLASSES, size=wrong.sum())
    return X, y


def median_seconds(fits: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time each fit several times, in turn, so that a slow spell of the machine hits all alike."""
    for fit in fits.values():
        fit()
    times: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(REPEATS):
        for name, fit in fits.items():
            start = time.perf_counter()
            fit()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def main() -> None:
    """Measure, and print a table of ratios and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    X, y = make_rows(n_rows)
    few = sparse.random(n_rows, 5_000, 50 / 5_000, format="csr", dtype=np.float32, rng=0)
    results: dict[str, dict[str, float]] = {}
    for kind, rows in {"dense 50 features": X, "CSR 5,000 features, 50 stored": few}.items():
        fits: dict[str, Callable[[], object]] = {
            "Perceptron": lambda rows=rows: Perceptron(max_iter=1, tol=None).fit(rows, y)
        }
        for step in STEPS:
            clf = UltraconservativeClassifier(step=step, max_iter=1)
            fits[step] = lambda clf=clf, rows=rows: clf.fit(rows, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one epoch is no convergence, and says so
            results[kind] = median_seconds(fits)
        print(f"\n{n_rows:,} rows, {kind}, float32, {N_CLASSES} classes; one epoch")
        peer = results[kind]["Perceptron"]
        for name, seconds in results[kind].items():
            print(f"  {name:20s} {seconds:7.3f} s   {seconds / peer:5.2f} of Perceptron")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
