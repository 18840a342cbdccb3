"""One rule for every method's penalty, without a clean label that the method may not see."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from experiments.league.methods import Method
from experiments.league.problem import Problem
from unconfused._typing import FloatArray, IntArray

PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5)
"""Tried by every method, the strongest first: it wins ties."""

FACTORS = np.geomspace(0.2, 20.0, 21)


def choose_penalty(method: Method, problem: Problem) -> float:
    """Return the penalty that does best on held-out rows, which leave the fit entirely.

    Without trusted rows, best is to predict most of the held-out labels as seen. With trusted
    rows these are held out, and as they are too few to count hits, best is to make their truths
    likeliest. Probabilities are sharpened or flattened first, by the one factor on all scores
    that serves them best: how sure a method is shall not decide how strong its penalty is.
    """
    if method.title not in problem.penalties:
        problem.penalties[method.title] = _search(method, problem)
    return problem.penalties[method.title]


def _search(method: Method, problem: Problem) -> float:
    rest, held = problem.tuning
    scores = []
    failure: Exception | None = None
    for l2 in PENALTIES:
        try:
            scores.append(_agreement(method.fit(rest, l2), problem, held))
        except (ValueError, FloatingPointError) as error:
            scores.append(-np.inf)
            failure = error
    if failure is not None and not np.any(np.isfinite(scores)):
        raise failure
    return PENALTIES[int(np.argmax(scores))]


def _agreement(model: Any, problem: Problem, held: IntArray) -> float:
    probability = full_probability(model, problem.X[held], problem.n_classes)
    if len(problem.trusted) == 0:
        return float(np.mean(probability.argmax(axis=1) == problem.seen[held]))
    logs = np.log(np.maximum(probability, 1e-12))
    margins = logs - logs[np.arange(len(held)), problem.truth[held]][:, np.newaxis]
    return float(max(-logsumexp(factor * margins, axis=1).mean() for factor in FACTORS))


def full_probability(model: Any, X: Any, n_classes: int) -> FloatArray:
    """Return a model's probabilities over all classes, 0 for those it has not met."""
    table = np.zeros((X.shape[0], n_classes))
    met = getattr(model, "classes_", None)
    if met is None:
        met = model.clf.classes_  # CleanLearning keeps those of the model inside it
    table[:, np.asarray(met, dtype=int)] = model.predict_proba(X)
    return table
