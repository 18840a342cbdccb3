"""Input of the solvers: rows, label codes, a confusion matrix."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from unconfused._labels import (
    MISSING,
    EncodedLabels,
    count_pairs,
    distinct,
    encode_labels,
    present,
    split_missing,
)
from unconfused._matrix import ConfusionWarning, Unmixing, make_unmixing
from unconfused._matrix_labels import (
    align_confusion,
    aligned_counts,
    confusion_classes,
    confusion_labels,
    is_guess,
    is_rectangular,
)
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels, Rows
from unconfused.confusion.estimate import ConfusionEstimate, name_classes
from unconfused.confusion.estimation.pooled import (
    FEW_COUNTS,
    counts_shrunk_to_pooled,
    counts_shrunk_to_symmetric,
    pooled_errors,
)
from unconfused.confusion.trusted import refuse_swapped, warn_unless_random
from unconfused.estimators._arrays import one_column, rows_at, to_numpy

LARGEST_TOTAL = 1e100
"""Largest total of the sample weights; beyond it, sums may not be finite."""


@dataclass(frozen=True)
class NoisyData:
    """Checked rows with encoded labels."""

    X: Rows
    labels: EncodedLabels
    sample_weight: FloatArray | None
    unlabelled: FloatArray | None = field(default=None, kw_only=True)
    """Weights of rows without a label or truth, 0 for others; in `sample_weight` they are 0."""

    has_truths: bool = field(default=False, kw_only=True)
    """Whether `y_true` was passed."""

    @cached_property
    def known(self) -> BoolArray:
        """Which rows' truth is known."""
        return self.labels.truth >= 0

    @property
    def trusted(self) -> bool:
        """Whether there is a row whose truth is known."""
        return bool(self.known.any())

    @property
    def codes(self) -> IntArray:
        """Label codes: the observed label, or S + the true class where it is known.

        Rows with neither have weight 0, and any code.
        """
        observed = np.maximum(self.labels.observed, 0)
        if not self.trusted:
            return observed
        return np.where(self.known, len(self.labels.labels) + self.labels.truth, observed)

    @property
    def n_codes(self) -> int:
        """Number of label codes in use."""
        return len(self.labels.labels) + len(self.labels.classes) * self.trusted

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in memory, so that any of them can be held out."""
        return True

    def label_counts(self, which: BoolArray | bool = True) -> FloatArray:
        """Count the observed labels of some rows, (S,)."""
        seen = which & (self.labels.observed >= 0)
        weight = None if self.sample_weight is None else self.sample_weight[seen]
        counts = np.bincount(self.labels.observed[seen], weight, len(self.labels.labels))
        return counts.astype(np.float64)

    def pair_counts(self) -> FloatArray:
        """Count (true class, observed label) over the trusted rows, (Q, S)."""
        labels, n_classes = self.labels, len(self.labels.classes)
        return count_pairs(
            labels.truth, labels.observed, n_classes, self.sample_weight, len(labels.labels)
        )

    @property
    def eligible(self) -> NoisyData:
        """The rows that can be held out; masks of held-out rows refer to these."""
        return self

    def trusted_rows(self, held: BoolArray | None) -> tuple[Rows, IntArray, int, FloatArray | None]:
        """Return the trusted rows that are not held out: rows, codes, number of codes, weights."""
        data = self.eligible
        rows = np.flatnonzero(data.known if held is None else data.known & ~held)
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        return rows_at(data.X, rows), data.codes[rows], data.n_codes, weight

    def rows_without(self, held: BoolArray | None) -> tuple[Rows, IntArray, int, FloatArray | None]:
        """Return rows, codes, number of codes and weights, which are 0 for held-out rows."""
        weight = self.sample_weight
        if held is not None:
            weight = np.where(held, 0.0, 1.0 if weight is None else weight)
        return self.X, self.codes, self.n_codes, weight


@dataclass(frozen=True)
class KnownConfusion:
    """C in the order of the sorted classes, with the counts behind it and its source."""

    matrix: FloatArray
    counts: FloatArray | None = None
    """The (true, observed) counts behind it; None if it was given as known."""

    source: Literal["given", "guessed", "trusted", "identity"] = "given"
    """Passed as known; estimated from noisy labels alone; counted on trusted rows; no noise."""

    @property
    def few_counts(self) -> bool:
        """Whether a row rests on so few counts that C should be refined with the model."""
        return self.counts is not None and bool((self.counts.sum(axis=1) < FEW_COUNTS).any())

    def shrunk(self) -> KnownConfusion:
        """Shrink the rows of a C counted on trusted rows towards the average error rate."""
        if self.source != "trusted" or self.counts is None:
            return self
        counts = counts_shrunk_to_pooled(self.counts)
        return replace(self, matrix=counts / counts.sum(axis=1, keepdims=True), counts=counts)


def checked_labels(estimator: Any, y: Any, X: Any) -> Labels:
    """Return the observed labels of the rows X, one column of classes."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y "
            "is None."
        )
    labels = one_column(y)
    check_consistent_length(X, labels)
    shown = present(*split_missing(labels, "y", getattr(estimator, "missing_label", None)))
    classes = distinct(shown)
    # scikit-learn sorts all labels; two of each class suffice, unless most labels are distinct.
    check_classification_targets(np.tile(classes, 2) if 2 * len(classes) <= len(shown) else shown)
    return labels


