"""What models that were fitted without a row say about its label."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._labels import MISSING, encode_labels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.confusion.cross_validated import stratified_folds
from unconfused.confusion.estimate import ConfusionEstimate, name_classes
from unconfused.confusion.estimation.calibration import judged_labels
from unconfused.confusion.estimation.class_probabilities import ClassProbabilities, even_out
from unconfused.confusion.estimation.label_quality import model_helps, through_matrix
from unconfused.confusion.noisy import left_out_probabilities
from unconfused.review.checked import CheckedRows

FOLDS = 5


@dataclass(frozen=True)
class LeftOut:
    """Out-of-fold judgements of all labels; see `judge_left_out`.

    Attributes
    ----------
    classes : (Q,), sorted
    observed : (n,), label codes, MISSING where there is none
    truth : (n,), codes of the verdicts, MISSING where there is none
    probability : (n, Q), P(label | row) by models fitted to the other rows, where verdicts take the
        place of labels
    """

    classes: Labels
    observed: IntArray
    truth: IntArray
    probability: FloatArray

    @cached_property
    def ranking(self) -> FloatArray:
        """(n, Q) class probabilities: check rows with a low entry for their label first.

        The posterior where held-out labels support the estimated confusion matrix, otherwise
        `probability`: as in `confusion.rank_label_errors`.
        """
        some, model = self.observed != MISSING, self._model
        if model and model_helps(model, self.probability[some], self.observed[some]):
            return self.posterior
        return self.probability

    @cached_property
    def posterior(self) -> FloatArray:
        """(n, Q), P(true class | row, label)."""
        if self._model is None:
            return self.probability
        table = self._model.posterior(self.probability, self.observed)
        return np.where((self.observed != MISSING)[:, np.newaxis], table, self.probability)

    @cached_property
    def _model(self) -> ClassProbabilities | None:
        # Labels of checked rows count like others: rows chosen for looking wrong were chosen by
        # features and label alone, and without them the labels that are left look clean.
        some = self.observed != MISSING
        return through_matrix(self.probability[some], self.observed[some]) if some.any() else None

    @cached_property
    def alone(self) -> FloatArray:
        """(n, Q), P(true class | row), whatever the label: what `posterior` combines with it."""
        return self.probability if self._model is None else self._model.apply(self.probability)

    @property
    def matrix(self) -> FloatArray | None:
        """(Q, Q), C as it enters `posterior`; None if there are no labels."""
        return None if self._model is None else self._model.matrix

    @property
    def wrong(self) -> FloatArray:
        """(n,), probability that each label is wrong; 0 where there is none."""
        return judged_labels(self.posterior, self.observed)[0]

    @cached_property
    def confusion(self) -> ConfusionEstimate:
        """C estimated from all labels: each row counts by its posterior, or by its verdict.

        Each verdict represents only its own row. So it does no harm if rows were checked because
        they looked wrong, as it would if they were treated as a random sample.
        """
        n_classes, known = len(self.classes), self.truth != MISSING
        share = self.posterior.copy()
        share[known] = np.eye(n_classes)[self.truth[known]]
        labelled = self.observed != MISSING
        counts = np.zeros((n_classes, n_classes))
        np.add.at(counts.T, self.observed[labelled], share[labelled])
        prior = np.maximum(counts.sum(axis=1), 1e-12)
        return ConfusionEstimate(even_out(counts), counts, self.classes, prior / prior.sum())


def judge_left_out(
    X: Any,
    y: ArrayLike,
    checked: CheckedRows | None = None,
    *,
    estimator: Any = None,
    classes: ArrayLike | None = None,
    random_state: int = 0,
) -> LeftOut:
    """Judge every label by models that were fitted without the row.

    A model that was fitted to a wrong label may have learnt it, and then agrees with it.

    Parameters
    ----------
    X : array or sparse matrix of features
    y : labels; None where missing
    checked : verdicts, which the models learn in place of the labels
    estimator : a classifier with `predict_proba`. By default a logistic regression on scaled
        features, its penalty chosen by the likelihood of left-out labels
    classes : all classes, if labels and verdicts may not show every one
    random_state : seed of the folds

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2  # was 0
    >>> int(judge_left_out(X, y).ranking[np.arange(150), y].argmin())
    7
    """
    y_true = None if checked is None or not checked.known.any() else checked.y_true
    labels = encode_labels(y, y_true, classes=classes, missing_label=None)
    best = np.where(labels.truth != MISSING, labels.truth, labels.observed)
    usable = np.flatnonzero(best != MISSING)
    codes, n_classes = best[usable], len(labels.classes)
    if len(shown := np.unique(codes)) < 2:
        raise ValueError(
            "To judge labels takes at least two classes; labels and verdicts show "
            f"{name_classes(labels.classes[shown]) if len(shown) else 'none'}."
        )
    splits = stratified_folds(codes, min(FOLDS, int(np.bincount(codes).max())), random_state)
    probability = np.full((len(best), n_classes), 1.0 / n_classes)
    # A ranking need not be exact.
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        probability[usable] = left_out_probabilities(
            estimator, _safe_indexing(X, usable), codes, labels.classes, splits
        )
    return LeftOut(labels.classes, labels.observed, labels.truth, probability)
