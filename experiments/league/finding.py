"""Finding wrong labels: ours beside cleanlab's."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from experiments.league.block import Finder
from experiments.league.methods import METHODS, logistic
from experiments.league.problem import Problem
from experiments.league.tuning import choose_penalty
from unconfused import UnconfusedLogisticRegression, confusion
from unconfused._typing import FloatArray


def _ours(problem: Problem) -> FloatArray:
    """Rank by our learner at its defaults."""
    fitted = problem.kept.get("ours")
    one_label = problem.votes is None and len(problem.trusted) > 0
    if one_label and hasattr(fitted, "cross_fitted_posterior_") and fitted.relabel_ > 0:
        # What rank_label_errors would return, after fitting the same model once more.
        own = fitted.cross_fitted_posterior_[np.arange(problem.n_rows), problem.seen]
        return np.asarray(1.0 - own)
    classes = np.arange(problem.n_classes)
    return _suspicion(UnconfusedLogisticRegression(classes=classes, n_jobs=1), problem)


def _ours_with_any(problem: Problem) -> FloatArray:
    """Rank by what our library makes of any classifier's probabilities."""
    return _suspicion(_plain_model(problem), problem)


def _plain_model(problem: Problem) -> Any:
    method = METHODS["mixed" if len(problem.trusted) else "noisy"]
    return logistic(choose_penalty(method, problem), problem.n_rows)


def _suspicion(model: Any, problem: Problem) -> FloatArray:
    truth = np.where(problem.truth >= 0, problem.truth, np.nan)
    issues = confusion.rank_label_errors(
        model,
        problem.X,
        problem.seen,
        y_true=truth if len(problem.trusted) > 0 else None,
        random_state=problem.seed,
    )
    suspicion = np.zeros(problem.n_rows)
    suspicion[issues.row] = issues.probability
    return suspicion


def _cleanlab(problem: Problem, method: str) -> FloatArray:
    """Rank by cleanlab's label quality, from probabilities of folds."""
    from cleanlab.rank import get_label_quality_scores

    labels = problem.best_known
    if "cleanlab" not in problem.kept:
        folds = StratifiedKFold(5, shuffle=True, random_state=problem.seed)  # as CleanLearning does
        problem.kept["cleanlab"] = cross_val_predict(
            _plain_model(problem), problem.X, labels, cv=folds, method="predict_proba"
        )
    probability = problem.kept["cleanlab"]
    return np.asarray(1.0 - get_label_quality_scores(labels, probability, method=method))


BOTH = ("trusted", "none")

FINDERS: dict[str, Finder] = {
    "find-ours": Finder("ours", _ours, BOTH, ours=True),
    "find-ours-lr": Finder("ours, around LR", _ours_with_any, ("none",)),
} | {
    f"find-cleanlab-{name}": Finder(f"cleanlab, {words}", partial(_cleanlab, method=method), BOTH)
    for name, words, method in (
        ("confidence", "self-confidence", "self_confidence"),
        ("margin", "normalized margin", "normalized_margin"),
        ("entropy", "entropy", "confidence_weighted_entropy"),
    )
}
