"""State of a run of UMA: weights, their average, and the record of all updates."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.solvers.uma.whitening import RunningMoments

CONVERGED = "no pair left to unconfuse"
EXHAUSTED = "max_iter reached"
INTERRUPTED = "interrupted"

RECORD = ("predicted", "true", "norm", "noise", "significance", "step")
"""Columns of the update history."""


@dataclass
class UMAState:
    """State of a run of UMA, sufficient to resume it."""

    weights: FloatArray
    """W, (Q, features)."""

    n_updates: int = 0
    n_averaged: int = 0
    lag: FloatArray | None = None
    """Sum of (t - 1) times the t-th update, from which the average of W follows."""

    records: list[tuple[int, int, float, float, float, float]] = field(default_factory=list)
    stopped: str = EXHAUSTED
    rng: np.random.RandomState | None = None
    """Random state of the selection, kept so that a resumed run continues its sequence."""

    ridge: float | None = None
    """Ridge of the whitened geometry; None before the first run in it."""

    freedom: float | None = None
    """Degrees of freedom of the discriminant that a whitened run started from."""

    matrix: FloatArray | None = None
    """C as refined by the start; None if it is used as it was given or counted."""

    refined_from: FloatArray | None = None
    """The counts that it was refined from: with others, a resumed run has no use for it."""

    moments: RunningMoments | None = None
    """Moments of all rows of a stream so far."""

    vectors: list[FloatArray] | None = None
    """The update vectors so far, one per record; None if they are not kept."""

    def copy(self) -> UMAState:
        """Return an independent, writable copy to continue from."""
        return replace(
            self,
            weights=np.array(self.weights),
            lag=None if self.lag is None else np.array(self.lag),
            records=[*self.records],
            vectors=None if self.vectors is None else [*self.vectors],
            rng=deepcopy(self.rng),
        )

    def averaged(self) -> FloatArray:
        """Return the mean of W over all updates so far."""
        if self.lag is None or self.n_averaged == 0:
            return self.weights
        return self.weights - self.lag / self.n_averaged

    def start_again(self, weights: FloatArray) -> None:
        """Replace the weights and restart the average."""
        self.weights[:] = weights
        self.n_averaged = 0
        if self.lag is not None:
            self.lag.fill(0.0)

    def change(self, change: Callable[[FloatArray], FloatArray]) -> None:
        """Change the coordinates of the weights and of their running average."""
        self.weights = change(self.weights)
        if self.lag is not None:
            self.lag = change(self.lag)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with the records as one array."""
        table = np.array(self.records, dtype=np.float64).reshape(-1, len(RECORD))
        vectors = None if self.vectors is None else np.reshape(self.vectors, (len(table), -1))
        return vars(self) | {"records": table, "vectors": vectors}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        records = [(int(p), int(q), *rest) for p, q, *rest in state["records"].tolist()]
        vectors = state.get("vectors")
        kept = {"records": records, "vectors": None if vectors is None else list(vectors)}
        vars(self).update(state | kept)

    def history(self) -> dict[str, FloatArray]:
        """Return the records as arrays with one entry per update."""
        table = np.array(self.records, dtype=np.float64).reshape(-1, len(RECORD))
        columns = dict(zip(RECORD, table.T.copy(), strict=True))
        for name in ("predicted", "true"):
            columns[name] = columns[name].astype(np.intp)
        return columns
