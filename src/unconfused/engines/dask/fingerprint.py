"""Fingerprints, to check that rows computed a second time are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._typing import FloatArray

TOLERANCE = 1e-6
"""Relative tolerance of the sums: machines round differently."""


@dataclass(frozen=True)
class Fingerprint:
    """A few sums over rows, with the sums of their absolute terms."""

    n_rows: int
    sums: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, X: Any, weights: FloatArray, *columns: Any) -> Fingerprint:
        """Sum a projection of the rows, and its products with columns of labels."""
        with np.errstate(all="ignore"):
            # Not the row sums: normalized rows have all the same.
            direction = np.cos(np.arange(X.shape[1])).astype(X.dtype)
            projected = np.asarray(X @ direction, dtype=np.float64)
            labels = np.stack([np.ones(len(weights)), *columns])
            terms = np.concatenate([weights * labels, weights * projected * labels])
            return cls(len(weights), terms.sum(axis=1), np.abs(terms).sum(axis=1))

    def differs_from(self, other: Fingerprint) -> bool:
        """Return whether these are different rows, beyond rounding of the sums."""
        if self.n_rows != other.n_rows:
            return True
        with np.errstate(all="ignore"):  # sums that overflow compare as equal
            return bool(np.any(np.abs(self.sums - other.sums) > TOLERANCE * self.sizes))
