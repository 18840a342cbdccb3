"""Time to rank wrong labels, beside cleanlab's documented call, in one run.

Run: python benchmarks/label_errors.py {table,reuters} [--rows N]. `table` is N rows (100,000) of 30
Gaussian features in 8 classes, `reuters` the RCV1 training rows of all topics; 25 % of the labels
are wrong, half of them at random and half by pair flips. Our default chooses the penalty, the
rounds of relabelling and the confusion matrix; cleanlab's
`CleanLearning(LogisticRegression()).find_label_issues(X, y)` chooses nothing. So two more are
timed: ours with these settings given, and cleanlab around scikit-learn's `LogisticRegressionCV`,
which chooses a penalty. All run in one thread, one after the other; CPU seconds count. The average
precision of the ranking says what the time buys.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.confusion import rank_label_errors
from unconfused.datasets import fetch_reuters

GIVEN: dict[str, Any] = {"l2": 1e-4, "relabel": 0}


def make_table(n_rows: int) -> tuple[Any, Any]:
    """Return Gaussian rows labelled by a linear concept of eight classes, with some overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 30))
    scores = X @ rng.standard_normal((30, 8)) + rng.gumbel(size=(n_rows, 8))
    return X, scores.argmax(axis=1)


def corrupted(truth: Any) -> Any:
    """Return labels of which a quarter is wrong."""
    n_classes = len(np.unique(truth))
    C = (noise.symmetric(n_classes, 0.25) + noise.pairwise(n_classes, 0.25)) / 2
    return noise.corrupt_labels(truth, C, random_state=0)


def ours(X: Any, y: Any, **settings: Any) -> Any:
    """Return the rows of X by our suspicion, the most suspicious first."""
    model = UnconfusedLogisticRegression("auto", random_state=0, **settings)
    return rank_label_errors(model, X, y, random_state=0).row


def cleanlab(X: Any, y: Any, model: Any) -> Any:
    """Return the rows of X by cleanlab's label quality, the lowest first."""
    from cleanlab.classification import CleanLearning

    learner = CleanLearning(model, find_label_issues_kwargs={"n_jobs": 1})
    found = learner.find_label_issues(X, np.unique(y, return_inverse=True)[1])
    return np.argsort(found["label_quality"].to_numpy(), kind="stable")


def main() -> None:
    """Print a line per contestant as it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["table", "reuters"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--skip", nargs="*", default=[], help="contestants to leave out")
    asked = parser.parse_args()
    X, truth = make_table(asked.rows)
    if asked.data == "reuters":
        X, truth = fetch_reuters(return_X_y=True)
    y = corrupted(truth)
    usual, chosen = LogisticRegression(max_iter=1000), LogisticRegressionCV(Cs=5, cv=3)
    contestants: dict[str, Callable[[], Any]] = {
        "unconfused": lambda: ours(X, y),
        "unconfused, settings given": lambda: ours(X, y, **GIVEN),
        "cleanlab": lambda: cleanlab(X, y, usual),
        "cleanlab, penalty chosen": lambda: cleanlab(X, y, chosen),
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, labels = make_table(400)
        ours(few, labels, **GIVEN)  # loops are compiled once
        print(f"{X.shape[0]:,} rows, {X.shape[1]:,} features, {len(np.unique(y))} classes")
        for name, rank in contestants.items():
            if name in asked.skip:
                continue
            begun = time.process_time()
            order = rank()
            seconds = time.process_time() - begun
            suspicion = np.empty(len(order))
            suspicion[order] = -np.arange(len(order))
            precision = average_precision_score(y != truth, suspicion)
            print(f"{name:<28}{seconds:8.1f} s   average precision {precision:.3f}", flush=True)


if __name__ == "__main__":
    main()
