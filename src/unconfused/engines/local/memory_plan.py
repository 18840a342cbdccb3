"""Choice of the cell sums strategy by the memory available to a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.local.gram import GramSums
from unconfused.engines.local.sums import KeptSums, LazySums, SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

SMALL = 16 * 2**20
"""Bytes of sums that are always affordable, however few rows there are."""

WORTH_DELAYING = 2**21
"""Multiplications in all norms above which sums are updated lazily."""


def cell_sums(engine: LocalEngine, coefficients: FloatArray, region: IntArray) -> SumsOnDemand:
    """Keep the sums of all cells if they fit, else their Gram matrices, else nothing."""
    n_codes, n_classes = coefficients.shape[1:]
    room = max(SMALL, spare_bytes(engine, n_classes))
    if 8 * n_classes * n_codes * engine.n_features <= room:
        n_products = coefficients.size * engine.n_features
        kept = KeptSums if n_products < WORTH_DELAYING else LazySums
        return kept(engine, coefficients, region)
    if 8 * n_classes * n_codes**2 <= room:
        return GramSums(engine, coefficients, region)
    return SumsOnDemand(engine, coefficients, region)


def spare_bytes(engine: LocalEngine, n_classes: int) -> float:
    """Return the bytes available for cell sums.

    The budget of a fit is 1.5 times the bytes of X, plus 8 bytes per row and class, plus 64 bytes
    per class and feature. X itself is not copied, scores and row masks take 5 bytes per row and
    class, and the remaining state about 24 bytes per row.
    """
    n_rows = engine.rows.n_rows
    row_bytes = engine.rows.n_entries * np.dtype(engine.rows.dtype).itemsize
    return float(row_bytes) / 2 + (3 * n_classes - 24) * n_rows + 64 * n_classes * engine.n_features
