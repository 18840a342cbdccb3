"""One rule for every method's penalty, without a clean label that the method may not see."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.league.methods import Method
from experiments.league.problem import Problem
from unconfused._typing import FloatArray, IntArray

PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5)
"""Tried by every method, the strongest first: it wins ties."""


def choose_penalty(method: Method, problem: Problem) -> float:
    """Return the penalty that predicts most of the held-out labels, the best known of each row.

    That is the seen label, or the truth where a row is trusted. A held-out row leaves the fit
    entirely, its truth included. (The likelihood of held-out labels would choose by how sure a
    method is, rather than by what it tells apart.)
    """
    if method.title not in problem.penalties:
        problem.penalties[method.title] = _search(method, problem)
    return problem.penalties[method.title]


def _search(method: Method, problem: Problem) -> float:
    tuning = problem.tuning
    scores = []
    failure: Exception | None = None
    for l2 in PENALTIES:
        try:
            fitted = method.fit(tuning.rest, tuning.strength * l2)
            scores.append(_agreement(fitted, problem, tuning.held))
        except (ValueError, FloatingPointError) as error:
            scores.append(-np.inf)
            failure = error
    if failure is not None and not np.any(np.isfinite(scores)):
        raise failure
    return PENALTIES[int(np.argmax(scores))]


def _agreement(model: Any, problem: Problem, held: IntArray) -> float:
    probability = full_probability(model, problem.X[held], problem.n_classes)
    return float(np.mean(probability.argmax(axis=1) == problem.best_known[held]))


def full_probability(model: Any, X: Any, n_classes: int) -> FloatArray:
    """Return a model's probabilities over all classes, 0 for those it has not met."""
    table = np.zeros((X.shape[0], n_classes))
    met = getattr(model, "classes_", None)
    if met is None:
        met = model.clf.classes_  # CleanLearning keeps those of the model inside it
    table[:, np.asarray(met, dtype=int)] = model.predict_proba(X)
    return table
