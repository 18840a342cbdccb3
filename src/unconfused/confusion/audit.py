"""The confusion matrix from rows that were checked because of their label."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from unconfused._arguments import check_weight
from unconfused._labels import (
    MISSING,
    EncodedLabels,
    count_pairs,
    encode_labels,
    is_missing,
    label_array,
    sorted_classes,
)
from unconfused._matrix import ConfusionWarning
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.estimate import (
    divide_rows,
    name_classes,
    refuse_negative,
    refuse_uncounted,
)

FAR_OFF = 5.0
"""Standard errors beyond which counts and sampling probabilities contradict each other."""


def from_audit(
    y_true: ArrayLike,
    y: ArrayLike,
    *,
    label_counts: Any = None,
    probability: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    smoothing: float = 0.0,
    sample_weight: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> AuditEstimate:
    """Estimate the confusion matrix from checked rows that were sampled by their label.

    If the same number of rows is checked for every label, rare labels are over-represented. Such
    rows estimate P(true class | label), not P(label | true class), and `from_trusted` would be
    biased. Bayes' rule converts one into the other, given the label frequencies of the whole data.
    Within each label, rows must be sampled at random or with known probabilities. Rows that were
    checked because they look suspicious, without a known probability, are not counted; learners can
    still use them as `y_true`.

    Parameters
    ----------
    y_true : the truth of the rows that were checked, missing (None, NaN) elsewhere
    y : the observed labels: of all rows, or of the checked rows with `label_counts`
    label_counts : number of rows of the whole data with each label: a mapping (or Series) from
        labels, or an array in the order of `classes` (sorted if None). By default counted in `y`,
        which must then include the unchecked rows, unless there is a `probability`
    probability : probability with which each row was drawn to be checked; used where the truth is
        known. NaN: unknown, and the row is not counted. None: equal for all rows of a label
    classes : all classes, if the labels may not show every one
    smoothing : added to every count of checked rows. With 0, a label without a checked row, or a
        class that no checked row is of, is an error
    sample_weight : frequency weight of every row
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    AuditEstimate
        A `ConfusionEstimate` with the raw `counts`, `class_prior` (estimated with the matrix), and
        intervals that follow from how rows were drawn.

    Warns
    -----
    ConfusionWarning
        If `probability` and the labels' counts contradict each other.

    Examples
    --------
    Ten rows of each label were checked; 990 rows carry label "a", 10 carry "b":

    >>> y_true = ["a"] * 10 + ["b"] * 8 + ["a"] * 2
    >>> y = ["a"] * 10 + ["b"] * 10
    >>> audit = from_audit(y_true, y, label_counts={"a": 990, "b": 10})
    >>> audit.matrix.round(3)
    array([[0.998, 0.002],
           [0.   , 1.   ]])
    >>> audit.class_prior
    array([0.992, 0.008])
    """
    refuse_negative(smoothing)
    labels = _encode(y_true, y, label_counts, classes, missing_label)
    labels = _with_known_probability(labels, probability)
    n_classes = len(labels.classes)
    checked = (labels.truth != MISSING) & (labels.observed != MISSING)
    if not checked.any():
        raise ValueError("No row has both a truth and a label: there is nothing to count.")
    frequency = check_weight(sample_weight, len(checked))
    inverse = _inverse_probability(probability, checked)
    truth, observed = labels.truth[checked], labels.observed[checked]
    counts = count_pairs(labels.truth, labels.observed, n_classes, frequency)
    weight = frequency[checked] * inverse[checked]
    size, variance = _label_sizes(labels, label_counts, classes, frequency, inverse, checked)
    if probability is not None:
        _warn_if_contradictory(size, observed, frequency[checked], inverse[checked], labels.classes)
    _refuse_unchecked(size, counts.sum(axis=0), labels.classes, smoothing)
    share = _shares(truth, observed, weight, counts, smoothing)
    rows = _column_rows(truth, observed, frequency[checked], inverse[checked], share)
    joint = size * share
    if smoothing == 0:
        refuse_uncounted(joint, labels.classes, "no checked row is truly of that class.")
    return AuditEstimate(
        divide_rows(joint, 0.0),
        counts,
        labels.classes,
        class_prior=joint.sum(axis=1) / joint.sum(),
        label_counts=size,
        label_count_variance=variance,
        truth_given_label=share,
        column_rows=rows + smoothing * n_classes,
    )


def _encode(
    y_true: ArrayLike, y: ArrayLike, label_counts: Any, classes: ArrayLike | None, missing: Any
) -> EncodedLabels:
    """Encode labels; labels that only `label_counts` names are classes, too."""
    if classes is None and hasattr(label_counts, "items"):
        shown = encode_labels(y, y_true, missing_label=missing).classes.tolist()
        named = [label for label in shown if label not in _as_mapping(label_counts)]
        classes = sorted_classes([*_as_mapping(label_counts), *named])
    return encode_labels(y, y_true, classes=classes, missing_label=missing)


def _with_known_probability(labels: EncodedLabels, probability: ArrayLike | None) -> EncodedLabels:
    """Drop the truth of rows that were drawn with unknown probability."""
    if probability is None:
        return labels
    unknown = np.isnan(np.asarray(probability, dtype=np.float64))
    if unknown.shape != labels.truth.shape or not unknown.any():
        return labels
    return replace(labels, truth=np.where(unknown, MISSING, labels.truth))


def _as_mapping(label_counts: Any) -> dict[Any, Any]:
    """Return counts by label, those of rows without a label left out."""
    return {key: n for key, n in label_counts.items() if not is_missing(label_array([key]))[0]}


def _inverse_probability(probability: ArrayLike | None, checked: BoolArray) -> FloatArray:
    """Return how many rows each checked row represents; 1 for the others."""
    if probability is None:
        return np.ones(len(checked))
    drawn = np.nan_to_num(np.asarray(probability, dtype=np.float64), nan=1.0)
    drawn = check_weight(drawn, len(checked), "probability")
    if not np.all((drawn[checked] > 0) & (drawn[checked] <= 1)):
        raise ValueError(
            "probability must be above 0 and at most 1 wherever a row was checked: it is the "
            "probability with which the row was drawn. If it is unknown, leave it out, and pass "
            "label_counts."
        )
    return np.divide(1.0, drawn, out=np.ones(len(drawn)), where=checked)


def _label_sizes(
    labels: EncodedLabels,
    label_counts: Any,
    order: ArrayLike | None,
    frequency: FloatArray,
    inverse: FloatArray,
    checked: BoolArray,
) -> tuple[FloatArray, FloatArray]:
    """Return how many rows of the whole data carry each label, and the variance of this."""
    n_classes, present = len(labels.classes), labels.observed != MISSING
    if label_counts is not None:
        size = _given_sizes(label_counts, labels.classes, order)
        return size, size
    if np.any(present & ~checked):
        found = np.bincount(labels.observed[present], frequency[present], n_classes)
        return found.astype(np.float64), found.astype(np.float64)
    observed, weight, each = labels.observed[checked], frequency[checked], inverse[checked]
    if np.any(each > 1):
        sums = [np.bincount(observed, weight * each**power, n_classes) for power in (1, 2)]
        return np.asarray(sums[0], dtype=np.float64), np.asarray(sums[1], dtype=np.float64)
    raise ValueError(
        "Every row of y was checked, so y does not show the label frequencies of the whole data: "
        "pass label_counts, or include the unchecked rows (with a missing y_true). If all rows "
        "of the data were checked, use confusion.from_trusted."
    )


def _given_sizes(label_counts: Any, classes: Labels, order: ArrayLike | None) -> FloatArray:
    if hasattr(label_counts, "items"):
        by_label = _as_mapping(label_counts)
        unknown = [label for label in by_label if label not in classes.tolist()]
        if unknown:
            raise ValueError(
                f"label_counts names {unknown[0]!r}, which is not among the classes "
                f"{classes.tolist()}; write labels as in y, or name all with `classes`."
            )
        size = np.array([by_label.get(label, 0) for label in classes.tolist()], dtype=np.float64)
    else:
        size = np.asarray(label_counts, dtype=np.float64)
        if size.shape != (len(classes),):
            raise ValueError(
                f"label_counts must hold one count for each of the {len(classes)} classes, in "
                f"their order; it has shape {size.shape}. A mapping from labels is safer."
            )
        if order is not None:
            size = size[np.argsort(label_array(order), kind="stable")]
    if not np.all((size >= 0) & np.isfinite(size)):
        raise ValueError("label_counts must be finite and not negative.")
    return size


def _refuse_unchecked(
    size: FloatArray, checked: FloatArray, classes: Labels, smoothing: float
) -> None:
    short = size < checked * (1 - 1e-9)
    if short.any():
        label = int(np.argmax(short))
        raise ValueError(
            f"label_counts says that {size[label]:g} rows are labelled "
            f"{classes.tolist()[label]!r}, but {checked[label]:g} such rows were checked. It must "
            "count the rows of the whole data, the checked ones included, and not be shares."
        )
    bare = classes[(size > 0) & (checked == 0)]
    if len(bare) and smoothing == 0:
        raise ValueError(
            f"No row with a label of {name_classes(bare)} was checked, so its true classes are "
            "unknown. Check some rows with this label, or pass smoothing=1 to have them guessed."
        )


def _shares(
    truth: IntArray, observed: IntArray, weight: FloatArray, counts: FloatArray, smoothing: float
) -> FloatArray:
    """Return the share of each class among the rows of each label, (Q, Q)."""
    weighted = count_pairs(truth, observed, len(counts), weight)
    checked, total = counts.sum(axis=0), weighted.sum(axis=0)
    share = np.divide(weighted, total, out=np.zeros_like(weighted), where=total > 0)
    raised = share * checked + smoothing
    rows = raised.sum(axis=0)
    return np.asarray(np.divide(raised, rows, out=np.zeros_like(raised), where=rows > 0))


def _column_rows(
    truth: IntArray,
    observed: IntArray,
    frequency: FloatArray,
    inverse: FloatArray,
    share: FloatArray,
) -> FloatArray:
    """Return the size of a simple random sample that estimates each share as precisely, (Q, Q).

    Kish's effective sample size, or that of the linearized variance of a ratio of weighted sums if
    it is smaller. It is larger where a class is oversampled, but with few rows of the class it
    misses that most of its weight lies in rows that were not drawn.
    """
    n_classes = len(share)
    total = np.bincount(observed, frequency * inverse, n_classes)
    squares = np.bincount(observed, frequency * inverse**2, n_classes)
    of_class = count_pairs(truth, observed, n_classes, frequency * inverse**2)
    variance = (of_class * (1 - 2 * share) + share**2 * squares) / np.maximum(total, 1e-100) ** 2
    kish = total**2 / np.maximum(squares, 1e-300)
    known = (of_class > 0) & (of_class < squares)
    by_ratio = np.full_like(share, np.inf)
    np.divide(share * (1 - share), variance, out=by_ratio, where=known)
    return np.asarray(np.minimum(kish, by_ratio))


def _warn_if_contradictory(
    size: FloatArray,
    observed: IntArray,
    frequency: FloatArray,
    inverse: FloatArray,
    classes: Labels,
) -> None:
    """Warn if the number of rows with a label contradicts the sampling probabilities."""
    drawn_from = np.bincount(observed, frequency * inverse, len(size))
    spread = np.sqrt(np.bincount(observed, frequency * inverse * (inverse - 1), len(size)))
    # Rows of equal chance may also have been drawn in a fixed number, without any spread.
    far = np.abs(drawn_from - size) > FAR_OFF * spread + 0.01 * size
    if far.any():
        label = int(np.argmax(far))
        warnings.warn(
            f"By their probabilities the checked rows labelled {classes.tolist()[label]!r} were "
            f"drawn from about {drawn_from[label]:.0f} rows, but there are {size[label]:.0f}. "
            "Check that probability is that of each row to be drawn, and that all drawn rows were "
            "checked.",
            ConfusionWarning,
            stacklevel=3,
        )
