"""An outline of dense rows: every entry in one byte, and how far each row is from its outline.

Where many rows have to be looked at in every update, reading them is what an update costs. Their
outlines are read in a fourth of the time, or an eighth, and tell the best class of nearly all of
them beyond doubt: the scores of two classes are off by no more than what the outline leaves out,
times how far the weights of the two are apart. Only rows in doubt are read themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

EXTREME = 1e15
"""Entries, and weights, larger than this might overflow; where none is as large as its inverse,
scores might vanish."""

FAINT = 1e-20
"""Share of the largest entry below which a column counts as one of zeros."""

SINGLE = 2.0**-24
"""Relative error of a number kept in single precision."""

UNKEPT = 0.01
"""Share of the rows' squared lengths that columns which are not kept may hold together."""

TOGETHER = 64
"""Columns are kept in multiples of this: as many bytes come with one fetch."""

MEASURED = 4096
"""Rows that say which columns are kept; any others' entries are rounded to the range of these."""

FEW_OF = 4
"""An outline of less than one row in so many is not worth while."""

PER_ROW = 12
"""Bytes of an outlined row beside its entries."""

LEADING = 0.75
"""Share of the columns up to which it is worth while to read the leading ones first."""

Look = Callable[[int, int, int, IntArray, IntArray], None]


class Outline:
    """The first rows in one byte an entry, and what is needed to compare their scores.

    Columns that hold next to nothing of the rows are left out. Use `Outline.of`.
    """

    def __init__(self, X: Any, n_rows: int, ranges: FloatArray, kept: IntArray) -> None:
        self._X = X
        self.n_rows = n_rows
        """How many of the rows are outlined."""

        self.n_columns = len(kept)
        """How many columns are kept."""

        self._kept, self._ranges = kept, ranges[kept]
        others = np.setdiff1d(np.arange(X.shape[1]), kept)
        self._order = np.concatenate([kept, others])
        leading = int(kept[-1]) + 1
        self._leading = leading if leading <= LEADING * X.shape[1] else X.shape[1]
        """Columns that rows in doubt are read for first; what is kept is among them."""

        self._ordered = np.zeros((0, X.shape[1]))
        self._lines = np.empty((n_rows, len(kept)), dtype=np.int8)
        self._scales = np.empty(n_rows, dtype=np.float32)
        self._left = np.empty(n_rows, dtype=np.float32)
        self._beyond = np.empty(n_rows, dtype=np.float32)
        self._weights: Any = np.zeros((0, len(kept)), dtype=np.float32)
        self._constants: Any = np.zeros(0, dtype=np.float32)
        self._apart: Any = np.zeros((0, 0), dtype=np.float32)
        self._beyond_apart: Any = np.zeros((0, 0), dtype=np.float32)
        self._closeness = (len(kept) + 6) * 2 * SINGLE + 16 * SINGLE
        self._smallest = (len(kept) + 2) * 1e-44

    @classmethod
    def of(cls, engine: LocalEngine, n_bytes: int) -> Outline | None:
        """Draw the outline of as many rows of an engine as there is room for.

        None if these are too few, or their entries too large or too small.
        """
        from unconfused.engines._drawing_kernels import draw_outline, measure_columns

        X = engine.rows.dense
        found: list[FloatArray] = []
        step = max(1, len(X) // MEASURED)

        def measure(start: int, stop: int) -> None:
            measures = np.zeros((2, X.shape[1]))
            measure_columns(X, start + -start % step, stop, step, *measures)
            found.append(measures)

        engine.in_threads(measure, uneven=True)
        ranges = np.max([range_ for range_, _ in found], axis=0)
        largest = float(ranges.max())
        if not (largest >= 1.0 / EXTREME and engine.row_norms.max() <= EXTREME):
            return None
        kept = columns_worth_keeping(np.sum([squares for _, squares in found], axis=0))
        n_rows = rows_that_fit(len(X), len(kept), n_bytes)
        if n_rows * FEW_OF < len(X):
            return None
        outline = cls(X, n_rows, np.where(ranges > FAINT * largest, ranges, largest), kept)
        into = (outline._lines, outline._scales, outline._left, outline._beyond)

        def draw(start: int, stop: int) -> None:
            ranges, whole = outline._ranges, (engine.row_norms, float(engine.intercept))
            columns = (ranges, 1.0 / ranges, outline._kept)
            draw_outline(X, *whole, *columns, start, min(stop, n_rows), *into)

        engine.in_threads(draw, uneven=True)
        return outline

    def start(self, weights: FloatArray, constants: FloatArray) -> None:
        """Take all weights, (Q, columns), and constants as they are now."""
        from unconfused.engines._rank_kernels import room_for

        n_classes = len(weights)
        self._weights = np.zeros((n_classes, self.n_columns), dtype=np.float32)
        self._constants = np.zeros(n_classes, dtype=np.float32)
        self._ordered = np.ascontiguousarray(weights[:, self._order])
        self._apart = np.zeros((n_classes, room_for(n_classes)), dtype=np.float32)
        self._beyond_apart = np.zeros_like(self._apart)
        self.follow(np.arange(n_classes), weights, constants)

    def follow(self, movers: IntArray, weights: FloatArray, constants: FloatArray) -> None:
        """Take the weights of some classes anew."""
        from unconfused.engines._outline_kernels import distances

        n_kept = self.n_columns
        for c in movers:
            np.take(weights[c], self._order, out=self._ordered[c])
            self._weights[c] = self._ranges * self._ordered[c, :n_kept]
            self._constants[c] = constants[c]
        distances(self._ordered, movers, n_kept, self._apart, self._beyond_apart)

    def look(
        self, scale: float, weights: FloatArray, constants: FloatArray, stale: Any, scores: Any,
        *known: Any,
    ) -> Look:  # fmt: skip
        """Return what looks at rows, as `_outline_kernels.look_outlined` does.

        `scale` is the norm of the longest weights.
        """
        from unconfused.engines._outline_kernels import look_outlined

        drawn = (
            self._X, self._leading, self._lines, self._scales, self._left, self._apart,
            self._beyond, self._beyond_apart,
        )  # fmt: skip
        rough = (self._weights, self._constants, self._closeness * scale, self._smallest)
        own = (weights, constants, stale, scores)
        return partial(look_outlined, *drawn, *rough, *own, *known)


def columns_worth_keeping(squares: FloatArray) -> IntArray:
    """Return, in order, the fewest columns that hold nearly all of the rows.

    Kernel features, and principal components, have most of it in a few of them.

    Examples
    --------
    >>> import numpy as np
    >>> squares = 0.9 ** np.arange(200)
    >>> len(columns_worth_keeping(squares))
    64
    """
    largest_first = np.argsort(-squares, kind="stable")
    held = np.cumsum(squares[largest_first])
    n_kept = int(np.searchsorted(held, (1.0 - UNKEPT) * held[-1])) + 1
    n_kept = min(-(-n_kept // TOGETHER) * TOGETHER, len(squares))
    return np.sort(largest_first[:n_kept])


def rows_that_fit(n_rows: int, n_columns: int, n_bytes: int) -> int:
    """Return of how many rows there is room for an outline with so many columns."""
    return min(n_rows, n_bytes // (n_columns + PER_ROW))
