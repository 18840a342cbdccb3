"""Maximum likelihood of the labels we saw: logistic regression through C.

A label is drawn from the row of C of its true class, and the true class from the softmax of the
scores; the truth itself is never seen, so it is summed over. A row whose truth is known counts
with its truth. C may be held fixed, or found together with the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from unconfused._typing import FloatArray
from unconfused.engines.base import Engine, LikelihoodPass
from unconfused.solvers.progress import Progress

SMALLEST = 1e-12
"""Smallest probability a free entry of C starts from: a logarithm must be finite."""


@dataclass
class LikelihoodState:
    """Where a fit stands; enough to go on from."""

    weights: FloatArray
    """W, (Q, features)."""

    matrix: FloatArray
    """C, rows true, columns observed."""

    n_iter: int = 0
    objective: list[float] = field(default_factory=list)
    exhausted: bool = False
    """Whether the last run used up its steps before it came to rest."""

    interrupted: bool = False
    posterior: FloatArray | None = None
    """P(true class | row, label) summed by label code at the end, (S, Q)."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept in a file: not the posterior of every training row.

        With several annotators each row is a label code of its own; nothing goes on from that.
        """
        one_code_per_row = self.posterior is not None and len(self.posterior) > 2 * len(self.matrix)
        kept = vars(self) | {"objective": np.array(self.objective)}
        return kept | {"posterior": None} if one_code_per_row else kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take back what `__getstate__` returned."""
        vars(self).update(state | {"objective": state["objective"].tolist()})


@dataclass(frozen=True)
class Likelihood:
    """The objective with its settings, and how to minimise it.

    Parameters
    ----------
    l2 : strength of the penalty on the weights, the intercept's left out
    noisy_weight : what a row counts whose truth is not known
    prior_counts : (Q, Q) counts that C is held to while it is found; None to hold C fixed
    max_iter, tol : at most so many steps; stop when no derivative exceeds `tol`
    verbose : how often to report progress
    """

    l2: float
    noisy_weight: float
    prior_counts: FloatArray | None
    max_iter: int
    tol: float
    verbose: int = 0

    def run(
        self, engine: Engine, state: LikelihoodState, evidence: FloatArray | None = None
    ) -> LikelihoodState:
        """Minimise from `state` on (in place); Ctrl-C ends a run cleanly.

        `evidence` is the chance of each label code given each true class, (S, Q), where that is
        not a matter of one confusion matrix (several annotators: one code per row).
        """
        objective = _Objective(self, engine, len(state.matrix), evidence)
        progress = Progress(self.verbose, "Likelihood: step")
        state.interrupted = False
        begun = state.n_iter

        def after_step(parameters: FloatArray) -> None:
            state.n_iter += 1
            state.objective.append(objective.last_value)
            objective.unpack(parameters, state)
            progress(state.n_iter - begun, self.max_iter, f"objective {objective.last_value:.6g}")

        try:
            found = minimize(
                objective,
                objective.pack(state),
                jac=True,
                method="L-BFGS-B",
                callback=after_step,
                options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-15, "maxcor": 20},
            )
            at_rest = bool(np.max(np.abs(found.jac)) <= self.tol)
            state.exhausted = not at_rest and found.nit >= self.max_iter
            objective.unpack(found.x, state)
        except KeyboardInterrupt:
            state.interrupted = True
        progress.finish(state.n_iter - begun, self.max_iter, "done")
        state.posterior = objective.measure(state).posterior
        return state


class _Objective:
    """Mean loss plus penalties, as a function of one long vector, with its gradient."""

    def __init__(
        self,
        settings: Likelihood,
        engine: Engine,
        n_classes: int,
        evidence: FloatArray | None = None,
    ) -> None:
        self._settings, self._engine, self._evidence = settings, engine, evidence
        self._n_classes = n_classes
        trusted = len(engine.code_counts) > n_classes
        noisy = np.full(n_classes, settings.noisy_weight)
        self._code_weights = np.append(noisy, np.ones(n_classes)) if trusted else noisy
        if evidence is not None:
            self._code_weights = np.ones(len(evidence))
        self._total = float(engine.code_counts @ self._code_weights)
        self._shape = (n_classes, engine.n_features)
        self._matrix: FloatArray | None = None
        self.last_value = np.inf

    def pack(self, state: LikelihoodState) -> FloatArray:
        """Return weights, and the logarithms of C if it is free, as one vector."""
        if self._settings.prior_counts is None:
            self._matrix = state.matrix
            return state.weights.ravel().copy()
        logits = np.log(np.maximum(state.matrix, SMALLEST))
        return np.concatenate([state.weights.ravel(), logits.ravel()])

    def unpack(self, parameters: FloatArray, state: LikelihoodState) -> None:
        """Write a vector back into the state."""
        weights, matrix = self._split(parameters)
        state.weights, state.matrix = weights.copy(), matrix

    def _split(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        size = self._shape[0] * self._shape[1]
        weights = parameters[:size].reshape(self._shape)
        if self._matrix is not None:
            return weights, self._matrix
        logits = parameters[size:].reshape(self._n_classes, self._n_classes)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights, shares / shares.sum(axis=1, keepdims=True)

    def measure(self, state: LikelihoodState) -> LikelihoodPass:
        """Measure a state against the labels."""
        return self._measure(state.weights, state.matrix)

    def _measure(self, weights: FloatArray, matrix: FloatArray) -> LikelihoodPass:
        if self._evidence is not None:
            return self._engine.likelihood(weights, self._evidence, self._code_weights)
        # A label code's chance given each true class: a column of C, or certainty of the truth.
        trusted = len(self._code_weights) > self._n_classes
        mixing = np.vstack([matrix.T, np.eye(self._n_classes)]) if trusted else matrix.T
        return self._engine.likelihood(weights, np.ascontiguousarray(mixing), self._code_weights)

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient."""
        weights, matrix = self._split(parameters)
        measured = self._measure(weights, matrix)
        penalty, slope = _ridge(weights, self._settings.l2, self._engine.intercept)
        value = measured.loss / self._total + penalty
        gradient = (measured.gradient / self._total + slope).ravel()
        if self._settings.prior_counts is not None:
            more, by_logits = self._of_matrix(matrix, measured.posterior)
            value += more
            gradient = np.concatenate([gradient, by_logits.ravel()])
        self.last_value = float(value)
        return float(value), gradient

    def _of_matrix(self, matrix: FloatArray, posterior: FloatArray) -> tuple[float, FloatArray]:
        """Return what C's own counts add, and the gradient by the logarithms of C.

        The posterior summed by label is what the noisy rows count for each entry of C; the trusted
        pairs stand in the prior counts, once.
        """
        prior = self._settings.prior_counts
        assert prior is not None
        used = prior > 0
        value = -float(np.sum(prior[used] * np.log(np.maximum(matrix[used], 1e-300))))
        counts = posterior[: self._n_classes].T + prior
        by_logits = matrix * counts.sum(axis=1, keepdims=True) - counts
        return value / self._total, by_logits / self._total


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
