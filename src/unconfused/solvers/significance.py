"""Which update vectors stand out of the noise that the labels put on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from unconfused._matrix import Unmixing
from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import CellTables

LEVEL = 0.05
"""Chance, about, of taking any pair that holds nothing for one that does, over all pairs."""

NO_ROWS = 1e-12
"""A share of the rows this small is rounding, not rows."""


@dataclass(frozen=True)
class PairStatistics:
    """How far each pair (predicted p, truly q) stands out of the noise; all (Q, Q)."""

    significance: FloatArray
    """Estimated mass of the cell over its standard error; infinite where there is no error."""

    stands_out: BoolArray
    """Whether the mass is more than label noise could feign."""

    squared_noise: FloatArray
    """Expected squared length that sampling alone gives the update vector."""


def pair_statistics(
    tables: CellTables, norms: FloatArray, unmixing: Unmixing, total: float
) -> PairStatistics:
    """Compare each pair with its noise.

    The mass of a pair estimates how many rows predicted p are truly q; it is 0 on average when
    there are none. Its standard error is that of the label noise given the rows, so with clean
    labels a single row counts. `total` is the weight of all rows, in cells or not. Tables of some
    predicted classes only give the statistics of their pairs.
    """
    masses = unmixing.masses(tables.counts)
    errors = unmixing.mass_errors(tables.counts)
    significance = np.zeros_like(masses)
    np.divide(masses, errors, out=significance, where=errors > 0)
    significance[(errors == 0) & (masses > 0)] = np.inf
    significance[masses <= NO_ROWS * total] = 0.0
    with np.errstate(invalid="ignore"):  # squares that overflow; norms will tell
        squared_noise = tables.squares @ unmixing.coefficients**2 / total**2 - norms**2 / total
    threshold = significance_threshold(norms.shape[1])
    # Few wrong labels are not normal but nearly Poisson: their long tail (the next term of the
    # Cornish-Fisher expansion) keeps two of them in a small cell from looking like a finding.
    tail = np.where(errors > 0, (threshold**2 - 1) / 6 * unmixing.largest_noise, 0.0)
    stands_out = (significance > 0) & (masses > threshold * errors + tail)
    return PairStatistics(significance, stands_out, np.maximum(squared_noise, 0.0))


def pair_noise(
    tables: CellTables, pair: tuple[int, int], norm: float, unmixing: Unmixing, total: float
) -> tuple[float, float]:
    """Return the noise of one pair's vector, as a length, and its significance.

    What `pair_statistics` says of it, without looking at all others.
    """
    p, q = pair
    counts, squares = tables.counts[p], tables.squares[p]
    mass = float(unmixing.masses(counts)[q])
    error = float(unmixing.mass_errors(counts)[q])
    squared = float(squares @ unmixing.coefficients[:, q] ** 2) / total**2
    squared_noise = squared - norm * norm / total
    noise = max(squared_noise, 0.0) ** 0.5
    if mass <= NO_ROWS * total:
        return noise, 0.0
    return noise, mass / error if error > 0 else np.inf


def significance_threshold(n_classes: int) -> float:
    """Return how many standard errors a mass must reach, corrected for the number of pairs.

    Examples
    --------
    >>> round(significance_threshold(2), 2), round(significance_threshold(10), 2)
    (1.96, 3.26)
    """
    return float(-ndtri(LEVEL / (n_classes * (n_classes - 1))))
