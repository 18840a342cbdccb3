"""Confusion matrices estimated from rows sampled by their label, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._arguments import check_inner_share
from unconfused._text.wrong_labels import JEFFREYS
from unconfused._typing import FloatArray
from unconfused.confusion.estimate import ConfusionEstimate

DRAWS = 4000
"""Draws behind an interval: its ends are then known to about a tenth of a standard deviation."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AuditEstimate(ConfusionEstimate):
    """A confusion matrix estimated from rows sampled by their label; see `from_audit`.

    `counts` are the checked rows. As rows of one label may represent more rows than those of
    another, `matrix` is not `counts` divided by its row sums. `effective_counts` are those of an
    equally informative random sample of each class, which learners use.

    Attributes
    ----------
    label_counts : (Q,) rows of the whole data with each label
    label_count_variance : (Q,) sampling variance of `label_counts`
    truth_given_label : (Q, Q) share of true class t among the rows with label k: columns sum to 1
    column_rows : (Q, Q) size of a random sample of rows with label k that would estimate this share
        equally well
    """

    label_counts: FloatArray
    label_count_variance: FloatArray
    truth_given_label: FloatArray
    column_rows: FloatArray

    @property
    def effective_counts(self) -> FloatArray:
        """Counts of an equally informative random sample of each class: (Q, Q)."""
        rows = self.label_counts * self.truth_given_label
        total = np.maximum(rows.sum(axis=1, keepdims=True), 1e-100)
        share = rows / total
        variance = self._row_variance()
        # To first order in the rows; the other labels' variances are those of the whole row less
        # this one's.
        others = variance.sum(axis=1, keepdims=True) - variance
        of_share = ((1 - share) ** 2 * variance + share**2 * others) / total**2
        spread, found = (share * (1 - share)).sum(axis=1), of_share.sum(axis=1)
        # A class with one label only shows no spread: count its rows by Kish's formula.
        one_label = total[:, 0] ** 2 / np.maximum(variance.sum(axis=1), 1e-300)
        size = np.where(spread > 1e-12, spread / np.maximum(found, 1e-300), one_label)
        return np.asarray(np.where(rows.sum(axis=1) > 0, size, 0.0)[:, np.newaxis] * self.matrix)

    def _row_variance(self) -> FloatArray:
        """Return the variance of how many rows there are of each class and label, (Q, Q)."""
        share, checked = self.truth_given_label, np.maximum(self.column_rows, 1.0)
        # A class that no checked row of a label was of may be among the unchecked ones.
        unchecked = np.maximum(0.0, 1 - checked / np.maximum(self.label_counts, 1.0))
        doubt = unchecked * JEFFREYS / max(1, len(share) - 1)
        likely = (share * checked + doubt) / (checked + len(share) * doubt)
        of_share = likely * (1 - likely) / checked
        return np.asarray(self.label_counts**2 * of_share + share**2 * self.label_count_variance)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of a credible interval for every entry.

        The share of each class among the rows of a label has Jeffreys' prior, independently by
        label, as the rows were drawn; intervals are quantiles of the entries these shares make,
        in draws with a fixed seed. With every row checked they are those of `from_trusted`.
        """
        check_inner_share(level, "level")
        rng = np.random.default_rng(0)
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        low, high = np.empty_like(self.matrix), np.empty_like(self.matrix)
        size = self._label_totals(rng)
        for true in range(len(self.classes)):
            low[true], high[true] = np.quantile(self._draw_row(true, size, rng), ends, axis=0)
        low = np.where(self.counts == 0, 0.0, low)
        high = np.where(self.counts.sum(axis=1, keepdims=True) == self.counts, 1.0, high)
        return np.minimum(low, self.matrix), np.maximum(high, self.matrix)

    def _label_totals(self, rng: np.random.Generator) -> FloatArray:
        """Draw how many rows carry each label, (draws, Q): the data are a sample themselves."""
        size = np.zeros((DRAWS, len(self.classes)))
        used = self.label_counts > 0
        mean, variance = self.label_counts[used], self.label_count_variance[used]
        scale = np.maximum(variance / mean, 1e-300)
        size[:, used] = rng.gamma(mean / scale, scale, (DRAWS, int(used.sum())))
        return size

    def _draw_row(self, true: int, size: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw the entries of a row of C, each as one label against all others, (draws, Q)."""
        rows, share = self.column_rows[true], self.truth_given_label[true]
        hits, misses = share * rows, (1 - share) * rows
        # All other labels together get one prior's worth, as one of them alone does.
        shared = JEFFREYS / max(1, len(share) - 1)
        own = size * rng.beta(hits + JEFFREYS, misses + JEFFREYS, size.shape)
        other = size * rng.beta(hits + shared, misses + JEFFREYS, size.shape)
        rest = other.sum(axis=1, keepdims=True) - other
        whole = own + rest
        return np.asarray(np.divide(own, whole, out=np.zeros_like(own), where=whole > 0))
