"""Means of differences, and how far chance may have taken them."""

from __future__ import annotations

import numpy as np

from unconfused._typing import FloatArray

SMALLEST = 1e-12

NO_BETTER = 1.0
"""A gain in the log-likelihood of all held-out rows that is not worth another penalty: what one
more parameter must gain by Akaike's criterion."""


def mean_and_error(values: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return the weighted mean of values, one per row, and its standard error.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 2.0, 3.0, 2.0]), np.ones(4))
    (2.0, 0.3535533905932738)
    """
    share = weight / max(float(weight.sum()), SMALLEST)
    mean = float(share @ values)
    # Of a weighted mean; with equal weights it is the usual one.
    return mean, float(np.sqrt(share**2 @ (values - mean) ** 2))
