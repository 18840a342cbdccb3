"""One rule for every method's penalty, without a clean label that the method may not see."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.league.block import Method
from experiments.league.problem import Problem
from unconfused._typing import FloatArray, IntArray

PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5)
"""Tried by every method, the strongest first: it wins ties."""


def choose_penalty(method: Method, problem: Problem) -> float:
    """Return the penalty that predicts most of the held-out labels.

    These are the labels as seen, or the truths of trusted rows if there are any. A held-out row
    leaves the fit entirely. (The likelihood of held-out labels would choose by how sure a method
    is, rather than by what it tells apart.)
    """
    if method.title not in problem.penalties:
        problem.penalties[method.title] = _search(method, problem)
    return problem.penalties[method.title]


def _search(method: Method, problem: Problem) -> float:
    scores = np.zeros(len(PENALTIES))
    failure: Exception | None = None
    for fold in problem.tuning:
        for place, l2 in enumerate(PENALTIES):
            try:
                fitted = method.fit(fold.rest, fold.strength * l2)
                scores[place] += _hits(fitted, problem, fold.held)
            except (ValueError, FloatingPointError) as error:
                failure = error
    if failure is not None and not np.any(scores):
        raise failure
    return PENALTIES[int(np.argmax(scores))]


def _hits(model: Any, problem: Problem, held: IntArray) -> int:
    probability = full_probability(model, problem.X[held], problem.n_classes)
    return int(np.sum(probability.argmax(axis=1) == problem.best_known[held]))


def full_probability(model: Any, X: Any, n_classes: int) -> FloatArray:
    """Return a model's probabilities over all classes, 0 for those it has not met."""
    table = np.zeros((X.shape[0], n_classes))
    met = getattr(model, "classes_", None)
    if met is None:
        met = model.clf.classes_  # CleanLearning keeps those of the model inside it
    table[:, np.asarray(met, dtype=int)] = model.predict_proba(X)
    return table
