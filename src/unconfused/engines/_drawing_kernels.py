"""Compiled loops that draw outlines of rows.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._compile import compiled
from unconfused.engines._look_kernels import SMALLEST

# Entries of rows are numbers, which have been checked.
_bounded = partial(compiled, fastmath={"reassoc", "contract", "nnan", "nsz"})

LARGEST = 127.0
EPSILON = 2.0**-52


@_bounded
def measure_columns(
    X: Any, start: int, stop: int, step: int, ranges: FloatArray, squares: FloatArray
) -> None:
    """Bring the largest magnitude and the squares of every column up to some of rows start..stop.

    Of `step` rows that follow one another one is measured.
    """
    for i in range(start, stop, step):
        for j in range(X.shape[1]):
            entry = np.float64(X[i, j])
            ranges[j] = max(ranges[j], abs(entry))
            squares[j] += entry * entry


@_bounded
def draw_outline(
    X: Any, lengths: FloatArray, constant: float, ranges: FloatArray, shares: FloatArray,
    kept: IntArray, start: int, stop: int, lines: Any, scales: Any, left: Any, beyond: Any,
) -> None:  # fmt: skip
    """Round the kept columns of rows start..stop to one byte each, and measure what is left out.

    An entry is its byte, times the scale of its row, which is at most 1, times the range of its
    column; entries far beyond that are cut off. `shares` are the inverses of the ranges. What
    rounding leaves out of a row is as long as `left` says, and what the other columns hold as
    `beyond` does. The latter is what is missing from the rows' `lengths`, which have a `constant`
    in them.
    """
    n_columns = X.shape[1]
    rounding = (n_columns + 8) * EPSILON
    for i in range(start, stop):
        row, line = X[i], lines[i]
        largest = 0.0
        for j in range(len(kept)):
            largest = max(largest, abs(row[kept[j]] * shares[j]))
        scale = np.float64(np.float32(min(largest, LARGEST) / LARGEST))
        per_step = 1.0 / scale if scale > 0.0 else 0.0
        squares, held = 0.0, 0.0
        for j in range(len(kept)):
            entry = np.float64(row[kept[j]])
            held += entry * entry
            byte = min(max(np.rint(entry * shares[j] * per_step), -LARGEST), LARGEST)
            line[j] = np.int8(byte)
            rest = entry - byte * (scale * ranges[j])
            squares += rest * rest
        scales[i] = scale
        left[i] = np.sqrt(squares) * (1.0 + 1e-6) + SMALLEST
        beyond[i] = 0.0
        if len(kept) < n_columns:
            whole = lengths[i] ** 2
            squares = max(whole - constant**2 - held, 0.0) + rounding * whole
            beyond[i] = np.sqrt(squares) * (1.0 + 1e-6) + SMALLEST
