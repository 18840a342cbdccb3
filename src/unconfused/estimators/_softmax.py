"""Linear classifiers with probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import encode_labels
from unconfused._matrix import label_chances
from unconfused._typing import ArrayLike, FloatArray, Labels
from unconfused.engines.array_api.likelihood import logarithms, posterior, softmax
from unconfused.estimators._array_input import array_space, like, to_numpy
from unconfused.estimators._base import LinearClassifier, one_column
from unconfused.estimators._lazy import is_dask, lazy_on_dask
from unconfused.solvers.costs import class_costs


class SoftmaxClassifier(LinearClassifier):
    """A linear classifier with probabilities: the softmax of the scores."""

    class_weight: Any = None
    classes: ArrayLike | None

    @lazy_on_dask
    def predict(self, X: Any) -> Labels:
        """Predict the class of every row: the likeliest, or with `class_weight` the cheapest."""
        if self.class_weight is None:
            return super().predict(X)
        shares = self.predict_proba(X)
        costs = class_costs(self.class_weight, self.classes_, self.class_prior_, self.classes)
        space = array_space(shares)
        expected = to_numpy(shares) @ costs
        best = expected.argmin(axis=1)
        predicted = np.asarray(self.classes_[best])
        if space is None or predicted.dtype.kind not in "iufb":  # only NumPy has arrays of strings
            return predicted
        found: Labels = like(predicted, shares)
        return found

    @lazy_on_dask
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every true class for every row, (n, Q)."""
        scores = self._scores(X)
        space = array_space(scores)
        found: FloatArray = softmax(np if space is None else space.xp, scores)[1]
        return found

    def _scores(self, X: Any) -> Any:
        """Return the score of every class for every row, (n, Q), in float64 where there is one."""
        scores = self.decision_function(X)
        space = array_space(scores)
        xp: Any = np if space is None else space.xp
        scores = np.asarray(scores, dtype=np.float64) if space is None else space.exact(scores)
        return xp.stack([xp.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores

    @lazy_on_dask
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        shares = self.predict_proba(X)
        space = array_space(shares)
        with np.errstate(divide="ignore"):
            logs: FloatArray = (np if space is None else space.xp).log(shares)
        return logs

    def label_posterior(self, X: Any, y: ArrayLike) -> FloatArray:
        """Return P(true class | row, observed label), (n, Q); of the row alone where y is missing.

        One minus the entry of the observed label is the probability that this label is wrong.
        Lazy on Dask collections, as `predict` is.
        """
        if is_dask(X):
            from unconfused.estimators.dask.posterior import lazy_label_posterior

            lazily: FloatArray = lazy_label_posterior(self, X, y)
            return lazily
        scores = self._scores(X)
        names = getattr(self, "labels_", self.classes_)
        labels = encode_labels(one_column(y), classes=names, missing_label=self.missing_label)
        check_consistent_length(scores, labels.observed)
        # No label says nothing of the classes; it is found at -1, the last.
        chances = np.vstack([label_chances(self.confusion_), np.ones(len(self.classes_))])
        log_chances = logarithms(chances)[labels.observed]
        found: FloatArray = like(posterior(np, to_numpy(scores), log_chances)[2], scores)
        return found
