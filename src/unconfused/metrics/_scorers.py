"""Scorers for scikit-learn's searches when the labels are noisy.

A scorer is called with a fitted model and the rows of a fold, and larger is better. One kind uses
rows whose truth is known, the other the observed labels and their confusion matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from unconfused._arguments import check_weight
from unconfused._labels import (
    MISSING,
    encode_labels,
    has_columns,
    known_truth,
    label_array,
    refuse_other_length,
    sorted_classes,
)
from unconfused._matrix_labels import align_confusion, confusion_classes
from unconfused._pipelines import aligned_columns, last_step
from unconfused._typing import ArrayLike, BoolArray, FloatArray, Labels, Rows
from unconfused.metrics._corrected import corrected_accuracy

SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
"""Smaller ones are clipped in logarithms, as in scikit-learn: no single row may dominate."""


class _Scorer(BaseEstimator):
    """A callable built like an estimator, so that searches can clone it and route data to it."""

    def _accept_sample_weight(self) -> bool:
        # Searches over several scores ask this of each when they are given weights.
        return True


class TrustedScorer(_Scorer):
    """Scorer on the rows of a fold whose truth is known."""

    # Scores without a truth make no sense, so the truth is requested from the start.
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
        """Score a fitted model; the noisy labels `y` are ignored."""
        if y_true is None:
            y_true = self._look_up(X, y)
        missing_label = getattr(last_step(estimator), "missing_label", "auto")
        truth, missing = known_truth(y_true, _classes_of(estimator), missing_label)
        values = self.measure(estimator, X, truth, ~missing)
        return _mean(values, sample_weight, ~missing, "known truth")

    __call__ = score

    def _look_up(self, X: Rows, y: Any) -> Labels:
        """Find the truth of a fold by its row labels, which pandas carries along."""
        fold = X if hasattr(X, "iloc") else y
        if not hasattr(fold, "iloc") or not hasattr(self.y_true, "reindex"):
            raise ValueError(
                "This score needs the truth of the rows, y_true. Searches and cross_val_score pass "
                "it on with sklearn.set_config(enable_metadata_routing=True). Otherwise make the "
                "scorer with y_true as a pandas Series: with X or y from pandas, the truth is "
                "looked up by row label."
            )
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
        if has_columns(y):
            if self.measure is not _likelihood or self.confusion is not None:
                raise ValueError(
                    "y holds votes of several annotators: only metrics.noisy_log_likelihood can "
                    "score against them, by each model's own annotator_confusion_."
                )
            return _likelihood_of_votes(estimator, X, y, sample_weight)
        last = last_step(estimator)
        confusion, order = self.confusion, self.classes
        if confusion is None:
            if not hasattr(last, "confusion_"):
                raise ValueError(
                    f"{type(last).__name__} has no confusion_, so this score needs a confusion "
                    "matrix: make the scorer with confusion=C."
                )
            confusion, order = last.confusion_, _classes_of(last)
        elif order is None:
            named = confusion_classes(confusion)
            order = _classes_of(estimator) if named is None else named
        missing_label = getattr(last, "missing_label", "auto")
        return self.measure(estimator, X, y, confusion, order, sample_weight, missing_label)

    __call__ = score


def trusted_accuracy_scorer(y_true: Any = None) -> TrustedScorer:
    """Make a scorer: the accuracy on the rows whose truth is known.

    A fold without a known truth raises an error. `metrics.trusted_accuracy` is such a scorer with
    ``y_true=None``.

    It is called as ``scorer(estimator, X, y, y_true=None, sample_weight=None)``. Use
    `set_score_request` to request the weights too, or another name.

    Parameters
    ----------
    y_true : pandas Series of the truth, matched with the index of pandas data, for searches without
        metadata routing. Rows that are not in it have no known truth. None: `y_true` is requested
        by metadata routing

    Examples
    --------
    In a search, where `y_true` goes to the fit and to the scorer:

    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from unconfused import UMAClassifier
    >>> from unconfused.metrics import trusted_accuracy
    >>> X, y = load_iris(return_X_y=True)
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

    It needs `predict_proba`. Unlike the accuracy, it also distinguishes models that predict the
    same classes. Parameters are those of `trusted_accuracy_scorer`; `metrics.trusted_log_loss` is
    such a scorer with ``y_true=None``.

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
    return TrustedScorer(_log_probability_of_truth, y_true)


