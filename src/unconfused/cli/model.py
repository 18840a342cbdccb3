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
from sklearn.utils.extmath import row_norms

from unconfused._columns.steps import build_pipeline, prepare_frame
from unconfused._matrix import GuessedConfusionWarning
from unconfused._report.source import guess_confusion
from unconfused.cli.errors import in_options
from unconfused.cli.input.label_options import Settings
from unconfused.cli.input.task import Plan, Task
from unconfused.confusion.annotators import from_annotators
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.trusted import from_trusted
from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.uma import UMAClassifier

ROWS_TO_CHOOSE_FROM = 10_000
"""Rows on disk that settings are chosen on, at most; those whose truth is known come first."""

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
    """Return the linear classifier, not fitted."""
    shared = _shared(task, settings)
    if settings.max_iter is not None:
        shared["max_iter"] = settings.max_iter
    if settings.learner == "trees":
        raise ValueError("Trees need all rows in memory: drop --stream, or use --learner logistic.")
    if settings.learner != "uma":
        return UnconfusedLogisticRegression(
            "auto" if task.kind == "nothing" else task.confusion,
            l2="auto" if settings.l2 is None else settings.l2,
            relabel="auto" if settings.relabel is None else settings.relabel,
            **shared,
        )
    if settings.relabel:
        raise ValueError("--relabel needs probabilities: use --learner logistic.")
    if task.kind == "votes":
        raise ValueError(
            "UMA takes one label per row: with several annotators use --learner logistic."
        )
    return UMAClassifier(task.confusion, **shared)


def make_trees(task: Task, settings: Settings) -> UnconfusedClassifier:
    """Return boosted trees that learn through the confusion matrix, not fitted."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    boosting = HistGradientBoostingClassifier(random_state=settings.seed)
    if settings.max_iter is not None:
        boosting.set_params(max_iter=settings.max_iter)
    return UnconfusedClassifier(
        boosting,
        "auto" if task.kind == "nothing" else task.confusion,
        max_rounds="auto" if settings.relabel is None else settings.relabel,
        **_shared(task, settings),
    )


def _shared(task: Task, settings: Settings) -> dict[str, Any]:
    classes = None if task.classes is None else task.classes.tolist()
    return {"classes": classes, "missing_label": None, "random_state": settings.seed}


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
    """Build the pipeline for the task's columns: of trees if they are asked for, else linear."""
    linear = replace(settings, learner="logistic") if settings.learner == "trees" else settings
    plan = _plan_for(task, settings, make_learner(task, linear))
    if settings.learner != "trees":
        return plan
    why_not = _refusal(task, plan)
    if why_not is not None:
        way_out = "" if task.is_rectangular else ", or leave such columns out with --ignore"
        raise ValueError(f"{why_not}. Use --learner logistic{way_out}.")
    return _plan_for(task, settings, make_trees(task, settings), for_trees=True)


def trees_to_compare(task: Task, settings: Settings, linear: Plan) -> Plan | None:
    """Return trees to compare the linear model with; None if the learner is not left open."""
    if settings.learner != "auto" or _refusal(task, linear) is not None or not _enough_rows(task):
        return None
    return _plan_for(task, settings, make_trees(task, settings), for_trees=True)


def _plan_for(task: Task, settings: Settings, learner: Any, *, for_trees: bool = False) -> Plan:
    """Build the pipeline that ends in a learner."""
    settings.refuse_unsuitable(named=task.is_frame)
    if not task.is_frame:
        model = plain_pipeline(task.table, learner, as_is=settings.as_is, for_trees=for_trees)
        return Plan(model, task.table, None)
    table = task.table.set_axis(task.place)  # messages name rows of the file
    said = settings.roles(task.reserved)
    model, columns = build_pipeline(table, learner, said, for_trees=for_trees)
    return Plan(model, prepare_frame(model, table).reset_index(drop=True), columns)


def estimate_for_fit(task: Task, plan: Plan, settings: Settings) -> ConfusionEstimate | None:
    """Return the matrix to pass to the learner; None if the learner determines it."""
    if task.checked is not None and task.kind == "trusted":
        from unconfused.review.fit import confusion_of_checked

        # From verdicts on rows drawn at random, and a guess beside them.
        given: dict[str, Any] = {"classes": task.classes, "random_state": settings.seed}
        return confusion_of_checked(plan.features(), task.y, task.verdicts(), **given)
    if isinstance(plan.learner, UnconfusedClassifier) and task.kind == "nothing":
        return None
    if task.kind == "nothing" and (settings.learner == "uma" or settings.smoothing > 0):
        return _guess(task, plan, settings)
    if task.kind == "trusted" and settings.smoothing > 0:
        return count_confusion(task, settings.smoothing)
    return None


