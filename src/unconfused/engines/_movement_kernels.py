"""Compiled loops over how far classes have moved. All release the interpreter.

Nothing is compiled when this file is imported; what a call compiles is cached on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines._compile import compiled

# A sum of products may be taken in any order: that lets the compiler use vector registers.
_sums = partial(compiled, fastmath={"reassoc", "contract"})
_exact = compiled


@_sums
def products_before(
    directions: FloatArray, steps: FloatArray, direction: FloatArray, now: int, out: FloatArray
) -> float:
    """Write the products of a direction with how far classes had moved since each slot's time.

    Returns the squared length of the direction. The latest direction is that of slot `now`; a row
    of an earlier time has seen the weights move along all directions since.
    """
    n_slots, n_classes = steps.shape
    so_far = np.zeros(n_classes)
    for back in range(n_slots):
        slot = (now - back) % n_slots
        product = 0.0
        for j in range(len(direction)):
            product += directions[slot, j] * direction[j]
        for c in range(n_classes):
            out[slot, c] = so_far[c]
            so_far[c] += steps[slot, c] * product
    length = 0.0
    for j in range(len(direction)):
        length += direction[j] * direction[j]
    return length


@_exact
def widen_apart(squared: FloatArray, steps: FloatArray, before: FloatArray, length: float) -> None:
    """Bring squared distances between the moves of any two classes up to date with a step."""
    n_slots, n_classes = before.shape
    for c in range(n_classes):
        if steps[c] == 0.0:
            continue
        for slot in range(n_slots):
            own = squared[slot, c]
            for other in range(n_classes):
                # Of two that move, the second finds the work done.
                if other < c and steps[other] != 0.0:
                    continue
                apart = steps[c] - steps[other]
                ahead = before[slot, c] - before[slot, other]
                own[other] += apart * (2.0 * ahead + apart * length)
                squared[slot, other, c] = own[other]


@_exact
def bound_apart(
    squared: FloatArray, hidden: FloatArray, allowance: float, apart: Any, farthest: Any
) -> None:
    """Write upper bounds of all distances, and of each class's farthest, in single precision."""
    n_slots, n_classes, _ = squared.shape
    for slot in range(n_slots):
        for c in range(n_classes):
            own, out = squared[slot, c], apart[slot, c]
            for other in range(n_classes):
                distance = np.sqrt(max(own[other], 0.0) + hidden[slot])
                out[other] = np.float32(distance * (1.0 + 1e-6) + allowance)
            largest = out[0]
            for other in range(1, n_classes):
                largest = max(largest, out[other])
            farthest[slot, c] = largest
