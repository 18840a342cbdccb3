"""Compiled loops that rank the scores of one row.

Which class is best is as good as random: a processor cannot guess branches on it, and of classes
one after the other each would have to wait for the last. A score and its place are made one whole
number, so that the highest of many is found at once. There is room for a multiple of `WIDTH`
scores, the lowest number there is where there is no class.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused.engines._compile import compiled

LOWEST = np.float32(-np.inf)

WIDTH = 16
"""Numbers of single precision that processors take at a time, or twice or four times as many."""

NONE = np.int64(-(2**63))
SIGN_OFF = np.int64(2**31 - 1)
PLACE = np.int64(2**32 - 1)
HALF = np.int64(32)
LAST = np.int64(63)


def room_for(n_classes: int) -> int:
    """Return how many numbers there must be room for."""
    return -(-n_classes // WIDTH) * WIDTH


@compiled
def highest_but(bits: Any, one: int, two: int) -> Any:
    """Return the place of the highest of all numbers but two; the first of several.

    Numbers of single precision come as their bits. These are in order themselves, once those of
    negative numbers are turned round.
    """
    n_places, highest = np.int64(len(bits)), NONE
    for c in range(n_places):
        own = np.int64(bits[c])
        own ^= (own >> LAST) & SIGN_OFF
        with_place = (own << HALF) | (n_places - np.int64(c))
        highest = max(highest, with_place if (c != one) & (c != two) else NONE)
    return n_places - (highest & PLACE)
