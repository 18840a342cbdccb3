"""Validation of the arguments of the bounds."""

from __future__ import annotations

import math
from numbers import Integral, Real


def check_positive(value: float, name: str) -> float:
    """Return a finite positive number, or raise an error that names it."""
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")
    return float(value)


def check_count(value: int, name: str, smallest: int) -> int:
    """Return an integer of at least `smallest`, or raise an error that names it."""
    if not isinstance(value, Integral) or value < smallest:
        raise ValueError(f"{name} must be a whole number from {smallest} on; got {value!r}.")
    return int(value)
