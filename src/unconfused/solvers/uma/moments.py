"""First and second moments of the rows of a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.base import Engine
from unconfused.solvers._covariance import WIDE


@dataclass(frozen=True)
class RunningMoments:
    """Moments of all rows so far, with the part of an engine's interface that needs no rows.

    There are always 2 Q label codes, the second half for trusted labels.
    """

    intercept: bool
    code_counts: FloatArray
    code_squares: FloatArray
    sums: FloatArray
    """(2 Q, features)."""

    second: FloatArray
    """(features, features), or its diagonal, (features,), if there are too many."""

    density: float

    @classmethod
    def of(cls, engine: Engine, n_classes: int) -> RunningMoments:
        """Return the moments of the rows of an engine."""
        missing = 2 * n_classes - len(engine.code_counts)
        wide = engine.n_features - engine.intercept > WIDE
        return cls(
            intercept=engine.intercept,
            code_counts=np.pad(engine.code_counts, (0, missing)),
            code_squares=np.pad(engine.code_squares, (0, missing)),
            sums=np.pad(engine.code_sums(), ((0, missing), (0, 0))),
            second=engine.feature_squares() if wide else engine.second_moment(),
            density=engine.density,
        )

    def __add__(self, other: RunningMoments) -> RunningMoments:
        """Add the moments of two blocks of rows."""
        return RunningMoments(
            self.intercept,
            self.code_counts + other.code_counts,
            self.code_squares + other.code_squares,
            self.sums + other.sums,
            self.second + other.second,
            min(self.density, other.density),
        )

    @property
    def n_features(self) -> int:
        """Number of features, including the intercept."""
        return int(self.sums.shape[1])

    def code_sums(self) -> FloatArray:
        """Return the weighted sum of the rows with each label code, (2 Q, features)."""
        return self.sums

    def second_moment(self) -> FloatArray:
        """Return the weighted sum of x x' over the rows, (features, features)."""
        return self.second

    def feature_squares(self) -> FloatArray:
        """Return the weighted sum of the rows' squared entries, (features,)."""
        return np.diagonal(self.second).copy() if self.second.ndim == 2 else self.second
