"""The fits that make up a logistic regression through C: from which rows, from where, how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from unconfused._typing import BoolArray, FloatArray, Rows
from unconfused.confusion.estimate import is_guess
from unconfused.engines import Engine
from unconfused.estimators._crowd import log_vote_chances
from unconfused.estimators._lazy import is_dask
from unconfused.estimators._noisy import KnownConfusion, NoisyData
from unconfused.estimators._relabel import FitWithout, Lesson, Relabelling
from unconfused.estimators._seen import Seen
from unconfused.estimators._softmax import SoftmaxClassifier
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of
from unconfused.solvers.starts import start_at_scaled_means

FEW_COUNTS = 1000
"""A row of C counted from fewer labels than this is worth refining."""

BELIEF_IN_A_GIVEN_MATRIX = 100.0
"""Labels per row that a matrix given without counts stands for, if it is to be refined."""


class LikelihoodFits(SoftmaxClassifier):
    """A softmax classifier with the settings of the likelihood, and the fits these ask for."""

    refine: str | bool
    prior_strength: float
    relabel: int
    l2: float
    max_iter: int
    tol: float
    random_state: Any
    verbose: int

    def _log_vote_chances(self, y: Any) -> tuple[FloatArray, BoolArray]:
        """Say for scorers how likely votes are given each true class, and on which rows."""
        return log_vote_chances(self, y)

    def _trusted_start(
        self, data: NoisyData, known: KnownConfusion, held: BoolArray | None = None
    ) -> LikelihoodState:
        """Start at the solution of the trusted rows; without any, at the unmixed means."""
        if not data.trusted:
            settings = self._likelihood(data, known, 1.0, self.max_iter)
            return start_at_scaled_means(self._engine_without(data, held), settings, known.matrix)
        n_features = data.X.shape[1] + self.fit_intercept
        state = LikelihoodState(np.zeros((len(data.labels.classes), n_features)), known.matrix)
        rows = data.trusted_rows(held)
        if not data.known.all() and len(rows[1]) > 0:
            engine = self._engine(*rows)
            fixed = KnownConfusion(known.matrix)
            state = self._likelihood(data, fixed, 0.0, self.max_iter).run(engine, state)
            state.n_iter, state.objective = 0, []
        return state

    def _likelihood(
        self, data: NoisyData, known: KnownConfusion, noisy_weight: float, max_iter: int
    ) -> Likelihood:
        refined = self._refines(known)
        counts = known.counts
        if counts is None:
            counts = BELIEF_IN_A_GIVEN_MATRIX * known.matrix
        return Likelihood(
            l2=float(self.l2),
            noisy_weight=noisy_weight,
            prior_counts=self.prior_strength * counts if refined and noisy_weight > 0 else None,
            max_iter=max_iter,
            tol=float(self.tol),
            verbose=int(self.verbose),
            metric=data.metric,
        )

    def _with_metric(self, data: NoisyData) -> NoisyData:
        """Find coordinates to take steps in, once for all fits to these rows."""
        engine = self._engine_without(data, None)
        metric = preconditioner_of(engine, len(data.labels.classes), float(self.l2))
        return replace(data, metric=metric)

    def _refines(self, known: KnownConfusion) -> bool:
        if not isinstance(self.refine, str):
            return bool(self.refine)
        return known.counts is not None and bool((known.counts.sum(axis=1) < FEW_COUNTS).any())

    def _engine_without(self, data: NoisyData, held: BoolArray | None) -> Engine:
        return self._engine(*data.rows_without(held))

    def _relabel(
        self,
        X: Rows,
        seen: Seen,
        state: LikelihoodState,
        fit_without: FitWithout,
        prior_counts: FloatArray | None = None,
        given: FloatArray | None = None,
        metric: Preconditioner | None = None,
    ) -> None:
        """Fit again to the classes that rows probably have (in place)."""
        if not self.relabel or state.interrupted:
            return
        n_classes = len(state.matrix)
        settings = Likelihood(
            float(self.l2), 1.0, None, int(self.max_iter), float(self.tol), metric=metric
        )

        def fit_lesson(
            lesson: Lesson, weight: FloatArray, factor: float, start: FloatArray
        ) -> LikelihoodState:
            labels = lesson.matrix is not None
            engine = self._engine(X, lesson.codes, (1 + labels) * n_classes, weight)
            penalised = replace(settings, l2=factor * settings.l2)
            matrix = np.eye(n_classes) if lesson.matrix is None else lesson.matrix
            return penalised.run(engine, LikelihoodState(start.copy(), matrix))

        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rounds = Relabelling(
            X,
            seen,
            fit_without,
            fit_lesson,
            prior_counts,
            bool(self.fit_intercept),
            seed,
            int(self.verbose),
            # What few trusted rows say of C is no match for what they say of the rows themselves.
            given=None if self.confusion is None or is_guess(self.confusion) else given,
        )
        rounds.run(state, int(self.relabel))


def refuse_relabelling(n_rounds: int, X: Any) -> None:
    """Refuse rounds on Dask collections."""
    if n_rounds and is_dask(X):
        raise ValueError(
            "With Dask collections relabel must be 0: its rounds leave rows out one by one. Fit "
            "with relabel to a sample in memory, or learn without."
        )
