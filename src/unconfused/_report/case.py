"""What a report is about: a fitted model, rows, their labels, and known truths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from unconfused._labels import MISSING, encode_labels
from unconfused._matrix_labels import is_guess
from unconfused._pipelines import final_step, fit_with
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.votes import Votes
from unconfused.estimators._arrays import one_column
from unconfused.estimators._card import passed_confusion
from unconfused.estimators._class_costs import class_costs
from unconfused.estimators.annotators.crowd import answers_of, are_votes, known_votes
from unconfused.estimators.any_classifier import UnconfusedClassifier
from unconfused.estimators.automatic.held_out import checked_predictions
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.uma import UMAClassifier
from unconfused.estimators.wrapping.soft_rounds import CrossFitted

Learner = UMAClassifier | UnconfusedLogisticRegression | UnconfusedClassifier

MOST_TRAINED = 200_000
"""Maximum number of training rows per fold: more would hardly help, and may not fit into memory."""


@dataclass(frozen=True)
class Case:
    """Checked input: rows that have a label or a truth, labels as codes.

    Attributes
    ----------
    model : what the user fitted: one of our learners, or a pipeline that ends in one
    X : the rows
    observed : the label of each row; with votes, the most frequent answer
    truth : its true class, where known
    place : where each row stands in what the user passed
    votes : of several annotators, if there are any
    n_tied : rows on which several answers are the most frequent; one of them, drawn at random, is
        the label
    """

    model: Any
    X: Rows
    observed: IntArray
    truth: IntArray
    place: IntArray
    votes: Votes | None = None
    n_tied: int = 0

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
    def is_uma(self) -> bool:
        """Whether the learner has no probabilities."""
        return isinstance(self.final, UMAClassifier)

    @property
    def is_wrapper(self) -> bool:
        """Whether the learner wraps a classifier that knows nothing of C."""
        return isinstance(self.final, UnconfusedClassifier)

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
        """The votes as indicators."""
        assert self.votes is not None
        return answers_of(self.final, self.votes, self.truth)[0]

    @cached_property
    def features(self) -> Rows:
        """The rows as the learner sees them, after the steps before it."""
        if not isinstance(self.model, Pipeline) or len(self.model.steps) == 1:
            return self.X
        return self.model[:-1].transform(self.X)

    def take(self, rows: IntArray) -> Case:
        """Return the case of some rows."""
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            observed=self.observed[rows],
            truth=self.truth[rows],
            place=self.place[rows],
            votes=None if self.votes is None else self.votes.take_items(rows),
        )

    def learner(self, **settings: Any) -> Any:
        """Return an unfitted copy of the learner that takes codes, with these settings it has."""
        given: dict[str, Any] = {"classes": np.arange(self.n_classes), "missing_label": -1}
        given |= {"warm_start": False, "verbose": 0}
        if isinstance(getattr(self.final, "relabel", None), str):
            given["relabel"] = int(self.final.relabel_)
        costs = getattr(self.final, "class_weight", None)
        if costs is not None and not isinstance(costs, str):  # they name classes, not codes
            order, prior = self.final.classes, self.final.class_prior_
            given["class_weight"] = class_costs(costs, self.classes, prior, order)
        fresh = clone(self.final)
        known = fresh.get_params(deep=False)
        return fresh.set_params(**{k: v for k, v in (given | settings).items() if k in known})

    def judge(self, matrix: Any) -> Any:
        """Return an unfitted learner with probabilities through this matrix; it takes codes."""
        final, codes = self.final, np.arange(self.n_classes)
        if isinstance(final, UMAClassifier):
            learner = UnconfusedLogisticRegression(matrix, refine=False, noisy_weight=1.0)
            learner.set_params(fit_intercept=final.fit_intercept, n_jobs=final.n_jobs)
            return learner.set_params(classes=codes, missing_label=-1)
        if self.votes is not None:
            return self.learner()
        if isinstance(final, UnconfusedClassifier):
            return self.learner(confusion=matrix)
        passed = passed_confusion(final)
        if is_guess(passed):
            matrix = ConfusionEstimate(matrix, matrix, codes, caveat=passed.caveat)
        return self.settled(confusion=matrix)

    def settled(self, **settings: Any) -> Any:
        """Return `learner` with the penalty and the weight of noisy rows that the fit chose."""
        for name in ("l2", "noisy_weight"):
            if hasattr(self.final, f"{name}_"):
                settings[name] = getattr(self.final, f"{name}_")
        if self.votes is None:
            settings["refine"] = False
        return self.learner(**settings)

    def with_final(self, learner: Any) -> Any:
        """Return an unfitted copy of the model with another learner at its end."""
        if not isinstance(self.model, Pipeline):
            return learner
        before = [(name, clone(step)) for name, step in self.model.steps[:-1]]
        return Pipeline([*before, (self.model.steps[-1][0], learner)])

    def fit(self, model: Any, X: Any, rows: IntArray) -> Any:
        """Fit a model to some rows of X, their labels (codes, or votes) and known truths."""
        y: Any = (self.observed if self.votes is None else self.votes)[rows]
        truth = self.truth[rows] if self.trusted.any() else None
        return fit_with(model, _safe_indexing(X, rows), y, y_true=truth)

    def some_rows(self, rows: IntArray, rng: np.random.RandomState) -> IntArray:
        """Return at most `MOST_TRAINED` rows, those with a known truth first."""
        if len(rows) <= MOST_TRAINED:
            return rows
        mixed = rng.permutation(rows)
        known_first = mixed[np.argsort(~self.trusted[mixed], kind="stable")]
        return np.sort(known_first[:MOST_TRAINED])

    def known_folds(self) -> CrossFitted | None:
        """Return the out-of-fold results of the fit, if it was to these rows and kept them."""
        found: CrossFitted | None = vars(self.final).get("_cross_fitted")
        codes = np.where(self.trusted, self.n_classes + self.truth, self.observed)
        return found if self.votes is None and found is not None and found.of(codes) else None

    def predicted_in_folds(self) -> IntArray | None:
        """Return the out-of-fold predictions of the fit, if it was to these rows and kept them."""
        checked = checked_predictions(self.final)
        if checked is not None and checked.of(self.truth, self.observed):
            return checked.predicted
        folds = self.known_folds()
        return None if folds is None else folds.predicted


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
    votes, tied = None, np.zeros(0, dtype=bool)
    if are_votes(y):
        votes, truth = known_votes(final, y, y_true)
        # Codes for labels here too, so that models fitted for the report all speak of codes.
        votes = replace(votes, classes=np.arange(len(final.classes_)))
        observed, tied = most_frequent(votes.tally)
    else:
        labels = encode_labels(
            one_column(y), y_true, classes=final.classes_, missing_label=final.missing_label
        )
        observed, truth = labels.observed, labels.truth
    n_rows = _num_samples(X)
    if n_rows != len(observed):
        raise ValueError(f"X has {n_rows} rows but y has {len(observed)} labels.")
    usable = np.flatnonzero((observed != MISSING) | (truth != MISSING))
    if not len(usable):
        raise ValueError("No row has a label or a known truth: there is nothing to report on.")
    case = Case(model, X, observed, truth, np.arange(n_rows), votes, int(tied.sum()))
    return case if len(usable) == n_rows else case.take(usable)


def most_frequent(tally: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the class with the most votes, MISSING without any, and where several tie.

    Of a tie one is drawn at random: the first by name would be given the ties of all others.
    """
    best = tally.max(axis=1, keepdims=True)
    ties = (tally >= best * (1 - 1e-9)) & (best > 0)
    drawn = np.random.RandomState(0).random_sample(tally.shape)
    chosen = np.where(ties, drawn, -1.0).argmax(axis=1)
    return np.where(ties.any(axis=1), chosen, MISSING), ties.sum(axis=1) > 1
