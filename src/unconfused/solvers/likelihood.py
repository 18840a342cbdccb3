"""Maximum likelihood of the observed labels: logistic regression through C.

The true class of a row follows the softmax of its scores, and the label follows the row of C of
that class. The true class is marginalized out, except where it is known. C is fixed, or estimated
in alternation with the weights.

With noise the objective is not convex, and zero weights do not distinguish the classes: if classes
differ in size, descent from there can end in a poor optimum. So fits without a known truth start at
the unmixed class means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from unconfused._matrix import ILL_CONDITIONED_BEYOND, Unmixing, label_chances, loses_a_class
from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, LikelihoodPass
from unconfused.solvers.lbfgs import descend
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of
from unconfused.solvers.progress import Progress
from unconfused.solvers.refine_confusion import MOST_STEPS, SETTLED, Measure, find_matrix
from unconfused.solvers.uma.means import unmixed_means

SCALES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Candidate root mean square norms of the weights of a class; 0 starts at zero."""

STANDARD_ERRORS = 3.0
"""Significance that the mass of every class needs for a start from the means."""


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
    """Whether the last run reached its maximum number of steps before it converged."""

    interrupted: bool = False
    relabelled: list[float] = field(default_factory=list)
    """Share of the rows whose pseudo-label changed in each round of relabelling."""

    noise_depends_on_rows: bool = False
    """Whether relabelling found that mistakes depend on more than the true class."""

    calibration: FloatArray | None = None
    """Inverse temperature by which the weights were multiplied, then the shift of each class's
    intercept, (1 + Q,), both fitted to held-out rows; None if the weights are not calibrated."""

    row_posterior: FloatArray | None = None
    """Out-of-fold P(true class | row, label), (n, Q), after rounds of relabelling."""

    posterior: FloatArray | None = None
    """P(true class | row, label) summed by label code at the end, (S, Q)."""

    def shares(self) -> FloatArray:
        """Return the share of each class among the rows, (Q,)."""
        assert self.posterior is not None
        rows = self.posterior.sum(axis=0)
        return np.asarray(rows / rows.sum())

    def calibrate(self, power: float, shift: FloatArray, intercept: bool) -> None:
        """Multiply all weights by `power`, then add `shift` to the intercepts, if there are any."""
        self.weights = power * self.weights
        if intercept:
            self.weights[:, -1] += shift
        self.calibration = np.append(power, shift)

    def uncalibrate(self, intercept: bool) -> None:
        """Undo `calibrate`."""
        if self.calibration is not None:
            self.weights = self.weights.copy()
            if intercept:
                self.weights[:, -1] -= self.calibration[1:]
            self.weights /= self.calibration[0]
            self.calibration = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is saved in a file: no posterior that grows with the number of rows."""
        one_code_per_row = self.posterior is not None and len(self.posterior) > 2 * len(self.matrix)
        kept = vars(self) | {
            "objective": np.array(self.objective),
            "relabelled": np.array(self.relabelled),
        }
        kept["row_posterior"] = None
        return kept | {"posterior": None} if one_code_per_row else kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        lists = {name: state.get(name, np.empty(0)) for name in ("objective", "relabelled")}
        vars(self).update(state | {name: array.tolist() for name, array in lists.items()})


@dataclass(frozen=True)
class Likelihood:
    """The penalized likelihood, and its minimization.

    Parameters
    ----------
    l2 : strength of the penalty on the weights, intercepts excluded
    noisy_weight : weight of a row whose truth is not known
    prior_counts : (Q, Q) pseudocounts of C, which is estimated with the weights; None if C is fixed
    max_iter, tol : maximum number of steps, and stopping tolerance; see `descend`
    verbose : verbosity of progress messages
    turns : maximum number of re-estimations of C, if it is not fixed
    matrix_steps : steps of each re-estimation
    preconditioner : None computes it from the rows of a run
    """

    l2: float
    noisy_weight: float
    prior_counts: FloatArray | None
    max_iter: int
    tol: float
    verbose: int = 0
    turns: int = 5
    matrix_steps: int = MOST_STEPS
    preconditioner: Preconditioner | None = None

    def values(
        self, engine: Engine, matrix: FloatArray, weights: FloatArray, factors: Sequence[float]
    ) -> list[float]:
        """Return the objective at multiples of weights, in one pass if scores can be held."""
        objective = _Objective(self, engine, matrix.shape)
        measure, basis = objective.measure_multiples(weights)
        penalty, _ = _ridge(weights, self.l2, engine.intercept)
        return [
            measure(factor * basis, matrix).loss / objective.total + factor**2 * penalty
            for factor in factors
        ]

    def estimate_posterior(
        self, engine: Engine, state: LikelihoodState, evidence: FloatArray | None = None
    ) -> None:
        """Compute the posterior at the weights and C of a state (E-step only)."""
        objective = _Objective(self, engine, state.matrix.shape, evidence)
        state.posterior = objective.measure(state.weights, state.matrix).posterior

    def run(
        self, engine: Engine, state: LikelihoodState, evidence: FloatArray | None = None
    ) -> LikelihoodState:
        """Minimize from `state` on (in place); Ctrl-C ends a run cleanly.

        `evidence`, (S, Q), replaces C as P(label code | true class) where there is no single
        confusion matrix: with several annotators each row has its own code.
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
        """Re-estimate C, then the weights; return whether another turn may follow.

        A turn that leaves a class nearly without rows is undone, and so is an interrupted one. Its
        steps still count.
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
        """Minimize over the weights, with C fixed."""
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
            objective, state.weights, objective.preconditioner, left, self.tol, after_step
        )

    def _fit_matrix(self, objective: _Objective, state: LikelihoodState) -> bool:
        """Re-estimate C and the temperature of the weights; return whether C changed."""
        assert self.prior_counts is not None
        measure, weights = objective.measure_multiples(state.weights)
        found = find_matrix(
            measure, weights, state.matrix, self.prior_counts, objective.total, self.matrix_steps
        )
        if float(np.abs(found - state.matrix).max()) <= SETTLED:
            return False  # the weights are optimal for this matrix already
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
        # A fold may leave no row: then there is only the penalty.
        self.total = float(engine.code_counts @ self._code_weights) or 1.0
        self.matrix = np.eye(n_classes)
        self._mixing: tuple[FloatArray, FloatArray] | None = None
        self._last: tuple[FloatArray, FloatArray, LikelihoodPass] | None = None

    @cached_property
    def preconditioner(self) -> Preconditioner:
        """Preconditioner of the steps."""
        given = self._settings.preconditioner
        return given or preconditioner_of(self._engine, self._n_classes, self._settings.l2)

    def measure_multiples(self, weights: FloatArray) -> tuple[Measure, FloatArray]:
        """Return a function that measures multiples of weights, and what to multiply.

        If the engine can hold the scores of all rows, they replace the rows, and the identity
        replaces the weights.
        """
        engine = self._engine.scored(weights) if weights.any() else None
        if engine is None:
            return self.measure, weights
        return partial(self._measure, engine), np.eye(self._n_classes)

    def noisy_rows_by_class(self, state: LikelihoodState) -> FloatArray:
        """Return the expected number of rows without a known truth of each class, (Q,)."""
        posterior = self.measure(state.weights, state.matrix).posterior
        return np.asarray(posterior[: self._n_labels].sum(axis=0))

    def measure(self, weights: FloatArray, matrix: FloatArray) -> LikelihoodPass:
        """Return the likelihood pass at these weights and C; the last one is cached."""
        if self._last is None or self._last[0] is not weights or self._last[1] is not matrix:
            self._last = weights, matrix, self._measure(self._engine, weights, matrix)
        return self._last[2]

    def _measure(self, engine: Engine, weights: FloatArray, matrix: FloatArray) -> LikelihoodPass:
        if self._evidence is not None:
            return engine.likelihood(weights, self._evidence, self._code_weights)
        if self._mixing is None or self._mixing[0] is not matrix:
            # P(label code | true class): columns of C for labels, the identity for known truths.
            mixing = np.vstack([label_chances(matrix), np.eye(self._n_classes)])
            self._mixing = matrix, mixing[: len(self._code_weights)]
        return engine.likelihood(weights, self._mixing[1], self._code_weights)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient."""
        measured = self.measure(weights, self.matrix)
        penalty, slope = _ridge(weights, self._settings.l2, self._engine.intercept)
        slope += measured.gradient / self.total
        return float(measured.loss / self.total + penalty), slope


