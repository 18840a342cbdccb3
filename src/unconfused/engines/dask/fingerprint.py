"""By what rows are known again when they are computed a second time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._typing import FloatArray

TOLERANCE = 1e-6
"""Share by which sums may differ: machines round differently."""


@dataclass(frozen=True)
class Fingerprint:
    """A few sums over rows, and how large their terms are."""

    n_rows: int
    sums: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, X: Any, weights: FloatArray, *columns: Any) -> Fingerprint:
        """Sum over the rows a projection of theirs, and its products with columns of labels."""
        with np.errstate(all="ignore"):
            # Not the sum of a row: that of counts or shares is often the same for all of them.
            direction = np.cos(np.arange(X.shape[1])).astype(X.dtype)
            projected = np.asarray(X @ direction, dtype=np.float64)
            labels = np.stack([np.ones(len(weights)), *columns])
            terms = np.concatenate([weights * labels, weights * projected * labels])
            return cls(len(weights), terms.sum(axis=1), np.abs(terms).sum(axis=1))

    def differs_from(self, other: Fingerprint) -> bool:
        """Whether these are other rows, by more than the rounding of their sums."""
        if self.n_rows != other.n_rows:
            return True
        with np.errstate(all="ignore"):  # sums that overflow tell nothing
            return bool(np.any(np.abs(self.sums - other.sums) > TOLERANCE * self.sizes))
