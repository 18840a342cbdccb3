"""Whitened geometry for UMA.

Update vectors are sums of rows, so their noise is largest where the rows vary most.
With S the covariance of the rows and P = (S + ridge)^-1, UMA with steps ``P z`` and norms
``sqrt(z' P z)`` is UMA on rows mapped by a square root of P: the second-order Perceptron's idea
(Cesa-Bianchi, Conconi and Gentile, 2005). Sparse or very wide rows are scaled by the diagonal of S
only, which keeps them sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, RowMap
from unconfused.solvers._covariance import (
    WIDE,
    Covariance,
    DiagonalCovariance,
    NarrowCovariance,
    covariance_of,
)
from unconfused.solvers.discriminant import regularized_weights, unmix_classes

SMALLEST, LARGEST = 1e-60, 1e60
"""Range of the mean variance in which weights and their inverses fit single precision."""

DENSE = 0.5
"""Density from which sparse rows take no less memory than an array, and are fully whitened."""


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
        added = ("code_counts", "code_squares", "sums", "second")
        totals = {name: getattr(self, name) + getattr(other, name) for name in added}
        return replace(self, **totals, density=min(self.density, other.density))

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


class Whitening:
    """Covariance of the rows, and the geometry it defines.

    Parameters
    ----------
    rows : engine, or the moments of all rows of a stream so far
    unmixing : of the labels of these rows
    """

    def __init__(self, rows: Engine | RunningMoments, unmixing: Unmixing) -> None:
        self.classes = unmix_classes(rows, unmixing)
        self._rows = rows
        self._total = float(rows.code_counts.sum())
        self.covariance: Covariance
        if isinstance(rows, RunningMoments):
            kind = NarrowCovariance if len(self.classes.centre) <= WIDE else DiagonalCovariance
            self.covariance = kind(rows, self.classes.centre)
        else:
            self.covariance = covariance_of(rows, self.classes.centre, precise=False)

    @classmethod
    def of(cls, rows: Engine | RunningMoments, unmixing: Unmixing) -> Whitening | None:
        """Return the whitening of these rows; None if they vary too little or too much."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not 0.0 < rows.code_squares.sum() < np.inf or rows.n_features == rows.intercept:
                return None
        found = cls(rows, unmixing)
        return found if SMALLEST < found.covariance.mean_variance < LARGEST else None

    def ridge(self) -> float:
        """Return the ridge that suits the noise of the unmixed class means."""
        return regularized_weights(self.classes, self.covariance, self._total)[1]

    def row_map(self, ridge: float) -> RowMap:
        """Return the map to whitened rows."""
        centre = self.classes.centre
        if isinstance(self.covariance, NarrowCovariance) and self._rows.density >= DENSE:
            return RowMap(*self.covariance.root(ridge), centre)
        squares = self._rows.feature_squares()[: len(centre)] / self._total
        roots = np.sqrt(np.maximum(squares - centre**2, 0.0) + ridge)
        return RowMap(1 / roots, roots, np.zeros_like(centre))
