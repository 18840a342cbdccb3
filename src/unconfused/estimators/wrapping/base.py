"""Any classifier: fits to soft labels, and log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._labels import encode_labels
from unconfused._typing import BoolArray, FloatArray, IntArray, Labels
from unconfused.estimators._parts import fit_with, takes_in_fit
from unconfused.estimators.relabel.rounds import SMALLEST

LEAST = 0.05
"""Classes less probable than this are dropped: repeating a row for every class would make fits many
times slower. Compared with 0.01 on Letter, one seed."""


@dataclass(frozen=True)
class Taught:
    """Training set of a classifier: rows, possibly repeated, each with a class and a weight.

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

    def without(self, held: BoolArray) -> Taught:
        """Leave rows out."""
        kept = ~held[self.rows]
        return Taught(self.rows[kept], self.codes[kept], self.weight[kept], self.classes)


def hard(codes: IntArray, weight: FloatArray) -> Taught:
    """Return a training set with one class per row."""
    counted = np.flatnonzero((weight > 0) & (codes >= 0))
    return Taught(counted, codes[counted], weight[counted], codes)


def soft(posterior: FloatArray, weight: FloatArray) -> Taught:
    """Return a training set that repeats rows for all probable classes, weighted by probability.

    Examples
    --------
    >>> taught = soft(np.array([[0.97, 0.03], [0.6, 0.4]]), np.array([1.0, 2.0]))
    >>> taught.rows.tolist(), taught.codes.tolist(), taught.weight.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 1.2, 0.8])
    """
    least = np.minimum(LEAST, posterior.max(axis=1, keepdims=True))
    kept = np.where((posterior >= least) & (weight > 0)[:, np.newaxis], posterior, 0.0)
    kept *= (weight / np.maximum(kept.sum(axis=1), SMALLEST))[:, np.newaxis]
    rows, codes = np.nonzero(kept)
    return Taught(rows, codes, kept[rows, codes], posterior.argmax(axis=1))


def teach(estimator: Any, posterior: FloatArray, weight: FloatArray) -> Taught:
    """Return classes of rows in the form that a classifier can learn from.

    Without sample weights that is each row's likeliest class. Rows in doubt are not left out: their
    classes would become rarer with every round.
    """
    if takes_in_fit(estimator, "sample_weight"):
        return soft(posterior, weight)
    return hard(np.where(weight > 0, posterior.argmax(axis=1), -1), weight)


@dataclass(frozen=True)
class Base:
    """An unfitted classifier.

    Parameters
    ----------
    estimator : with every seed set
    classes : all classes, sorted
    seed : for resampling weighted rows, if the classifier takes no weights
    """

    estimator: Any
    classes: Labels
    seed: int

    def fit(self, X: Any, taught: Taught) -> Any:
        """Fit a clone; equal weights are not passed."""
        rows, codes, weight = taught.rows, taught.codes, taught.weight
        even = not len(weight) or bool(np.all(weight == weight[0]))
        if not even and not takes_in_fit(self.estimator, "sample_weight"):
            rng = np.random.RandomState(self.seed)
            drawn = rng.choice(len(rows), len(rows), p=weight / weight.sum())
            rows, codes, even = rows[drawn], codes[drawn], True
        if len(rows) != len(taught.classes) or np.any(rows != np.arange(len(rows))):
            X = _safe_indexing(X, rows)
        return fit_with(
            clone(self.estimator),
            X,
            self.classes[codes],
            sample_weight=None if even else weight,
        )

    def log_probabilities(self, fitted: Any, X: Any) -> FloatArray:
        """Return log-probabilities of the classes.

        Without `predict_proba`, these are the softmax of the decision scores, to be calibrated; a
        classifier that only predicts classes is taken to be certain of them.
        """
        met = fitted.classes_
        if hasattr(fitted, "predict_proba"):
            logs = np.log(np.maximum(np.asarray(fitted.predict_proba(X), np.float64), SMALLEST))
        else:
            logs = _scores(fitted, X, met)
        places = encode_labels(met, classes=self.classes, missing_label=None).observed
        full = np.full((len(logs), len(self.classes)), np.log(SMALLEST))
        full[:, places] = logs
        return full


def _scores(fitted: Any, X: Any, met: Labels) -> FloatArray:
    if hasattr(fitted, "decision_function"):
        scores = np.asarray(fitted.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        if scores.shape[1] == len(met):
            return np.asarray(log_softmax(scores, axis=1))
    codes = encode_labels(fitted.predict(X), classes=met, missing_label=None).observed
    return np.log(np.maximum(np.eye(len(met))[codes], SMALLEST))
