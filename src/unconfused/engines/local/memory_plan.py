"""What a fit may keep beside its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from unconfused.engines.local.engine import LocalEngine

SMALL = 16 * 2**20
"""Bytes of sums that are kept however few the rows are."""


def sums_fit(engine: LocalEngine, n_classes: int) -> bool:
    """Say whether there is room for the sums of all cells.

    A fit may take 1.5 times the bytes of the rows, 8 for every row and class, and 64 for every
    class and feature. Of this, the rows themselves are used in place, scores and the rows that
    sums count take 5 bytes per row and class, and what else is known of rows about 24 each.
    """
    n_rows = engine.rows.n_rows
    row_bytes = engine.rows.n_entries * np.dtype(engine.rows.dtype).itemsize
    room = row_bytes / 2 + (3 * n_classes - 24) * n_rows + 64 * n_classes * engine.n_features
    return 8 * n_classes * engine.n_codes * engine.n_features <= max(SMALL, room)
