"""UnconfusedLogisticRegression beside scikit-learn's LogisticRegression: one fit on the same rows.

Run: python benchmarks/logistic_fit.py [--rows N]. C is given, nothing is refined, all rows count
fully; all stop at the same largest derivative. Medians over repeats, taken in turn after a
warm-up; the ratio is what counts. Without C the objective is the same as scikit-learn's, and it is
shown where each fit ends.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from unconfused import UnconfusedLogisticRegression, noise

L2 = 1e-3
TOL = 1e-4
MOST_STEPS = 1000
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


def make_raw(n_rows: int) -> tuple[object, np.ndarray]:
    """30 features that go together, on scales from 0.01 to 100, away from 0; 10 classes."""
    rng = np.random.default_rng(2)
    causes = rng.standard_normal((n_rows, 8))
    X = causes @ rng.standard_normal((8, 30)) + 0.3 * rng.standard_normal((n_rows, 30)) + 3.0
    scores = causes @ rng.standard_normal((8, 10))
    return X * np.logspace(-2, 2, 30), (scores + rng.gumbel(size=scores.shape) / 3).argmax(axis=1)


def objective_of(model: object, X: object, y: np.ndarray) -> float:
    """Return the mean loss of the labels as they are, plus the penalty."""
    loss = -np.mean(model.predict_log_proba(X)[np.arange(len(y)), y])  # type: ignore[attr-defined]
    return float(loss + L2 / 2 * np.sum(model.coef_**2))  # type: ignore[attr-defined]


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
    warnings.simplefilter("ignore", ConvergenceWarning)  # the table says how many steps there were
    C = noise.pairwise(10, 0.3)
    results = {}
    kinds = {"dense": make_dense, "sparse": make_sparse, "features as they come": make_raw}
    for kind, make in kinds.items():
        X, true = make(n_rows)
        y = noise.corrupt_labels(true, C, random_state=0)
        fits = {
            "LogisticRegression": LogisticRegression(
                C=1 / (L2 * n_rows), tol=TOL, max_iter=MOST_STEPS
            ),
            "ours, C": UnconfusedLogisticRegression(
                C, l2=L2, relabel=0, tol=TOL, max_iter=MOST_STEPS, refine=False, noisy_weight=1.0
            ),
            "ours, identity": UnconfusedLogisticRegression(
                l2=L2, relabel=0, tol=TOL, max_iter=MOST_STEPS
            ),
        }
        times = seconds_of(fits, X, y)
        median = {name: float(np.median(values)) for name, values in times.items()}
        results[kind] = median
        print(f"\n{n_rows:,} rows, {kind}, 10 classes")
        for name, value in median.items():
            steps = np.max(fits[name].n_iter_)
            ratio = value / median["LogisticRegression"]
            steps = f"{steps:4d} steps" + (" (at most)" if steps == MOST_STEPS else "")
            end = "" if "C" in name[-1] else f"{objective_of(fits[name], X, y):.6f}"
            print(f"  {name:20s} {value:7.3f} s  {steps}  {ratio:5.2f}  {end}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
