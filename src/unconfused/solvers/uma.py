"""UMA, the paper's Algorithm 2: select a pair, unmix its update vector, step.

Symbols follow the paper: Q classes, weights W (one row per class), z the update vector of rows
predicted p that are truly q, tau the step sizes. It sees the data through an engine only.
"""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unconfused._matrix import ConfusionWarning, Unmixing
from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import Engine, Partition
from unconfused.selection import Selection
from unconfused.solvers.means import estimated_hits, start_at_means
from unconfused.solvers.pair_bounds import sufficient_norms
from unconfused.solvers.progress import Progress
from unconfused.solvers.significance import pair_noise, pair_statistics
from unconfused.steps import StepRule, check_steps, snap_ties

CONVERGED = "no pair left to unconfuse"
EXHAUSTED = "max_iter reached"
INTERRUPTED = "interrupted"

RECORD = ("predicted", "true", "norm", "noise", "significance", "step")
"""What is noted of every update."""


@dataclass
class UMAState:
    """Where a run of UMA stands; enough to go on from."""

    weights: FloatArray
    """W, (Q, features)."""

    n_updates: int = 0
    n_averaged: int = 0
    lag: FloatArray | None = None
    """Sum of (t - 1) times the t-th update: what turns W into the average of all W."""

    records: list[tuple[int, int, float, float, float, float]] = field(default_factory=list)
    stopped: str = EXHAUSTED
    means_at: int | None = None
    """After how many updates the weights were replaced by the unmixed means, if they were."""

    rng: np.random.RandomState | None = None
    """Source of chance, kept so that a resumed run does not draw the same again."""

    def copy(self) -> UMAState:
        """Return a state to go on from that leaves this one, which may be read-only, as it is."""
        return replace(
            self,
            weights=np.array(self.weights),
            lag=None if self.lag is None else np.array(self.lag),
            records=[*self.records],
            rng=deepcopy(self.rng),
        )

    def averaged(self) -> FloatArray:
        """Return the mean of W over all updates so far."""
        if self.lag is None or self.n_averaged == 0:
            return self.weights
        return self.weights - self.lag / self.n_averaged

    def start_again(self, weights: FloatArray) -> None:
        """Go on from other weights; what was averaged belonged to the old ones."""
        self.weights[:] = weights
        self.n_averaged = 0
        if self.lag is not None:
            self.lag.fill(0.0)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept in a file: the records as one table, not thousands of numbers."""
        table = np.array(self.records, dtype=np.float64).reshape(-1, len(RECORD))
        return vars(self) | {"records": table}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take back what `__getstate__` returned."""
        records = [(int(p), int(q), *rest) for p, q, *rest in state["records"].tolist()]
        vars(self).update(state | {"records": records})

    def history(self) -> dict[str, FloatArray]:
        """Return one record per update, as arrays."""
        table = np.array(self.records, dtype=np.float64).reshape(-1, len(RECORD))
        columns = dict(zip(RECORD, table.T.copy(), strict=True))
        for name in ("predicted", "true"):
            columns[name] = columns[name].astype(np.intp)
        return columns


