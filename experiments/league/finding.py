"""Finding wrong labels: ours beside cleanlab's, from the same kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from experiments.league.methods import METHODS, logistic
from experiments.league.problem import Problem
from experiments.league.tuning import choose_penalty
from unconfused import confusion
from unconfused._typing import FloatArray


@dataclass(frozen=True)
class Finder:
    """A way to say how suspicious each label is, the larger the more."""

    title: str
    find: Callable[[Problem], FloatArray]
    knowledge: str


def _ours(problem: Problem) -> FloatArray:
    """Rank by the posterior that our learner leaves behind, from folds of its own."""
    fitted = problem.kept.get("ours")
    if fitted is None:
        method = METHODS["ours"]
        fitted = method.fit(problem, choose_penalty(method, problem))
    if not hasattr(fitted, "cross_fitted_posterior_"):
        return _suspicion(clone(fitted).set_params(noisy_weight=fitted.noisy_weight_), problem)
    posterior = fitted.cross_fitted_posterior_
    return np.asarray(1.0 - posterior[np.arange(problem.n_rows), problem.seen])


def _ours_with_any(problem: Problem) -> FloatArray:
    """Rank by the posterior that our library makes of any classifier's probabilities."""
    l2 = choose_penalty(METHODS["noisy"], problem)
    return _suspicion(logistic(l2, problem.n_rows), problem)


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


def _cleanlab(problem: Problem, method: str = "self_confidence") -> FloatArray:
    """Rank by cleanlab's label quality, from probabilities of folds."""
    from cleanlab.rank import get_label_quality_scores

    labels = problem.best_known
    if "cleanlab" not in problem.kept:
        l2 = choose_penalty(METHODS["mixed" if len(problem.trusted) else "noisy"], problem)
        problem.kept["cleanlab"] = cross_val_predict(
            logistic(l2, problem.n_rows), problem.X, labels, cv=5, method="predict_proba"
        )
    probability = problem.kept["cleanlab"]
    return np.asarray(1.0 - get_label_quality_scores(labels, probability, method=method))


FINDERS: dict[str, Finder] = {
    "find-ours": Finder("ours", _ours, "none"),
    "find-ours-lr": Finder("ours, around LR", _ours_with_any, "none"),
    "find-ours-trusted": Finder("ours, trusted rows", _ours, "trusted"),
    "find-cleanlab": Finder("cleanlab", _cleanlab, "none"),
    "find-cleanlab-margin": Finder(
        "cleanlab, normalized margin", lambda p: _cleanlab(p, "normalized_margin"), "none"
    ),
}
