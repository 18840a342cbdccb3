"""Wrong labels from the same `pred_probs`: ours beside every method of cleanlab.

``python -m experiments probabilities``: average precision of the ranking, for several data sets,
noises and models. Ours is compared with the best of cleanlab's methods in each cell, chosen with
the truth in hand; a difference counts if it exceeds two standard errors (paired bootstrap).
"""

from __future__ import annotations

import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.league.noises import MATRICES
from unconfused import confusion, datasets, noise
from unconfused._typing import FloatArray, IntArray

N_ROWS = {"digits": 2000, "letter": 3000}

BASES: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(C=0.1, max_iter=300),
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(10),
    "network": lambda: MLPClassifier((100,), max_iter=60, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15),
    "naive Bayes": lambda: GaussianNB(var_smoothing=1e-2),
}

CLEANLAB = [
    ("self_confidence", False),
    ("normalized_margin", False),
    ("confidence_weighted_entropy", False),
    ("self_confidence", True),
    ("normalized_margin", True),
]
"""Methods of cleanlab, and whether probabilities are adjusted by class."""

N_RESAMPLES = 50


def run_probabilities(options: Namespace) -> int:
    """Run all cells and print a line for each, then the shares; return the exit code."""
    warnings.filterwarnings("ignore")  # networks that are stopped early, folds without a class
    n_runs = options.runs or (1 if options.quick else 3)
    gaps = []
    for name in options.only or N_ROWS:
        for seed in range(n_runs):
            for cell in _cells(name, seed):
                print(json.dumps(cell), flush=True)
                gaps.append((cell["ours"] - cell["cleanlab"], cell["error"]))
    gap, error = np.array(gaps).T
    print(f"at least cleanlab's best: {np.mean(gap >= 0):.0%} of {len(gap)} cells")
    print(f"not worse beyond two standard errors: {np.mean(gap >= -2 * error):.0%}")
    print(f"better beyond two standard errors: {np.mean(gap > 2 * error):.0%}")
    print(f"mean gain {gap.mean():.3f}, largest loss {-gap.min():.3f}")
    return 0


def _cells(name: str, seed: int) -> Iterator[dict[str, Any]]:
    X, truth = _load(name, seed)
    for kind, make in MATRICES.items():
        matrix = make(int(truth.max()) + 1, seed)
        y = np.asarray(noise.corrupt_labels(truth, matrix, random_state=seed))
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for base, model in BASES.items():
            pipeline = make_pipeline(StandardScaler(), model())
            pred_probs = cross_val_predict(pipeline, X, y, cv=folds, method="predict_proba")
            ours, best, method = _ours(pred_probs, y), *_best_of_cleanlab(pred_probs, y, truth)
            wrong = y != truth
            yield {
                "data": name, "seed": seed, "noise": kind, "model": base, "method": method,
                "ours": round(average_precision_score(wrong, ours), 4),
                "cleanlab": round(average_precision_score(wrong, best), 4),
                "error": round(_standard_error(wrong, ours, best, seed), 4),
            }  # fmt: skip


def _load(name: str, seed: int) -> tuple[FloatArray, IntArray]:
    load = datasets.fetch_optdigits if name == "digits" else datasets.fetch_letter
    X, y = load(return_X_y=True)
    rows = np.random.RandomState(seed).permutation(len(y))[: N_ROWS[name]]
    return np.asarray(X, dtype=np.float64)[rows], np.unique(y, return_inverse=True)[1][rows]


def _ours(pred_probs: FloatArray, y: IntArray) -> FloatArray:
    issues = confusion.rank_from_probabilities(pred_probs, y)
    suspicion = np.empty(len(y))
    suspicion[issues.row] = issues.probability
    return suspicion


def _best_of_cleanlab(
    pred_probs: FloatArray, y: IntArray, truth: IntArray
) -> tuple[FloatArray, str]:
    from cleanlab.rank import get_label_quality_scores

    found = {}
    for method, adjust in CLEANLAB:
        quality = get_label_quality_scores(y, pred_probs, method=method, adjust_pred_probs=adjust)
        found[method + ", adjusted" * adjust] = 1.0 - np.asarray(quality)
    best = max(found, key=lambda name: average_precision_score(y != truth, found[name]))
    return found[best], best


def _standard_error(wrong: Any, one: FloatArray, other: FloatArray, seed: int) -> float:
    """Return the standard error of the difference of two average precisions."""
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(len(wrong), size=len(wrong)) for _ in range(N_RESAMPLES)]
    gaps = [
        average_precision_score(wrong[some], one[some])
        - average_precision_score(wrong[some], other[some])
        for some in drawn
    ]
    return float(np.std(gaps))
