"""Maximum likelihood by Fisher scoring: few evaluations for few parameters and many rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from unconfused._typing import FloatArray

SETTLED = 0.01
"""Gain in the log-likelihood of all rows at which a search ends: parameters are then within a
seventh of their standard errors."""

MOST_STEPS = 60

FIRST_DAMPING, DAMPING_FACTOR = 1.0, 10.0
"""Levenberg and Marquardt's damping, relative to the diagonal, and what it is divided by after a
step that gains, and multiplied by after one that does not."""


def maximize_likelihood(
    loss: Callable[[FloatArray], tuple[float, FloatArray]],
    begin: FloatArray,
    limits: list[tuple[float, float]],
    weight: FloatArray,
    precision: FloatArray,
    centre: FloatArray | float = 0.0,
) -> FloatArray:
    """Return the parameters, (P,), within limits, that make the rows likeliest.

    The information matrix is the sum of squares of the rows' gradients.

    Parameters
    ----------
    loss : for given parameters, minus the log-likelihood, and its gradient row by row, (n, P)
    begin : first parameters
    limits : the smallest and largest value of each parameter
    weight : (n,), of the rows, already part of `loss`
    precision, centre : of the normal prior on the parameters

    Examples
    --------
    The rate of three waiting times, as its logarithm:

    >>> times = np.array([1.0, 2.0, 3.0])
    >>> def loss(at):
    ...     return float(np.sum(np.exp(at) * times - at)), (np.exp(at) * times - 1)[:, np.newaxis]
    >>> found = maximize_likelihood(loss, np.zeros(1), [(-9.0, 9.0)], np.ones(3), np.zeros(1))
    >>> np.exp(found).round(1)
    array([0.5])
    """

    def with_prior(at: FloatArray) -> tuple[float, FloatArray]:
        value, rows = loss(at)
        return value + float(precision @ (at - centre) ** 2) / 2, rows

    lowest, highest = np.array(limits).T
    root = np.sqrt(np.maximum(weight, 1e-300))[:, np.newaxis]
    at, damping = np.clip(begin, lowest, highest), FIRST_DAMPING
    value, rows = with_prior(at)
    for _ in range(MOST_STEPS):
        gradient = rows.sum(axis=0) + precision * (at - centre)
        scaled = rows / root
        information = scaled.T @ scaled + np.diag(precision)
        information += np.diag(damping * np.diag(information) + 1e-9)
        free = ~((at <= lowest) & (gradient > 0) | (at >= highest) & (gradient < 0))
        step = np.zeros(len(at))
        step[free] = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        if gradient @ step < 2 * SETTLED:
            break
        new = np.clip(at - step, lowest, highest)
        new_value, new_rows = with_prior(new)
        if new_value < value:
            at, value, rows, damping = new, new_value, new_rows, damping / DAMPING_FACTOR
        else:
            damping *= DAMPING_FACTOR
    return at