def encode_noisy(
    y: Labels,
    y_true: ArrayLike | None,
    confusion: Any,
    classes: ArrayLike | None,
    missing_label: Any,
    n_rows: FloatArray | None = None,
) -> EncodedLabels:
    """Encode labels; the classes are those named, those of a labelled C, or those seen.

    `n_rows` are the numbers of rows with each label and truth, if entries represent several.
    """
    named = classes
    if classes is None and not is_open(confusion):
        named = confusion_classes(confusion)
    others = (
        _other_labels(y, confusion, named, missing_label) if is_rectangular(confusion) else None
    )
    labels = encode_labels(y, y_true, classes=named, labels=others, missing_label=missing_label)
    if (bare := without_label(labels)).all():
        raise ValueError("No row has an observed label or a truth, so there is nothing to learn.")
    n_rows = np.broadcast_to(1.0, len(y)) if n_rows is None else n_rows  # takes no memory
    if y_true is not None:
        _refuse_weights_as_truth(labels)
        refuse_swapped(labels, n_rows)
    if isinstance(missing_label, str) and missing_label == "auto":
        _warn_of_minus_one(y, bare, n_rows)
    refuse_one_class(labels.classes, " Name the others with `classes`.")
    return labels


def refuse_one_class(classes: Labels, advice: str = "") -> None:
    """Raise if there is nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            "A classifier needs at least two classes; the labels show only one class, "
            f"{classes.tolist()[0]!r}.{advice}"
        )


def _refuse_weights_as_truth(labels: EncodedLabels) -> None:
    """Raise if truths are fractions or all the same, as when weights are passed in their place."""
    if np.all(labels.truth == MISSING):
        return
    strangers = labels.classes[np.setdiff1d(labels.truth[labels.truth >= 0], labels.observed)]
    if labels.classes.dtype.kind == "f" and (strangers % 1 != 0).any():
        raise ValueError(
            f"y_true holds {strangers[strangers % 1 != 0][0]:g}, which is no label of y. If these "
            "are weights, pass them as sample_weight=."
        )
    first, shown = labels.truth[0], labels.observed[labels.observed != MISSING]
    if first != MISSING and np.all(labels.truth == first) and len(shown) and np.ptp(shown):
        raise ValueError(
            f"y_true gives every row the class {labels.classes.tolist()[first]!r}, though y shows "
            "others. If these are weights, pass them as sample_weight=."
        )


def _other_labels(y: Labels, confusion: Any, classes: ArrayLike | None, missing: Any) -> Labels:
    """Return the labels of a rectangular matrix: its columns, or those that y shows."""
    labels = confusion_labels(confusion)
    if labels is not None:
        return labels
    n_classes, n_labels = np.shape(confusion)
    shown = encode_labels(y, missing_label=missing).classes
    if classes is None or len(shown) != n_labels:
        raise ValueError(
            f"The confusion matrix has {n_classes} rows (classes) and {n_labels} columns (labels), "
            f"and the labels are {shown.tolist()[:10]}: the match is ambiguous. Pass a "
            "DataFrame with the classes as its index and the labels as its columns; or an array "
            "with a column for each label that occurs, in sorted order, and name the rows with "
            "`classes`."
        )
    return shown


def without_label(labels: EncodedLabels) -> BoolArray:
    """Return which rows have neither an observed label nor a truth."""
    return np.asarray((labels.observed < 0) & (labels.truth < 0))


def refuse_rows_without_label(labels: EncodedLabels) -> None:
    """Raise if rows have neither a label nor a truth, for learners that cannot use them."""
    bare = np.flatnonzero(without_label(labels))
    if len(bare):
        raise ValueError(
            f"{len(bare)} rows have neither an observed label nor a truth (the first is row "
            f"{bare[0]}). Drop them. If -1 is a class and not a missing label, say so with "
            "`classes`, or with missing_label=None."
        )


def _warn_of_minus_one(y: Labels, bare: BoolArray, n_rows: FloatArray) -> None:
    """Warn if rows are unlabelled only by a -1 that could also be a class."""
    if not bare.any():
        return
    _, missing = split_missing(y, "y", None)
    if not missing[bare].all():
        warnings.warn(
            f"{n_rows[bare & ~missing].sum():g} rows labelled -1 are taken as unlabelled. Pass "
            "missing_label=-1 to confirm; if -1 is a class, pass `classes` or missing_label=None.",
            ConfusionWarning,
            stacklevel=6,
        )


def refuse_extreme_weights(total: float) -> None:
    """Raise if the total weight is so large or small that sums could overflow or underflow."""
    if not 1 / LARGEST_TOTAL <= total <= LARGEST_TOTAL:
        raise ValueError(
            f"The sample weights add up to {total:g}; they should add up to a number between "
            f"{1 / LARGEST_TOTAL:g} and {LARGEST_TOTAL:g}. Divide all of them by the same "
            "number; weight 2 counts a row twice."
        )


def checked_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return weights, unless None, as NumPy's floats: one per row, none negative."""
    if sample_weight is None:
        return None
    weight: FloatArray = _check_sample_weight(
        to_numpy(sample_weight), np.empty((n_rows, 0)), dtype=np.float64, ensure_non_negative=True
    )
    with np.errstate(over="ignore"):
        refuse_extreme_weights(weight.sum())
    return weight


