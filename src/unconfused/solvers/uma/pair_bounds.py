"""Pair norms, exact only where the selection needs them to be.

Bounds on all norms are cheap, exact norms are not. A selection that maximizes the norm times a
factor per class needs only a few of them exactly.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import Partition
from unconfused.selection import TIE, Selection

MORE = 16
"""Growth factor of the number of pairs measured per round."""


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
) -> FloatArray:
    """Return norms, (Q, Q), by which `selection` makes the same choice as by the exact ones.

    The norms of the highest pair and all pairs tied with it are exact, and above `floor` if any
    selectable pair's norm is. Other norms may be upper bounds below these.
    """
    scale = getattr(selection, "scale", None)
    if scale is None:
        return exact_norms(partition)
    factors, n_measured = np.atleast_2d(scale(prior)), 1  # per true class, or per pair
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
