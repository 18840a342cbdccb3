"""Reliability of predicted probabilities: predictions beside observed frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._text.wrong_labels import share_interval
from unconfused._typing import FloatArray, IntArray


@dataclass(frozen=True)
class ReliabilityCurve:
    """One entry per bin of predicted probabilities that is not empty, (B,) each.

    Attributes
    ----------
    predicted : mean predicted probability
    observed : observed frequency
    low, high : ends of its 95 % credible interval, as if predictions were independent
    count : predictions in the bin
    """

    predicted: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    count: IntArray

    @property
    def gap(self) -> float:
        """Mean distance between prediction and outcome, bins weighted by their counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.count))


def reliability_curve(
    probability: FloatArray, codes: IntArray, n_bins: int = 10
) -> ReliabilityCurve:
    """Compare the probability of every class on every row with whether the row is of that class.

    Parameters
    ----------
    probability : (n, Q) predicted probabilities
    codes : (n,) the class of each row, as a column of `probability`
    n_bins : number of bins of equal width between 0 and 1

    Examples
    --------
    >>> chances = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7]])
    >>> curve = reliability_curve(chances, np.array([0, 0, 1]), n_bins=2)
    >>> curve.predicted.round(2), curve.observed, curve.count
    (array([0.17, 0.83]), array([0., 1.]), array([3, 3]))
    """
    if not n_bins >= 1:
        raise ValueError(f"n_bins must be at least 1; got {n_bins}.")
    if len(probability) == 0:
        raise ValueError("There is no row to compare predictions with.")
    chances = np.asarray(probability, dtype=np.float64)
    places = np.minimum((chances * n_bins).astype(np.intp), n_bins - 1)
    hits = np.bincount(places[np.arange(len(chances)), codes], minlength=n_bins)
    sums, count = np.bincount(places.ravel(), chances.ravel(), n_bins), np.bincount(places.ravel())
    kept = np.flatnonzero(count)
    hits, sums, count = hits[kept], sums[kept], count[kept]
    return ReliabilityCurve(sums / count, hits / count, *share_interval(hits, count), count)
