"""From what a user passes to what a solver needs: rows, label codes, a confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from unconfused._html import confusion_card, noise_in_words
from unconfused._labels import EncodedLabels, encode_labels
from unconfused._matrix import align_confusion, aligned_counts, confusion_classes
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows
from unconfused.confusion._random_sample import warn_unless_random
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.trusted import count_pairs, refuse_empty_rows
from unconfused.engines import ArrayEngine, Engine, LocalEngine, make_engine
from unconfused.engines.dask.engine import DaskRest, DaskRows
from unconfused.estimators._array_input import array_space, rows_at, to_numpy
from unconfused.estimators._base import LinearClassifier, thread_count
from unconfused.estimators._lazy import is_dask
from unconfused.solvers.preconditioner import Preconditioner

LARGEST_TOTAL = 1e100
"""Sample weights may add up to this; beyond it, what is calculated from them may not be finite."""


@dataclass(frozen=True)
class NoisyData:
    """Checked rows with encoded labels."""

    X: Rows
    labels: EncodedLabels
    sample_weight: FloatArray | None
    metric: Preconditioner | None = field(default=None, kw_only=True)
    """Coordinates for fits of the likelihood, once they were found."""

    @property
    def known(self) -> BoolArray:
        """Which rows' truth is known."""
        return self.labels.truth >= 0

    @property
    def trusted(self) -> bool:
        """Whether the truth of any row is known."""
        return bool(self.known.any())

    @property
    def codes(self) -> IntArray:
        """Label codes: the observed class, or Q + the true class where it is known."""
        if not self.trusted:
            return self.labels.observed
        n_classes = len(self.labels.classes)
        return np.where(self.known, n_classes + self.labels.truth, self.labels.observed)

    @property
    def n_codes(self) -> int:
        """Number of label codes in use."""
        return len(self.labels.classes) * (2 if self.trusted else 1)

    @property
    def in_memory(self) -> bool:
        """Whether rows whose truth is not known can be held out, too."""
        return True

    def pair_counts(self) -> FloatArray:
        """Count how the trusted rows were labelled."""
        labels = self.labels
        return count_pairs(labels.truth, labels.observed, len(labels.classes), self.sample_weight)

    @property
    def eligible(self) -> NoisyData:
        """The rows that can be held out: masks of held-out rows are over these."""
        return self

    def trusted_rows(self, held: BoolArray | None) -> tuple[Rows, IntArray, int, FloatArray | None]:
        """Return rows, codes, their number and weights where the truth is known and not held."""
        rows = np.flatnonzero(self.known if held is None else self.known & ~held)
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return rows_at(self.X, rows), self.codes[rows], self.n_codes, weight

    def rows_without(self, held: BoolArray | None) -> tuple[Rows, IntArray, int, FloatArray | None]:
        """Return rows, codes, their number and weights; rows held out count 0."""
        weight = self.sample_weight
        if held is not None:
            weight = np.where(held, 0.0, 1.0 if weight is None else weight)
        return self.X, self.codes, self.n_codes, weight


@dataclass(frozen=True)
class KnownConfusion:
    """C in the order of the sorted classes, and what it rests on."""

    matrix: FloatArray
    counts: FloatArray | None = None
    """The (true, observed) counts behind it; None if it was given as known."""


def encode_noisy(
    y: Labels,
    y_true: ArrayLike | None,
    confusion: Any,
    classes: ArrayLike | None,
    missing_label: Any,
) -> EncodedLabels:
    """Encode labels; the classes are those named, those of a labelled C, or those seen."""
    named = classes
    if classes is None and confusion is not None:
        named = confusion_classes(confusion)
    labels = encode_labels(y, y_true, classes=named, missing_label=missing_label)
    _refuse_rows_without_label(labels)
    if len(labels.classes) < 2:
        raise ValueError(
            "A classifier needs at least two classes; the labels show only one class "
            f"({labels.classes.tolist()}). Name the others with `classes`."
        )
    return labels


