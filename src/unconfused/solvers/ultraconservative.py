"""Algorithm 1 of the paper: online ultraconservative additive learning."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray, Rows
from unconfused.solvers.progress import Progress
from unconfused.steps import STEPS, StepRule, check_steps, snap_ties

ROWS_PER_CALL = 2**17
"""Rows per compiled call, so that Ctrl-C works within an epoch."""


@dataclass
class OnlineState:
    """State of an online run."""

    weights: FloatArray
    """Transposed weights, (features, Q)."""

    lag: FloatArray
    """Difference between weights and averaged weights, times the rows seen; may be empty."""

    n_seen: int = 0
    n_mistakes: int = 0
    n_epochs: int = 0
    interrupted: bool = False

    @classmethod
    def zero(cls, n_features: int, n_classes: int, average: bool) -> OnlineState:
        """Return the state before the first row."""
        shape = (n_features, n_classes)
        return cls(np.zeros(shape), np.zeros(shape if average else (0, n_classes)))

    def copy(self) -> OnlineState:
        """Return an independent, writable copy to continue from."""
        return replace(self, weights=np.array(self.weights), lag=np.array(self.lag))

    def class_weights(self) -> FloatArray:
        """Return the weights, (Q, features), averaged over all rows seen if `lag` is kept."""
        averaged = self.weights - self.lag / max(self.n_seen, 1) if len(self.lag) else self.weights
        return np.ascontiguousarray(averaged.T)


@dataclass(frozen=True)
class Ultraconservative:
    """Algorithm 1 with a step rule; with an intercept, rows get a constant feature 1."""

    step: StepRule
    intercept: bool
    verbose: int = 0

    def run(
        self,
        X: Rows,
        labels: IntArray,
        state: OnlineState,
        max_epochs: int,
        rng: np.random.RandomState | None,
    ) -> OnlineState:
        """Run epochs until one has no mistake; Ctrl-C ends a run cleanly.

        Rows come in a new order each epoch if `rng` is given, and as they are otherwise.
        """
        progress = Progress(self.verbose, "Epoch")
        try:
            for _ in range(max_epochs):
                before = state.n_mistakes
                n_rows = X.shape[0]
                order = np.arange(n_rows) if rng is None else rng.permutation(n_rows)
                self.sweep(X, labels, order, state)
                state.n_epochs += 1
                mistakes = state.n_mistakes - before
                progress(state.n_epochs, max_epochs, f"{mistakes} mistakes in {n_rows} rows")
                if mistakes == 0:
                    break
        except KeyboardInterrupt:
            state.interrupted = True
        progress.finish(state.n_epochs, max_epochs, f"{state.n_mistakes} mistakes in all")
        return state

    def sweep(self, X: Rows, labels: IntArray, order: IntArray, state: OnlineState) -> None:
        """Process the rows in this order, updating on each mistake."""
        for start in range(0, len(order), ROWS_PER_CALL):
            part = order[start : start + ROWS_PER_CALL]
            state.n_mistakes += self._sweep_part(X, labels, part, state)
            state.n_seen += len(part)

    def _sweep_part(self, X: Rows, labels: IntArray, part: IntArray, state: OnlineState) -> int:
        from unconfused.solvers import _sweep

        known = [name for name, rule in STEPS.items() if rule is self.step]
        if not known:
            return self._slow_sweep(X, labels, part, state)
        rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        rule, seen = _sweep.RULES.index(known[0]), float(state.n_seen)
        own = state.weights, state.lag
        return int(_sweep.sweep(rows, labels, part, self.intercept, rule, *own, seen))

    def _slow_sweep(self, X: Rows, labels: IntArray, part: IntArray, state: OnlineState) -> int:
        """Process rows in Python, for a custom step rule."""
        mistakes = 0
        for place, i in enumerate(part):
            row = X[[i]].toarray()[0] if sparse.issparse(X) else X[i]
            x = np.append(row, 1.0) if self.intercept else np.asarray(row, dtype=np.float64)
            target = int(labels[i])
            scores = x @ state.weights
            scale = float(np.sqrt((x @ x) * (state.weights**2).sum(axis=0).max()))
            if not snap_ties(scores, target, scale):
                continue
            mistakes += 1
            others = np.where(np.arange(len(scores)) == target, -np.inf, scores)
            steps = self.step(scores, target, int(np.argmax(others)), float(x @ x))
            change = np.outer(x, check_steps(steps, len(scores), target))
            state.weights += change
            if len(state.lag):
                state.lag += (state.n_seen + place) * change
        return mistakes
