"""Which pairs UMA may update: their norms, and their significance under label noise.

Bounds on all norms are cheap, exact norms are not. A selection that maximizes the norm times a
factor per class needs only a few of them exactly.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from unconfused._matrix import Unmixing
from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import CellTables, Partition
from unconfused.selection import TIE, Selection

MORE = 16
"""Growth factor of the number of pairs measured per round."""

LEVEL = 0.05
"""Approximate chance that any region without mistakes is significant, and of each empty pair in one
that is."""

NO_ROWS = 1e-12
"""Share of the rows below which a mass is rounding error."""


def exact_norms(partition: Partition) -> FloatArray:
    """Return the norm of every update vector, (Q, Q)."""
    lower, upper = partition.norm_bounds()
    while np.any(lower < upper):  # a loop, as a lost worker can invalidate measured norms
        partition.measure([(p, q) for p, q in np.argwhere(lower < upper).tolist()])
        lower, upper = partition.norm_bounds()
    return upper


def sufficient_norms(
    partition: Partition,
    selection: Selection,
    prior: FloatArray,
    selectable: BoolArray,
    floor: float,
    costs: FloatArray | None = None,
) -> FloatArray:
    """Return norms, (Q, Q), by which `selection` makes the same choice as by the exact ones.

    The selection is made by the norms times `costs`, (predicted, true).

    The norms of the highest pair and all pairs tied with it are exact, and above `floor` if any
    selectable pair's norm is. Other norms may be upper bounds below these.
    """
    scale = getattr(selection, "scale", None)
    if scale is None:
        return exact_norms(partition)
    factors = np.atleast_2d(scale(prior))  # per true class
    factors = factors if costs is None else factors * costs
    n_measured = 1
    while True:
        lower, upper = partition.norm_bounds()
        offered = selectable & (upper > floor)
        if not offered.any():
            return upper
        highest = float((lower * factors)[offered & (lower > floor)].max(initial=0.0))
        worth = upper * factors
        open_pairs = offered & (lower < upper) & (worth >= highest * (1 - 2 * TIE))
        if not open_pairs.any():
            return upper
        places = np.flatnonzero(open_pairs)
        first = places[np.argsort(-worth.ravel()[places], kind="stable")[:n_measured]]
        partition.measure([divmod(place, len(worth)) for place in first.tolist()])
        n_measured *= MORE  # one is nearly always enough; if not, many are needed


def significant_pairs(tables: CellTables, unmixing: Unmixing, total: float) -> BoolArray:
    """Return whether each pair (predicted p, truly q) holds more rows than label noise explains.

    The mass of a pair is an unbiased estimate of how many rows predicted p are truly q. Its
    standard error is that of the label noise given the rows, so with clean labels a single row is
    significant. `total` is the weight of all rows, in cells or not.

    Where mistakes are spread over many pairs, none of these stands out of all Q (Q - 1). So regions
    are tested first, for rows of any other class, at `LEVEL` over all Q regions; then the pairs of
    significant regions, each at `LEVEL`.
    """
    masses, errors = unmixing.masses(tables.counts), unmixing.mass_errors(tables.counts)
    noise = unmixing.largest_noise

    def exceeds(mass: FloatArray, error: FloatArray, level: float) -> BoolArray:
        threshold = float(-ndtri(level))
        # A small number of wrong labels is nearly Poisson, not normal. The next term of the
        # Cornish-Fisher expansion covers its tail, so that two in a small cell do not pass.
        tail = np.where(error > 0, (threshold**2 - 1) / 6 * noise, 0.0)
        return np.asarray((mass > NO_ROWS * total) & (mass > threshold * error + tail))

    wrong = tables.counts.sum(axis=1) - np.diagonal(masses)
    regions = exceeds(wrong, np.diagonal(errors), LEVEL / len(masses))
    return regions[:, np.newaxis] & exceeds(masses, errors, LEVEL)


def pair_noise(
    tables: CellTables, pair: tuple[int, int], norm: float, unmixing: Unmixing, total: float
) -> tuple[float, float]:
    """Return the noise norm of one pair, and its mass over the standard error of the mass.

    The noise norm is the expected norm of the sampling error of the update vector.
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
