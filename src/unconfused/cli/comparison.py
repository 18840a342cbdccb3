"""Whether boosted trees predict held-out labels better than a linear model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from unconfused._labels import encode_labels
from unconfused._matrix import label_chances
from unconfused._typing import FloatArray
from unconfused.cli.input.task import Plan, Task, present_labels
from unconfused.confusion.estimation.calibration import best_power, sharpen
from unconfused.estimators.relabel.evidence import mean_and_error

MOST_ROWS = 6000
"""Rows that the two are compared on."""

FOLDS = 3

CLEARLY = 2.0
"""Standard errors by which trees must predict held-out labels better."""


def better_plan(task: Task, linear: Plan, trees: Plan, seed: int) -> Plan:
    """Return the trees, with a note, if they predict held-out labels clearly better.

    The linear model is fitted through C, the trees to the labels as they are. They are compared by
    the log-loss of held-out labels, each at its best temperature.
    """
    y = np.asarray(task.y)
    known = task.trusted
    noisy = np.flatnonzero(~known & present_labels(y))
    some = np.random.RandomState(seed).permutation(noisy)[:MOST_ROWS]
    names = y[some].astype(str)
    counts = np.unique(names, return_counts=True)[1]
    if len(counts) < 2 or counts.min() < FOLDS:
        return linear
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(some, names)
    truth = np.full(len(y), None) if task.y_true is None else np.asarray(task.y_true, dtype=object)
    believed = np.where(known, truth, y).astype(y.dtype)
    chances: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    settings: dict[str, Any] = {"relabel": 0}
    for train, test in splits:
        learnt = np.concatenate([some[train], np.flatnonzero(known)])
        given = None if task.y_true is None else truth[learnt]
        rows = [plan.rows[learnt] for plan in (linear, trees)]
        with warnings.catch_warnings(action="ignore"):  # the fit itself warns
            model = clone(linear.learner).set_params(**settings).fit(rows[0], y[learnt], given)
            settings["l2"] = model.l2_  # chosen once
            through = label_chances(model.confusion_)
            chances[0].append(_log_chances(model, through, linear, some[test], y))
            plain = clone(trees.learner.estimator).fit(rows[1], believed[learnt])
            right = np.eye(len(plain.classes_))
            chances[1].append(_log_chances(plain, right, trees, some[test], y))
    ours, theirs = (np.concatenate(one) for one in chances)
    gain, error = mean_and_error(theirs - ours, np.ones(len(ours)))
    if gain <= CLEARLY * error:
        return linear
    words = (
        "Boosted trees were chosen over a linear model: the log-loss of held-out labels is "
        f"{abs(theirs.mean()):.3f} with them and {abs(ours.mean()):.3f} with the linear model. "
        "--learner logistic fits the linear one."
    )
    return replace(trees, notes=[words])


def _log_chances(model: Any, chances: FloatArray, plan: Plan, test: Any, y: Any) -> FloatArray:
    """Return the logarithm of the chance of every held-out label."""
    probability = model.predict_proba(plan.rows[test])
    evidence = chances[encode_labels(y[test], classes=model.classes_, missing_label=None).observed]
    fair = sharpen(probability, best_power(probability, evidence))
    return np.asarray(np.log(np.maximum((fair * evidence).sum(axis=1), 1e-12)))
