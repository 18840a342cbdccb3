"""Scorers for scikit-learn's searches that look past the noise in the labels.

A scorer is called with a fitted model and the rows of a fold, and larger is better. Two kinds: one
needs rows whose truth is known, the other only the observed labels and their confusion matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from unconfused._confusion_names import confusion_classes
from unconfused._labels import MISSING, encode_labels, known_truth, label_array, sorted_classes
from unconfused._matrix import align_confusion
from unconfused._pipelines import last_step
from unconfused._typing import ArrayLike, FloatArray, Labels, Rows
from unconfused.metrics._corrected import corrected_accuracy
from unconfused.metrics._fitted import (
    classes_of,
    mean_of,
    probabilities_of,
    refuse_other_length,
    safe_log,
    several_columns,
    votes_likelihood,
)


class _Scorer(BaseEstimator):
    """A callable built like an estimator, so that searches can clone it and route data to it."""

    def __call__(self, estimator: Any, X: Rows, *labels: Any, **more: Any) -> float:
        """Score a fitted model, as scikit-learn calls a scorer; see `score`."""
        return self.score(estimator, X, *labels, **more)

    @abstractmethod
    def score(self, estimator: Any, X: Rows, *labels: Any, **more: Any) -> float:
        """Score a fitted model."""

    def _accept_sample_weight(self) -> bool:
        # Searches over several scores ask this of each when they are given weights.
        return True


class TrustedScorer(_Scorer):
    """Scorer on the rows of a fold whose truth is known."""

    # Scores without a truth make no sense, so the truth is asked for from the start.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"y_true": True, "estimator": UNUSED}

    def __init__(self, measure: Callable[..., FloatArray], y_true: Any = None) -> None:
        self.measure = measure
        self.y_true = y_true

    def score(
        self,
        estimator: Any,
        X: Rows,
        y: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score a fitted model; `y`, the noisy labels, is not looked at."""
        if y_true is None:
            y_true = self._look_up(X, y)
        missing_label = getattr(last_step(estimator), "missing_label", "auto")
        truth, missing = known_truth(y_true, classes_of(estimator), missing_label)
        values = self.measure(estimator, X, truth, ~missing)
        return mean_of(values, sample_weight, ~missing, "known truth")

    def _look_up(self, X: Rows, y: Any) -> Labels:
        """Find the truth of a fold by its row labels, which pandas carries along."""
        if self.y_true is None:
            raise ValueError(
                "This score needs the truth, y_true, of the rows. Without "
                "sklearn.set_config(enable_metadata_routing=True), searches and cross_val_score "
                "do not pass it on to a scorer: switch that on, or score pandas data with a "
                "scorer made with y_true as a Series."
            )
        fold = X if hasattr(X, "iloc") else y
        if not hasattr(fold, "iloc") or not hasattr(self.y_true, "reindex"):
            raise ValueError(
                "The truth can be looked up by row label only: y_true must be a pandas Series, and "
                "X or y pandas too. Otherwise use sklearn.set_config(enable_metadata_routing=True)."
            )
        if not self.y_true.index.is_unique:
            raise ValueError("y_true names a row twice in its index, so rows cannot be looked up.")
        return label_array(self.y_true.reindex(fold.index))


