"""Statistical significance of update vectors under label noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from unconfused._matrix import Unmixing
from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import CellTables

LEVEL = 0.05
"""Approximate family-wise error rate: the chance that any empty pair is significant."""

NO_ROWS = 1e-12
"""Share of the rows below which a mass is rounding error."""


@dataclass(frozen=True)
class PairStatistics:
    """Statistics of every pair (predicted p, truly q); all (Q, Q)."""

    significance: FloatArray
    """Estimated mass divided by its standard error; infinite without an error."""

    significant: BoolArray
    """Whether the mass exceeds what label noise explains, at `LEVEL` over all pairs."""

    squared_noise: FloatArray
    """Expected squared norm of the sampling error of the update vector."""


def pair_statistics(
    tables: CellTables, norms: FloatArray, unmixing: Unmixing, total: float
) -> PairStatistics:
    """Test every pair against label noise.

    The mass of a pair is an unbiased estimate of how many rows predicted p are truly q. Its
    standard error is that of the label noise given the rows, so with clean labels a single row is
    significant. `total` is the weight of all rows, in cells or not. Tables may cover only some
    predicted classes.
    """
    masses, errors = unmixing.masses(tables.counts), unmixing.mass_errors(tables.counts)
    significance = np.zeros_like(masses)
    np.divide(masses, errors, out=significance, where=errors > 0)
    significance[(errors == 0) & (masses > 0)] = np.inf
    significance[masses <= NO_ROWS * total] = 0.0
    with np.errstate(invalid="ignore"):  # overflow is reported with the norms
        squares = tables.squares @ unmixing.coefficients**2
        squared_noise = squares / total**2 - norms**2 / total
    threshold = significance_threshold(norms.shape[1])
    # A small number of wrong labels is nearly Poisson, not normal. The next term of the
    # Cornish-Fisher expansion covers its tail, so that two of them in a small cell do not pass.
    tail = np.where(errors > 0, (threshold**2 - 1) / 6 * unmixing.largest_noise, 0.0)
    significant = (significance > 0) & (masses > threshold * errors + tail)
    return PairStatistics(significance, significant, np.maximum(squared_noise, 0.0))


def pair_noise(
    tables: CellTables, pair: tuple[int, int], norm: float, unmixing: Unmixing, total: float
) -> tuple[float, float]:
    """Return the noise norm and the significance of one pair.

    Same as `pair_statistics`, without computing all other pairs.
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
    """Return the critical value of the significance, Bonferroni-corrected for all pairs.

    Examples
    --------
    >>> round(significance_threshold(2), 2), round(significance_threshold(10), 2)
    (1.96, 3.26)
    """
    return float(-ndtri(LEVEL / (n_classes * (n_classes - 1))))
