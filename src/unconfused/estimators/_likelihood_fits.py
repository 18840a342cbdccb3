"""The single fits behind a logistic regression through C: their rows, starts and settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from unconfused._matrix import (
    Unmixing,
    warn_if_ill_conditioned,
    warn_if_impossible,
    warn_if_singular,
)
from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.engines.base import Engine
from unconfused.estimators._noisy import KnownConfusion, NoisyData
from unconfused.estimators.automatic.penalty import USUAL_PENALTY, penalty_unit
from unconfused.solvers.likelihood import Likelihood, LikelihoodState, start_at_scaled_means
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of

WORTH_LEAVING_OUT = 0.25
"""Columns are left out if at least this share of them is empty: it takes new column numbers."""

BELIEF_IN_A_GIVEN_MATRIX = 100.0
"""Pseudocounts per row of C for a matrix passed without counts that is to be refined."""


@dataclass
class LabelFits:
    """Fits of a logistic regression to one label per row.

    Parameters
    ----------
    model : the logistic regression; its `l2_` is set here
    data : its rows
    known : the confusion matrix
    """

    model: Any
    data: NoisyData
    known: KnownConfusion
    unit: float = field(default=1.0, init=False)
    """What penalties to choose from are multiplied by."""

    preconditioner: Preconditioner = field(init=False)
    """Computed once for all fits to these rows."""

    def __post_init__(self) -> None:
        """Set the penalty to start with; with `warm_start` the last choice is kept."""
        model, engine = self.model, self.engine_without(None)
        if model.l2 != "auto":
            model.l2_ = float(model.l2)
        elif not model._warm_started:
            self.unit = penalty_unit(engine)
            model.l2_ = USUAL_PENALTY * self.unit
        self.preconditioner = preconditioner_of(engine, len(self.data.labels.classes), model.l2_)

    def engine_without(self, held: BoolArray | None) -> Engine:
        """Wrap the rows that are not held out."""
        engine: Engine = self.model._engine(*self.data.rows_without(held))
        return engine

    def refines(self, known: KnownConfusion) -> bool:
        """Whether C is re-estimated together with the weights."""
        refine = self.model.refine
        return known.few_counts if refine == "auto" else bool(refine)

    def likelihood(self, known: KnownConfusion, noisy_weight: float) -> Likelihood:
        """Return the settings of a fit through C."""
        model, prior_counts = self.model, None
        if noisy_weight > 0 and self.refines(known):
            counts = known.counts
            counts = BELIEF_IN_A_GIVEN_MATRIX * known.matrix if counts is None else counts
            prior_counts = model.prior_strength * counts
        return Likelihood(
            l2=model.l2_,
            noisy_weight=noisy_weight,
            prior_counts=prior_counts,
            max_iter=model.max_iter,
            tol=float(model.tol),
            verbose=int(model.verbose),
            preconditioner=self.preconditioner,
        )

    def trusted_start(
        self, known: KnownConfusion, held: BoolArray | None = None
    ) -> LikelihoodState:
        """Start at the solution of the trusted rows; if a class has none, at the unmixed means.

        Trusted rows would push the intercept of a class without any towards minus infinity, where
        the class has neither probability nor gradient left.
        """
        model, data = self.model, self.data
        n_classes = len(data.labels.classes)
        rows = data.trusted_rows(held) if data.trusted else None
        if rows is None or not _all_shown(rows[1], rows[3], n_classes):
            settings = self.likelihood(known, 1.0)
            return start_at_scaled_means(self.engine_without(held), settings, known.matrix)
        n_features = data.X.shape[1] + model.fit_intercept
        state = LikelihoodState(np.zeros((n_classes, n_features)), known.matrix)
        if not data.known.all():
            fixed = self.likelihood(KnownConfusion(known.matrix), 0.0)
            state = fixed.run(model._engine(*rows), state)
            state.n_iter, state.objective = 0, []
        return state

    def first_state(self, places: IntArray | slice) -> LikelihoodState:
        """Continue from the last fit with `warm_start`; else start from the trusted rows.

        `places` are those of the features, and of the intercept, among its weights.
        """
        model = self.model
        if not model._warm_started:
            return self.trusted_start(self.known)
        # A copy: an interrupted fit must leave the last one unchanged.
        state: LikelihoodState = replace(
            model._state,
            interrupted=False,
            objective=[*model._state.objective],
            noise_depends_on_rows=False,
            relabelled=[],
            row_posterior=None,
        )
        state.uncalibrate(model.fit_intercept)
        state.weights = state.weights[:, places]
        if not self.refines(self.known):
            state.matrix = self.known.matrix
        return state

    def warn_of_matrix(self) -> None:
        """Warn if labels carry little or no information through C."""
        matrix, labels = self.known.matrix, self.data.labels
        warn_if_singular(matrix, labels.classes)
        if not self.refines(self.known):
            if self.known.counts is None:  # an estimate has its own `verdict`
                warn_if_ill_conditioned(Unmixing(matrix), labels.classes)
            warn_if_impossible(matrix, labels.observed[~self.data.known], labels.labels)


def _all_shown(codes: IntArray, weight: FloatArray | None, n_classes: int) -> bool:
    """Return whether there is a trusted row of positive weight of every class."""
    shown = codes if weight is None else codes[weight > 0]
    return len(np.unique(shown)) == n_classes


def used_columns(X: Rows) -> IntArray | None:
    """Return the columns in use, or None if these are nearly all, or the rows are dense.

    A few thousand texts use a small part of a large vocabulary: on 3,000 of Reuters, with 13,810 of
    47,236 columns in use, a fit takes a quarter of the time.
    """
    if not sparse.issparse(X):
        return None
    stored: Any = X
    columns = np.flatnonzero(np.bincount(stored.indices, minlength=stored.shape[1]))
    few = 0 < len(columns) <= (1 - WORTH_LEAVING_OUT) * stored.shape[1]
    return columns if few else None
