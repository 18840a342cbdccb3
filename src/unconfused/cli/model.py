"""Pipelines for a task: build, estimate the confusion matrix, fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from unconfused._columns.kinds import ColumnPlan
from unconfused._columns.pipeline import build_pipeline
from unconfused._columns.prepare import prepare_frame
from unconfused._typing import IntArray
from unconfused.cli.errors import in_options
from unconfused.cli.input.task import Task
from unconfused.confusion import ConfusionEstimate, from_noisy, from_trusted
from unconfused.estimators import UMAClassifier, UnconfusedLogisticRegression

ROWS_TO_GUESS_FROM = 10_000
"""Rows used to estimate the matrix without trusted rows; more are slower, and no better."""


@dataclass(frozen=True)
class Settings:
    """Learner and column options."""

    learner: str = "logistic"
    l2: float = 1e-4
    max_iter: int | None = None
    text: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    smoothing: float = 0.0
    seed: int = 0
    relabel: int = 0
    as_is: bool = False


@dataclass(frozen=True)
class Sample:
    """A random sample of the rows on disk, for what needs rows in memory."""

    rows: IntArray
    """Indices into the rows of the task."""

    table: Any
    """The columns shown in a report; None if there are none."""


@dataclass(frozen=True)
class Plan:
    """An unfitted pipeline, its input rows, and the kind of each column."""

    model: Pipeline
    rows: Any
    columns: ColumnPlan | None
    sample: Sample | None = None
    """Set if the rows are on disk: they are features then, and all steps but the learner are
    fitted."""

    @property
    def learner(self) -> Any:
        """The classifier at the end of the pipeline."""
        return self.model.steps[-1][1]

    @property
    def is_scaled(self) -> bool:
        """Whether columns without names are scaled on their way to the learner."""
        return not isinstance(self.model.named_steps["scale"], FunctionTransformer)

    def features(self) -> Any:
        """Return the rows as the learner takes them."""
        return self.model[:-1].fit_transform(self.rows) if self.sample is None else self.rows


@contextmanager
def warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Collect warnings of the library as notes, without duplicates, in terms of options."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = [in_options(str(one.message)) for one in caught if issubclass(one.category, UserWarning)]
    notes += [line for line in dict.fromkeys(said) if line not in notes]


def make_plan(task: Task, settings: Settings) -> Plan:
    """Build the pipeline for the task's columns."""
    learner = make_learner(task, settings)
    if not task.is_frame:
        refuse_column_options(settings)
        return Plan(_plain_pipeline(task.table, learner, settings.as_is), task.table, None)
    refuse_as_is(settings)
    model, columns = build_pipeline(
        task.table,
        learner,
        label=None,
        text=settings.text,
        categories=settings.categories,
        leave_out=[*task.reserved, *settings.ignore],
    )
    return Plan(model, prepare_frame(model, task.table), columns)


def refuse_column_options(settings: Settings) -> None:
    """Raise if options name columns of a file without column names."""
    if settings.text or settings.categories or settings.ignore:
        raise ValueError(
            "This file has no column names, so --text, --categories and --ignore do not apply."
        )


def refuse_as_is(settings: Settings) -> None:
    """Raise if --as-is is given for a file with column names."""
    if settings.as_is:
        raise ValueError(
            "--as-is is for files without column names (.svm, .npz); drop it: scaling columns that "
            "are scaled already is harmless."
        )


def make_learner(task: Task, settings: Settings) -> Any:
    """Return the classifier, not fitted."""
    shared: dict[str, Any] = {
        "classes": None if task.classes is None else task.classes.tolist(),
        "missing_label": None,
        "random_state": settings.seed,
    }
    if settings.max_iter is not None:
        shared["max_iter"] = settings.max_iter
    if settings.learner == "logistic":
        return UnconfusedLogisticRegression(
            task.confusion, l2=settings.l2, relabel=settings.relabel, **shared
        )
    if settings.relabel:
        raise ValueError("--relabel needs probabilities: use --learner logistic.")
    if task.kind == "votes":
        raise ValueError(
            "UMA takes one label per row: with several annotators use --learner logistic."
        )
    return UMAClassifier(task.confusion, **shared)


def _plain_pipeline(rows: Any, learner: Any, as_is: bool) -> Pipeline:
    from unconfused.cli.scaling import scaler_for

    steps = [("scale", scaler_for(rows, as_is)), ("learner", learner)]
    if issparse(rows):
        return Pipeline(steps)
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    return Pipeline([("fill", fill), *steps])


def estimate_for_fit(task: Task, plan: Plan, settings: Settings) -> ConfusionEstimate | None:
    """Return the matrix to pass to the learner; None if the learner determines it."""
    if task.kind == "nothing":
        return guess_confusion(task, plan, settings.seed, settings.smoothing)
    if task.kind == "trusted" and settings.smoothing > 0:
        return count_confusion(task, settings.smoothing)
    return None


def count_confusion(task: Task, smoothing: float) -> ConfusionEstimate:
    """Count the labels of the trusted rows."""
    assert task.y_true is not None
    return from_trusted(
        task.y_true, task.y, classes=task.classes, smoothing=smoothing, missing_label=None
    )


def guess_confusion(task: Task, plan: Plan, seed: int, smoothing: float) -> ConfusionEstimate:
    """Estimate the matrix from features and labels alone, on a sample if there are many rows."""
    features, y = plan.features(), np.asarray(task.y)
    if len(y) > ROWS_TO_GUESS_FROM:
        rows = np.random.RandomState(seed).choice(len(y), ROWS_TO_GUESS_FROM, replace=False)
        features, y = features[np.sort(rows)], y[np.sort(rows)]
    classes = np.unique(np.asarray(task.y)) if task.classes is None else task.classes
    given: dict[str, Any] = {"classes": classes, "missing_label": None, "random_state": seed}
    try:
        return from_noisy(features, y, smoothing=smoothing, **given)
    except ValueError:
        if smoothing > 0:
            raise
        # A class without a single confident row: smooth rather than fail.
        return from_noisy(features, y, smoothing=1.0, **given)


def fit_plan(task: Task, plan: Plan, confusion: Any) -> Pipeline:
    """Fit the pipeline."""
    if confusion is not None:
        plan.model.set_params(learner__confusion=confusion)
    if plan.sample is not None:
        plan.learner.fit(plan.rows, task.y, y_true=task.y_true)
        return plan.model
    truth = {} if task.y_true is None else {"learner__y_true": task.y_true}
    return plan.model.fit(plan.rows, task.y, **truth)
