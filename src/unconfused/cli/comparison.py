"""Whether boosted trees predict held-out labels better than a linear model."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

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

    The linear model learns through C, the trees learn the labels as they are: both then say how
    likely each held-out label was, at the temperature that suits them best.
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
    chances: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    settings: dict[str, Any] = {"relabel": 0}
    for train, test in splits:
        learnt = np.concatenate([some[train], np.flatnonzero(known)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit itself warns
            model, found = _log_chances(task, linear, learnt, some[test], y, **settings)
            chances[0].append(found)
            chances[1].append(_log_chances(task, trees, learnt, some[test], y, as_they_are=True)[1])
        settings["l2"] = model[-1].l2_  # chosen once
    ours, theirs = (np.concatenate(one) for one in chances)
    gain, error = mean_and_error(theirs - ours, np.ones(len(ours)))
    if gain <= CLEARLY * error:
        return linear
    words = (
        "Boosted trees were chosen over a linear model: the log-loss of held-out labels is "
        f"{-theirs.mean():.3f} with them and {-ours.mean():.3f} with the linear model. "
        "--learner logistic fits the linear one."
    )
    return replace(trees, notes=[words])


def _log_chances(
    task: Task,
    plan: Plan,
    train: Any,
    test: Any,
    y: Any,
    *,
    as_they_are: bool = False,
    **settings: Any,
) -> tuple[Any, FloatArray]:
    """Return the fitted model, and the logarithm of the chance of every held-out label."""
    model = clone(plan.model)
    truth = None if task.y_true is None else np.asarray(task.y_true, dtype=object)[train]
    if as_they_are:
        # The labels themselves, and the truth where it is known.
        labels = y[train] if truth is None else np.where(present_labels(truth), truth, y[train])
        model.steps[-1] = ("learner", clone(plan.learner.estimator))
        model.fit(_safe_indexing(plan.rows, train), labels.astype(y.dtype))
        chances = np.eye(len(model.classes_))
    else:
        model.set_params(**{f"learner__{name}": value for name, value in settings.items()})
        given = {} if truth is None else {"learner__y_true": truth}
        model.fit(_safe_indexing(plan.rows, train), y[train], **given)
        chances = label_chances(model[-1].confusion_)
    probability = model.predict_proba(_safe_indexing(plan.rows, test))
    evidence = chances[encode_labels(y[test], classes=model.classes_, missing_label=None).observed]
    fair = sharpen(probability, best_power(probability, evidence))
    return model, np.log(np.maximum((fair * evidence).sum(axis=1), 1e-12))
