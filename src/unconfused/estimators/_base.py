"""Base of the linear classifiers: input checks, engines, prediction, scoring."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unconfused._labels import (
    EncodedLabels,
    known_truth,
    label_array,
    refuse_other_order,
    split_missing,
)
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Rows
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.base import Engine
from unconfused.engines.choose import make_engine
from unconfused.engines.dask.engine import DaskRows
from unconfused.engines.local.blas_threads import thread_pools
from unconfused.engines.local.engine import LocalEngine
from unconfused.estimators._array_input import (
    array_space,
    float_types,
    like,
    refuse_other_namespace,
    refuse_unusable,
    to_numpy,
)
from unconfused.estimators._card import with_card
from unconfused.estimators._lazy import is_dask, lazy_on_dask
from unconfused.estimators._noisy import (
    NoisyData,
    checked_weight,
    encode_noisy,
    refuse_extreme_weights,
    without_label,
)
from unconfused.estimators._scores import class_scores, fits_into


def score_by_truth(
    self: Any,
    X: Any,
    y: ArrayLike,
    y_true: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the accuracy: against the truth where `y_true` gives it, else against `y`.

    Against noisy labels this is the agreement with the noise, not the accuracy a user cares
    for. With `y_true`, only rows whose truth is known count.
    """
    predicted = to_numpy(np.asarray(self.predict(X)) if is_dask(X) else self.predict(X))
    if y_true is None:
        # Of a list, an array of objects was made, which scikit-learn does not score.
        labels, missing = split_missing(one_column(y), "y", None)
        if missing.any():
            raise ValueError("y holds missing labels: drop these rows, or pass y_true.")
        _refuse_no_classes(self, labels)
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))
    refuse_other_order(y, y_true)
    return accuracy_where_known(self, predicted, y_true, sample_weight, "y_true")


