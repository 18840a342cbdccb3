"""The automatic fit beside scikit-learn's LogisticRegressionCV: same penalties, folds and threads.

Run: python benchmarks/automatic_fit.py [--rows N]. The first 1,500 rows of scikit-learn's digits,
or N rows of Gaussian features, with 30 % of the labels wrong. LogisticRegressionCV gets the
penalties that our search would try at most, and five folds; ours is given C. Both run in one
thread, in turn, after a warm-up. CPU time counts, as others may use the machine: the medians and
their ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegressionCV
from threadpoolctl import threadpool_limits

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.estimators.automatic.penalty import PENALTIES

REPEATS = 3


def make_rows(n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Digits, or Gaussian rows labelled by a linear concept of ten classes."""
    if n_rows is None:
        X, y = load_digits(return_X_y=True)
        return X[:1500] / 16, y[:1500]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 100))
    return X, (X @ rng.standard_normal((100, 10)) + rng.gumbel(size=(n_rows, 10))).argmax(axis=1)


def cpu_time(fit: Callable[[], object]) -> float:
    """Seconds of all threads in one fit."""
    begun = time.process_time()
    fit()
    return time.process_time() - begun


def main() -> None:
    """Print times and ratios as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=None)
    n_rows = parser.parse_args().rows
    X, truth = make_rows(n_rows)
    C = noise.symmetric(10, 0.3)
    y = noise.corrupt_labels(truth, C, random_state=0)
    unit = float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    inverse = 1 / (np.array(PENALTIES) * unit * len(y))
    theirs = LogisticRegressionCV(Cs=inverse, cv=5, scoring="neg_log_loss", max_iter=1000, n_jobs=1)
    ours = UnconfusedLogisticRegression(C, random_state=0, n_jobs=1)
    once = UnconfusedLogisticRegression(C, random_state=0, n_jobs=1, relabel=0)
    fits = {"LogisticRegressionCV": theirs, "relabel=0": once, "default": ours}
    times: dict[str, list[float]] = {name: [] for name in fits}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of parameters left at their defaults
        once.fit(X[:500], y[:500])  # compiles
        for _ in range(REPEATS):
            for name, model in fits.items():
                times[name].append(cpu_time(lambda model=model: model.fit(X, y)))
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    base = medians["LogisticRegressionCV"]
    found = {
        "rows": len(y),
        "cpu_seconds": {name: round(value, 2) for name, value in medians.items()},
        "ratio": {name: round(value / base, 2) for name, value in medians.items()},
        "penalties_tried": len(once.choice_["l2"]),
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
