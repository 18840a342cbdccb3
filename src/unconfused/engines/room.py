"""How much of the cells' sums is kept: all of them, their products, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unconfused._typing import IntArray
from unconfused.engines.cells import Cells
from unconfused.engines.late_sums import WORTH_NOTING, LateSums
from unconfused.engines.products import KeptProducts
from unconfused.engines.sums import CellSums, KeptSums, SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

KEPT_BYTES = 64 * 2**20
"""Sums, and products of sums, are kept while they fit into this, and otherwise made when asked."""


def cell_sums(
    engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells, *, for_norms: bool = True
) -> CellSums:
    """Keep what there is room for; what is lazy only where norms will be asked for."""
    n_cells = n_classes * engine.n_codes
    lazy = for_norms and is_lazy(engine, n_classes)
    if n_cells * engine.n_features * 8 <= KEPT_BYTES:
        if lazy:
            return LateSums(engine, n_classes, region, cells)
        return KeptSums(engine, n_cells)
    if lazy:
        return KeptProducts(engine, n_classes, region, cells)
    return SumsOnDemand(engine, region)


def is_lazy(engine: LocalEngine, n_classes: int) -> bool:
    """Say whether norms are made exact only where it matters.

    With few products that takes longer than to measure all; and where there is no room even for
    products of sums, there are no bounds.
    """
    n_cells = n_classes * engine.n_codes
    if n_cells * engine.n_features * 8 <= KEPT_BYTES:
        return n_cells * n_classes * engine.n_features >= WORTH_NOTING
    return n_cells * engine.n_codes * 8 <= KEPT_BYTES
