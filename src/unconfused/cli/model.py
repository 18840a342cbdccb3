"""Pipelines for a task: build, estimate the confusion matrix, fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
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

MOST_RELABELLED = 10_000
"""Rows on disk, at most, that are relabelled unasked: a round takes dozens of passes over them."""

NEARLY_NOTHING = 1e-6
"""Added to counts, so that those of other classes stay as they are."""

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
    if settings.l2 is not None and settings.learner in ("trees", "uma"):
        raise ValueError("--l2 is the penalty of --learner logistic.")
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
    if not task.is_frame:
        settings.refuse_names()
    learner, for_trees = make_learner(task, settings), settings.learner == "trees"
    if task.is_frame:
        table = task.table.set_axis(task.place)  # messages name rows of the file
        said = settings.roles(task.reserved)
        model, columns = build_pipeline(table, learner, said, for_trees=for_trees)
        steps, rows = model[:-1], prepare_frame(model, table)
    else:
        steps, rows, columns = plain_steps(task.table, for_trees), task.table, None
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
    return make_plan(task, replace(settings, learner=Learner.trees, l2=None))


def count_labels(task: Task) -> ConfusionEstimate:
    """Estimate the matrix from votes or trusted rows alone.

    Of a class without a trusted row all labels are equally likely.
    """
    given: dict[str, Any] = {"classes": task.classes, "missing_label": None}
    truth: Any = task.y_true
    if task.kind == "votes":
        return from_annotators(task.y, y_true=truth, **given)
    if task.checked is not None:
        count = partial(task.verdicts().confusion, task.y, classes=task.classes)
    else:
        count = partial(from_trusted, truth, task.y, **given)
    try:
        return count()
    except ValueError as error:
        found = count(smoothing=NEARLY_NOTHING)
        unknown, _, _ = str(error).partition(" Check ")
        warnings.warn(f"{unknown} All labels are taken as equally likely there.", stacklevel=2)
        return found


def fit_plan(task: Task, plan: Plan, settings: Settings) -> Plan:
    """Return the plan with its learner fitted."""
    learner = plan.learner
    if task.kind == "nothing" and settings.learner == "uma":
        y = np.asarray(task.y)
        classes = np.unique(y) if task.classes is None else task.classes
        learner.set_params(confusion=guess_confusion(plan.rows, y, classes, settings.seed))
    if task.checked is not None and task.kind != "votes":
        from unconfused.review.fit import fit_checked

        # All verdicts are learnt from, those on rows drawn at random are counted.
        fitted = fit_checked(
            learner, plan.rows, task.y, task.verdicts(), random_state=settings.seed
        )
        return replace(plan, learner=fitted)
    many = plan.on_disk and len(task.place) > MOST_RELABELLED
    if many and getattr(learner, "relabel", None) == "auto":
        learner.set_params(relabel=0)
    return replace(plan, learner=learner.fit(plan.rows, task.y, y_true=task.y_true))


def plain_steps(rows: Any, for_trees: bool) -> Pipeline:
    """Return the steps that make features of rows without column names, not fitted."""
    is_sparse = sparse.issparse(rows)
    # Trees split gaps off like any value, and need no scales. Unlike "passthrough" the identity
    # checks the number of columns.
    if for_trees or _of_one_length(rows):
        scaler = FunctionTransformer(accept_sparse=True)
    else:
        scaler = MaxAbsScaler() if is_sparse else StandardScaler()
    steps = [("scale", scaler)]
    if not is_sparse and not for_trees:
        steps.insert(0, ("fill", SimpleImputer(keep_empty_features=True)))
    return Pipeline(steps)


def _of_one_length(rows: Any) -> bool:
    """Return whether all rows that are not empty have the same norm.

    Then the columns are probably weighted already, as by TF-IDF or an embedding. Dividing them by
    their largest entries would give the rarest words the same weight as all others.
    """
    # Counts come as integers, small ones whose squares would overflow.
    lengths = row_norms(rows.astype(np.float64))
    lengths = lengths[lengths > 0]
    return len(lengths) == 0 or bool(lengths.max() <= (1.0 + EQUAL_LENGTHS) * lengths.min())
