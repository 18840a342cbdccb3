"""How much of the cells' sums is kept: all of them, their products, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unconfused._typing import IntArray
from unconfused.engines.cells import Cells
from unconfused.engines.products import KeptProducts
from unconfused.engines.sums import CellSums, KeptSums, SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

KEPT_BYTES = 64 * 2**20
"""Sums, and products of sums, are kept while they fit into this, and otherwise made when asked."""


def cell_sums(
    engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells, *, for_norms: bool = True
) -> CellSums:
    """Keep what there is room for; products only where norms will be asked for."""
    n_cells = n_classes * engine.n_codes
    if n_cells * engine.n_features * 8 <= KEPT_BYTES:
        return KeptSums(engine, n_cells)
    if for_norms and keeps_products(engine, n_classes):
        return KeptProducts(engine, n_classes, region, cells)
    return SumsOnDemand(engine, region)


def keeps_products(engine: LocalEngine, n_classes: int) -> bool:
    """Say whether there is room for products but not for sums."""
    n_cells = n_classes * engine.n_codes
    return n_cells * engine.n_codes * 8 <= KEPT_BYTES < n_cells * engine.n_features * 8
