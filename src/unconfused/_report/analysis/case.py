"""What a report is about: a fitted model, rows, their labels, and what is known of the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted

from unconfused._labels import MISSING, encode_labels
from unconfused._pipelines import final_step
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.votes import Votes
from unconfused.estimators import (
    UMAClassifier,
    UnconfusedClassifier,
    UnconfusedLogisticRegression,
)
from unconfused.estimators._base import one_column
from unconfused.estimators.annotators.crowd import (
    answers_of,
    are_votes,
    collect_votes,
    refuse_other_annotators,
)

Learner = UMAClassifier | UnconfusedLogisticRegression | UnconfusedClassifier


@dataclass(frozen=True)
class Case:
    """Checked input: rows that have a label or a truth, labels as codes."""

    model: Any
    """What the user fitted: one of our learners, or a pipeline that ends in one."""

    X: Rows
    observed: IntArray
    """The label of each row; with votes, the most frequent answer."""

    truth: IntArray
    place: IntArray
    """Where each row stands in what the user passed."""

    votes: Votes | None = None

    n_tied: int = 0
    """Rows on which several answers are the most frequent; one of them, drawn at random, is the
    label."""

    @property
    def ties_in_words(self) -> str:
        """Say on how many rows the most frequent answer was drawn; empty if on none."""
        if not self.n_tied:
            return ""
        return (
            f"On {self.n_tied:,} of {int(self.labelled.sum()):,} rows several answers are equally "
            "frequent; one of them was drawn at random."
        )

    @property
    def final(self) -> Learner:
        """The learner itself."""
        learner: Learner = final_step(self.model)[0]
        return learner

    @property
    def prefix(self) -> str:
        """What goes before the learner's parameters."""
        return final_step(self.model)[1]

    @property
    def classes(self) -> Labels:
        """The classes the codes stand for."""
        return self.final.classes_

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def trusted(self) -> BoolArray:
        """Which rows' truth is known."""
        return np.not_equal(self.truth, MISSING)

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a label."""
        return np.not_equal(self.observed, MISSING)

    @property
    def crowd(self) -> Crowd:
        """The votes, in the form the computations want."""
        assert self.votes is not None
        return answers_of(self.final, self.votes, self.truth)[0]

    @cached_property
    def features(self) -> Rows:
        """The rows as the learner sees them, after the steps before it."""
        if not isinstance(self.model, Pipeline) or len(self.model.steps) == 1:
            return self.X
        return self.model[:-1].transform(self.X)

    def with_final(self, learner: Any) -> Any:
        """Return an unfitted copy of the model with another learner at its end."""
        if not isinstance(self.model, Pipeline):
            return learner
        before = [(name, clone(step)) for name, step in self.model.steps[:-1]]
        return Pipeline([*before, (self.model.steps[-1][0], learner)])

    def targets(self, rows: IntArray) -> Any:
        """Return the labels of some rows as a learner takes them: codes, or votes."""
        if self.votes is None:
            return self.observed[rows]
        return self.votes.take_items(rows)

    def truth_for_fit(self, rows: IntArray) -> dict[str, IntArray]:
        """Return the known truth of some rows, if any is known."""
        return {"y_true": self.truth[rows]} if self.trusted.any() else {}


def open_case(model: Any, X: Any, y: Any, y_true: ArrayLike | None) -> Case:
    """Check what the user passed, and encode it."""
    final, _ = final_step(model)
    if not isinstance(final, Learner):
        raise ValueError(
            "A report needs a fitted UnconfusedLogisticRegression, UnconfusedClassifier or "
            f"UMAClassifier, or a Pipeline that ends in one; got {type(model).__name__}. Of a "
            "search, pass `best_estimator_`."
        )
    check_is_fitted(final)
    (X,) = indexable(X)
    votes, observed, truth = _encode(final, y, y_true)
    tied = np.zeros(len(observed), bool) if votes is None else _ties(votes.tally).sum(axis=1) > 1
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(observed):
        raise ValueError(f"X has {n_rows} rows but y has {len(observed)} labels.")
    usable = np.flatnonzero((observed != MISSING) | (truth != MISSING))
    if not len(usable):
        raise ValueError("No row has a label or a known truth: there is nothing to report on.")
    if len(usable) < n_rows:
        X = _safe_indexing(X, usable)
        votes = None if votes is None else votes.take_items(usable)
    return Case(model, X, observed[usable], truth[usable], usable, votes, int(tied[usable].sum()))


def _encode(final: Any, y: Any, y_true: Any) -> tuple[Votes | None, IntArray, IntArray]:
    if are_votes(y):
        votes, truth = _checked_votes(final, y, y_true)
        return votes, _most_frequent(votes.tally), truth
    labels = encode_labels(
        one_column(y), y_true, classes=final.classes_, missing_label=final.missing_label
    )
    return None, labels.observed, labels.truth


def _checked_votes(final: Any, y: Any, y_true: Any) -> tuple[Votes, IntArray]:
    if not hasattr(final, "annotator_confusion_"):
        raise ValueError("y holds votes, but the model was fitted with one label per row.")
    votes, truth = collect_votes(y, y_true, final.classes_, final.missing_label, strict=False)
    refuse_other_annotators(votes.annotators, final.annotators_)
    # Codes for labels here too, so that models fitted for the report all speak of codes.
    return replace(votes, classes=np.arange(len(final.classes_))), truth


def _ties(tally: FloatArray) -> BoolArray:
    """Mark the answers that are the most frequent of their row; none without any answer."""
    best = tally.max(axis=1, keepdims=True)
    return np.asarray((tally >= best * (1 - 1e-9)) & (best > 0))


def _most_frequent(tally: FloatArray) -> IntArray:
    """Return the class with the most votes, one drawn at random on a tie, MISSING without any."""
    ties = _ties(tally)
    # The first by name would be given the ties of all others.
    drawn = np.random.RandomState(0).random_sample(tally.shape)
    return np.where(ties.any(axis=1), np.where(ties, drawn, -1.0).argmax(axis=1), MISSING)
