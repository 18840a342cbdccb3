"""Base classes of linear classifiers of noisy labels, without and with probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import EncodedLabels, encode_labels, refuse_other_order
from unconfused._matrix import label_chances
from unconfused._text.wrong_labels import joint_table, wrong_labels
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels, Rows
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.array_api.likelihood import logarithms, posterior, softmax
from unconfused.engines.base import Engine
from unconfused.engines.choose import make_engine
from unconfused.engines.dask.engine import DaskRows
from unconfused.engines.local.engine import LocalEngine
from unconfused.estimators._array_input import array_space, like, to_numpy
from unconfused.estimators._base import LinearClassifier, one_column, thread_count
from unconfused.estimators._lazy import is_dask, lazy_on_dask
from unconfused.estimators._noisy import (
    NoisyData,
    checked_weight,
    encode_noisy,
    passed_confusion,
    refuse_extreme_weights,
    without_label,
)
from unconfused.solvers.costs import class_costs


class NoisyLabelClassifier(LinearClassifier):
    """A linear classifier that learns from noisy labels, with the truth of some rows."""

    confusion: Any
    missing_label: Any
    fit_intercept: bool
    n_jobs: int | None
    confusion_: FloatArray
    class_prior_: FloatArray
    labels_: Labels

    def _repr_html_inner(self) -> str:
        """Show a card above scikit-learn's diagram once fitted."""
        return self._with_card(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Do the same where a notebook asks for all forms at once."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_card(bundle["text/html"])
        return bundle

    def _with_card(self, diagram: str) -> str:
        if not hasattr(self, "class_prior_") or hasattr(self, "labels_"):
            return diagram  # a card shows one label per class
        classes = self.classes_.tolist()
        headline = self._noise_headline(classes)
        steps = f"{type(self).__name__}, {len(classes)} classes"
        if hasattr(self, "n_iter_"):  # a model in closed form has none
            steps += f", fitted in {self.n_iter_:,} steps"
        more = "unconfused.write_report shows which rows, and how sure this is"
        from unconfused._text.html import confusion_card

        return confusion_card(headline, self.confusion_, classes, [steps, more]) + diagram

    def _noise_headline(self, classes: list[object]) -> tuple[str, str]:
        """Say how many labels are wrong, by the same numbers as reports and the command line."""
        passed = passed_confusion(self)
        if isinstance(passed, ConfusionEstimate):
            found = passed.wrong_labels()
            return found.number, found.claim(passed.classes.tolist())
        counts = getattr(self, "_pair_counts", None)
        if passed is None and counts is not None and np.any(counts):
            found = wrong_labels(counts, "trusted")
        elif np.array_equal(self.confusion_, np.eye(len(classes))):
            found = wrong_labels(np.zeros((len(classes), len(classes))), "assumed")
        else:
            table = joint_table(np.asarray(self.confusion_), self.class_prior_)
            if hasattr(self, "annotator_confusion_"):
                found = wrong_labels(table, "votes")
                return found.number, found.claim(classes, "answers")
            found = wrong_labels(table, "fitted")
        return found.number, found.claim(classes)

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


class SoftmaxClassifier(NoisyLabelClassifier):
    """A classifier of noisy labels with probabilities: the softmax of the scores."""

    confusion_: FloatArray
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
