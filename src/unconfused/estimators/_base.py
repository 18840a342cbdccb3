"""Bases of the classifiers: fits as a whole; linear ones with their engine; probabilities."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unconfused._labels import EncodedLabels, encode_labels, refuse_other_order
from unconfused._matrix import label_chances
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Rows
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.base import Engine, logarithms, posterior, softmax
from unconfused.estimators._accuracy import score_by_truth
from unconfused.estimators._arrays import (
    array_space,
    class_scores,
    fits_into,
    float_types,
    is_dask,
    like,
    namespace,
    one_column,
    refuse_other_namespace,
    refuse_other_than_numbers,
    refuse_unusable,
    thread_count,
    to_numpy,
    without_duplicates,
)
from unconfused.estimators._card import with_card
from unconfused.estimators._class_costs import class_costs
from unconfused.estimators._noisy import (
    NoisyData,
    checked_labels,
    checked_weight,
    encode_noisy,
    refuse_extreme_weights,
    without_label,
)
from unconfused.estimators.dask.lazy import lazy_on_dask

Method = TypeVar("Method", bound=Callable[..., Any])


class FitInterrupted(KeyboardInterrupt):
    """Raised by a fit that Ctrl-C has ended early, once the model so far is complete."""


def all_at_once(fit: Method) -> Method:
    """Let `fit` or `partial_fit` work on a draft, whose attributes the estimator takes on together.

    An interrupt or an error leaves the estimator unchanged, at whatever moment: not fitted, or
    fitted as before. (The draft is a shallow copy: what is to be changed in place is copied.)
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **kwargs: Any) -> Any:
        draft = object.__new__(type(self))
        vars(draft).update(vars(self))
        try:
            fit(draft, *args, **kwargs)
        except FitInterrupted:
            self.__dict__ = vars(draft)
            raise KeyboardInterrupt from None
        self.__dict__ = vars(draft)
        return self

    return cast(Method, whole)


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that predicts the class whose weights score highest."""

    confusion: Any
    classes: ArrayLike | None
    missing_label: Any
    fit_intercept: bool
    n_jobs: int | None
    classes_: Labels
    coef_: FloatArray
    intercept_: FloatArray
    confusion_: FloatArray
    class_prior_: FloatArray
    labels_: Labels
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "fit_intercept": ["boolean"],
        "classes": ["array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    """Of the parameters that several learners have; they add their own."""

    _check_dask: Any = None
    """`estimators.dask.data.check_dask` in classifiers that can be fitted to Dask collections."""

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

    @all_at_once
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to noisy labels.

        Parameters
        ----------
        X : array, CSR matrix or frame of shape (n, d). Learners without a `kernel` take Dask
            collections, too; see ``docs/scaling.md``
        y : observed labels; may be missing where `y_true` is given
        y_true : true labels where known, missing elsewhere; they replace the observed ones. Without
            a matrix, at least one must be known
        sample_weight : frequency weight of every row

        Returns
        -------
        The fitted classifier. Ctrl-C keeps the current model, if there is one, and re-raises the
        interrupt; learners with `warm_start` can continue from it.
        """
        self._validate_params()
        self._fit(self._check_data(X, y, y_true, sample_weight, self.classes, reset=True))
        return self

    def _fit(self, data: NoisyData) -> None:
        raise NotImplementedError

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        """Return X as a C-ordered array or CSR matrix of float32 or float64, copied only if not."""
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} needs rows in memory here, not a Dask collection: pass "
                "X.compute()."
            )
        refuse_unusable(X)
        try:
            with np.errstate(invalid="ignore"):  # the check adds up entries, which may overflow
                X = validate_data(
                    self, X, accept_sparse="csr", dtype=float_types(X), order="C", reset=reset
                )
        except (TypeError, ValueError):
            refuse_other_than_numbers(X)
            raise
        return without_duplicates(X)

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
        if is_dask(X) and self._check_dask is not None:
            checked: NoisyData = self._check_dask(X, y, y_true, sample_weight, classes, reset=reset)
            return checked
        refuse_other_order(X, y, "X", "y")
        refuse_other_order(y, y_true)
        X = self._check_rows(X, reset=reset)
        observed = checked_labels(self, y, X)
        labels = encode_noisy(
            observed, to_numpy(y_true), self.confusion, classes, self.missing_label
        )
        weight, bare = checked_weight(sample_weight, X.shape[0]), without_label(labels)
        passed = y_true is not None
        if not bare.any():
            return NoisyData(X, labels, weight, has_truths=passed)
        counted = np.ones(len(bare)) if weight is None else weight
        refuse_extreme_weights(float(counted[~bare].sum()))
        weight, unlabelled = np.where(bare, 0.0, counted), np.where(bare, counted, 0.0)
        return NoisyData(X, labels, weight, unlabelled=unlabelled, has_truths=passed)

    def _publish_labels(self, labels: EncodedLabels) -> None:
        """Set `classes_`, and `labels_` where the labels are not the classes."""
        self.classes_ = labels.classes
        self.__dict__.pop("labels_", None)
        if labels.other_labels is not None:
            self.labels_ = labels.other_labels

    def _engine(self, X: Rows, codes: IntArray, n_codes: int, weight: FloatArray | None) -> Engine:
        """Wrap rows, label codes and weights for the solvers."""
        if hasattr(X, "engine"):  # rows on Dask workers bring their codes and weights
            engine: Engine = X.engine(n_codes, intercept=self.fit_intercept)
            return engine
        n_threads, intercept = thread_count(self.n_jobs), self.fit_intercept
        return make_engine(X, codes, n_codes, weight, intercept=intercept, n_threads=n_threads)

    def _refuse_another_problem(self, data: NoisyData, weights: FloatArray) -> None:
        """Raise if the last weights do not suit these classes and features."""
        shape = (len(data.labels.classes), data.X.shape[1] + self.fit_intercept)
        if not np.array_equal(data.labels.classes, self.classes_) or weights.shape != shape:
            raise ValueError(
                "Cannot continue from the last fit: the classes, the number of features or "
                "fit_intercept have changed. Fit a clone instead."
            )

    def _publish_weights(self, weights: FloatArray, X: Rows, fit_intercept: bool) -> None:
        """Set `coef_` and `intercept_`; with two classes, the difference of their weights.

        They have the type, library and device of the rows X; double precision if they are out of
        the range of that type.
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

    def _check_stream_classes(self, classes: ArrayLike | None, *, first: bool) -> None:
        """Raise if the first call to partial_fit has no classes, or a later one has others."""
        if first and classes is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: later rows may show "
                "labels these do not."
            )
        if not (first or classes is None or np.array_equal(np.unique(classes), self.classes_)):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call to partial_fit "
                f"({self.classes_.tolist()})."
            )

    @lazy_on_dask
    def decision_function(self, X: Any) -> FloatArray:
        """Score every class on every row.

        Returns
        -------
        (n, Q) scores; with two classes (n,) scores, positive for ``classes_[1]``
        """
        check_is_fitted(self)
        refuse_other_namespace(X, self)
        X = self._check_rows(X, reset=False)
        scores = class_scores(X, self.coef_, self.intercept_)
        found: FloatArray = scores[:, 0] if len(self.classes_) == 2 else scores
        return found

    @lazy_on_dask
    def predict(self, X: Any) -> Labels:
        """Predict the class of every row; on a tie, the lowest."""
        scores = self.decision_function(X)
        best = scores > 0 if scores.ndim == 1 else namespace(scores).argmax(scores, axis=1)
        return self._classes_at(to_numpy(best).astype(np.intp), scores)

    def _classes_at(self, codes: IntArray, scores: Any) -> Labels:
        """Return classes as an array like the scores; strings, which only NumPy has, as NumPy's."""
        predicted = np.asarray(self.classes_[codes])
        found: Labels = like(predicted, scores) if predicted.dtype.kind in "iufb" else predicted
        return found


