"""Gradient boosting through the confusion matrix: an objective for LightGBM and XGBoost.

A boosted model predicts scores of the true classes. Their softmax, multiplied by C, has to explain
the labels that were observed, so a single fit suffices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unconfused._labels import encode_labels
from unconfused._matrix import label_chances
from unconfused._matrix_labels import (
    align_confusion,
    confusion_classes,
    confusion_labels,
    is_rectangular,
)
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.engines.base import logarithms, posterior

__all__ = ["ConfusedObjective"]

SMALLEST_CURVATURE = 1e-6
"""Lower limit of the curvature of a score: leaf values are divided by sums of these."""


class ConfusedObjective:
    """Likelihood of noisy labels through a confusion matrix, for LightGBM and XGBoost.

    The gradient is exact: class probabilities minus their posterior given the label. The Hessian
    with noisy labels is neither diagonal nor positive, so that of the EM algorithm's surrogate loss
    is used. This is the loss of clean labels with the posterior held fixed, an upper bound. Its
    curvature is ``p (1 - p) Q / (Q - 1)``, as in LightGBM's own multiclass loss, so that learning
    rates have the same meaning.

    Parameters
    ----------
    confusion : rows are true classes, columns observed labels. Columns of a DataFrame may be other
        labels
    classes : the classes in the order of a plain array. By default 0 to Q - 1

    Attributes
    ----------
    classes_ : (Q,), the sorted classes, in the order of the scores
    labels_ : (S,), the sorted labels
    confusion_ : (Q, S), the matrix in this order

    Notes
    -----
    The scikit-learn wrappers of both libraries take it as the `objective` of their *regressors*:
    the targets are codes from `encode`, and the predictions are scores, which `predict_proba` and
    `predict` turn into probabilities and classes. For `lightgbm.train` and `xgboost.train` use the
    methods `lightgbm` and `xgboost`.

    Fisher information is positive as well, but its steps are too long under heavy noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import noise
    >>> from unconfused.boosting import ConfusedObjective
    >>> X, y = load_iris(return_X_y=True)
    >>> C = noise.pairwise(3, 0.3)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> objective = ConfusedObjective(C)
    >>> codes = objective.encode(seen)
    >>> gradient, curvature = objective(codes, np.zeros((150, 3)))
    >>> gradient.shape, bool((curvature > 0).all())
    ((150, 3), True)

    With LightGBM (and XGBoost: ``XGBRegressor(objective=objective, num_class=3)``)::

        model = LGBMRegressor(objective=objective, num_class=3, metric="None")
        scores = model.fit(X, codes).predict(X)
        objective.predict_proba(scores)
    """

    def __init__(self, confusion: Any, *, classes: ArrayLike | None = None) -> None:
        named = confusion_classes(confusion)
        if named is None and is_rectangular(confusion):
            raise ValueError(
                "Pass a rectangular matrix as a DataFrame: the classes are its index, the labels "
                "its columns."
            )
        if named is None:
            named = np.unique(np.arange(len(confusion)) if classes is None else classes)
        others = confusion_labels(confusion)
        self.classes_: Labels = named
        self.labels_: Labels = named if others is None else others
        self.confusion_ = align_confusion(confusion, named, classes, others)
        chances = np.vstack([label_chances(self.confusion_), np.eye(len(named))])
        self._log_chances = logarithms(chances)

    def encode(
        self, y: ArrayLike, y_true: ArrayLike | None = None, missing_label: Any = "auto"
    ) -> IntArray:
        """Return the targets to fit: the code of each label, or S + that of the truth if known.

        Parameters
        ----------
        y : observed labels; may be missing where `y_true` is given
        y_true : true classes where known, missing elsewhere
        missing_label : a value that means "missing" besides None and NaN
        """
        others = None if self.labels_ is self.classes_ else self.labels_
        encoded = encode_labels(
            y, y_true, classes=self.classes_, labels=others, missing_label=missing_label
        )
        bare = (encoded.observed < 0) & (encoded.truth < 0)
        if bare.any():
            raise ValueError(f"{bare.sum()} rows have neither a label nor a truth; drop them.")
        known = encoded.truth >= 0
        return np.where(known, len(self.labels_) + encoded.truth, encoded.observed)

    def __call__(
        self, codes: ArrayLike, scores: ArrayLike, weight: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return gradient and curvature of the loss, (n, Q) each, for scikit-learn wrappers."""
        log_chances, table = self._rows(codes, scores)
        _, shares, given = posterior(np, table, log_chances)
        factor = len(self.classes_) / (len(self.classes_) - 1)
        curvature = np.maximum(factor * shares * (1.0 - shares), SMALLEST_CURVATURE)
        own = 1.0 if weight is None else np.asarray(weight, dtype=np.float64)[:, np.newaxis]
        return own * (shares - given), own * curvature

    def loss(self, codes: ArrayLike, scores: ArrayLike, weight: ArrayLike | None = None) -> float:
        """Return the mean of -log P(label), by which to choose the number of trees."""
        log_chances, table = self._rows(codes, scores)
        own = None if weight is None else np.asarray(weight, dtype=np.float64)
        return float(np.average(posterior(np, table, log_chances)[0], weights=own))

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Turn scores, the predictions of the model, into probabilities of the true classes."""
        table = self._table(scores)
        return np.asarray(posterior(np, table, np.zeros(table.shape))[1])

    def predict(self, scores: ArrayLike) -> Labels:
        """Turn scores into the likeliest classes."""
        return np.asarray(self.classes_[self._table(scores).argmax(axis=1)])

    def label_posterior(self, scores: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return P(true class | row, observed label), (n, Q)."""
        log_chances, table = self._rows(self.encode(y), scores)
        return np.asarray(posterior(np, table, log_chances)[2])

    @property
    def lightgbm(self) -> Callable[[Any, Any], tuple[FloatArray, FloatArray]]:
        """The objective for `lightgbm.train`: a function of scores and a Dataset."""
        return lambda scores, data: self(data.get_label(), scores, data.get_weight())

    @property
    def xgboost(self) -> Callable[[Any, Any], tuple[FloatArray, FloatArray]]:
        """The objective for `xgboost.train`: a function of scores and a DMatrix."""
        return lambda scores, data: self(
            data.get_label(), scores, data.get_weight() if len(data.get_weight()) else None
        )

    def _rows(self, codes: ArrayLike, scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
        rows = np.asarray(codes, dtype=np.intp)
        return self._log_chances[rows], self._table(scores, len(rows))

    def _table(self, scores: ArrayLike, n_rows: int | None = None) -> FloatArray:
        """Return scores as (n, Q); LightGBM's own interface may flatten them class by class."""
        table, n_classes = np.asarray(scores, dtype=np.float64), len(self.classes_)
        if table.ndim == 1 and table.size % n_classes == 0:
            table = table.reshape(n_classes, -1).T
        if table.ndim != 2 or table.shape[1] != n_classes or n_rows not in (None, len(table)):
            raise ValueError(
                f"The scores have shape {np.shape(scores)}, but there are {n_classes} classes: set "
                f"num_class={n_classes} in the parameters of the model."
            )
        return table
