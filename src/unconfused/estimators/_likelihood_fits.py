"""The single fits behind a logistic regression through C: their rows, starts and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unconfused._matrix import (
    Unmixing,
    warn_if_ill_conditioned,
    warn_if_impossible,
    warn_if_singular,
)
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Rows
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.estimation.pooled import (
    FEW_COUNTS,
    MOST_FROM_OTHER_CLASSES,
    counts_shrunk_to_pooled,
)
from unconfused.engines.base import Engine
from unconfused.engines.local.threads import n_entries
from unconfused.estimators._arrays import rows_at
from unconfused.estimators._base import SoftmaxClassifier
from unconfused.estimators._noisy import KnownConfusion, NoisyData
from unconfused.estimators._used_columns import UsedColumns
from unconfused.estimators.annotators.crowd import log_vote_chances
from unconfused.estimators.automatic.held_out import fold_seed
from unconfused.estimators.automatic.search import (
    FEWEST_LABELS,
    USUAL_PENALTY,
    USUAL_ROUNDS,
    Search,
    penalty_unit,
)
from unconfused.estimators.relabel.evidence import Evidence, evidence_of_labels
from unconfused.estimators.relabel.pseudo_labels import FitWithout, PseudoLabels, Relabelling
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of
from unconfused.solvers.starts import start_at_scaled_means

MOST_COPIED, FEWEST_KEPT = 2**23, 0.9
"""Rows of weight 0, such as a held-out fold, are left out by a copy of the others if these are less
than a share of `FEWEST_KEPT`, and the rows have at most `MOST_COPIED` entries: passes get shorter.
"""

BELIEF_IN_A_GIVEN_MATRIX = 100.0
"""Pseudocounts per row of C for a matrix passed without counts that is to be refined."""


class LikelihoodFits(SoftmaxClassifier):
    """A softmax classifier fitted by `solvers.likelihood`; the base of the logistic regression."""

    refine: str | bool
    prior_strength: float
    relabel: int | str
    l2: float | str
    l2_: float
    noisy_weight: float | str
    noisy_weight_: float
    guessed_confusion_: ConfusionEstimate
    classes: ArrayLike | None
    warm_start: bool
    _unit: float
    _state: LikelihoodState
    max_iter: int
    tol: float
    random_state: Any
    verbose: int

    _log_vote_chances = log_vote_chances  # for scorers

    def _trusted_start(
        self, data: NoisyData, known: KnownConfusion, held: BoolArray | None = None
    ) -> LikelihoodState:
        """Start at the solution of the trusted rows; if a class has none, at the unmixed means.

        Trusted rows would push the intercept of a class without any towards minus infinity, where
        the class has neither probability nor gradient left.
        """
        rows = data.trusted_rows(held) if data.trusted else None
        if rows is None or not _all_shown(rows[1], rows[3], len(data.labels.classes)):
            settings = self._likelihood(data, known, 1.0, self.max_iter)
            return start_at_scaled_means(self._engine_without(data, held), settings, known.matrix)
        n_features = data.X.shape[1] + self.fit_intercept
        state = LikelihoodState(np.zeros((len(data.labels.classes), n_features)), known.matrix)
        if not data.known.all():
            engine = self._engine(*rows)
            fixed = KnownConfusion(known.matrix)
            state = self._likelihood(data, fixed, 0.0, self.max_iter).run(engine, state)
            state.n_iter, state.objective = 0, []
        return state

    def _first_state(
        self, data: NoisyData, known: KnownConfusion, used: UsedColumns | None
    ) -> LikelihoodState:
        """Continue from the last fit with `warm_start`; else start from the trusted rows."""
        if not self._warm_started:
            return self._trusted_start(data, known)
        # A copy: an interrupted fit must leave the last one unchanged.
        state = replace(self._state, interrupted=False, objective=[*self._state.objective])
        state.noise_depends_on_rows, state.relabelled, state.row_posterior = False, [], None
        state.uncalibrate(self.fit_intercept)
        if used is not None:
            state.weights = used.narrow(state.weights)
        if not self._refines(known):
            state.matrix = known.matrix
        return state

    def _likelihood(
        self, data: NoisyData, known: KnownConfusion, noisy_weight: float, max_iter: int
    ) -> Likelihood:
        refined = self._refines(known)
        counts = known.counts
        if counts is None:
            counts = BELIEF_IN_A_GIVEN_MATRIX * known.matrix
        return Likelihood(
            l2=self.l2_,
            noisy_weight=noisy_weight,
            prior_counts=self.prior_strength * counts if refined and noisy_weight > 0 else None,
            max_iter=max_iter,
            tol=float(self.tol),
            verbose=int(self.verbose),
            preconditioner=data.preconditioner,
        )

    def _with_preconditioner(self, data: NoisyData) -> NoisyData:
        """Return the data with their preconditioner, computed once for all fits to these rows."""
        engine = self._engine_without(data, None)
        if self.l2 != "auto":
            self.l2_ = float(self.l2)
        elif not self._warm_started:  # or the last choice is kept
            self._unit = penalty_unit(engine)
            self.l2_ = USUAL_PENALTY * self._unit
        return replace(
            data, preconditioner=preconditioner_of(engine, len(data.labels.classes), self.l2_)
        )

    @property
    def _warm_started(self) -> bool:
        return self.warm_start and hasattr(self, "_state")

    def _shrunk(self, known: KnownConfusion) -> KnownConfusion:
        """Shrink the rows of a C counted on trusted rows towards the average error rate."""
        if known.source != "trusted" or known.counts is None:
            return known
        counts = counts_shrunk_to_pooled(known.counts, MOST_FROM_OTHER_CLASSES)
        return replace(known, matrix=counts / counts.sum(axis=1, keepdims=True), counts=counts)

    def _warn_of_matrix(self, data: NoisyData, known: KnownConfusion) -> None:
        """Warn if labels carry little or no information through C."""
        matrix, labels = known.matrix, data.labels
        warn_if_singular(matrix, labels.classes)
        if not self._refines(known):
            if known.counts is None:  # an estimate has its own `verdict`
                warn_if_ill_conditioned(Unmixing(matrix), labels.classes)
            warn_if_impossible(matrix, labels.observed[~data.known], labels.labels)

    def _refines(self, known: KnownConfusion) -> bool:
        if self.refine != "auto":
            return bool(self.refine)
        return known.counts is not None and bool((known.counts.sum(axis=1) < FEW_COUNTS).any())

    def _engine_without(self, data: NoisyData, held: BoolArray | None) -> Engine:
        return self._engine(*data.rows_without(held))

    def _engine(self, X: Rows, codes: IntArray, n_codes: int, weight: FloatArray | None) -> Engine:
        """Wrap rows, label codes and weights for the solvers."""
        if weight is not None and n_entries(X) <= MOST_COPIED:
            kept = np.flatnonzero(weight)
            if 0 < len(kept) < FEWEST_KEPT * len(weight):
                X, codes, weight = rows_at(X, kept), codes[kept], weight[kept]
        return super()._engine(X, codes, n_codes, weight)

    def _relabel_noisy(
        self,
        data: NoisyData,
        settings: Likelihood,
        state: LikelihoodState,
        given_matrix: FloatArray | None,
        search: Search | None,
    ) -> Relabelling | None:
        """Make rounds of relabelling, unless no label can be wrong (in place)."""
        no_noise = np.array_equal(state.matrix, np.eye(len(state.matrix)))
        no_classes = data.labels.other_labels is not None or data.known.all()
        if not self.relabel or not data.in_memory or no_noise or no_classes:
            return None
        fixed = replace(settings, prior_counts=None, verbose=0)

        def fit_without(held: BoolArray, weights: FloatArray | None) -> LikelihoodState:
            # Not from the weights of all rows: they may already meet the stopping criterion.
            if weights is not None:
                start = LikelihoodState(weights.copy(), state.matrix)
            else:
                start = self._trusted_start(data, KnownConfusion(state.matrix), held)
            return fixed.run(self._engine_without(data, held), start)

        evidence = evidence_of_labels(data, state.matrix, self.noisy_weight_)
        counted = evidence.labelled & (evidence.sample_weight > 0)
        begun = (None, ()) if search is None else search.folds_of_all(counted)
        prior_counts = settings.prior_counts
        return self._relabel(
            data.X,
            evidence,
            state,
            fit_without,
            prior_counts,
            given_matrix,
            data.preconditioner,
            *begun,
        )

    def _relabel(
        self,
        X: Rows,
        evidence: Evidence,
        state: LikelihoodState,
        fit_without: FitWithout,
        prior_counts: FloatArray | None = None,
        given_matrix: FloatArray | None = None,
        preconditioner: Preconditioner | None = None,
        folds: list[BoolArray] | None = None,
        fold_fits: Sequence[FloatArray] = (),
    ) -> Relabelling | None:
        """Refit to pseudo-labels (in place); return the rounds."""
        n_rounds = self._most_rounds(evidence)
        if not n_rounds or state.interrupted:
            return None
        n_classes = len(state.matrix)
        settings = Likelihood(
            self.l2_, 1.0, None, int(self.max_iter), float(self.tol), preconditioner=preconditioner
        )

        def fit_pseudo_labels(
            target: PseudoLabels, weight: FloatArray, factor: float, start: FloatArray
        ) -> LikelihoodState:
            labels = target.matrix is not None
            engine = self._engine(X, target.codes, (1 + labels) * n_classes, weight)
            penalised = replace(settings, l2=factor * settings.l2)
            matrix = np.eye(n_classes) if target.matrix is None else target.matrix
            return penalised.run(engine, LikelihoodState(start.copy(), matrix))

        rounds = Relabelling(
            X=X,
            evidence=evidence,
            fit_without=fit_without,
            fit_pseudo_labels=fit_pseudo_labels,
            prior_counts=prior_counts,
            intercept=bool(self.fit_intercept),
            seed=fold_seed(self.random_state),
            verbose=int(self.verbose),
            given_matrix=given_matrix,
            may_relax=self.l2 == "auto",
            splits=folds,
            fold_fits=fold_fits,
        )
        rounds.run(state, n_rounds)
        return rounds

    def _most_rounds(self, evidence: Evidence) -> int:
        """Return the maximum number of rounds of relabelling."""
        if self.relabel != "auto":
            return int(self.relabel)
        enough = (
            np.count_nonzero(evidence.sample_weight) >= FEWEST_LABELS * evidence.chances.shape[1]
        )
        return USUAL_ROUNDS if enough else 0


def _all_shown(codes: IntArray, weight: FloatArray | None, n_classes: int) -> bool:
    """Return whether there is a trusted row of positive weight of every class."""
    shown = codes if weight is None else codes[weight > 0]
    return len(np.unique(shown)) == n_classes
