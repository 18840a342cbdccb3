"""Linear methods, each as a function of a problem and a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import SelfTrainingClassifier

from experiments.league.block import Fit, Method
from experiments.league.corrections import CorrectedSoftmax
from experiments.league.problem import Problem
from unconfused import UMAClassifier, UnconfusedLogisticRegression, confusion

MOST_ENTRIES = 10_000_000
"""Sparse rows are made dense, for a method that wants them so, up to this many entries."""


def logistic(l2: float, n_rows: int) -> LogisticRegression:
    """Return scikit-learn's logistic regression at a penalty per row."""
    return LogisticRegression(C=1.0 / (l2 * n_rows), max_iter=500)


def _on_seen(problem: Problem, l2: float) -> Any:
    return logistic(l2, problem.n_rows).fit(problem.X, problem.seen)


def _on_trusted(problem: Problem, l2: float) -> Any:
    rows = problem.trusted
    return logistic(l2, len(rows)).fit(problem.X[rows], problem.truth[rows])


def _on_both(problem: Problem, l2: float) -> Any:
    return logistic(l2, problem.n_rows).fit(problem.X, problem.best_known)


def _knowledge_of(problem: Problem) -> dict[str, Any]:
    """Return the matrix to learn through, where there is one, as UMA takes it."""
    if problem.matrix is not None:
        return {"confusion": problem.matrix}
    if len(problem.trusted) > 0:
        return {"confusion": None}
    return {"confusion": problem.guessed}


def _truth_of(problem: Problem) -> dict[str, Any]:
    """Return the truths as our learners take them."""
    if len(problem.trusted) == 0:
        return {}
    return {"y_true": np.where(problem.truth >= 0, problem.truth, np.nan)}


def ours(problem: Problem, l2: float = 0.0) -> Any:
    """Fit ours: the same call everywhere, with whatever is known; nothing is set."""
    labels, matrix = problem.seen, "auto" if problem.matrix is None else problem.matrix
    if problem.votes is not None:
        labels, matrix = np.where(problem.votes >= 0, problem.votes, np.nan), None
    model = UnconfusedLogisticRegression(
        matrix, classes=np.arange(problem.n_classes), n_jobs=1, random_state=problem.seed
    )
    return model.fit(problem.X, labels, **_truth_of(problem))


def fit_uma(problem: Problem, l2: float = 0.0, **settings: Any) -> Any:
    """Fit UMA, at its defaults but for these settings."""
    model = UMAClassifier(
        **_knowledge_of(problem),
        classes=np.arange(problem.n_classes),
        random_state=problem.seed,
        n_jobs=1,
        **settings,
    )
    return model.fit(problem.X, problem.seen, **_truth_of(problem))


def _corrected(correction: str) -> Fit:
    def fit(problem: Problem, l2: float) -> Any:
        matrix = problem.matrix
        if matrix is None:
            rows = problem.trusted
            matrix = confusion.from_trusted(
                problem.truth[rows], problem.seen[rows], classes=np.arange(problem.n_classes)
            ).matrix
        model = CorrectedSoftmax(matrix, correction, l2)
        return model.fit(problem.X, problem.seen, problem.truth)

    return fit


def _clean_learning(problem: Problem, l2: float) -> Any:
    from cleanlab.classification import CleanLearning

    model = CleanLearning(
        logistic(l2, problem.n_rows),
        seed=problem.seed,
        find_label_issues_kwargs={"n_jobs": 1},  # the league itself runs on all cores
    )
    # Its matrix has columns true and rows seen.
    known = {} if problem.matrix is None else {"noise_matrix": problem.matrix.T}
    return model.fit(problem.X, problem.best_known, **known)


def _self_training(problem: Problem, l2: float) -> Any:
    model = SelfTrainingClassifier(logistic(l2, len(problem.trusted)))
    return model.fit(problem.X, problem.truth)


class DenseRows:
    """A fitted classifier of dense rows, for rows of either kind."""

    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict(self, X: Any) -> Any:
        """Return the likeliest class."""
        return self.model.predict(X.toarray() if issparse(X) else X)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class."""
        return self.model.predict_proba(X.toarray() if issparse(X) else X)


def _annotator_logistic(problem: Problem, l2: float) -> Any:
    from skactiveml.classifier.multiannotator import AnnotatorLogisticRegression

    assert problem.votes is not None
    if np.prod(problem.X.shape) > MOST_ENTRIES:
        raise ValueError(
            "AnnotatorLogisticRegression takes dense rows only, and there are too many."
        )
    X = problem.X.toarray() if issparse(problem.X) else problem.X
    votes = problem.votes.astype(float)
    gold = problem.truth >= 0
    if gold.any():
        # It has no place for truths: one more annotator, who is always right.
        votes = np.column_stack([votes, np.where(gold, problem.truth, -1)])
    votes[votes < 0] = np.nan
    model = AnnotatorLogisticRegression(
        classes=list(range(problem.n_classes)),
        weights_prior=l2 * problem.n_rows,
        random_state=problem.seed,
    )
    return DenseRows(model.fit(X, votes))


ANY = ("known", "trusted", "none")

METHODS: dict[str, Method] = {
    "clean": Method("LR, clean labels", _on_seen, ("clean",)),
    "noisy": Method("LR, noisy labels", _on_seen, ("none",)),
    "trusted": Method("LR, trusted rows", _on_trusted, ("trusted",)),
    "mixed": Method("LR, both mixed", _on_both, ("trusted",)),
    "ours": Method("UnconfusedLogisticRegression", ours, ANY, tuned=False, ours=True),
    "uma": Method("UMA", fit_uma, ANY, tuned=False),
    "forward": Method("forward correction", _corrected("forward"), ("known", "trusted")),
    "backward": Method("backward correction", _corrected("backward"), ("known", "trusted")),
    "cleanlab": Method("CleanLearning", _clean_learning, ANY),
    "self-training": Method("self-training", _self_training, ("trusted",)),
    "annotator-lr": Method(
        "AnnotatorLogisticRegression", _annotator_logistic, ("trusted", "none"), votes=True
    ),
}
