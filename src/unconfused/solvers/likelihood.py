"""Maximum likelihood of the labels we saw: logistic regression through C.

A label is drawn from the row of C of its true class, and the true class from the softmax of the
scores; the truth itself is never seen, so it is summed over. A row whose truth is known counts
with its truth. C may be held fixed, or found in turn with the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from unconfused._matrix import label_chances, loses_a_class
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, LikelihoodPass, ScoringEngine
from unconfused.solvers.lbfgs import descend
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of
from unconfused.solvers.progress import Progress
from unconfused.solvers.refine_confusion import MOST_STEPS, SETTLED, Measure, find_matrix


@dataclass
class LikelihoodState:
    """State of a fit, sufficient to resume it."""

    weights: FloatArray
    """W, (Q, features)."""

    matrix: FloatArray
    """C, rows true, columns observed."""

    n_iter: int = 0
    objective: list[float] = field(default_factory=list)
    exhausted: bool = False
    """Whether the last run used up its steps before it converged."""

    interrupted: bool = False
    relabelled: list[float] = field(default_factory=list)
    """Share of the rows that each round fitted with another class than before."""

    noise_depends_on_rows: bool = False
    """Whether rounds found that mistakes depend on more than the class."""

    calibration: FloatArray | None = None
    """What the weights were multiplied by to suit rows held out, then what the intercept of each
    class was moved by, (1 + Q,); None if they are where the objective is smallest."""

    row_posterior: FloatArray | None = None
    """P(true class | row, label) by models that had not seen the row, (n, Q), after rounds."""

    posterior: FloatArray | None = None
    """P(true class | row, label) summed by label code at the end, (S, Q)."""

    def calibrate(self, power: float, shift: FloatArray, intercept: bool) -> None:
        """Multiply all weights, then move the intercepts, if there are any."""
        self.weights = power * self.weights
        if intercept:
            self.weights[:, -1] += shift
        self.calibration = np.append(power, shift)

    def uncalibrate(self, intercept: bool) -> None:
        """Return the weights to what they were before."""
        if self.calibration is not None:
            self.weights = self.weights.copy()
            if intercept:
                self.weights[:, -1] -= self.calibration[1:]
            self.weights /= self.calibration[0]
            self.calibration = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept in a file: not the posterior of every training row.

        None with several annotators, where each row has its own label code.
        """
        one_code_per_row = self.posterior is not None and len(self.posterior) > 2 * len(self.matrix)
        kept = vars(self) | {
            "objective": np.array(self.objective),
            "relabelled": np.array(self.relabelled),
        }
        kept["row_posterior"] = None
        return kept | {"posterior": None} if one_code_per_row else kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take back what `__getstate__` returned."""
        lists = {name: state.get(name, np.empty(0)) for name in ("objective", "relabelled")}
        vars(self).update(state | {name: array.tolist() for name, array in lists.items()})


@dataclass(frozen=True)
class Likelihood:
    """The objective with its settings, and how to minimise it.

    Parameters
    ----------
    l2 : strength of the penalty on the weights, the intercept's left out
    noisy_weight : what a row counts whose truth is not known
    prior_counts : (Q, Q) counts that C is held to while it is found; None to hold C fixed
    max_iter, tol : maximum number of steps, and when to stop; see `descend`
    verbose : how often to report progress
    turns : how often C may be re-estimated, if it is not fixed
    matrix_steps : steps of each re-estimation
    metric : coordinates to take steps in; found from the rows of a run if None
    """

    l2: float
    noisy_weight: float
    prior_counts: FloatArray | None
    max_iter: int
    tol: float
    verbose: int = 0
    turns: int = 5
    matrix_steps: int = MOST_STEPS
    metric: Preconditioner | None = None

    def values(
        self, engine: Engine, matrix: FloatArray, weights: FloatArray, factors: Sequence[float]
    ) -> list[float]:
        """Return the objective at multiples of weights: one pass over the rows, if they allow."""
        objective = _Objective(self, engine, matrix.shape)
        measure, basis = objective.measure_multiples(weights)
        penalty, _ = _ridge(weights, self.l2, engine.intercept)
        return [
            measure(factor * basis, matrix).loss / objective.total + factor**2 * penalty
            for factor in factors
        ]

    def judge(self, engine: Engine, state: LikelihoodState) -> None:
        """Compute the posterior at the weights and C of a state, without a step."""
        objective = _Objective(self, engine, state.matrix.shape)
        state.posterior = objective.measure(state.weights, state.matrix).posterior

    def run(
        self, engine: Engine, state: LikelihoodState, evidence: FloatArray | None = None
    ) -> LikelihoodState:
        """Minimise from `state` on (in place); Ctrl-C ends a run cleanly.

        `evidence` is the chance of each label code given each true class, (S, Q), where that is
        not a matter of one confusion matrix (several annotators: one code per row).
        """
        objective = _Objective(self, engine, state.matrix.shape, evidence)
        progress = Progress(self.verbose, "Likelihood: step")
        state.interrupted = False
        begun = state.n_iter
        try:
            self._fit_weights(objective, state, begun, progress)
            for _ in range(self.turns if self.prior_counts is not None else 0):
                if not self._take_turn(objective, state, begun, progress):
                    break
        except KeyboardInterrupt:
            state.interrupted = True
        progress.finish(state.n_iter - begun, self.max_iter, "done")
        state.posterior = objective.measure(state.weights, state.matrix).posterior
        return state

    def _take_turn(
        self, objective: _Objective, state: LikelihoodState, begun: int, progress: Progress
    ) -> bool:
        """Find C, then the weights through it; return whether another turn may follow.

        A turn that loses a class is taken back, but for the steps it took; so is one interrupted.
        """
        rows, before = objective.noisy_rows_by_class(state), replace(state)
        n_values, kept = len(state.objective), False
        try:
            if not self._fit_matrix(objective, state):
                kept = True
                return False
            self._fit_weights(objective, state, begun, progress)
            kept = not loses_a_class(rows, objective.noisy_rows_by_class(state))
            return kept
        finally:
            if not kept:
                state.weights, state.matrix = before.weights, before.matrix
                state.exhausted = before.exhausted
                del state.objective[n_values:]

    def _fit_weights(
        self, objective: _Objective, state: LikelihoodState, begun: int, progress: Progress
    ) -> None:
        """Minimise over the weights, C held."""
        left = self.max_iter - (state.n_iter - begun)
        if left <= 0:
            state.exhausted = True
            return
        objective.matrix = state.matrix

        def after_step(weights: FloatArray, value: float) -> None:
            state.n_iter += 1
            state.objective.append(value)
            state.weights = weights
            progress(state.n_iter - begun, self.max_iter, f"objective {value:.6g}")

        state.exhausted = not descend(
            objective, state.weights, objective.metric, left, self.tol, after_step
        )

    def _fit_matrix(self, objective: _Objective, state: LikelihoodState) -> bool:
        """Find C given the weights' direction; return whether it moved."""
        assert self.prior_counts is not None
        measure, weights = objective.measure_multiples(state.weights)
        found = find_matrix(
            measure, weights, state.matrix, self.prior_counts, objective.total, self.matrix_steps
        )
        if float(np.abs(found - state.matrix).max()) <= SETTLED:
            return False  # the weights are the best for the matrix they were found with
        state.matrix = found
        return True


