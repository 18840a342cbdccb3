"""Pair norms as exact as a selection needs them.

Exact norms of all pairs are costly and bounds on them are cheap. A selection that takes the highest
of norms times a factor per class needs only few of them exactly.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import Partition
from unconfused.selection import TIE, Selection

MORE = 16
"""How many times as many pairs are measured where the last ones did not settle it."""


def exact_norms(partition: Partition) -> FloatArray:
    """Return the norm of every update vector, (Q, Q)."""
    lower, upper = partition.norm_bounds()
    while np.any(lower < upper):  # a lost worker can make known ones unknown again
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
    """Return norms (Q, Q) by which `selection` chooses as it would by the exact ones.

    Every pair that comes highest, or ties with it, has its exact norm, and that is above `floor`
    unless no selectable pair's is. Others may have an upper bound that does not reach it.
    """
    scale = getattr(selection, "scale", None)
    if scale is None:
        return exact_norms(partition)
    factors, n_measured = np.asarray(scale(prior))[np.newaxis, :], 1
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
        n_measured *= MORE  # seldom is more than one needed; if so, many are