@dataclass(frozen=True)
class UMA:
    """The algorithm with its parts chosen.

    Parameters
    ----------
    selection, step : the strategy and the rule
    tol : a pair's norm must exceed it; None asks for a mass that stands out of its noise instead
    max_iter : at most so many updates in one run
    average : keep what is needed for averaged weights
    init : where to start from weights 0: there ("zero"), or at the unmixed class means ("means")
    try_means : where no pair stands out any more, go on from the unmixed class means if these
        make fewer mistakes by the estimate
    rng : source of chance for the selection
    verbose : how often to report progress
    """

    selection: Selection
    step: StepRule
    tol: float | None
    max_iter: int
    average: bool
    init: str
    try_means: bool
    rng: np.random.RandomState
    verbose: int = 0

    def run(self, engine: Engine, unmixing: Unmixing, alpha: float, state: UMAState) -> UMAState:
        """Make updates from `state` on (in place) until done; Ctrl-C ends a run cleanly."""
        prior = unmixing.prior(engine.code_counts)
        if self.average and state.lag is None:
            state.lag, state.n_averaged = np.zeros_like(state.weights), 0
        state.rng = self.rng if state.rng is None else state.rng
        progress = Progress(self.verbose, "UMA: update")
        state.stopped = EXHAUSTED
        total, begun = float(engine.code_counts.sum()), state.n_updates
        partition = engine.partition(unmixing, alpha)
        # Starts are judged by all rows, not only by those beyond the margin.
        judge = partition if alpha == 0 else engine.partition(unmixing, 0.0)
        try:
            if self.init == "means" and not state.weights.any():
                state.start_again(start_at_means(engine, judge, unmixing))
            if state.weights.any():
                partition.restart(state.weights)
            try_means = self.try_means
            while state.n_updates - begun < self.max_iter:
                if not self._update(partition, unmixing, prior, total, state):
                    if try_means and self._means_are_better(engine, judge, unmixing, state):
                        partition.restart(state.weights)
                        try_means = False
                        continue
                    state.stopped = CONVERGED
                    break
                p, q, norm, noise, *_ = state.records[-1]
                state_now = f"{p} -> {q}, norm {norm:.3g}, noise {noise:.3g}"
                progress(state.n_updates - begun, self.max_iter, state_now)
        except KeyboardInterrupt:
            state.stopped = INTERRUPTED
        progress.finish(state.n_updates - begun, self.max_iter, state.stopped)
        if not state.weights.any():
            self._start_at_means(engine, judge, unmixing, prior, state)
        elif state.stopped == CONVERGED and alpha > 0:
            _warn_if_all_within(partition, state, alpha)
        return state

    def _update(
        self,
        partition: Partition,
        unmixing: Unmixing,
        prior: FloatArray,
        total: float,
        state: UMAState,
    ) -> bool:
        """Make one update; return False when no pair is left that could make one."""
        selectable = ~np.eye(unmixing.n_classes, dtype=bool)
        tables = partition.tables() if self.tol is None else None
        if tables is not None:
            # Which pairs stand out does not depend on the norms, which may be dear.
            no_norms = np.zeros_like(unmixing.matrix)
            selectable &= pair_statistics(tables, no_norms, unmixing, total).stands_out
        floor = 0.0 if self.tol is None else self.tol
        largest_norm = float(np.sqrt(np.einsum("rj,rj->r", state.weights, state.weights).max()))
        while True:
            norms = sufficient_norms(partition, self.selection, prior, selectable, floor)
            if not np.all(np.isfinite(norms)):
                raise ValueError("The sums over rows overflow: scale the features down.")
            selectable &= norms > floor
            if not selectable.any():
                return False
            p, q = self._select(norms, prior, selectable, state)
            z = partition.update_vector(p, q)
            # einsum sums every row alike: classes with equal weights keep exactly equal scores.
            scores = np.einsum("rj,j->r", state.weights, z)
            squared_norm = float(np.einsum("j,j->", z, z))
            if snap_ties(scores, q, largest_norm * squared_norm**0.5):
                break
            selectable[p, q] = False  # its error set is empty: nothing to learn from it
        steps = check_steps(self.step(scores, q, p, squared_norm), len(scores), q)
        _add(state, steps, z)
        if tables is None:  # not before: with many classes it is much beside what norms take
            tables = partition.tables()
        noise, significance = pair_noise(tables, (p, q), float(norms[p, q]), unmixing, total)
        state.records.append((p, q, float(norms[p, q]), noise, significance, float(steps[q])))
        if state.weights.any():
            partition.move(steps, z)
        else:
            partition.restart(state.weights)
        return True

    def _select(
        self, norms: FloatArray, prior: FloatArray, selectable: BoolArray, state: UMAState
    ) -> tuple[int, int]:
        """Ask the strategy for a pair, and refuse one that it was not offered."""
        assert state.rng is not None
        chosen = self.selection(norms, prior, selectable, state.rng)
        inside = isinstance(chosen, tuple) and all(0 <= r < len(norms) for r in chosen)
        if not inside or len(chosen) != 2 or not selectable[chosen]:
            raise ValueError(
                f"The selection chose {chosen!r}, which is not one of the pairs (p, q) it may "
                "choose from (`selectable`)."
            )
        return chosen

    def _means_are_better(
        self, engine: Engine, partition: Partition, unmixing: Unmixing, state: UMAState
    ) -> bool:
        """Go on from the unmixed means if they err less by the estimate; say whether they do.

        On few rows pairs stop standing out one by one long before all classes have had their
        turn; the means use all rows at once, and all pairs together tell which is better.
        """
        if not state.weights.any():
            return False
        published = state.averaged() if self.average else state.weights
        hits = estimated_hits(partition, unmixing, published)
        means = start_at_means(engine, partition, unmixing)
        better = estimated_hits(partition, unmixing, means) > hits
        if better:
            state.start_again(means)
            state.means_at = state.n_updates
        return better

    def _start_at_means(
        self,
        engine: Engine,
        partition: Partition,
        unmixing: Unmixing,
        prior: FloatArray,
        state: UMAState,
    ) -> None:
        """Never hand back W = 0: it would call everything the first class."""
        state.start_again(start_at_means(engine, partition, unmixing))
        state.means_at = state.n_updates
        if engine.intercept and not state.weights.any():
            state.weights[:, -1] = prior - prior.mean()  # the rows say nothing at all
        if state.stopped != INTERRUPTED:
            warnings.warn(
                "UMA made no update: no pair of classes stands out "
                + (
                    f"of the sampling noise. There are too few rows for a confusion matrix of "
                    f"condition number {unmixing.condition_number:.3g} (too ill-conditioned), or "
                    "the features say nothing."
                    if not self.tol
                    else f"above tol={self.tol:g}; lower it."
                )
                + " The weights are the unmixed class means.",
                ConfusionWarning,
                stacklevel=4,
            )


def _warn_if_all_within(partition: Partition, state: UMAState, alpha: float) -> None:
    if not partition.tables().counts.any():
        warnings.warn(
            f"UMA stopped after {state.n_updates} updates because no row is predicted with a "
            f"margin of alpha={alpha:g} or more; lower alpha.",
            ConfusionWarning,
            stacklevel=4,
        )


def _add(state: UMAState, steps: FloatArray, z: FloatArray) -> None:
    for r in np.flatnonzero(steps):
        state.weights[r] += steps[r] * z
        if state.lag is not None:
            state.lag[r] += state.n_averaged * steps[r] * z
    state.n_updates += 1
    state.n_averaged += 1
