"""The confusion matrix from rows that were checked because of their label."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from unconfused._arguments import check_not_negative, check_weight
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
from unconfused._typing import ArrayLike, FloatArray, Labels
from unconfused.confusion._audited import AuditEstimate
from unconfused.confusion.estimate import (
    divide_rows,
    name_classes,
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

    Use it if the same number of rows was checked for every label, or suspicious rows were checked
    more often. Such rows estimate P(true class | label), not P(label | true class), and
    `from_trusted` would be biased. Bayes' rule converts one into the other, given the label
    frequencies of the whole data. Within each label, rows must be sampled at random or with known
    probabilities. Rows without a known probability, such as those that were checked because they
    looked suspicious, are not counted; learners can still use them as `y_true`.

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
    smoothing : added to every count of checked rows. With 0, a label or a class without a checked
        row is an error
    sample_weight : frequency weight of every row
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    AuditEstimate
        A `ConfusionEstimate` with the raw `counts`, the `class_prior` estimated together with the
        matrix, and intervals that account for how rows were drawn.

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
    check_not_negative(smoothing, "smoothing")
    if hasattr(label_counts, "items"):  # of rows without a label there may be a count, too
        items = label_counts.items()
        label_counts = {key: n for key, n in items if not is_missing(label_array([key]))[0]}
    labels = _encode(y_true, y, label_counts, classes, missing_label)
    labels, inverse = _with_probability(labels, probability)
    n_classes = len(labels.classes)
    checked = (labels.truth != MISSING) & (labels.observed != MISSING)
    if not checked.any():
        raise ValueError("No row has both a truth and a label: there is nothing to count.")
    frequency = check_weight(sample_weight, len(checked))
    # Checked rows by class and label: their number, the rows they represent, and squares of these.
    counts, weighted, squared = (
        count_pairs(labels.truth, labels.observed, n_classes, frequency * inverse**power)
        for power in range(3)
    )
    size, variance = _label_sizes(labels, label_counts, classes, frequency, weighted, squared)
    if probability is not None:
        _warn_if_contradictory(size, weighted.sum(axis=0), squared.sum(axis=0), labels.classes)
    _refuse_unchecked(size, counts.sum(axis=0), labels.classes, smoothing)
    share = _shares(weighted, counts.sum(axis=0), smoothing)
    rows = _column_rows(weighted.sum(axis=0), squared, share)
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
    if classes is None and isinstance(label_counts, dict):
        shown = encode_labels(y, y_true, missing_label=missing).classes.tolist()
        classes = sorted_classes(list(dict.fromkeys([*label_counts, *shown])))
    return encode_labels(y, y_true, classes=classes, missing_label=missing)


def _with_probability(
    labels: EncodedLabels, probability: ArrayLike | None
) -> tuple[EncodedLabels, FloatArray]:
    """Drop truths drawn with unknown probability; also return how many rows each row represents."""
    n_rows = len(labels.truth)
    if probability is None:
        return labels, np.ones(n_rows)
    given = np.asarray(probability, dtype=np.float64)
    drawn = check_weight(np.nan_to_num(given, nan=1.0), n_rows, "probability")
    labels = replace(labels, truth=np.where(np.isnan(given), MISSING, labels.truth))
    checked = (labels.truth != MISSING) & (labels.observed != MISSING)
    if not np.all((drawn[checked] > 0) & (drawn[checked] <= 1)):
        raise ValueError(
            "probability must be above 0 and at most 1 wherever a row was checked: it is the "
            "probability with which the row was drawn. If it is unknown, leave it out, and pass "
            "label_counts."
        )
    return labels, np.divide(1.0, drawn, out=np.ones(n_rows), where=checked)


def _label_sizes(
    labels: EncodedLabels,
    label_counts: Any,
    order: ArrayLike | None,
    frequency: FloatArray,
    weighted: FloatArray,
    squared: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return how many rows of the whole data carry each label, and the variance of this."""
    present = labels.observed != MISSING
    if label_counts is not None:
        size = _given_sizes(label_counts, labels.classes, order)
        return size, size
    if np.any(present & (labels.truth == MISSING)):
        found = np.bincount(labels.observed[present], frequency[present], len(labels.classes))
        return found.astype(np.float64), found.astype(np.float64)
    if np.any(squared > weighted):  # rows represent more than themselves
        return weighted.sum(axis=0), squared.sum(axis=0)
    raise ValueError(
        "Every row of y was checked, so y does not show the label frequencies of the whole data: "
        "pass label_counts, or include the unchecked rows (with a missing y_true). If all rows "
        "of the data were checked, use confusion.from_trusted."
    )


def _given_sizes(label_counts: Any, classes: Labels, order: ArrayLike | None) -> FloatArray:
    if isinstance(label_counts, dict):
        if unknown := [label for label in label_counts if label not in classes.tolist()]:
            raise ValueError(
                f"label_counts names {unknown[0]!r}, which is not among the classes "
                f"{classes.tolist()}; write labels as in y, or name all with `classes`."
            )
        counts = [label_counts.get(label, 0) for label in classes.tolist()]
        size = np.array(counts, dtype=np.float64)
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


def _shares(weighted: FloatArray, checked: FloatArray, smoothing: float) -> FloatArray:
    """Return the share of each class among the rows of each label, (Q, Q)."""
    total = weighted.sum(axis=0)
    share = np.divide(weighted, total, out=np.zeros_like(weighted), where=total > 0)
    raised = share * checked + smoothing
    rows = raised.sum(axis=0)
    return np.asarray(np.divide(raised, rows, out=np.zeros_like(raised), where=rows > 0))


def _column_rows(total: FloatArray, squared: FloatArray, share: FloatArray) -> FloatArray:
    """Return the size of a simple random sample that estimates each share as precisely, (Q, Q).

    This is Kish's effective sample size, or that of the linearized variance of a ratio of weighted
    sums if the latter is smaller. The latter is larger where a class is oversampled, but too
    large with few rows of the class, where most of its weight may lie in rows that were not drawn.
    """
    squares = squared.sum(axis=0)
    variance = (squared * (1 - 2 * share) + share**2 * squares) / np.maximum(total, 1e-100) ** 2
    known = (squared > 0) & (squared < squares)
    by_ratio = np.full_like(share, np.inf)
    np.divide(share * (1 - share), variance, out=by_ratio, where=known)
    return np.asarray(np.minimum(total**2 / np.maximum(squares, 1e-300), by_ratio))


def _warn_if_contradictory(
    size: FloatArray, drawn_from: FloatArray, squares: FloatArray, classes: Labels
) -> None:
    """Warn if the number of rows with a label contradicts the sampling probabilities."""
    spread = np.sqrt(np.maximum(squares - drawn_from, 0.0))
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