def choose_on_sample(task: Task, plan: Plan) -> None:
    """Choose what is left open for many rows on disk on some of them, in memory.

    Only the penalty, the weight of noisy rows and the matrix are chosen, and no rounds of
    relabelling are made: each would take dozens of passes over the file.
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


def estimate_labels(task: Task, plan: Plan | None, settings: Settings) -> ConfusionEstimate:
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
    return _guess(task, make_plan(task, settings) if plan is None else plan, settings)


def _guess(task: Task, plan: Plan, settings: Settings) -> ConfusionEstimate:
    y = np.asarray(task.y)
    classes = np.unique(y) if task.classes is None else task.classes
    return guess_confusion(plan.features(), y, classes, settings.seed, settings.smoothing)


def fit_plan(task: Task, plan: Plan, confusion: Any) -> Pipeline:
    """Fit the pipeline."""
    if confusion is not None:
        plan.model.set_params(learner__confusion=confusion)
    if task.checked is not None and task.kind != "votes":
        return _fit_verdicts(task, plan)
    if plan.sample is not None:
        if len(task.place) > ROWS_TO_CHOOSE_FROM:
            choose_on_sample(task, plan)
        plan.learner.fit(plan.rows, task.y, y_true=task.y_true)
        return plan.model
    truth = {} if task.y_true is None else {"learner__y_true": task.y_true}
    return plan.model.fit(plan.rows, task.y, **truth)


def _fit_verdicts(task: Task, plan: Plan) -> Pipeline:
    """Fit with verdicts: all are learnt from, those on rows drawn at random are counted."""
    from unconfused.review.fit import fit_checked

    alone = plan.model if plan.sample is None else plan.learner
    fitted = fit_checked(alone, plan.rows, task.y, task.verdicts())
    before = plan.model.steps[:-1]
    plan.model.steps = fitted.steps if plan.sample is None else [*before, ("learner", fitted)]
    return plan.model


class SparseColumns:
    """Statistics for scaling sparse rows, collected chunk by chunk.

    Columns are divided by their largest entry, unless all rows are of one length: then someone has
    weighed the columns already, as TF-IDF does, and dividing would make the rarest words as large
    as all others.
    """

    def __init__(self) -> None:
        self._scaler = MaxAbsScaler()
        self._shortest, self._longest = np.inf, 0.0

    def add(self, rows: Any) -> None:
        """Add a chunk."""
        # Counts come as integers, small ones whose squares would overflow.
        rows = rows.astype(np.float64)
        lengths = row_norms(rows)
        lengths = lengths[lengths > 0]
        if len(lengths) > 0:
            self._scaler.partial_fit(rows)
            self._shortest = min(self._shortest, float(lengths.min()))
            self._longest = max(self._longest, float(lengths.max()))

    def scaler(self, width: int) -> Any:
        """Return the fitted scaler."""
        nothing = sparse.csr_matrix((1, width))
        return as_they_are().fit(nothing) if self.all_of_one_length() else self._scaler

    def all_of_one_length(self) -> bool:
        """Return whether all non-empty rows have the same norm."""
        return self._longest <= (1.0 + EQUAL_LENGTHS) * self._shortest


def as_they_are() -> FunctionTransformer:
    """Return an identity step; unlike "passthrough" it checks the number of columns."""
    return FunctionTransformer(accept_sparse=True)


def scaler_for(rows: Any, as_is: bool) -> Any:
    """Return an unfitted scaler for these rows."""
    if as_is:
        return as_they_are()
    if not sparse.issparse(rows):
        return StandardScaler()
    columns = SparseColumns()
    columns.add(rows.tocsr())
    return as_they_are() if columns.all_of_one_length() else MaxAbsScaler()


def plain_pipeline(rows: Any, learner: Any, *, as_is: bool, for_trees: bool) -> Pipeline:
    """Return the pipeline for rows without column names."""
    if for_trees:  # trees split gaps off like any value, and need no scales
        return Pipeline([("scale", as_they_are()), ("learner", learner)])
    steps = [("scale", scaler_for(rows, as_is)), ("learner", learner)]
    if sparse.issparse(rows):
        return Pipeline(steps)
    return Pipeline([("fill", SimpleImputer(strategy="median", keep_empty_features=True)), *steps])
