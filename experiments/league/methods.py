"""The methods of the league, each as a function of a problem and a penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from experiments.league.corrections import CorrectedSoftmax
from experiments.league.problem import Problem
from unconfused import UMAClassifier, UnconfusedLogisticRegression, confusion

Fit = Callable[[Problem, float], Any]
"""Given a problem and a penalty, return a fitted classifier."""


@dataclass(frozen=True)
class Method:
    """A contestant.

    Parameters
    ----------
    title : how tables call it
    fit : what it does
    knowledge : what it is allowed to know
    tuned : whether there is a penalty to choose
    crowd : whether it wants people's answers one by one
    raw : whether it has a kernel of its own, and so belongs to the block "for context"
    """

    title: str
    fit: Fit
    knowledge: tuple[str, ...]
    tuned: bool = True
    crowd: bool = False
    raw: bool = False


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
    """Return the matrix to learn through: the known one, or one guessed; none beside truths."""
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


def _ours(relabel: int) -> Fit:
    def fit(problem: Problem, l2: float) -> Any:
        model = UnconfusedLogisticRegression(
            **_knowledge_of(problem),
            relabel=relabel,
            l2=l2,
            classes=np.arange(problem.n_classes),
            n_jobs=1,
            random_state=problem.seed,
        )
        return model.fit(problem.X, problem.seen, **_truth_of(problem))

    return fit


def _ours_votes(relabel: int) -> Fit:
    def fit(problem: Problem, l2: float) -> Any:
        assert problem.votes is not None
        model = UnconfusedLogisticRegression(
            relabel=relabel,
            l2=l2,
            classes=np.arange(problem.n_classes),
            n_jobs=1,
            random_state=problem.seed,
        )
        votes = np.where(problem.votes >= 0, problem.votes, np.nan)
        return model.fit(problem.X, votes, **_truth_of(problem))

    return fit


def _uma(**settings: Any) -> Fit:
    def fit(problem: Problem, l2: float) -> Any:
        model = UMAClassifier(
            **_knowledge_of(problem),
            classes=np.arange(problem.n_classes),
            random_state=problem.seed,
            n_jobs=1,
            **settings,
        )
        return model.fit(problem.X, problem.seen, **_truth_of(problem))

    return fit


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


def _annotator_logistic(problem: Problem, l2: float) -> Any:
    from skactiveml.classifier.multiannotator import AnnotatorLogisticRegression

    assert problem.votes is not None
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
    return model.fit(problem.X, votes)


def _label_spreading(problem: Problem, l2: float) -> Any:
    # Its defaults but for the graph, as the full one would be n x n.
    return LabelSpreading(kernel="knn", n_neighbors=7).fit(problem.raw, problem.truth)


def _kernel_svm(problem: Problem, l2: float) -> Any:
    return SVC(kernel="linear" if issparse(problem.raw) else "rbf").fit(problem.raw, problem.seen)


ANY = ("known", "trusted", "none")

ROUNDS = 4
"""Rounds of relabelling, the one setting of ours that is not its default (votes: without)."""

METHODS: dict[str, Method] = {
    "clean": Method("LR, clean labels", _on_seen, ("clean",)),
    "noisy": Method("LR, noisy labels", _on_seen, ("none",)),
    "trusted": Method("LR, trusted rows", _on_trusted, ("trusted",)),
    "mixed": Method("LR, both mixed", _on_both, ("trusted",)),
    "uma": Method("UMA, last", _uma(), ANY, tuned=False),
    "uma-averaged": Method("UMA, averaged", _uma(average=True), ANY, tuned=False),
    "uma-means": Method('UMA, init="means"', _uma(init="means"), ANY, tuned=False),
    "ours": Method("UnconfusedLogisticRegression", _ours(ROUNDS), ANY),
    "ours-once": Method("UnconfusedLogisticRegression, relabel=0", _ours(0), ("known",)),
    "forward": Method("forward correction", _corrected("forward"), ("known", "trusted")),
    "backward": Method("backward correction", _corrected("backward"), ("known", "trusted")),
    "cleanlab": Method("CleanLearning", _clean_learning, ANY),
    "self-training": Method("self-training", _self_training, ("trusted",)),
    "ours-votes": Method(
        "UnconfusedLogisticRegression, votes", _ours_votes(0), ("trusted", "none"), crowd=True
    ),
    "ours-votes-rounds": Method(
        "UnconfusedLogisticRegression, votes, relabel=4",
        _ours_votes(ROUNDS),
        ("trusted", "none"),
        crowd=True,
    ),
    "annotator-lr": Method(
        "AnnotatorLogisticRegression", _annotator_logistic, ("trusted", "none"), crowd=True
    ),
    "label-spreading": Method(
        "label spreading", _label_spreading, ("trusted",), tuned=False, raw=True
    ),
    "kernel-svm": Method(
        "kernel SVM, labels as seen", _kernel_svm, ("clean", "none"), tuned=False, raw=True
    ),
}
