"""UMA, Algorithm 2 of the paper: select a pair, unmix its update vector, step.

Symbols follow the paper: Q classes, weights W (one row per class), z the update vector of rows
predicted p that are truly q, tau the step sizes. The data are accessed only through an engine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unconfused._matrix import ConfusionWarning, Unmixing
from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import Engine, Partition, RunningMoments, exact_norms
from unconfused.selection import TIE, Selection
from unconfused.solvers.discriminant import WIDE, DiagonalCovariance
from unconfused.solvers.progress import Progress
from unconfused.solvers.uma.means import OVERFLOW, fall_back_to_means, start_at_means
from unconfused.solvers.uma.whitening import (
    MOST_CLASSES,
    Whitening,
    unmixed_discriminant,
    update_all_pairs,
    with_costs,
)
from unconfused.steps import StepRule, check_steps, snap_ties

CONVERGED = "no pair left to unconfuse"
EXHAUSTED = "max_iter reached"
INTERRUPTED = "interrupted"

MORE = 16
"""Growth factor of the number of pairs measured per round."""

RECORD = ("predicted", "true", "norm", "noise", "significance", "step")
"""Columns of the update history."""


@dataclass
class UMAState:
    """State of a run of UMA; a run can be resumed from it."""

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


@dataclass(frozen=True)
class UMA:
    """UMA with a selection strategy and a step rule.

    Parameters
    ----------
    selection, step : selection strategy and step rule
    tol : norm that a pair must exceed; None requires a statistically significant mass instead
    max_iter : maximum number of updates in one run
    average : whether to track averaged weights
    init : initial weights: "zero", unmixed class "means", or "auto": the means with `whiten`, or if
        labels are noisy and `tol` is None; zero for a stream
    whiten : whether to run in whitened geometry
    stream : whether the rows are a chunk of a stream; whitening then uses all chunks so far
    error_margin : by how much a class must outscore the target to be in the error set
    mistakes : weight of the rows whose labels the weights contradict, at which updates end; None
        goes on as long as there are pairs
    rng : random state of the selection
    verbose : verbosity of progress messages
    costs : (predicted, true), what each mistake costs; None if all cost the same. Update vectors
        are multiplied by the cost of their mistake
    """

    selection: Selection
    step: StepRule
    tol: float | None
    max_iter: int
    average: bool
    init: str
    rng: np.random.RandomState
    whiten: bool = False
    stream: bool = False
    error_margin: float = 0.0
    mistakes: float | None = None
    verbose: int = 0
    costs: FloatArray | None = None

    def run(self, engine: Engine, unmixing: Unmixing, alpha: float, state: UMAState) -> UMAState:
        """Update `state` in place until converged; Ctrl-C ends a run cleanly.

        The weights are in the features' own coordinates before and after a whitened run.
        """
        whitening = self._whitening(engine, unmixing, state) if self.whiten else None
        if whitening is None:
            return self._update_until_converged(engine, unmixing, alpha, state)
        fresh = self._starts_at_means(unmixing) and not self.stream and not state.weights.any()
        if fresh:
            weights, state.ridge, state.freedom = unmixed_discriminant(engine, unmixing, whitening)
            state.start_again(weights)
        elif self.stream or state.ridge is None:
            state.ridge = whitening.ridge()
        change = whitening.row_map(state.ridge)
        mapped = engine.mapped(change)
        state.change(change.to_mapped)
        kept = 0 if state.vectors is None else len(state.vectors)
        try:
            if fresh:
                self._update_all_pairs(mapped, unmixing, state)
            return self._update_until_converged(mapped, unmixing, alpha, state)
        finally:
            state.change(change.from_mapped)
            if state.vectors is not None:
                state.vectors[kept:] = map(change.sums_from_mapped, state.vectors[kept:])

    def _starts_at_means(self, unmixing: Unmixing) -> bool:
        if self.init != "auto":
            return self.init == "means"
        return not self.stream and (self.whiten or (self.tol is None and not unmixing.is_identity))

    def _update_all_pairs(self, engine: Engine, unmixing: Unmixing, state: UMAState) -> None:
        """Start from the discriminant's weights after updates of all pairs, costs included."""
        weights = state.weights
        # Not with an estimated C: its errors affect all pairs in the same way and would add up.
        if unmixing.n_classes <= MOST_CLASSES and unmixing.counts is None:
            weights = update_all_pairs(engine, unmixing, weights, self.costs)
        state.start_again(with_costs(weights, self.costs, engine.intercept))

    def _whitening(self, engine: Engine, unmixing: Unmixing, state: UMAState) -> Whitening | None:
        if not self.stream:
            return Whitening.of(engine, unmixing)
        chunk = RunningMoments.of(engine, unmixing.n_classes, WIDE)
        state.moments = chunk if state.moments is None else state.moments + chunk
        return Whitening.of(state.moments, replace(unmixing, trusted=True), DiagonalCovariance)

    def _update_until_converged(
        self, engine: Engine, unmixing: Unmixing, alpha: float, state: UMAState
    ) -> UMAState:
        """Make updates of single pairs until none is left or `max_iter` is reached."""
        prior = unmixing.prior(engine.code_counts)
        if self.average and state.lag is None:
            state.lag, state.n_averaged = np.zeros_like(state.weights), 0
        state.rng = self.rng if state.rng is None else state.rng
        progress = Progress(self.verbose, "UMA: update") if self.verbose else None
        state.stopped = EXHAUSTED
        total, begun = float(engine.code_counts.sum()), state.n_updates
        try:
            if self._starts_at_means(unmixing) and not state.weights.any():
                state.start_again(start_at_means(engine, unmixing, self.costs))
            partition = engine.partition(unmixing, alpha)
            if state.weights.any():
                partition.restart(state.weights)
            while state.n_updates - begun < self.max_iter:
                if not self._update(partition, unmixing, prior, total, state):
                    state.stopped = CONVERGED
                    break
                if progress:
                    p, q, norm, noise, *_ = state.records[-1]
                    state_now = f"{p} -> {q}, norm {norm:.3g}, noise {noise:.3g}"
                    progress(state.n_updates - begun, self.max_iter, state_now)
        except KeyboardInterrupt:
            state.stopped = INTERRUPTED
        if progress:
            progress.finish(state.n_updates - begun, self.max_iter, state.stopped)
        if not state.weights.any():
            state.start_again(fall_back_to_means(engine, unmixing, prior, self.costs))
            if state.stopped != INTERRUPTED:
                self._warn_of_no_update(unmixing)
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
        """Make one update; return False if no pair is left."""
        selectable = ~np.eye(unmixing.n_classes, dtype=bool)
        if self.costs is not None:
            selectable &= self.costs > 0  # mistakes that cost nothing are ignored
        tables = None
        if self.tol is None or self.mistakes is not None:
            tables = partition.tables()
            contradicted = tables.counts.sum() - np.trace(tables.counts)
            if self.mistakes is not None and contradicted <= self.mistakes:
                return False
        if self.tol is None and tables is not None:
            selectable &= unmixing.significant_pairs(tables.counts, total)
        floor = 0.0 if self.tol is None else self.tol
        largest_norm = float(np.sqrt(np.einsum("rj,rj->r", state.weights, state.weights).max()))
        while True:
            norms = sufficient_norms(
                partition, self.selection, prior, selectable, floor, self.costs
            )
            if not np.all(np.isfinite(norms)):
                raise ValueError(OVERFLOW)
            selectable &= norms > floor
            if not selectable.any():
                return False
            p, q = self._select(norms, prior, selectable, state)
            z = partition.update_vector(p, q)
            # einsum sums all rows in the same order: equal weights give exactly equal scores.
            scores = np.einsum("rj,j->r", state.weights, z)
            squared_norm = float(np.einsum("j,j->", z, z))
            scores[q] += self.error_margin
            if snap_ties(scores, q, largest_norm * squared_norm**0.5):
                break
            selectable[p, q] = False  # satisfied: its error set is empty
        cost = 1.0 if self.costs is None else float(self.costs[p, q])
        steps = cost * np.asarray(self.step(cost * scores, q, p, cost * cost * squared_norm))
        steps = check_steps(steps, len(scores), q)
        _add(state, steps, z)
        if state.vectors is not None:
            state.vectors.append(z)
        if tables is None:  # only now: with many classes the tables cost as much as the norms
            tables = partition.tables()
        norm, region = float(norms[p, q]), (tables.counts[p], tables.squares[p])
        noise, significance = unmixing.pair_noise(*region, q, norm, total)
        state.records.append((p, q, norm, noise, significance, float(steps[q])))
        if state.weights.any():
            partition.move(steps, z)
        else:
            partition.restart(state.weights)
        return True

    def _select(
        self, norms: FloatArray, prior: FloatArray, selectable: BoolArray, state: UMAState
    ) -> tuple[int, int]:
        """Return the pair chosen by the strategy; raise an error if it is not selectable."""
        assert state.rng is not None
        worth = norms if self.costs is None else norms * self.costs
        chosen = self.selection(worth, prior, selectable, state.rng)
        inside = isinstance(chosen, tuple) and all(0 <= r < len(norms) for r in chosen)
        if not inside or len(chosen) != 2 or not selectable[chosen]:
            raise ValueError(
                f"The selection chose {chosen!r}, which is not one of the pairs (p, q) it may "
                "choose from (`selectable`)."
            )
        return chosen

    def _warn_of_no_update(self, unmixing: Unmixing) -> None:
        why = (
            "no pair of classes is statistically significant. There are too few rows for a "
            f"confusion matrix of condition number {unmixing.condition_number:.3g} (too "
            "ill-conditioned), or the features are uninformative."
            if not self.tol
            else f"no update vector has a norm above tol={self.tol:g}; lower it."
        )
        warnings.warn(
            f"UMA made no update: {why} The weights are the unmixed class means.",
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


def sufficient_norms(
    partition: Partition,
    selection: Selection,
    prior: FloatArray,
    selectable: BoolArray,
    floor: float,
    costs: FloatArray | None = None,
) -> FloatArray:
    """Return norms, (Q, Q), by which `selection` makes the same choice as by the exact ones.

    The selection is made by the norms times `costs`, (predicted, true).

    The norms of the highest pair and all pairs tied with it are exact, and above `floor` if any
    selectable pair's norm is. Other norms may be upper bounds below these.
    """
    scale = getattr(selection, "scale", None)
    if scale is None:
        return exact_norms(partition)
    factors = np.atleast_2d(scale(prior))  # per true class
    factors = factors if costs is None else factors * costs
    n_measured = 1
    while True:
        lower, upper = partition.norm_bounds()
        offered = selectable & (upper > floor)
        if not offered.any():
            return upper
        highest = float((lower * factors)[offered & (lower > floor)].max(initial=0.0))
        worth = upper * factors
        open_pairs = offered & (lower < upper) & (worth >= highest * (1 - 2 * TIE))
        if not open_pairs.any():
            return upper
        places = np.flatnonzero(open_pairs)
        first = places[np.argsort(-worth.ravel()[places], kind="stable")[:n_measured]]
        partition.measure([divmod(place, len(worth)) for place in first.tolist()])
        n_measured *= MORE  # one is nearly always enough; if not, many are needed


def _add(state: UMAState, steps: FloatArray, z: FloatArray) -> None:
    for r in np.flatnonzero(steps):
        state.weights[r] += steps[r] * z
        if state.lag is not None:
            state.lag[r] += state.n_averaged * steps[r] * z
    state.n_updates += 1
    state.n_averaged += 1
