"""A confusion matrix estimated from counts, with how sure we can be of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from unconfused._typing import FloatArray, Labels

JEFFREYS = 0.5
"""Pseudo-count of the prior behind the credible intervals."""


@dataclass(frozen=True, eq=False)
class ConfusionEstimate:
    """A confusion matrix with the counts behind it; usable wherever a matrix is asked for.

    Attributes
    ----------
    matrix : (Q, Q) probabilities, rows true, columns observed
    counts : (Q, Q) how often a row of true class t was seen with label k
    classes : the labels of rows and columns

    Examples
    --------
    >>> import numpy as np
    >>> estimate = ConfusionEstimate.from_counts(np.array([[8, 2], [1, 9]]), ["cat", "dog"])
    >>> np.asarray(estimate)
    array([[0.8, 0.2],
           [0.1, 0.9]])
    >>> low, high = estimate.interval(0.9)
    >>> print(f"{low[0, 1]:.2f} to {high[0, 1]:.2f}")
    0.06 to 0.45
    """

    matrix: FloatArray
    counts: FloatArray
    classes: Labels

    @classmethod
    def from_counts(cls, counts: Any, classes: Any, smoothing: float = 0.0) -> ConfusionEstimate:
        """Divide each row of counts by its sum, after adding `smoothing` to every entry."""
        table = np.asarray(counts, dtype=np.float64)
        raised = table + smoothing
        rows = raised.sum(axis=1, keepdims=True)
        matrix = np.divide(raised, rows, out=np.eye(len(table)), where=rows > 0)
        return cls(matrix, table, np.asarray(classes))

    @property
    def condition_number(self) -> float:
        """How many times undoing the matrix can magnify a relative error."""
        return float(np.linalg.cond(self.matrix))

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper ends of a credible interval for every entry.

        Each entry is a beta distribution: the marginal of its row's Dirichlet posterior under
        Jeffreys' prior.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie strictly between 0 and 1; got {level}.")
        successes = self.counts + JEFFREYS
        failures = successes.sum(axis=1, keepdims=True) - successes
        tail = (1 - level) / 2
        low: FloatArray = betaincinv(successes, failures, tail)
        high: FloatArray = betaincinv(successes, failures, 1 - tail)
        return low, high

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Let NumPy see the matrix."""
        return np.array(self.matrix, dtype=dtype, copy=copy)
