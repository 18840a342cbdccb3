"""Any classifier: its training sets, what is known of their rows, fits, and log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._pipelines import aligned_columns, fit_with, predicted_codes, takes_in_fit
from unconfused._typing import BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion._dawid_skene import Crowd
from unconfused.confusion.votes import Votes
from unconfused.estimators.relabel.evidence import SMALLEST, Evidence

LEAST = 0.05
"""Classes less probable than this are dropped: repeating a row for every class would make fits many
times slower. Compared with 0.01 on Letter, one seed."""


@dataclass(frozen=True)
class TrainingSet:
    """Rows, possibly repeated, each with a class and a weight.

    Parameters
    ----------
    rows : (m,), indices into X
    codes : (m,), classes
    weight : (m,), weights
    classes : (n,), the likeliest class of every row of X; -1 for rows that are left out
    """

    rows: IntArray
    codes: IntArray
    weight: FloatArray
    classes: IntArray

    def without(self, held: BoolArray) -> TrainingSet:
        """Leave rows out."""
        kept = ~held[self.rows]
        return TrainingSet(self.rows[kept], self.codes[kept], self.weight[kept], self.classes)


def hard_labels(codes: IntArray, weight: FloatArray) -> TrainingSet:
    """Return a training set with one class per row; rows with code -1 or weight 0 are left out."""
    counted = np.flatnonzero((weight > 0) & (codes >= 0))
    return TrainingSet(counted, codes[counted], weight[counted], codes)


def soft_labels(posterior: FloatArray, weight: FloatArray) -> TrainingSet:
    """Return a training set that repeats rows for all probable classes, weighted by probability.

    Examples
    --------
    >>> found = soft_labels(np.array([[0.97, 0.03], [0.6, 0.4]]), np.array([1.0, 2.0]))
    >>> found.rows.tolist(), found.codes.tolist(), found.weight.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 1.2, 0.8])
    """
    least = np.minimum(LEAST, posterior.max(axis=1, keepdims=True))
    kept = np.where((posterior >= least) & (weight > 0)[:, np.newaxis], posterior, 0.0)
    kept *= (weight / np.maximum(kept.sum(axis=1), SMALLEST))[:, np.newaxis]
    rows, codes = np.nonzero(kept)
    return TrainingSet(rows, codes, kept[rows, codes], posterior.argmax(axis=1))


def pseudo_labels(estimator: Any, posterior: FloatArray, weight: FloatArray) -> TrainingSet:
    """Return the training set that makes a classifier learn the posterior of the rows.

    A classifier without sample weights gets the likeliest class of each row. Uncertain rows are
    kept, as their classes would otherwise become rarer with every round.
    """
    if takes_in_fit(estimator, "sample_weight"):
        return soft_labels(posterior, weight)
    return hard_labels(np.where(weight > 0, posterior.argmax(axis=1), -1), weight)


@dataclass(frozen=True)
class Task:
    """Checked labels or votes, and the confusion matrix.

    Parameters
    ----------
    classes : the sorted classes
    evidence : evidence on every row
    first : training set before any round
    mixing : P(class in `first` | true class); None if they are the same
    prior_counts : (Q, Q) prior counts of C while it is refined; None if it is fixed
    guesses : whether C is to be estimated from the labels
    votes, crowd : the votes, if labels are votes
    """

    classes: Labels
    evidence: Evidence
    first: TrainingSet
    mixing: FloatArray | None = None
    prior_counts: FloatArray | None = None
    guesses: bool = False
    votes: Votes | None = None
    crowd: Crowd | None = None

    @property
    def rules(self) -> bool:
        """Whether most annotators are rules."""
        return self.votes is not None and bool(self.votes.one_sided.mean() > 0.5)

    @property
    def labels_are_true(self) -> bool:
        """Whether every row's class is that of the first training set."""
        if self.evidence.known.all():
            return True
        if self.guesses or self.crowd is not None:
            return False
        same = self.mixing is None or np.array_equal(self.mixing, np.eye(len(self.classes)))
        return same and not self.trusted.any()

    @property
    def trusted(self) -> BoolArray:
        """Rows whose truth is known, where that is not all of them."""
        known = self.evidence.known
        return np.zeros_like(known) if known.all() else known


@dataclass(frozen=True)
class BaseClassifier:
    """An unfitted classifier; `seed` is for drawing weighted rows if it takes no weights."""

    estimator: Any
    classes: Labels
    seed: int

    def fit(self, X: Any, training: TrainingSet) -> Any:
        """Fit a clone; equal weights are not passed."""
        rows, codes, weight = training.rows, training.codes, training.weight
        even = not len(weight) or bool(np.all(weight == weight[0]))
        if not even and not takes_in_fit(self.estimator, "sample_weight"):
            rng = np.random.RandomState(self.seed)
            drawn = rng.choice(len(rows), len(rows), p=weight / weight.sum())
            rows, codes, even = rows[drawn], codes[drawn], True
        if len(rows) != len(training.classes) or np.any(rows != np.arange(len(rows))):
            X = _safe_indexing(X, rows)
        return fit_with(
            clone(self.estimator), X, self.classes[codes], sample_weight=None if even else weight
        )

    def log_probabilities(self, fitted: Any, X: Any) -> FloatArray:
        """Return log-probabilities of the classes, (n, Q).

        Without `predict_proba` they are the log-softmax of the decision scores; a classifier that
        only predicts classes gives its prediction probability 1. Both are calibrated later.
        """
        met = fitted.classes_
        if hasattr(fitted, "predict_proba"):
            logs = np.log(np.maximum(np.asarray(fitted.predict_proba(X), np.float64), SMALLEST))
        else:
            logs = _log_scores(fitted, X, met)
        return aligned_columns(logs, fitted, self.classes, float(np.log(SMALLEST)))


def _log_scores(fitted: Any, X: Any, met: Labels) -> FloatArray:
    if hasattr(fitted, "decision_function"):
        scores = np.asarray(fitted.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        if scores.shape[1] == len(met):
            return np.asarray(log_softmax(scores, axis=1))
    return np.log(np.maximum(np.eye(len(met))[predicted_codes(fitted, X, met)], SMALLEST))