def confusion_for(
    data: NoisyData, confusion: Any, order: ArrayLike | None, counts: FloatArray | None = None
) -> KnownConfusion:
    """Return C: the matrix passed, or else counted on the trusted rows, or else the identity.

    "auto" without trusted rows is left to the caller, and is the identity here. `counts` are those
    of the trusted rows of earlier calls too; a class without any is assumed to have the average
    error rate.
    """
    classes = data.labels.classes
    if not is_open(confusion):
        matrix = align_confusion(confusion, classes, order, data.labels.other_labels)
        counts = aligned_counts(confusion, classes)
        if counts is not None:
            # An estimate may have shrunk its matrix: keep its row totals, distributed by C.
            counts = np.maximum(counts.sum(axis=1, keepdims=True), 1.0) * matrix
        return KnownConfusion(matrix, counts, "guessed" if is_guess(confusion) else "given")
    identity = KnownConfusion(np.eye(len(classes)), source="identity")
    if counts is None:
        if data.has_truths and confusion is None:
            refuse_no_truth(data.known)
        counts = data.pair_counts()
        unlabelled = (data.labels.observed < 0).all()
        if unlabelled or data.known.all() or not data.trusted:
            # C has no effect, or all labels are taken as right.
            return identity
        warn_unless_random(counts, data.labels.observed, data.sample_weight)
        uncounted = ~counts.any(axis=1)
        if uncounted.any() and counts.any():
            warnings.warn(
                f"No trusted row with an observed label is of {name_classes(classes[uncounted])}; "
                "mistakes in its labels are assumed to be as frequent as in those of the other "
                "classes. Check some of its rows if you can.",
                ConfusionWarning,
                stacklevel=5,
            )
    if not counts.any():
        return identity
    matrix = ConfusionEstimate.from_counts(counts, classes).matrix
    matrix = np.where(counts.any(axis=1, keepdims=True), matrix, pooled_errors(counts))
    return KnownConfusion(matrix, counts, "trusted")


def unmixing_for(
    data: NoisyData,
    confusion: Any,
    order: ArrayLike | None,
    counts: FloatArray | None = None,
    *,
    shrunk: bool = True,
) -> Unmixing:
    """Return the unmixing by the matrix of `confusion_for`.

    The inverse magnifies errors of a matrix counted on few rows per class, so its rows are `shrunk`
    towards a common error rate as far as the counts allow.
    """
    known = confusion_for(data, confusion, order, counts)
    refuse_to_guess(data, confusion, known)
    matrix, counts = known.matrix, known.counts
    if shrunk and known.source == "trusted" and counts is not None:
        counted = counts.any(axis=1, keepdims=True)
        counts = np.where(counted, counts_shrunk_to_symmetric(counts), counts)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        matrix = np.where(counted, shares, matrix)
    return make_unmixing(matrix, data.labels.classes, trusted=data.trusted, counts=counts)


def refuse_to_guess(data: NoisyData, confusion: Any, known: KnownConfusion) -> None:
    """Raise if C should be estimated from noisy labels alone by a learner that does not."""
    if isinstance(confusion, str) and known.source == "identity" and not data.trusted:
        raise ValueError(
            "Without rows whose truth is known, confusion='auto' is for "
            "UnconfusedLogisticRegression and UnconfusedClassifier. Pass "
            "confusion.from_noisy(X, y), or None to take the labels as right."
        )


def refuse_no_truth(known: BoolArray) -> None:
    """Raise if C was to be counted on rows with a truth, and there are none."""
    if not known.any():
        raise ValueError(
            "y_true holds no truth: all of its entries are missing, so there is nothing to count "
            "the mistakes in y on. Pass the truth of some rows, or a confusion matrix; in a "
            "cross-validation, shuffle the rows, so that every fold has some. Without y_true, the "
            "labels are taken as right."
        )


def is_open(confusion: Any) -> bool:
    """Return whether no matrix was passed: None or "auto"."""
    if isinstance(confusion, str) and confusion != "auto":
        raise ValueError(
            f"confusion must be a matrix, an estimate, None or 'auto'; got {confusion!r}."
        )
    return confusion is None or isinstance(confusion, str)
