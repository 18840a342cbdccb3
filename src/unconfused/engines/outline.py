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

Look = Callable[[int, int], tuple[int, int, int, int]]


class Outline:
    """The first rows in one byte an entry, and what is needed to compare their scores.

    Use `Outline.of`.
    """

    def __init__(self, X: Any, n_rows: int, ranges: FloatArray) -> None:
        n_columns = X.shape[1]
        self._X = X
        self.n_rows = n_rows
        """How many of the rows are outlined."""

        self._ranges = ranges
        self._lines = np.empty((n_rows, n_columns), dtype=np.int8)
        self._scales = np.empty(n_rows, dtype=np.float32)
        self._left = np.empty(n_rows, dtype=np.float32)
        self._weights: Any = np.zeros((0, n_columns), dtype=np.float32)
        self._constants: Any = np.zeros(0, dtype=np.float32)
        self._apart: Any = np.zeros((0, 0), dtype=np.float32)
        self._closeness = (n_columns + 6) * 2 * SINGLE + 12 * SINGLE
        self._smallest = (n_columns + 2) * 1e-44

    @classmethod
    def of(cls, engine: LocalEngine, n_rows: int) -> Outline | None:
        """Draw the outline of an engine's first rows; None if entries are too large or small."""
        from unconfused.engines._outline_kernels import column_ranges, draw_outline

        X = engine.rows.dense
        found: list[FloatArray] = []

        def measure(start: int, stop: int) -> None:
            ranges = np.zeros(X.shape[1])
            column_ranges(X, start, min(stop, n_rows), ranges)
            found.append(ranges)

        engine.in_threads(measure, uneven=True)
        ranges = np.max(found, axis=0)
        largest = float(ranges.max())
        if not 1.0 / EXTREME <= largest <= EXTREME:
            return None
        outline = cls(X, n_rows, np.where(ranges > FAINT * largest, ranges, largest))
        into = (outline._lines, outline._scales, outline._left)

        def draw(start: int, stop: int) -> None:
            ranges = outline._ranges
            draw_outline(X, ranges, 1.0 / ranges, start, min(stop, n_rows), *into)

        engine.in_threads(draw, uneven=True)
        return outline

    def start(self, weights: FloatArray, constants: FloatArray) -> None:
        """Take all weights, (Q, columns), and constants as they are now."""
        n_classes = len(weights)
        self._weights = np.zeros((n_classes, weights.shape[1]), dtype=np.float32)
        self._constants = np.zeros(n_classes, dtype=np.float32)
        self._apart = np.zeros((n_classes, n_classes), dtype=np.float32)
        self.follow(np.arange(n_classes), weights, constants)

    def follow(self, movers: IntArray, weights: FloatArray, constants: FloatArray) -> None:
        """Take the weights of some classes anew."""
        from unconfused.engines._outline_kernels import distances

        for c in movers:
            self._weights[c] = self._ranges * weights[c]
            self._constants[c] = constants[c]
            distances(weights, c, self._apart)

    def look(
        self, scale: float, weights: FloatArray, constants: FloatArray, stale: Any, scores: Any,
        *known: Any,
    ) -> Look:  # fmt: skip
        """Return what looks at rows, as `_outline_kernels.look_outlined` does.

        `scale` is the norm of the longest weights.
        """
        from unconfused.engines._outline_kernels import look_outlined

        drawn = (self._X, self._lines, self._scales, self._left, self._apart)
        rough = (self._weights, self._constants, self._closeness * scale, self._smallest)
        own = (weights, constants, stale, scores)
        return partial(look_outlined, *drawn, *rough, *own, *known)