def _refuse_rows_without_label(labels: EncodedLabels) -> None:
    bare = np.flatnonzero((labels.observed < 0) & (labels.truth < 0))
    if len(bare):
        raise ValueError(
            f"{len(bare)} rows have neither an observed label nor a truth (the first is row "
            f"{bare[0]}). Drop them. If -1 is a class and not a missing label, say so with "
            "`classes`, or with missing_label=None."
        )


def refuse_extreme_weights(total: float) -> None:
    """Raise if weights add up to a number whose square, times rows, could overflow or vanish."""
    if not 1 / LARGEST_TOTAL <= total <= LARGEST_TOTAL:
        raise ValueError(
            f"The sample weights add up to {total:g}; they should add up to a number between "
            f"{1 / LARGEST_TOTAL:g} and {LARGEST_TOTAL:g}. Divide all of them by the same number: "
            "each says how many rows a row stands for."
        )


def confusion_for(
    data: NoisyData,
    confusion: Any,
    order: ArrayLike | None,
    counts: FloatArray | None = None,
) -> KnownConfusion:
    """Find C: what is passed comes first, then the trusted rows, then labels as they are.

    `counts` are those of the trusted rows gathered so far, if not of these rows alone; a class
    that has none yet is believed as labelled.
    """
    classes = data.labels.classes
    if confusion is not None:
        matrix = align_confusion(confusion, classes, order)
        counts = aligned_counts(confusion, classes)
        if counts is not None:
            # An estimate may be steadier than its counts: as many rows, told apart as it does.
            counts = np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * matrix
        return KnownConfusion(matrix, counts)
    if counts is None:
        counts = data.pair_counts()
        if data.known.all() or not data.trusted:
            # Either no label goes through C, or all are believed as they are.
            return KnownConfusion(np.eye(len(classes)))
        refuse_empty_rows(counts, classes)
        warn_unless_random(counts, data.labels.observed, data.sample_weight)
    if not counts.any():
        return KnownConfusion(np.eye(len(classes)))
    return KnownConfusion(ConfusionEstimate.from_counts(counts, classes).matrix, counts)


class NoisyLabelClassifier(LinearClassifier):
    """A linear classifier that learns from noisy labels, with the truth of some rows."""

    confusion: Any
    missing_label: Any
    fit_intercept: bool
    n_jobs: int | None
    confusion_: FloatArray
    class_prior_: FloatArray

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
        if not hasattr(self, "class_prior_"):
            return diagram
        classes = self.classes_.tolist()
        headline = noise_in_words(self.confusion_, self.class_prior_, classes)
        steps = f"{type(self).__name__}, {len(classes)} classes"
        if hasattr(self, "n_iter_"):  # a model in closed form has none
            steps += f", fitted in {self.n_iter_:,} steps"
        more = "unconfused.write_report shows which rows, and how sure this is"
        return confusion_card(headline, self.confusion_, classes, [steps, more]) + diagram

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
        X = self._check_rows(X, reset=reset)
        observed = self._check_labels(y, X)
        labels = encode_noisy(
            observed, to_numpy(y_true), self.confusion, classes, self.missing_label
        )
        return NoisyData(X, labels, self._check_weight(sample_weight, X))

    def _check_weight(self, sample_weight: Any, X: Rows) -> FloatArray | None:
        if sample_weight is None:
            return None
        # Weights are NumPy's, whatever the rows are: the check needs to know how many there are.
        rows = np.empty((X.shape[0], 0))
        weight: FloatArray = _check_sample_weight(
            to_numpy(sample_weight), rows, dtype=np.float64, ensure_non_negative=True
        )
        with np.errstate(over="ignore"):
            refuse_extreme_weights(weight.sum())
        return weight

    def _engine(self, X: Rows, codes: IntArray, n_codes: int, weight: FloatArray | None) -> Engine:
        """Wrap rows, label codes and weights for the solvers."""
        if isinstance(X, DaskRows | DaskRest):  # these bring their codes and weights
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