def _ridge(weights: FloatArray, l2: float, intercept: bool) -> tuple[float, FloatArray]:
    """Return the penalty and its gradient; with two classes it is on their difference."""
    penalised = weights[:, :-1] if intercept else weights
    if len(weights) == 2:
        difference = penalised[1] - penalised[0]
        square, slope = float(difference @ difference), l2 * (weights - weights[::-1])
    else:
        square, slope = float(np.einsum("qj,qj->", penalised, penalised)), l2 * weights
    if intercept:
        slope[:, -1] = 0.0
    return l2 / 2 * square, slope


def start_at_scaled_means(
    engine: Engine, likelihood: Likelihood, matrix: FloatArray
) -> LikelihoodState:
    """Return the multiple of the unmixed class means with the lowest objective.

    This costs one pass over the rows for the means, and one for all multiples, or one each if the
    scores do not fit into memory. The start is 0 if C is the identity, where the objective is
    convex, or if C is too ill-conditioned to unmix the means. (The unmixed discriminant is a better
    classifier, but not a better start, and takes longer.)
    """
    unmixing = Unmixing(matrix, trusted=len(engine.code_counts) > matrix.shape[1])
    nowhere = LikelihoodState(np.zeros((len(matrix), engine.n_features)), matrix)
    if np.array_equal(matrix, np.eye(len(matrix))) or not _can_be_undone(unmixing, engine):
        return nowhere
    means = unmixed_means(engine, unmixing, 0.0)
    if engine.intercept:
        means[:, -1] = 0.0
    length = float(np.sqrt(np.einsum("qj,qj->", means, means) / len(means)))
    if length == 0.0:
        return nowhere
    means /= length
    best = SCALES[int(np.argmin(likelihood.values(engine, matrix, means, SCALES)))]
    return LikelihoodState(best * means, matrix)


def _can_be_undone(unmixing: Unmixing, engine: Engine) -> bool:
    """Return whether the mass of every class is statistically significant."""
    if not unmixing.condition_number < ILL_CONDITIONED_BEYOND:
        return False
    masses = unmixing.masses(engine.code_counts)
    errors = unmixing.mass_errors(engine.code_counts)
    return bool(np.all(masses > STANDARD_ERRORS * errors))
