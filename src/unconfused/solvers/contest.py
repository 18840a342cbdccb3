"""Pair norms as exact as a selection needs them.

Where rows are far away, exact norms of all pairs are dear and bounds on them are cheap. A selection
that takes the highest of norms times a factor per class needs only few of them exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import (
    BoundedPartition,
    NarrowingPartition,
    Partition,
    TellingPartition,
)
from unconfused.selection import TIE, Selection

if TYPE_CHECKING:
    from typing_extensions import TypeIs

NEXT = 16
"""Pairs that are looked at together, where some have been tried in vain."""

MORE = 16
"""How many times as many pairs are measured where the last ones did not settle it."""


def _knows_bounds(partition: Partition) -> TypeIs[BoundedPartition]:
    """Tell a bounded partition by its first method: asking the protocol takes longer than a look
    at a small problem's rows."""  # noqa: D205, D209 - one sentence
    return hasattr(partition, "norm_bounds")


def _narrows(partition: Partition) -> TypeIs[NarrowingPartition]:
    return hasattr(partition, "narrow")


def _tells_what_is_learnt(partition: Partition) -> TypeIs[TellingPartition]:
    return hasattr(partition, "learnt_among")


def strike_out_learnt(
    partition: Partition, selection: Selection, weights: FloatArray, selectable: BoolArray
) -> None:
    """Make pairs unselectable that are known to make no update, before any of them is chosen.

    A selection that draws by chance is offered them all, so that it draws alike on every engine.
    """
    if getattr(selection, "scale", None) is None or not _tells_what_is_learnt(partition):
        return
    for pair in partition.learnt_pairs(weights):
        selectable[pair] = False


def strike_out_next(
    partition: Partition,
    selection: Selection,
    prior: FloatArray,
    norms: FloatArray,
    weights: FloatArray,
    selectable: BoolArray,
) -> None:
    """Do so with pairs that `selection` would choose next, as one look at all takes no longer."""
    scale = getattr(selection, "scale", None)
    if scale is None or not _tells_what_is_learnt(partition):
        return
    worth = np.where(selectable, norms * np.asarray(scale(prior)), -np.inf).ravel()
    n_next = min(NEXT, int(np.count_nonzero(selectable)))
    if n_next == 0:
        return
    places = np.argpartition(-worth, n_next - 1)[:n_next]
    pairs = [(int(k) // len(norms), int(k) % len(norms)) for k in places]
    for pair in partition.learnt_among(pairs, weights):
        selectable[pair] = False


def contested_norms(
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
    if scale is None or not _knows_bounds(partition):
        return partition.pair_norms()
    factors, asked = np.asarray(scale(prior))[np.newaxis, :], 1
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
        if _narrows(partition) and partition.narrow(np.flatnonzero(open_pairs.any(axis=1))):
            continue
        first = np.argsort(-worth[open_pairs], kind="stable")[:asked]
        places = np.argwhere(open_pairs)[first]
        partition.measure([(p, q) for p, q in places.tolist()])
        asked *= MORE  # seldom more than one is needed; if so, many are
