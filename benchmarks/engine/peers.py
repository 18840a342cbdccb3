"""What UMA is measured beside. Every maker returns a function that fits once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.svm import LinearSVC

from engine.data import Problem, dense, text
from engine.literal import LiteralUMA
from engine.measuring import Fit
from engine.plain import PlainUMA
from unconfused import UMAClassifier

SVC_ENTRIES = 30_000_000
"""Stored numbers beyond which the Crammer-Singer machine would take longer than all the rest."""


def ours(problem: Problem, max_iter: int, **settings: Any) -> Fit:
    """UMA without whitening, for at most `max_iter` updates."""

    def fit() -> Any:
        clf = UMAClassifier(
            problem.confusion, max_iter=max_iter, fit_intercept=problem.intercept, whiten=False,
            **settings,
        ).fit(problem.X, problem.y)  # fmt: skip
        return clf.predict, clf.n_iter_

    return fit


def next_to_nothing(problem: Problem) -> Fit:
    """UMA on a handful of rows of the same kind, for the code that it brings into memory."""
    if sparse.issparse(problem.X):
        return ours(text(300, n_columns=50, n_classes=3), 5, tol=1e-9)
    few = dense(300, n_columns=10, n_classes=3)
    return ours(replace(few, X=few.X.astype(problem.X.dtype)), 5, tol=1e-9)


def literal(problem: Problem, max_iter: int) -> Fit:
    """Make UMA as the paper writes it, with whole-array products."""

    def fit() -> Any:
        model = LiteralUMA(problem.confusion, max_iter, problem.intercept)
        model.fit(problem.X, problem.y)
        weights = model.weights

        def predict(X: Any) -> np.ndarray:
            return np.asarray((X @ weights[:, :-1].T + weights[:, -1]).argmax(axis=1))

        return predict, model.n_iter_

    return fit


def plain(problem: Problem, max_iter: int) -> Fit:
    """Make UMA incremental, with whole-array products: what one would write in an afternoon."""

    def fit() -> Any:
        model = PlainUMA(problem.confusion, max_iter, problem.intercept)
        weights = model.fit(problem.X, problem.y).weights

        def predict(X: Any) -> np.ndarray:
            return np.asarray((X @ weights[:, :-1].T + weights[:, -1]).argmax(axis=1))

        return predict, model.n_iter_

    return fit


def weights_difference(problem: Problem, written_out: Problem, max_iter: int) -> float:
    """Return the largest difference of our weights and the literal ones, as a share of theirs.

    `written_out` is what the literal one sees: the same rows, in the same precision or another.
    """
    model = LiteralUMA(problem.confusion, max_iter, problem.intercept)
    theirs = model.fit(written_out.X, written_out.y)
    clf = UMAClassifier(
        problem.confusion, max_iter=max_iter, fit_intercept=problem.intercept, tol=1e-9,
        whiten=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(problem.X, problem.y)
    shown = theirs.weights[:, :-1]
    return float(np.abs(clf.coef_ - shown).max() / np.abs(shown).max())


def estimator(problem: Problem, make: Callable[[], Any]) -> Fit:
    """Any estimator of scikit-learn's kind; it sees the noisy labels as they are."""

    def fit() -> Any:
        model = make().fit(problem.X, problem.y)
        return model.predict, None

    return fit


def whole_fits(problem: Problem, *, slow: bool) -> dict[str, Fit]:
    """Return the peers that fit until they are done; the slow ones only if asked for."""
    makers: dict[str, Callable[[], Any]] = {
        "LogisticRegression": lambda: LogisticRegression(),
        "Perceptron": lambda: Perceptron(n_jobs=-1),
        "SGDClassifier": lambda: SGDClassifier(n_jobs=-1),
    }
    n_entries = problem.X.nnz if sparse.issparse(problem.X) else problem.X.size
    if slow and n_entries <= SVC_ENTRIES:
        makers["LinearSVC, Crammer-Singer"] = lambda: LinearSVC(
            multi_class="crammer_singer", max_iter=100
        )
    if slow and find_spec("cleanlab") and not sparse.issparse(problem.X):
        makers["CleanLearning"] = _clean_learning
    return {name: estimator(problem, make) for name, make in makers.items()}


def _clean_learning() -> Any:
    from cleanlab.classification import CleanLearning

    return CleanLearning(LogisticRegression(), find_label_issues_kwargs={"n_jobs": 1})
