"""Pipelines for a task: build, estimate the confusion matrix, fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from unconfused._columns.steps import build_pipeline, prepare_frame
from unconfused._matrix import GuessedConfusionWarning
from unconfused._report.source import guess_confusion
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_options import Settings
from unconfused.cli.input.task import Plan, Task
from unconfused.cli.options import Learner
from unconfused.confusion.annotators import from_annotators
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.trusted import from_trusted
from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.uma import UMAClassifier

ROWS_TO_CHOOSE_FROM = 10_000
"""Rows on disk that settings are chosen on, at most; those whose truth is known come first."""

CHUNK = 10_000
"""Rows whose lengths are computed at a time: they may be on disk."""

EQUAL_LENGTHS = 0.01
"""Relative difference up to which row norms count as equal."""

FEWEST_ROWS, FEWEST_PER_CLASS = 500, 30
"""With fewer rows, or fewer per class, a linear model is fitted without a comparison."""


@contextmanager
def warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Collect warnings of the library as notes, without duplicates, in terms of options."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    # That a matrix is a guess is said wherever it is shown.
    told = [one for one in caught if not issubclass(one.category, GuessedConfusionWarning)]
    said = [in_options(str(one.message)) for one in told if issubclass(one.category, UserWarning)]
    notes += [line for line in dict.fromkeys(said) if line not in notes]


def make_learner(task: Task, settings: Settings) -> Any:
    """Return the classifier, not fitted."""
    classes = None if task.classes is None else task.classes.tolist()
    seed: dict[str, Any] = {"random_state": settings.seed}
    limit: dict[str, Any] = {} if settings.max_iter is None else {"max_iter": settings.max_iter}
    given: dict[str, Any] = {"classes": classes, "missing_label": None} | seed
    confusion = "auto" if task.kind == "nothing" else task.confusion
    rounds = "auto" if settings.relabel is None else settings.relabel
    if settings.learner == "trees":
        from sklearn.ensemble import HistGradientBoostingClassifier

        trees = HistGradientBoostingClassifier(**seed, **limit)
        return UnconfusedClassifier(trees, confusion, max_rounds=rounds, **given)
    if settings.learner != "uma":
        l2 = "auto" if settings.l2 is None else settings.l2
        return UnconfusedLogisticRegression(confusion, l2=l2, relabel=rounds, **given, **limit)
    if settings.relabel:
        raise ValueError("--relabel needs probabilities: use --learner logistic.")
    if task.kind == "votes":
        raise ValueError(
            "UMA takes one label per row: with several annotators use --learner logistic."
        )
    return UMAClassifier(task.confusion, **given, **limit)


def _refusal(task: Task, plan: Plan) -> str | None:
    """Say why trees cannot be fitted to these rows; None if they can."""
    if task.is_rectangular:
        return "Some labels are not classes, and trees learn the labels as they are"
    if sparse.issparse(task.table):
        return "The rows are sparse, as those of texts are, and trees take dense ones"
    if plan.columns is not None and plan.columns.text:
        return f"{plan.columns.text[0]!r} is text, which trees do not take"
    return None


def _enough_rows(task: Task) -> bool:
    """Whether a comparison could tell anything: one label per row, and enough of them."""
    if task.kind == "votes" or task.checked is not None:
        return False
    n_classes = len(np.unique(np.asarray(task.y).astype(str)))
    return len(task.place) >= max(FEWEST_ROWS, FEWEST_PER_CLASS * n_classes)


def make_plan(task: Task, settings: Settings) -> Plan:
    """Make features of the task's columns: for trees if they are asked for, else linear."""
    settings.refuse_unsuitable(named=task.is_frame)
    learner, for_trees = make_learner(task, settings), settings.learner == "trees"
    if task.is_frame:
        table = task.table.set_axis(task.place)  # messages name rows of the file
        said = settings.roles(task.reserved)
        model, columns = build_pipeline(table, learner, said, for_trees=for_trees)
        steps, rows = model[:-1], prepare_frame(model, table)
    else:
        steps, rows, columns = plain_steps(task.table, settings.as_is, for_trees), task.table, None
    plan = Plan(steps.steps, learner, steps.fit_transform(rows), columns)
    if for_trees and (why_not := _refusal(task, plan)) is not None:
        way_out = "" if task.is_rectangular else ", or leave such columns out with --ignore"
        raise ValueError(f"{why_not}. Use --learner logistic{way_out}.")
    return plan


def trees_to_compare(task: Task, settings: Settings, linear: Plan) -> Plan | None:
    """Return trees to compare the linear model with; None if the learner is not left open."""
    if settings.learner != "auto" or linear.on_disk:
        return None
    if _refusal(task, linear) is not None or not _enough_rows(task):
        return None
    return make_plan(task, replace(settings, learner=Learner.trees))


