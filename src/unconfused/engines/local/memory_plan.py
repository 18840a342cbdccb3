"""What a fit may keep beside its rows, and so how it sums them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.gram import GramSums
from unconfused.engines.local.sums import KeptSums, LazySums, SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

SMALL = 16 * 2**20
"""Bytes of sums that are kept however few the rows are."""

WORTH_DELAYING = 2**21
"""Products in all norms from which on sums follow rows only when they are asked for."""


def cell_sums(engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> SumsOnDemand:
    """Keep the sums of all cells if they fit, or else their Gram matrices, or else nothing."""
    n_codes, n_classes = coefficients.shape
    room = max(SMALL, spare_bytes(engine, n_classes))
    if 8 * n_classes * n_codes * engine.n_features <= room:
        n_products = n_classes * coefficients.size * engine.n_features
        kept = KeptSums if n_products < WORTH_DELAYING else LazySums
        return kept(engine, coefficients, region)
    if 8 * n_classes * n_codes**2 <= room:
        return GramSums(engine, coefficients, region)
    return SumsOnDemand(engine, coefficients, region)


def spare_bytes(engine: LocalEngine, n_classes: int) -> float:
    """Return the room that is left for sums.

    A fit may take 1.5 times the bytes of the rows, 8 for every row and class, and 64 for every
    class and feature. Of this, the rows themselves are used in place, scores and which rows sums
    count take 5 bytes per row and class, and what else is known of rows about 24 each.
    """
    n_rows = engine.rows.n_rows
    row_bytes = engine.rows.n_entries * np.dtype(engine.rows.dtype).itemsize
    return float(row_bytes) / 2 + (3 * n_classes - 24) * n_rows + 64 * n_classes * engine.n_features
