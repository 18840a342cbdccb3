"""How much is kept: sums of all cells, their products, or nothing; scores and outlines of rows."""

from __future__ import annotations

from mmap import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import IntArray
from unconfused.engines.cells import Cells
from unconfused.engines.late_sums import WORTH_NOTING, LateSums
from unconfused.engines.products import VECTOR_BYTES, KeptProducts
from unconfused.engines.sums import CellSums, KeptSums, SumsOnDemand

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

KEPT_BYTES = 64 * 2**20
"""Sums, and products of sums, are kept while they fit into this, and otherwise made when asked."""

SMALL = 16 * 2**20
"""They are kept within this however few the rows are."""

BESIDE_ROWS = 0.3
"""What may be kept beside the rows, as a share of them; scores are not counted."""

PER_ROW = 50
"""Bytes that are kept of every row besides its scores."""

FIXED = 14 * 2**20
"""Bytes that a fit may take however few its rows are."""

TABLES = 24
"""Numbers that are kept for every two classes."""

LISTS = 2**19
"""Bytes of lists of rows, and of directions, however few rows there are."""

FEW_SETS = 12
"""Sets of rows whose sums are held however little room there is."""

HOLES = 0.04
"""Share of what a fit may take that is left for holes between what is kept."""

SMALL_SCORES = 2**20
"""Scores of all rows are kept if they take no more bytes than this."""

WORTH_OUTLINING = 2**21
"""Entries of all rows below which these stay in fast memory by themselves."""

LONG_ROW = 512
"""Entries of a row from which on to read it takes longer than to decide on it twice."""


def cell_sums(
    engine: LocalEngine, n_classes: int, region: IntArray, cells: Cells, *, for_norms: bool = True
) -> CellSums | LateSums:
    """Keep what there is room for; what is lazy only where norms will be asked for."""
    n_cells = n_classes * engine.n_codes
    lazy = for_norms and is_lazy(engine, n_classes)
    if n_cells * engine.n_features * 8 <= kept_bytes(engine, n_classes):
        if lazy:
            n_sets = sets_that_fit(engine, n_classes)
            return LateSums(engine, n_classes, region, cells, n_sets)
        return KeptSums(engine, n_cells)
    if lazy:
        return KeptProducts(engine, n_classes, region, cells)
    return SumsOnDemand(engine, region)


def is_lazy(engine: LocalEngine, n_classes: int) -> bool:
    """Say whether norms are made exact only where it matters.

    With few products that takes longer than to measure all; and where there is no room even for
    products of sums, there are no bounds.
    """
    n_cells, room = n_classes * engine.n_codes, kept_bytes(engine, n_classes)
    if n_cells * engine.n_features * 8 <= room:
        return n_cells * n_classes * engine.n_features >= WORTH_NOTING
    return n_cells * engine.n_codes * 8 <= room


def kept_bytes(engine: LocalEngine, n_classes: int) -> int:
    """Return how much room there is for sums: what a fit may take, but for what rows need.

    Many classes have many sums. With few and short rows these would be most of a fit's memory, and
    take little longer to make when they are asked for.
    """
    allowed = _allowed_bytes(engine, n_classes) - PER_ROW * engine.rows.n_rows
    return min(KEPT_BYTES, max(SMALL, int(allowed)))


def sets_that_fit(engine: LocalEngine, n_classes: int) -> int:
    """Return of how many sets of rows there is room for the sums: at most of one for every class.

    With many classes on few rows that is less, and sums are made more often.
    """
    others = TABLES * 8 * n_classes * engine.n_codes + LISTS
    allowed = _allowed_bytes(engine, n_classes) - PER_ROW * engine.rows.n_rows - others
    each = 8 * engine.n_codes * engine.n_features + engine.rows.n_rows // 8
    return min(n_classes, max(FEW_SETS, int(allowed // each)))


def rows_with_scores(engine: LocalEngine, n_classes: int) -> int:
    """Return of how many rows the scores are kept, four bytes a class.

    Of all, unless a fit would then take more than it may: with very many classes, or short rows.
    """
    n_rows, each = engine.rows.n_rows, 4 * n_classes
    if n_rows * each <= SMALL_SCORES:
        return n_rows
    others = PER_ROW * n_rows + TABLES * 8 * n_classes * engine.n_codes + LISTS
    allowed = _allowed_bytes(engine, n_classes) + n_rows * each
    allowed -= HOLES * (_bytes_of_rows(engine) + allowed)
    room = allowed - others - _bytes_of_sums(engine, n_classes)
    return min(n_rows, max(0, int(room)) // each)


def _bytes_of_sums(engine: LocalEngine, n_classes: int) -> int:
    """Return how much `cell_sums` will take, about."""
    of_a_region = 8 * engine.n_codes * engine.n_features
    if n_classes * of_a_region <= kept_bytes(engine, n_classes):
        is_late = is_lazy(engine, n_classes)
        return of_a_region * (sets_that_fit(engine, n_classes) if is_late else n_classes)
    if is_lazy(engine, n_classes):
        return 8 * n_classes * engine.n_codes**2 + VECTOR_BYTES
    # Made when they are asked for: every thread is at work on a region, its sums and its vectors.
    return 2 * engine.in_threads.n_threads * of_a_region


def _allowed_bytes(engine: LocalEngine, n_classes: int) -> float:
    """Return what a fit may take beside its rows and their scores."""
    return BESIDE_ROWS * _bytes_of_rows(engine) + 64 * n_classes * engine.rows.n_columns


def _bytes_of_rows(engine: LocalEngine) -> int:
    return int(engine.rows.n_entries * np.dtype(engine.rows.dtype).itemsize)


def room_for_outline(engine: LocalEngine, n_classes: int) -> int:
    """Return how many bytes there are for an outline of the rows.

    None where rows are sparse, short or few, or lie on disk.
    """
    X = engine.rows.dense
    if X is None or engine.rows.n_entries < WORTH_OUTLINING or _lies_on_disk(X):
        return 0
    n_rows, n_columns = X.shape
    if n_columns < LONG_ROW:
        return 0
    sums = 8 * n_classes * engine.n_codes * engine.n_features
    kept = FIXED + PER_ROW * n_rows + min(sums, kept_bytes(engine, n_classes))
    return max(0, int(_allowed_bytes(engine, n_classes) - kept))


def _lies_on_disk(X: Any) -> bool:
    """Say whether an array is a view of a file, however many arrays are in between."""
    while X is not None:
        if isinstance(X, np.memmap | mmap):
            return True
        X = X.obj if isinstance(X, memoryview) else getattr(X, "base", None)
    return False