class ConfusionScorer(_Scorer):
    """Scorer that compares predictions with noisy labels through a confusion matrix."""

    __metadata_request__score: ClassVar[dict[str, Any]] = {"estimator": UNUSED}

    def __init__(
        self, measure: Callable[..., float], confusion: Any = None, classes: Any = None
    ) -> None:
        self.measure = measure
        self.confusion = confusion
        self.classes = classes

    def score(
        self, estimator: Any, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score a fitted model against observed labels; rows without one are left out."""
        if several_columns(y):
            if self.measure is not _likelihood or self.confusion is not None:
                raise ValueError(
                    "y holds votes of several annotators: only metrics.noisy_log_likelihood, with "
                    "each model's own matrices of the annotators, can score against them."
                )
            return votes_likelihood(estimator, X, y, sample_weight)
        last = last_step(estimator)
        confusion, order = self.confusion, self.classes
        if confusion is None:
            if not hasattr(last, "confusion_"):
                raise ValueError(
                    f"{type(last).__name__} has no confusion_, so this score needs a confusion "
                    "matrix: make the scorer with confusion=C."
                )
            confusion, order = last.confusion_, classes_of(last)
        elif order is None:
            named = confusion_classes(confusion)
            order = classes_of(estimator) if named is None else named
        missing_label = getattr(last, "missing_label", "auto")
        settings = {"classes": order, "sample_weight": sample_weight}
        return self.measure(estimator, X, y, confusion, missing_label=missing_label, **settings)


def trusted_accuracy_scorer(y_true: Any = None) -> TrustedScorer:
    """Make a scorer: the share of rows with known truth that are predicted right.

    Rows whose truth is missing are left out; a fold with no known truth is an error.
    `metrics.trusted_accuracy` is one such scorer, ready to use.

    Parameters
    ----------
    y_true : pandas Series, optional
        The truth by row label, for searches over pandas data without metadata routing. A row
        that is missing here has no known truth.

    Returns
    -------
    TrustedScorer
        Called as ``scorer(estimator, X, y, y_true=None, sample_weight=None)``. With metadata
        routing enabled it requests `y_true`; use `set_score_request` for the weights, or for
        another name.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from unconfused.metrics import trusted_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> always_0 = DummyClassifier(strategy="constant", constant=0).fit(X, y)
    >>> trusted_accuracy(always_0, X[48:52], y[48:52], y_true=[0, None, 1, None])
    0.5

    In a search, where `y_true` goes to the fit and to the scorer:

    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.model_selection import cross_val_score
    >>> from unconfused import UMAClassifier
    >>> y_true = np.where(np.arange(150) % 3 == 0, y, np.nan)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     clf = UMAClassifier().set_fit_request(y_true=True)
    ...     params = {"y_true": y_true}
    ...     scores = cross_val_score(clf, X, y, cv=3, scoring=trusted_accuracy, params=params)
    >>> scores.shape
    (3,)
    """
    return TrustedScorer(_hits, y_true)


def trusted_log_loss_scorer(y_true: Any = None) -> TrustedScorer:
    """Make a scorer: the negated log-loss of the rows whose truth is known.

    This is the mean log-probability of the truth, so larger is better, as scikit-learn's searches
    want it. It needs `predict_proba`, and tells models apart that predict the same classes.
    `metrics.trusted_log_loss` is one such scorer, ready to use.

    Parameters
    ----------
    y_true : pandas Series, optional
        The truth by row label, for searches over pandas data without metadata routing. None: the
        scorer requests `y_true` by metadata routing.

    Returns
    -------
    TrustedScorer
        Called as ``scorer(estimator, X, y, y_true=None, sample_weight=None)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from unconfused.metrics import trusted_log_loss
    >>> X, y = load_iris(return_X_y=True)
    >>> a_third_each = DummyClassifier().fit(X, y)
    >>> trusted_log_loss(a_third_each, X[:3], y[:3], y_true=[0, None, 1])
    -1.0986...
    """
    return TrustedScorer(_log_chance_of_truth, y_true)


def noisy_log_likelihood_scorer(
    confusion: Any = None, *, classes: ArrayLike | None = None
) -> ConfusionScorer:
    """Make a scorer: the mean log-likelihood of the observed labels through C.

    The mean of ``log sum_q C[q, y] P(q | x)``. If C is right and invertible, the true probabilities
    have the highest expected score. Nothing is inverted, so this is the score with the least
    variance that needs no truth. If each model is scored with its own C, a model that has learnt
    the noisy labels, with a C without noise, can score as well as one that has learnt the truth:
    pass `confusion` if it is known. `metrics.noisy_log_likelihood` is the scorer with each model's
    own C; it also takes votes, as columns of `y` or as `confusion.Votes`.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q), DataFrame, ConfusionEstimate or None
        Rows are true classes, columns observed labels. None: the model's `confusion_`.
    classes : array-like, optional
        All classes, and the order of a plain `confusion`; by default the model's.

    Returns
    -------
    ConfusionScorer
        Called as ``scorer(estimator, X, y, sample_weight=None)``; the model must have
        `predict_proba`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from unconfused import UnconfusedLogisticRegression, noise
    >>> from unconfused.metrics import noisy_log_likelihood
    >>> X, y = load_iris(return_X_y=True)
    >>> C = noise.symmetric(3, 0.3)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> clf = UnconfusedLogisticRegression(C, l2=1e-2)
    >>> print(f"{cross_val_score(clf, X, seen, scoring=noisy_log_likelihood).mean():.0f}")
    -1
    """
    return ConfusionScorer(_likelihood, confusion, classes)


def corrected_accuracy_scorer(
    confusion: Any = None, *, classes: ArrayLike | None = None
) -> ConfusionScorer:
    """Make a scorer: the accuracy against the truth, estimated from noisy labels through C.

    See `corrected_accuracy`. It needs no probabilities.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q), DataFrame, ConfusionEstimate or None
        Rows are true classes, columns observed labels. None: each model's own `confusion_`; pass a
        matrix if the candidates differ in it.
    classes : array-like, optional
        All classes, and the order of a plain `confusion`; by default the model's.

    Returns
    -------
    ConfusionScorer
        Called as ``scorer(estimator, X, y, sample_weight=None)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from unconfused.metrics import corrected_accuracy_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> always_0 = DummyClassifier(strategy="constant", constant=0).fit(X, y)
    >>> scorer = corrected_accuracy_scorer([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    >>> scorer(always_0, X[:4], [0, 1, 0, 1])  # half of the 0s are called 1: all right, then
    1.0
    """
    return ConfusionScorer(_corrected, confusion, classes)


def _hits(estimator: Any, X: Rows, truth: Labels, known: Labels) -> FloatArray:
    predicted = label_array(estimator.predict(X))
    refuse_other_length(predicted, truth)
    labels = encode_labels(predicted[known], truth[known], missing_label=None)
    return np.asarray(labels.observed == labels.truth, dtype=np.float64)


def _log_chance_of_truth(estimator: Any, X: Rows, truth: Labels, known: Labels) -> FloatArray:
    classes = classes_of(estimator)
    chances = probabilities_of(estimator, X, classes)
    refuse_other_length(chances, truth)
    codes = encode_labels(truth[known], classes=classes, missing_label=None).observed
    return safe_log(chances[known][np.arange(len(codes)), codes])


def _likelihood(
    estimator: Any,
    X: Rows,
    y: ArrayLike,
    confusion: Any,
    *,
    classes: ArrayLike,
    sample_weight: ArrayLike | None,
    missing_label: Any,
) -> float:
    ordered = sorted_classes(classes)
    matrix = align_confusion(confusion, ordered, classes)
    codes = encode_labels(y, classes=ordered, missing_label=missing_label).observed
    seen = codes != MISSING
    chances = probabilities_of(estimator, X, ordered)
    refuse_other_length(chances, codes)
    values = safe_log((chances[seen] * matrix[:, codes[seen]].T).sum(axis=1))
    return mean_of(values, sample_weight, seen, "observed label")


def _corrected(estimator: Any, X: Rows, y: ArrayLike, confusion: Any, **settings: Any) -> float:
    return float(corrected_accuracy(y, estimator.predict(X), confusion, **settings))


trusted_accuracy = trusted_accuracy_scorer()
trusted_log_loss = trusted_log_loss_scorer()
noisy_log_likelihood = noisy_log_likelihood_scorer()