def estimate_for_fit(task: Task, plan: Plan, settings: Settings) -> ConfusionEstimate | None:
    """Return the matrix to pass to the learner; None if the learner determines it."""
    if task.checked is not None and task.kind == "trusted":
        from unconfused.review.fit import confusion_of_checked

        # From verdicts on rows drawn at random, and a guess beside them.
        given: dict[str, Any] = {"classes": task.classes, "random_state": settings.seed}
        return confusion_of_checked(plan.rows, task.y, task.verdicts(), **given)
    if isinstance(plan.learner, UnconfusedClassifier) and task.kind == "nothing":
        return None
    if task.kind == "nothing" and (settings.learner == "uma" or settings.smoothing > 0):
        return _guess(task, plan, settings)
    if task.kind == "trusted" and settings.smoothing > 0:
        return count_confusion(task, settings.smoothing)
    return None


def choose_on_sample(task: Task, plan: Plan) -> None:
    """Choose automatic settings for rows on disk on a sample of them, in memory.

    Only the penalty, the weight of noisy rows and the matrix are chosen. There is no relabelling,
    because a round would take dozens of passes over the file.
    """
    learner = plan.learner
    if not isinstance(learner, UnconfusedLogisticRegression):
        return
    if learner.relabel == "auto":
        learner.set_params(relabel=0)
    settings = (learner.l2, learner.noisy_weight, learner.confusion)
    if not any(isinstance(one, str) for one in settings):
        return
    known = task.trusted
    order = np.random.RandomState(learner.random_state).permutation(len(known))
    rows = np.sort(order[np.argsort(~known[order], kind="stable")][:ROWS_TO_CHOOSE_FROM])
    truth = None if task.y_true is None else task.y_true[rows]
    chosen = clone(learner).set_params(relabel=0).fit(plan.rows[rows], task.y[rows], y_true=truth)
    learner.set_params(l2=chosen.l2_, noisy_weight=chosen.noisy_weight_)
    if isinstance(learner.confusion, str):
        learner.set_params(confusion=getattr(chosen, "guessed_confusion_", None))


def count_confusion(task: Task, smoothing: float) -> ConfusionEstimate:
    """Count the labels of the trusted rows."""
    assert task.y_true is not None
    if task.checked is not None:
        return task.verdicts().confusion(task.y, classes=task.classes, smoothing=smoothing)
    return from_trusted(
        task.y_true, task.y, classes=task.classes, smoothing=smoothing, missing_label=None
    )


def estimate_labels(task: Task, settings: Settings) -> ConfusionEstimate:
    """Estimate the matrix by what is known; from features and labels alone if nothing is."""
    if task.kind == "votes":
        return from_annotators(
            task.y,
            y_true=task.y_true,
            classes=task.classes,
            smoothing=settings.smoothing,
            missing_label=None,
        )
    if task.kind == "trusted":
        return count_confusion(task, settings.smoothing)
    return _guess(task, make_plan(task, settings), settings)


def _guess(task: Task, plan: Plan, settings: Settings) -> ConfusionEstimate:
    y = np.asarray(task.y)
    classes = np.unique(y) if task.classes is None else task.classes
    return guess_confusion(plan.rows, y, classes, settings.seed, settings.smoothing)


def fit_plan(task: Task, plan: Plan, confusion: Any) -> Plan:
    """Return the plan with its learner fitted."""
    learner = plan.learner
    if confusion is not None:
        learner.set_params(confusion=confusion)
    if task.checked is not None and task.kind != "votes":
        from unconfused.review.fit import fit_checked

        # All verdicts are learnt from, those on rows drawn at random are counted.
        return replace(plan, learner=fit_checked(learner, plan.rows, task.y, task.verdicts()))
    if plan.on_disk and len(task.place) > ROWS_TO_CHOOSE_FROM:
        choose_on_sample(task, plan)
    return replace(plan, learner=learner.fit(plan.rows, task.y, y_true=task.y_true))


def plain_steps(rows: Any, as_is: bool, for_trees: bool) -> Pipeline:
    """Return the steps that make features of rows without column names, not fitted."""
    # Trees split gaps off like any value, and need no scales.
    steps = [("scale", scaler_for(rows, as_is or for_trees))]
    if not sparse.issparse(rows) and not for_trees:
        steps.insert(0, ("fill", SimpleImputer(keep_empty_features=True)))
    return Pipeline(steps)


def scaler_for(rows: Any, as_is: bool) -> Any:
    """Return a scaler for these rows: an identity step if they are to stay as they are."""
    # Unlike "passthrough" the identity checks the number of columns.
    if as_is or (sparse.issparse(rows) and _of_one_length(rows)):
        return FunctionTransformer(accept_sparse=True)
    return MaxAbsScaler() if sparse.issparse(rows) else StandardScaler()


def _of_one_length(rows: Any) -> bool:
    """Return whether all rows that are not empty have the same norm.

    Then the columns are probably weighted already, as by TF-IDF. Dividing them by their largest
    entries would give the rarest words the same weight as all others.
    """
    # Counts come as integers, small ones whose squares would overflow.
    chunks = (rows[some].astype(np.float64) for some in gen_batches(rows.shape[0], CHUNK))
    lengths = np.concatenate([row_norms(some) for some in chunks])
    lengths = lengths[lengths > 0]
    return len(lengths) == 0 or bool(lengths.max() <= (1.0 + EQUAL_LENGTHS) * lengths.min())