def _refuse_no_classes(model: Any, labels: Labels) -> None:
    """Raise if these are labels that no prediction can agree with."""
    if hasattr(model, "labels_"):
        others = np.setdiff1d(np.unique(labels.astype(str)), model.classes_.astype(str))
        if len(others):
            raise ValueError(
                f"Labels such as {others.tolist()[:3]} are not classes, so no prediction can agree "
                "with them. Pass the truth: score(X, y, y_true=...)."
            )


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that predicts the class whose weights score highest."""

    confusion: Any
    missing_label: Any
    fit_intercept: bool
    n_jobs: int | None
    classes_: Labels
    coef_: FloatArray
    intercept_: FloatArray
    confusion_: FloatArray
    class_prior_: FloatArray
    labels_: Labels

    score = score_by_truth

    def _repr_html_inner(self) -> str:
        """Show a card above scikit-learn's diagram once fitted."""
        return with_card(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Do the same where a notebook asks for all forms at once."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = with_card(self, bundle["text/html"])
        return bundle

    def __sklearn_tags__(self) -> Any:
        """Declare what scikit-learn may pass in."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        """Return X as a C-ordered array or CSR matrix of float32 or float64, copied only if not."""
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} needs rows in memory here, not a Dask collection: pass "
                "X.compute()."
            )
        refuse_unusable(X)
        with np.errstate(invalid="ignore"):  # the check adds up entries, which may overflow
            X = validate_data(
                self, X, accept_sparse="csr", dtype=float_types(X), order="C", reset=reset
            )
        if issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()  # an entry stored in two parts would be squared in two parts
        return X

    def _check_labels(self, y: Any, X: Rows) -> Labels:
        """Return the observed labels as one column, one per row of X."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        labels = one_column(y)
        check_consistent_length(X, labels)
        missing_label = getattr(self, "missing_label", None)
        present, missing = split_missing(labels, "y", missing_label)
        check_classification_targets(present[~missing])
        return labels

    def _check_data(
        self,
        X: Any,
        y: Any,
        y_true: Any,
        sample_weight: Any,
        classes: ArrayLike | None,
        *,
        reset: bool,
    ) -> NoisyData:
        if is_dask(X):
            from unconfused.estimators.dask.data import check_dask

            return check_dask(self, X, y, y_true, sample_weight, classes, reset=reset)
        refuse_other_order(y, y_true)
        X = self._check_rows(X, reset=reset)
        observed = self._check_labels(y, X)
        labels = encode_noisy(
            observed, to_numpy(y_true), self.confusion, classes, self.missing_label
        )
        weight, bare = self._check_weight(sample_weight, X), without_label(labels)
        if not bare.any():
            return NoisyData(X, labels, weight)
        counted = np.ones(len(bare)) if weight is None else weight
        refuse_extreme_weights(float(counted[~bare].sum()))
        return NoisyData(
            X, labels, np.where(bare, 0.0, counted), unlabelled=np.where(bare, counted, 0.0)
        )

    def _publish_labels(self, labels: EncodedLabels) -> None:
        """Set `classes_`, and `labels_` where the labels are not the classes."""
        self.classes_ = labels.classes
        self.__dict__.pop("labels_", None)
        if labels.other_labels is not None:
            self.labels_ = labels.other_labels

    def _check_weight(self, sample_weight: Any, X: Rows) -> FloatArray | None:
        if sample_weight is None:
            return None
        return checked_weight(sample_weight, X.shape[0])

    def _engine(self, X: Rows, codes: IntArray, n_codes: int, weight: FloatArray | None) -> Engine:
        """Wrap rows, label codes and weights for the solvers."""
        if isinstance(X, DaskRows):  # these bring their codes and weights
            return X.engine(n_codes, intercept=self.fit_intercept)
        return self._local_engine(X, codes, n_codes, weight)

    def _local_engine(
        self, X: Rows, codes: IntArray, n_codes: int, weight: FloatArray | None
    ) -> LocalEngine | ArrayEngine:
        """Wrap rows, label codes and weights for the solvers."""
        return make_engine(
            X,
            codes,
            n_codes,
            weight,
            intercept=self.fit_intercept,
            n_threads=thread_count(self.n_jobs),
            space=array_space(X),
        )

    def _refuse_another_problem(self, data: NoisyData, weights: FloatArray) -> None:
        """Raise if weights to go on from do not fit these classes and features."""
        shape = (len(data.labels.classes), data.X.shape[1] + self.fit_intercept)
        if not np.array_equal(data.labels.classes, self.classes_) or weights.shape != shape:
            raise ValueError(
                "This goes on from the last fit, but the classes, the number of features or "
                "fit_intercept have changed. Fit a clone instead."
            )

    def _publish_weights(self, weights: FloatArray, X: Rows, fit_intercept: bool) -> None:
        """Set `coef_` and `intercept_`; with two classes, the difference of their weights.

        They are of the type and the library of the rows X, and on their device; of double precision
        if that type has no room for them.
        """
        shown = weights[1:] - weights[:1] if len(weights) == 2 else weights
        if fit_intercept:
            shown, intercept = shown[:, :-1], shown[:, -1]
        else:
            intercept = np.zeros(len(shown))
        dtype = X.dtype
        if array_space(X) is None and not fits_into(shown, dtype):
            dtype = np.float64
        self.coef_ = like(shown, X, dtype)
        self.intercept_ = like(intercept, X, dtype)

    def _refuse_other_classes(self, classes: ArrayLike | None) -> None:
        """Raise if a later call to partial_fit names other classes than the first did."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call to partial_fit "
                f"({self.classes_.tolist()})."
            )

    @lazy_on_dask
    def decision_function(self, X: Any) -> FloatArray:
        """Score every class on every row.

        Returns
        -------
        (n, Q) scores; with two classes (n,) scores, positive for ``classes_[1]``. Those of a row
        that are too large or too small to be written are scaled together: their order and their
        signs are right.
        """
        check_is_fitted(self)
        refuse_other_namespace(X, self, "decision_function")
        X = self._check_rows(X, reset=False)
        scores = class_scores(X, self.coef_, self.intercept_)
        found: FloatArray = scores[:, 0] if len(self.classes_) == 2 else scores
        return found

    @lazy_on_dask
    def predict(self, X: Any) -> Labels:
        """Predict the class of every row; on a tie, the lowest."""
        scores = self.decision_function(X)
        space = array_space(scores)
        if space is None:
            best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
            return np.asarray(self.classes_[best])
        two = scores.ndim == 1
        best = (
            space.xp.astype(scores > 0, space.xp.int64) if two else space.xp.argmax(scores, axis=1)
        )
        if self.classes_.dtype.kind not in "iufb":  # only NumPy has arrays of strings
            return np.asarray(self.classes_[space.to_host(best)])
        predicted: Labels = space.xp.take(like(self.classes_, scores), best, axis=0)
        return predicted


def accuracy_where_known(
    estimator: Any, predicted: Labels, y_true: Any, sample_weight: Any, name: str
) -> float:
    """Return the accuracy on the rows whose label is not missing."""
    missing_label = getattr(estimator, "missing_label", "auto")
    truth, missing = known_truth(one_column(y_true), estimator.classes_, missing_label)
    check_consistent_length(predicted, truth, sample_weight)
    if missing.all():
        raise ValueError(f"{name} holds no label to score against.")
    weight = None if sample_weight is None else np.asarray(to_numpy(sample_weight))[~missing]
    return float(np.average(truth[~missing] == predicted[~missing], weights=weight))


def one_column(labels: Any) -> Labels:
    """Return labels as a one-dimensional array; refuse several columns in words."""
    array = label_array(to_numpy(labels))
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        return np.asarray(array[:, 0])
    if array.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead. For labels of "
            "several annotators, combine them into one label per row first; for several labels per "
            "row (multi-label), use sklearn.multioutput.MultiOutputClassifier around this one."
        )
    return array


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` asks for: all cores this process may use if -1.

    None asks for as many, but for no more than OpenMP's loops may use just now: threadpoolctl, the
    environment and joblib's workers set that where others are at work too.
    """
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not every system can say which cores are ours
        available = os.cpu_count() or 1
    if n_jobs is None:
        pools = thread_pools().info()
        loops = [pool["num_threads"] for pool in pools if pool["user_api"] == "openmp"]
        return int(max(1, min([available, *loops])))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use 1 for one thread, -1 for all cores.")
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)
