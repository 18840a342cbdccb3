"""UnconfusedLogisticRegression beside scikit-learn's LogisticRegression: one fit on the same rows.

Run: python benchmarks/logistic_fit.py [--rows N]. C is given, nothing is refined, all rows count
fully; both stop at the same largest derivative. Medians over repeats, taken in turn after a
warm-up; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from unconfused import UnconfusedLogisticRegression, noise

L2 = 1e-3
TOL = 1e-4
REPEATS = 5


def make_dense(n_rows: int) -> tuple[object, np.ndarray]:
    """Gaussian rows, 200 features, labelled by a noisy linear concept of 10 classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 200), dtype=np.float32)
    scores = X @ rng.standard_normal((200, 10), dtype=np.float32) / 14
    return X, (scores + rng.gumbel(size=scores.shape) / 3).argmax(axis=1)


def make_sparse(n_rows: int) -> tuple[object, np.ndarray]:
    """Rows with 75 stored entries of 20,000 features, 10 classes."""
    rng = np.random.default_rng(1)
    columns = rng.integers(20_000, size=n_rows * 75).astype(np.int32)
    pointers = np.arange(0, n_rows * 75 + 1, 75)
    X = sparse.csr_matrix((rng.random(n_rows * 75), columns, pointers), (n_rows, 20_000))
    X.sum_duplicates()
    scores = X @ rng.standard_normal((20_000, 10)) / 5
    return X, (scores + rng.gumbel(size=scores.shape) / 3).argmax(axis=1)


def seconds_of(fits: dict[str, object], X: object, y: np.ndarray) -> dict[str, list[float]]:
    """Time every fit in turn, several times, after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in fits}
    for repeat in range(REPEATS + 1):
        for name, model in fits.items():
            start = time.perf_counter()
            model.fit(X, y)  # type: ignore[attr-defined]
            if repeat:
                times[name].append(time.perf_counter() - start)
    return times


def main() -> None:
    """Measure, and print ratios and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    n_rows = parser.parse_args().rows
    C = noise.pairwise(10, 0.3)
    results = {}
    for kind, make in {"dense": make_dense, "sparse": make_sparse}.items():
        X, true = make(n_rows)
        y = noise.corrupt_labels(true, C, random_state=0)
        fits = {
            "LogisticRegression": LogisticRegression(C=1 / (L2 * n_rows), tol=TOL, max_iter=1000),
            "ours, C": UnconfusedLogisticRegression(
                C, l2=L2, tol=TOL, max_iter=1000, refine=False, noisy_weight=1.0
            ),
            "ours, identity": UnconfusedLogisticRegression(l2=L2, tol=TOL, max_iter=1000),
        }
        times = seconds_of(fits, X, y)
        median = {name: float(np.median(values)) for name, values in times.items()}
        results[kind] = median
        print(f"\n{n_rows:,} rows, {kind}, 10 classes")
        for name, value in median.items():
            steps = np.max(fits[name].n_iter_)
            ratio = value / median["LogisticRegression"]
            print(f"  {name:20s} {value:7.3f} s  {steps:4d} steps  {ratio:5.2f}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
