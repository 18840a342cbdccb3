"""The confusion matrix from rows whose truth is known, and whether these are a random sample."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency

from unconfused._arguments import check_weight
from unconfused._labels import MISSING, EncodedLabels, count_pairs, encode_labels
from unconfused._matrix import ConfusionWarning
from unconfused._text import percent
from unconfused._typing import ArrayLike, FloatArray, IntArray
from unconfused.confusion.estimate import ConfusionEstimate, refuse_uncounted

LEVEL = 1e-3
"""Significance level of the test: low, as it is made in every fit."""

LARGE_SHIFT = 0.1
"""Total variation up to which a difference is harmless even if significant, such as that of a
random sample with at least two rows of every class."""

EXPECTED_AT_LEAST = 5.0
"""Labels with fewer expected rows are pooled (Cochran's rule)."""


def from_trusted(
    y_true: ArrayLike,
    y: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    smoothing: float = 0.0,
    sample_weight: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> ConfusionEstimate:
    """Estimate the confusion matrix from the rows whose true class is known.

    Parameters
    ----------
    y_true : the truth where known, missing (None, NaN) elsewhere
    y : the observed labels
    classes : all classes, if the labels may not show every one
    smoothing : added to every count. With 0, a class without a trusted row is an error
    sample_weight : frequency weight of every row
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    ConfusionEstimate

    Examples
    --------
    >>> from_trusted(["a", "a", "b", "b", None], ["a", "b", "b", "b", "a"]).matrix
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    labels = encode_labels(y, y_true, classes=classes, missing_label=missing_label)
    refuse_swapped(labels, np.ones(len(labels.truth)))
    weight = check_weight(sample_weight, len(labels.truth))
    counts = count_pairs(labels.truth, labels.observed, len(labels.classes), weight)
    if smoothing == 0:
        refuse_uncounted(counts, labels.classes, "no trusted row of that class has a label.")
    return ConfusionEstimate.from_counts(counts, labels.classes, smoothing)


def refuse_swapped(labels: EncodedLabels, n_rows: FloatArray) -> None:
    """Raise if all rows have a truth and few have a label, as when the two are swapped."""
    if np.any(labels.truth == MISSING):
        return
    shown, total = n_rows[labels.observed >= 0].sum(), n_rows.sum()
    if 0 < 2 * shown < total:
        raise ValueError(
            f"y_true gives the class of every row, y a label for {shown:g} of {total:g}: they look "
            "swapped. y holds the observed labels, y_true the truth where it is known."
        )


@dataclass(frozen=True)
class SampleTest:
    """How the labels of checked rows compare with those of all rows."""

    p_value: float
    """Chance that a random sample differs at least as much, by a chi-square test."""

    shift: float
    """Share of the checked rows that would have to carry other labels (total variation)."""

    n_checked: float

    @property
    def random(self) -> bool:
        """Whether the rows are consistent with a random sample, or close to one."""
        return self.p_value >= LEVEL or self.shift < LARGE_SHIFT

    @property
    def warning(self) -> str:
        """Warning for the user if they are not."""
        return (
            "The checked rows are no random sample of the labels: "
            f"{percent(self.shift)} of the {self.n_checked:.0f} would have to carry other labels "
            f"(chi-square test, p = {self.p_value:.1g}). A confusion matrix counted on them is "
            "wrong if they were drawn by label, some of each, and right if they were drawn by true "
            "class. If by label, pass confusion=unconfused.confusion.from_audit(y_true, y) besides "
            "y_true; if they were chosen for looking suspicious, check some rows drawn at random."
        )


def compare_with_all(checked: FloatArray, everything: FloatArray) -> SampleTest:
    """Compare how many checked rows carry each label with how many of all rows do, (Q,) each."""
    n_checked, n_rows = float(checked.sum()), float(everything.sum())
    others = np.maximum(everything - checked, 0.0)
    if not n_checked or not others.sum():
        return SampleTest(1.0, 0.0, n_checked)
    shift = float(np.abs(checked / n_checked - everything / n_rows).sum() / 2)
    table = _pooled(np.vstack([checked, others]), n_checked / n_rows)
    p_value = float(chi2_contingency(table, correction=False).pvalue)
    return SampleTest(p_value, shift, n_checked)


def _pooled(table: FloatArray, share: float) -> FloatArray:
    """Take rare labels together, so that enough rows of each column are expected."""
    table = table[:, np.argsort(table.sum(axis=0), kind="stable")]
    total, needed = table.sum(axis=0), EXPECTED_AT_LEAST / min(share, 1 - share)
    rare = int(np.count_nonzero(total < needed))
    if rare and total[:rare].sum() < needed:
        rare += 1  # the pool is itself too small: with the next it is not, or nothing is left
    if not rare:
        return table
    return np.hstack([table[:, :rare].sum(axis=1, keepdims=True), table[:, rare:]])


def warn_unless_random(counts: FloatArray, observed: IntArray, weight: FloatArray | None) -> None:
    """Warn if the rows behind counts of (class, label) are no random sample of those observed."""
    seen = observed >= 0
    everything = np.bincount(observed[seen], None if weight is None else weight[seen], len(counts))
    found = compare_with_all(counts.sum(axis=0), everything.astype(np.float64))
    if not found.random:
        warnings.warn(found.warning, ConfusionWarning, stacklevel=3)
