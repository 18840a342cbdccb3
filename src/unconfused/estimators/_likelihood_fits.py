"""The fits that make up a logistic regression through C: from which rows, from where, how often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from unconfused._matrix import (
    Unmixing,
    warn_if_ill_conditioned,
    warn_if_impossible,
    warn_if_singular,
)
from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.confusion.estimate import is_guess
from unconfused.confusion.estimation.pooled import steadied_counts
from unconfused.confusion.trusted import count_pairs
from unconfused.engines import Engine
from unconfused.estimators._lazy import is_dask
from unconfused.estimators._noisy import KnownConfusion, NoisyData
from unconfused.estimators._softmax import SoftmaxClassifier
from unconfused.estimators.annotators.crowd import (
    VotedRows,
    evidence_of,
    log_vote_chances,
    matrices_of_votes_alone,
)
from unconfused.estimators.annotators.voted_rows import LocalVotes, refuse_no_rows
from unconfused.estimators.automatic import (
    FEWEST_LABELS,
    FEWEST_TRUTHS,
    FIRST_WEIGHT,
    FOLDS,
    PENALTIES,
    SEARCH_MATRIX_STEPS,
    SEARCH_TOL,
    USUAL_PENALTY,
    USUAL_ROUNDS,
    Candidate,
    HeldOutRows,
    Search,
    fold_seed,
    penalty_unit,
    rows_to_judge_by,
    voted_rows_to_judge_by,
)
from unconfused.estimators.automatic import FitWithout as FitCandidate
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.relabel.pseudo_labels import FitWithout, PseudoLabels, Relabelling
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of
from unconfused.solvers.starts import start_at_scaled_means

FEW_COUNTS = 1000
"""A row of C counted from fewer labels than this is worth refining."""

MOST_FROM_OTHER_CLASSES = 30.0
"""Rows that a class's row of C is given, at most, from how all classes err: what few trusted rows
of a rare class seem to say must not make it look like a frequent one. (5 does as well on Digits and
Music, 200 is worse.)"""

BELIEF_IN_A_GIVEN_MATRIX = 100.0
"""Labels per row that a matrix given without counts stands for, if it is to be refined."""


class LikelihoodFits(SoftmaxClassifier):
    """A softmax classifier with the settings of the likelihood, and the fits these ask for."""

    refine: str | bool
    prior_strength: float
    relabel: int | str
    l2: float | str
    l2_: float
    noisy_weight: float | str
    noisy_weight_: float
    warm_start: bool
    _unit: float
    _state: LikelihoodState
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
        """Start at the solution of the trusted rows; if a class has none, at the unmixed means.

        Nothing bounds how far the trusted rows push the intercept of a class they do not show. From
        there, it would never come back: it has no probability left, and so no gradient.
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
            metric=data.metric,
        )

    def _with_metric(self, data: NoisyData) -> NoisyData:
        """Find coordinates to take steps in, once for all fits to these rows."""
        engine = self._engine_without(data, None)
        if not isinstance(self.l2, str):
            self.l2_ = float(self.l2)
        elif not self._goes_on:  # or the last choice is kept
            self._unit = penalty_unit(engine)
            self.l2_ = USUAL_PENALTY * self._unit
        return replace(data, metric=preconditioner_of(engine, len(data.labels.classes), self.l2_))

    def _choose_for_votes(self, rows: VotedRows, sample_weight: Any) -> Search | None:
        """Set the penalty: by the likelihood of held-out votes, if it is left open."""
        if not isinstance(self.l2, str):
            self.l2_ = float(self.l2)
            return None
        matrices = matrices_of_votes_alone(rows, float(self.prior_strength))
        engine = rows.through(matrices).engine
        self.l2_ = USUAL_PENALTY * penalty_unit(engine)
        if not isinstance(rows, LocalVotes):
            return None
        evidence, _ = evidence_of(rows.crowd, matrices)
        weight = self._check_weight(sample_weight, rows.X)
        known = rows.crowd.truth >= 0
        held_out = voted_rows_to_judge_by(
            rows.X, evidence, weight, known, fold_seed(self.random_state)
        )
        every = np.ones(len(held_out.truth), dtype=bool)
        if not held_out.enough(every, FEWEST_LABELS):
            return None
        n_rows, n_classes = evidence.shape
        metric = preconditioner_of(engine, n_classes, self.l2_)

        def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
            kept = np.where(held_out.held(fold), 0.0, rows.engine.weights)
            own = self._local_engine(rows.X, np.arange(n_rows), n_rows, kept)
            if state is None:
                state = LikelihoodState(np.zeros((n_classes, rows.n_features)), np.eye(n_classes))
            tol = max(float(self.tol), SEARCH_TOL)
            settings = Likelihood(tried.l2, 1.0, None, int(self.max_iter), tol, metric=metric)
            return settings.run(own, state, evidence)

        search = Search(held_out, fit, self.fit_intercept)
        penalties = self.l2_ / USUAL_PENALTY * np.array(PENALTIES)
        search.chosen, _ = search.walk([Candidate(float(l2), 1.0) for l2 in penalties], every)
        self.l2_ = search.chosen.l2
        return search

    @property
    def _goes_on(self) -> bool:
        return self.warm_start and hasattr(self, "_state")

    def _choose(self, data: NoisyData, known: KnownConfusion) -> Search | None:
        """Set the penalty and the weight of noisy rows: chosen on held-out rows, if left open."""
        open_l2 = isinstance(self.l2, str) and not self._goes_on
        open_weight = isinstance(self.noisy_weight, str) and not self._goes_on
        if not isinstance(self.noisy_weight, str):
            refuse_no_rows(float(self.noisy_weight), data.trusted)
            self.noisy_weight_ = float(self.noisy_weight)
        elif open_weight:
            self.noisy_weight_ = 1.0
        all_known = bool(data.known.all())
        counted = self.confusion is None and data.trusted and not all_known
        open_weight = open_weight and data.trusted and not all_known
        if not open_l2 and not open_weight:
            return None
        # What a noisy row counts is for truths to say: labels would have themselves believed.
        through = known.matrix if open_l2 and not counted else None
        rows = rows_to_judge_by(data, through, fold_seed(self.random_state))
        if rows is None:
            return None
        by_truth = rows.enough(rows.truth, FEWEST_TRUTHS)
        every = np.ones(len(rows.truth), dtype=bool)
        if not by_truth and (counted or not rows.enough(every, FEWEST_LABELS)):
            return None
        fit = self._fit_folds(data, known, rows)
        search = Search(rows, fit, self.fit_intercept, given=known.counts is None)
        weight = FIRST_WEIGHT if counted and open_weight else self.noisy_weight_
        penalties = [self._unit * one for one in PENALTIES] if open_l2 else [self.l2_]
        by = rows.truth if counted or not rows.enough(every, FEWEST_LABELS) else every
        best, states = search.walk([Candidate(l2, weight) for l2 in penalties], by)
        if open_weight and by_truth:
            best = search.choose_weight(best, states, penalties)
            search.walk([Candidate(l2, 1.0, True) for l2 in penalties], rows.truth)
        search.chosen = best
        self.l2_, self.noisy_weight_ = best.l2, best.noisy_weight
        return search

    def _fall_back(
        self,
        data: NoisyData,
        known: KnownConfusion,
        search: Search,
        state: LikelihoodState,
        judged: tuple[FloatArray, FloatArray] | None,
    ) -> LikelihoodState:
        """Fit to the labels as they are, or to the trusted rows alone, if these predict better."""
        simple = search.simpler(judged if state.relabelled else None)
        if simple is None or state.interrupted:
            return state
        search.chosen = simple
        self.l2_, self.noisy_weight_ = simple.l2, simple.noisy_weight
        matrix = state.matrix if simple.noisy_weight else known.matrix
        fixed = KnownConfusion(np.eye(len(matrix)) if simple.believed else matrix)
        settings = replace(
            self._likelihood(data, fixed, simple.noisy_weight, self.max_iter), prior_counts=None
        )
        engine = self._engine_without(data, None)
        state = settings.run(engine, LikelihoodState(0.0 * state.weights, fixed.matrix))
        state.matrix = matrix  # labels are judged through C all the same
        settings.judge(engine, state)
        return state

    def _fit_folds(self, data: NoisyData, known: KnownConfusion, rows: HeldOutRows) -> FitCandidate:
        """Return how to fit candidates without the rows of a fold."""
        masks = [rows.held(fold) for fold in range(FOLDS)]
        kept = [self._without(data.eligible, known, held) for held in masks]
        engines: dict[tuple[int, bool], Engine] = {}

        def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
            held, alone = masks[fold], tried.noisy_weight == 0
            if (fold, alone) not in engines:
                of = data.trusted_rows(held) if alone else data.rows_without(held)
                engines[fold, alone] = self._engine(*of)
            settings = replace(
                self._likelihood(data, kept[fold], tried.noisy_weight, self.max_iter),
                l2=tried.l2,
                tol=max(float(self.tol), SEARCH_TOL),
                turns=1,
                matrix_steps=SEARCH_MATRIX_STEPS,
                verbose=0,
            )
            if state is None and (alone or tried.believed):
                n_features = data.X.shape[1] + self.fit_intercept
                matrix = np.eye(len(known.matrix)) if tried.believed else kept[fold].matrix
                state = LikelihoodState(np.zeros((len(matrix), n_features)), matrix)
            elif state is None:
                state = self._trusted_start(data, kept[fold], held)
                if state.interrupted:
                    return state
            if tried.believed:
                settings = replace(settings, prior_counts=None)
            return settings.run(engines[fold, alone], state)

        return fit

    def _without(self, data: NoisyData, known: KnownConfusion, held: BoolArray) -> KnownConfusion:
        """Return C as it is without the held-out rows: counted again, if it was counted here."""
        if self.confusion is not None or not data.trusted:
            return known
        labels = data.labels
        truth = np.where(held, -1, labels.truth)
        counts = count_pairs(truth, labels.observed, len(labels.classes), data.sample_weight)
        return self._steadied(KnownConfusion(known.matrix, counts))

    def _steadied(self, known: KnownConfusion) -> KnownConfusion:
        """Draw rows of a C that was counted here towards how all classes err."""
        if self.confusion is not None or known.counts is None:
            return known
        counts = steadied_counts(known.counts, MOST_FROM_OTHER_CLASSES)
        return KnownConfusion(counts / counts.sum(axis=1, keepdims=True), counts)

    def _warn_of_matrix(self, data: NoisyData, known: KnownConfusion) -> None:
        """Warn of a C that leaves labels saying little, or nothing."""
        matrix, labels = known.matrix, data.labels
        warn_if_singular(matrix, labels.classes)
        if not self._refines(known):  # or it is given a chance
            if known.counts is None:  # an estimate has a verdict of its own
                warn_if_ill_conditioned(Unmixing(matrix), labels.classes)
            warn_if_impossible(matrix, labels.observed[~data.known], labels.classes)

    def _refines(self, known: KnownConfusion) -> bool:
        if not isinstance(self.refine, str):
            return bool(self.refine)
        return known.counts is not None and bool((known.counts.sum(axis=1) < FEW_COUNTS).any())

    def _engine_without(self, data: NoisyData, held: BoolArray | None) -> Engine:
        return self._engine(*data.rows_without(held))

    def _relabel(
        self,
        X: Rows,
        seen: Evidence,
        state: LikelihoodState,
        fit_without: FitWithout,
        prior_counts: FloatArray | None = None,
        given: FloatArray | None = None,
        metric: Preconditioner | None = None,
    ) -> tuple[FloatArray, FloatArray] | None:
        """Fit again to the classes that rows probably have (in place).

        Returns
        -------
        What models that have not seen a row say of it, before and after, if there were rounds
        """
        n_rounds = self._most_rounds(seen)
        if not n_rounds or state.interrupted:
            return None
        n_classes = len(state.matrix)
        settings = Likelihood(
            self.l2_, 1.0, None, int(self.max_iter), float(self.tol), metric=metric
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
            X,
            seen,
            fit_without,
            fit_pseudo_labels,
            prior_counts,
            bool(self.fit_intercept),
            fold_seed(self.random_state),
            int(self.verbose),
            # What few trusted rows say of C is no match for what they say of the rows themselves.
            given=None if self.confusion is None or is_guess(self.confusion) else given,
        )
        rounds.run(state, n_rounds)
        return rounds.out_of_fold

    def _most_rounds(self, seen: Evidence) -> int:
        """Return how many rounds of relabelling there may be."""
        if not isinstance(self.relabel, str):
            return int(self.relabel)
        enough = np.count_nonzero(seen.sample_weight) >= FEWEST_LABELS * seen.evidence.shape[1]
        return USUAL_ROUNDS if enough else 0


def _all_shown(codes: IntArray, weight: FloatArray | None, n_classes: int) -> bool:
    """Whether codes of trusted rows that count show every class."""
    shown = codes if weight is None else codes[weight > 0]
    return len(np.unique(shown)) == n_classes


def refuse_relabelling(n_rounds: int | str, X: Any) -> None:
    """Refuse rounds on Dask collections; "auto" means none there."""
    if not isinstance(n_rounds, str) and n_rounds and is_dask(X):
        raise ValueError(
            "With Dask collections relabel must be 0: its rounds leave rows out one by one. Fit "
            "with relabel to a sample in memory, or learn without."
        )