def noisy_log_likelihood_scorer(
    confusion: Any = None, *, classes: ArrayLike | None = None
) -> ConfusionScorer:
    """Make a scorer: the mean log-likelihood of the observed labels through C.

    The score is the mean of ``log sum_q C[q, y] P(q | x)``. If C is right and invertible, the true
    probabilities have the highest expected score. As nothing is inverted, it has the least variance
    of the scores that need no truth.

    Pass `confusion` if it is known. Otherwise each model is scored with its own C, and a model that
    has learnt the noisy labels, and whose C has no noise, can score as well as one that has learnt
    the truth. `metrics.noisy_log_likelihood` is the scorer without `confusion`; it also takes
    votes, as columns of `y` or as `confusion.Votes`.

    It is called as ``scorer(estimator, X, y, sample_weight=None)``; the model must have
    `predict_proba`.

    Parameters
    ----------
    confusion : rows are true classes, columns observed labels. None: the model's `confusion_`
    classes : all classes, and the order of a plain `confusion`; by default the model's

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
    """Make a scorer: `corrected_accuracy`, estimated from noisy labels through C.

    It needs no probabilities. Parameters are those of `noisy_log_likelihood_scorer`. Pass a matrix
    if the models to compare have different ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from unconfused.metrics import corrected_accuracy_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> always_0 = DummyClassifier(strategy="constant", constant=0).fit(X, y)
    >>> scorer = corrected_accuracy_scorer([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    >>> scorer(always_0, X[:4], [0, 1, 0, 1])  # half of class 0 is labelled 1
    1.0
    """
    return ConfusionScorer(_corrected, confusion, classes)


def _classes_of(estimator: Any) -> Labels:
    if not hasattr(estimator, "classes_"):
        raise ValueError(
            f"{type(estimator).__name__} has no classes_: these scores are for fitted classifiers."
        )
    return np.asarray(estimator.classes_)


def _probabilities(estimator: Any, X: Rows, classes: Labels, n_labels: int) -> FloatArray:
    """Return predicted probabilities, a column per class; 0 for classes unknown to the model."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{type(last_step(estimator)).__name__} has no predict_proba, which this score needs: "
            "use a score of predictions, such as trusted_accuracy."
        )
    own = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    refuse_other_length(len(own), n_labels)
    _classes_of(estimator)  # refuses what is not fitted
    return aligned_columns(own, estimator, classes)


def _log(probability: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(probability, SMALLEST_PROBABILITY)))


def _mean(values: FloatArray, sample_weight: ArrayLike | None, kept: BoolArray, what: str) -> float:
    """Return the weighted mean over the rows kept; raise if there are none."""
    weight = check_weight(sample_weight, len(kept))[kept]
    if not weight.sum() > 0:
        raise ValueError(
            f"No row here has a {what} (and a positive weight) to score against. In "
            "cross-validation, use fewer folds, or folds that all contain such rows."
        )
    return float(np.average(values, weights=weight))


def _hits(estimator: Any, X: Rows, truth: Labels, known: BoolArray) -> FloatArray:
    predicted = label_array(estimator.predict(X))
    refuse_other_length(len(predicted), len(truth))
    labels = encode_labels(predicted[known], truth[known], missing_label=None)
    return np.asarray(labels.observed == labels.truth, dtype=np.float64)


def _log_probability_of_truth(
    estimator: Any, X: Rows, truth: Labels, known: BoolArray
) -> FloatArray:
    classes = _classes_of(estimator)
    probability = _probabilities(estimator, X, classes, len(truth))
    codes = encode_labels(truth[known], classes=classes, missing_label=None).observed
    return _log(probability[known, codes])


def _likelihood(
    estimator: Any,
    X: Rows,
    y: ArrayLike,
    confusion: Any,
    classes: ArrayLike,
    sample_weight: ArrayLike | None,
    missing_label: Any,
) -> float:
    ordered = sorted_classes(classes)
    matrix = align_confusion(confusion, ordered, classes)
    codes = encode_labels(y, classes=ordered, missing_label=missing_label).observed
    labelled = codes != MISSING
    probability = _probabilities(estimator, X, ordered, len(codes))[labelled]
    values = _log((probability * matrix[:, codes[labelled]].T).sum(axis=1))
    return _mean(values, sample_weight, labelled, "observed label")


def _likelihood_of_votes(estimator: Any, X: Rows, y: Any, sample_weight: ArrayLike | None) -> float:
    model = last_step(estimator)
    if not hasattr(model, "annotator_confusion_"):
        raise ValueError(
            f"y holds votes, but the {type(model).__name__} was not fitted to votes. Score it "
            "against one label per row."
        )
    logs, voted = model._log_vote_chances(y)
    probability = _probabilities(estimator, X, _classes_of(estimator), len(logs))
    values = np.asarray(logsumexp(_log(probability) + logs, axis=1)[voted])
    return _mean(values, sample_weight, voted, "vote")


def _corrected(
    estimator: Any, X: Rows, y: ArrayLike, confusion: Any, classes: Any, weight: Any, missing: Any
) -> float:
    settings = {"classes": classes, "sample_weight": weight, "missing_label": missing}
    return float(corrected_accuracy(y, estimator.predict(X), confusion, **settings))


trusted_accuracy = trusted_accuracy_scorer()
trusted_log_loss = trusted_log_loss_scorer()
noisy_log_likelihood = noisy_log_likelihood_scorer()