class SoftmaxClassifier(LinearClassifier):
    """A linear classifier with probabilities: the softmax of the scores."""

    class_weight: Any = None

    def _publish_labels(self, labels: EncodedLabels) -> None:
        """Set `classes_`; refuse a `class_weight` that `predict` could not use."""
        if self.class_weight is not None:
            uniform = np.full(len(labels.classes), 1 / len(labels.classes))
            class_costs(self.class_weight, labels.classes, uniform, self.classes)
        super()._publish_labels(labels)

    @lazy_on_dask
    def predict(self, X: Any) -> Labels:
        """Predict the class of every row: the likeliest, or with `class_weight` the cheapest."""
        if self.class_weight is None:
            return super().predict(X)
        shares = self.predict_proba(X)
        costs = class_costs(self.class_weight, self.classes_, self.class_prior_, self.classes)
        return self._classes_at((to_numpy(shares) @ costs).argmin(axis=1), shares)

    @lazy_on_dask
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every true class for every row, (n, Q)."""
        scores = self._scores(X)
        found: FloatArray = softmax(namespace(scores), scores)[1]
        return found

    def _scores(self, X: Any) -> Any:
        """Return the score of every class for every row, (n, Q), in float64 where there is one."""
        scores = self.decision_function(X)
        space, xp = array_space(scores), namespace(scores)
        scores = np.asarray(scores, dtype=np.float64) if space is None else space.exact(scores)
        return xp.stack([xp.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores

    @lazy_on_dask
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            logs: FloatArray = namespace(shares).log(shares)
        return logs

    @lazy_on_dask
    def label_posterior(self, X: Any, y: ArrayLike) -> FloatArray:
        """Return P(true class | row, observed label), (n, Q); of the row alone where y is missing.

        One minus the entry of the observed label is the probability that this label is wrong.
        Lazy on Dask collections, as `predict` is.
        """
        scores = self._scores(X)
        names = getattr(self, "labels_", self.classes_)
        labels = encode_labels(one_column(y), classes=names, missing_label=self.missing_label)
        check_consistent_length(scores, labels.observed)
        # A missing label has code -1, the last row: it is equally likely for all classes.
        chances = np.vstack([label_chances(self.confusion_), np.ones(len(self.classes_))])
        log_chances = logarithms(chances)[labels.observed]
        found: FloatArray = like(posterior(np, to_numpy(scores), log_chances)[2], scores)
        return found


def refuse_relabelling(n_rounds: int | str, data: NoisyData) -> None:
    """Raise if a user asks for rounds of relabelling where there are none."""
    if n_rounds in ("auto", 0):
        return
    if data.labels.other_labels is not None:
        raise ValueError(
            "relabel must be 0 if labels are not classes: relabelling replaces labels by classes."
        )
    if not data.in_memory:
        raise ValueError(
            "relabel must be 0 with Dask collections. Use relabel on a sample in memory, or set it "
            "to 0."
        )


def make_engine(
    X: Rows,
    codes: IntArray,
    n_codes: int,
    sample_weight: FloatArray | None,
    *,
    intercept: bool,
    n_threads: int,
) -> Engine:
    """Return the engine for these rows."""
    space = array_space(X)
    if space is None:  # NumPy arrays and CSR matrices
        from unconfused.engines.local.engine import LocalEngine  # loads numba

        return LocalEngine(
            X, codes, n_codes, sample_weight, intercept=intercept, n_threads=n_threads
        )
    kind = ArrayEngine
    on_cuda = getattr(space.device, "type", None) == "cuda"
    if on_cuda and space.xp.__name__.endswith("torch") and find_spec("triton"):
        from unconfused.engines.cuda.engine import TorchEngine

        kind = TorchEngine
    return kind(X, codes, n_codes, sample_weight, space=space, intercept=intercept)