class _Objective:
    """Mean loss plus penalty, as a function of the weights, with its gradient."""

    def __init__(
        self,
        settings: Likelihood,
        engine: Engine,
        shape: tuple[int, ...],
        evidence: FloatArray | None = None,
    ) -> None:
        self._settings, self._engine, self._evidence = settings, engine, evidence
        n_classes, n_labels = shape
        self._n_classes, self._n_labels = n_classes, n_labels
        trusted = len(engine.code_counts) > n_labels
        noisy = np.full(n_labels, settings.noisy_weight)
        self._code_weights = np.append(noisy, np.ones(n_classes)) if trusted else noisy
        if evidence is not None:
            self._code_weights = np.ones(len(evidence))
        self.total = float(engine.code_counts @ self._code_weights)
        self.matrix = np.eye(n_classes)
        self._last: tuple[FloatArray, FloatArray, LikelihoodPass] | None = None

    @cached_property
    def metric(self) -> Preconditioner:
        """Coordinates to take steps in."""
        given = self._settings.metric
        return given or preconditioner_of(self._engine, self._n_classes, self._settings.l2)

    def measure_multiples(self, weights: FloatArray) -> tuple[Measure, FloatArray]:
        """Return how to measure multiples of weights, and what to take the multiples of.

        Where the rows' scores can be held, these take the rows' place, and a unit matrix that of
        the weights.
        """
        if not weights.any() or not isinstance(self._engine, ScoringEngine):
            return self.measure, weights
        engine = self._engine.scored(weights)
        if engine is None:
            return self.measure, weights
        return partial(self._measure, engine), np.eye(self._n_classes)

    def noisy_rows_by_class(self, state: LikelihoodState) -> FloatArray:
        """Return how many rows without a known truth each class probably has, (Q,)."""
        posterior = self.measure(state.weights, state.matrix).posterior
        return np.asarray(posterior[: self._n_labels].sum(axis=0))

    def measure(self, weights: FloatArray, matrix: FloatArray) -> LikelihoodPass:
        """Measure weights and C against the labels; what was asked last is remembered."""
        if self._last is None or self._last[0] is not weights or self._last[1] is not matrix:
            self._last = weights, matrix, self._measure(self._engine, weights, matrix)
        return self._last[2]

    def _measure(self, engine: Engine, weights: FloatArray, matrix: FloatArray) -> LikelihoodPass:
        if self._evidence is not None:
            return engine.likelihood(weights, self._evidence, self._code_weights)
        # A label code's chance given each true class: a column of C, or certainty of the truth.
        trusted = len(self._code_weights) > self._n_labels
        mixing = label_chances(matrix)
        if trusted:
            mixing = np.vstack([mixing, np.eye(self._n_classes)])
        return engine.likelihood(weights, mixing, self._code_weights)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient."""
        measured = self.measure(weights, self.matrix)
        penalty, slope = _ridge(weights, self._settings.l2, self._engine.intercept)
        return float(measured.loss / self.total + penalty), measured.gradient / self.total + slope


def _ridge(weights: FloatArray, l2: float, intercept: bool) -> tuple[float, FloatArray]:
    """Return the penalty and its gradient; with two classes it is on their difference."""
    slope = np.zeros_like(weights)
    features = slice(None, -1) if intercept else slice(None)
    if len(weights) == 2:
        difference = weights[1, features] - weights[0, features]
        slope[1, features], slope[0, features] = l2 * difference, -l2 * difference
        return l2 / 2 * float(difference @ difference), slope
    slope[:, features] = l2 * weights[:, features]
    penalised = weights[:, features]
    return l2 / 2 * float(np.einsum("qj,qj->", penalised, penalised)), slope
