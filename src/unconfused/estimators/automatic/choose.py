"""A fit of a logistic regression with what is left to it to choose."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from unconfused._labels import MISSING, count_pairs
from unconfused._typing import BoolArray, FloatArray
from unconfused.confusion.estimation.label_quality import noise_evidence
from unconfused.engines.base import Engine
from unconfused.estimators._likelihood_fits import LabelFits
from unconfused.estimators._noisy import KnownConfusion, confusion_for
from unconfused.estimators.annotators.crowd import refuse_nothing_to_learn
from unconfused.estimators.automatic.average import conclude
from unconfused.estimators.automatic.guess import (
    CLEAR_ENOUGH_TO_WARN,
    guess_confusion,
    label_probabilities,
    warn_of_guess,
    warn_of_noise,
)
from unconfused.estimators.automatic.held_out import (
    FOLDS,
    CheckedPredictions,
    HeldOutRows,
    fold_seed,
    rows_to_judge_by,
)
from unconfused.estimators.automatic.penalty import PENALTIES
from unconfused.estimators.automatic.search import (
    FEWEST_TRUTHS,
    FIRST_WEIGHT,
    SEARCH_MATRIX_STEPS,
    Candidate,
    FitWithout,
    Search,
)
from unconfused.estimators.automatic.shares import outgrown, warn_of_outgrown
from unconfused.estimators.relabel.evidence import FEWEST_LABELS, evidence_of_labels
from unconfused.estimators.relabel.pseudo_labels import Relabelling
from unconfused.solvers.likelihood import Likelihood, LikelihoodState


@dataclass
class Choice(LabelFits):
    """Chooses the settings left at "auto" for a set of rows, and fits with them.

    Of the model, `l2_`, `noisy_weight_`, `guessed_confusion_` and `choice_` are set here; a guess
    may replace C.
    """

    search: Search | None = field(default=None, init=False)
    """What was tried; None if nothing was open, or rows are too few."""

    def choose(self) -> None:
        """Choose penalty and weight; guess C if that is asked for and supported, or warn."""
        self.search = self._search(self.known)
        if self.search is not None and self.known.source == "identity" and not self.data.trusted:
            self._examine(self.search)

    @property
    def _may_guess(self) -> bool:
        """Whether C is to be estimated from noisy labels, if these support it."""
        model, data = self.model, self.data
        nothing_known = self.known.source == "identity" and not data.trusted and data.in_memory
        return isinstance(model.confusion, str) and nothing_known and not model._warm_started

    def _search(self, known: KnownConfusion) -> Search | None:
        """Set the penalty and the weight of noisy rows: chosen on held-out rows, if left open."""
        model, data = self.model, self.data
        open_l2 = isinstance(model.l2, str) and not model._warm_started
        open_weight = isinstance(model.noisy_weight, str) and not model._warm_started
        if not isinstance(model.noisy_weight, str):
            refuse_nothing_to_learn(float(model.noisy_weight), data.trusted)
            model.noisy_weight_ = float(model.noisy_weight)
        elif open_weight:
            model.noisy_weight_ = 1.0
        counted = known.source == "trusted"
        open_weight = open_weight and data.trusted and not data.known.all()
        if not (open_l2 or open_weight or self._may_guess):
            return None
        # What a noisy row counts is for truths to say: labels would have themselves believed.
        through = known.matrix if open_l2 or self._may_guess else None
        rows = rows_to_judge_by(data, through, fold_seed(model.random_state))
        if rows is None:
            return None
        fair = rows.truths_show(self._label_shares())
        by_truth = fair and rows.enough(rows.truth, FEWEST_TRUTHS)
        by_labels = rows.enough(rows.every, FEWEST_LABELS)
        if not by_truth and not by_labels:
            return None
        shares = None if known.counts is None else known.counts.sum(axis=1) / known.counts.sum()
        folds = self._fit_folds(known, rows)
        search = Search(rows, folds, model.fit_intercept, by_truth, shares)
        weight = FIRST_WEIGHT if counted and open_weight and fair else model.noisy_weight_
        penalties = [self.unit * one for one in PENALTIES] if open_l2 else [model.l2_]
        by = rows.every if by_labels else rows.truth
        best, fits = search.best_penalty(Candidate(model.l2_, weight), penalties, by)
        # Where C is refined, the optimum depends on the start, and weights that suit the folds' C
        # are a bad one.
        search.fits = [] if counted else fits
        if open_weight and by_truth:
            best = search.choose_weight(best, fits, penalties)
            if data.labels.other_labels is None:  # or there are no classes to believe
                believed, _ = search.best_penalty(Candidate(best.l2, 1.0, True), penalties, by)
                search.simple.append(believed)
        search.chosen = best
        model.l2_, model.noisy_weight_ = best.l2, best.noisy_weight
        return search

    def _label_shares(self) -> FloatArray:
        """Return the share of each class among the labels, (Q,); 0 where labels are no classes."""
        if self.data.labels.other_labels is not None:
            return np.zeros(len(self.data.labels.classes))
        counts = self.data.eligible.label_counts()
        return np.asarray(counts / max(float(counts.sum()), 1e-300))

    def _examine(self, search: Search) -> None:
        """Test whether labels taken as right are noisy: guess C if asked to, or warn."""
        rows, probability = search.rows, label_probabilities(search)
        observed = self.data.labels.observed[rows.places]
        if not self._may_guess:
            noise = noise_evidence(probability, observed, rows.fold % 2 == 0, rows.weight)
            if noise.is_clear(CLEAR_ENOUGH_TO_WARN):
                warn_of_noise(noise)
            return
        model, data = self.model, self.data
        guess = guess_confusion(rows, probability, observed, data.labels.classes)
        guessed = confusion_for(data, guess, model.classes)
        through = self._search(guessed)
        if through is None or not through.supports_guess(search):
            assert search.chosen is not None
            model.l2_ = search.chosen.l2
            return
        model.guessed_confusion_ = guess
        warn_of_guess(guess)
        self.known, self.search = guessed, through

    def fit(self, state: LikelihoodState) -> LikelihoodState:
        """Fit with the settings chosen, from `state` on; relabel, average and calibrate."""
        settings, engine = self._settings(self.known), self.engine_without(None)
        self._begin(settings, engine, state)
        state = settings.run(engine, state)
        plain = replace(state)
        rounds = self._relabel(settings, state)
        last = self.model._state.calibration if self.model._warm_started else None
        if state.calibration is None and last is not None:
            state.calibrate(last[0], last[1:], self.model.fit_intercept)
        if self.search is None:
            return state
        if not state.relabelled and not state.interrupted:
            # The rounds' calibration is that of the folds' fits, whose optima may be others.
            state = replace(plain, matrix=state.matrix, row_posterior=state.row_posterior)
        return self._conclude(self.search, plain, state, rounds)

    def _relabel(self, settings: Likelihood, state: LikelihoodState) -> Relabelling | None:
        """Make rounds of relabelling, unless no label can be wrong (in place)."""
        model, data, known = self.model, self.data, self.known
        no_noise = np.array_equal(state.matrix, np.eye(len(state.matrix)))
        no_classes = data.labels.other_labels is not None or data.known.all()
        if not model.relabel or not data.in_memory or no_noise or no_classes:
            return None
        fixed = replace(settings, prior_counts=None, verbose=0)

        def fit_without(held: BoolArray, weights: FloatArray | None) -> LikelihoodState:
            # Not from the weights of all rows: they may already meet the stopping criterion.
            if weights is not None:
                start = LikelihoodState(weights.copy(), state.matrix)
            else:
                start = self.trusted_start(KnownConfusion(state.matrix), held)
            return fixed.run(self.engine_without(held), start)

        evidence = evidence_of_labels(data, state.matrix, model.noisy_weight_)
        counted = evidence.labelled & (evidence.sample_weight > 0)
        folds, fold_fits = (None, []) if self.search is None else self.search.folds_of_all(counted)
        rounds = Relabelling(
            X=data.X,
            model=model,
            evidence=evidence,
            seed=fold_seed(model.random_state),
            fit_without=fit_without,
            settings=replace(fixed, noisy_weight=1.0),
            prior_counts=settings.prior_counts,
            given_matrix=known.matrix if known.source == "given" else None,
            splits=folds,
            fold_fits=fold_fits,
        )
        rounds.run(state)
        return rounds

    def _settings(self, known: KnownConfusion) -> Likelihood:
        return self.likelihood(known, self.model.noisy_weight_)

    def _begin(self, settings: Likelihood, engine: Engine, state: LikelihoodState) -> None:
        """Start at the mean of the folds' fits (in place) if the objective is lower there.

        To first order, leaving out each fold in turn moves the weights by amounts that sum to zero.
        """
        if self.search is None or not self.search.fits:
            return
        mean = np.mean([fit.weights for fit in self.search.fits], axis=0)
        here, there = (
            settings.values(engine, state.matrix, weights, (1.0,))[0]
            for weights in (state.weights, mean)
        )
        if there < here:
            state.weights = mean

    def _conclude(
        self,
        search: Search,
        plain: LikelihoodState,
        state: LikelihoodState,
        rounds: Relabelling | None,
    ) -> LikelihoodState:
        """Average the fit before and after its rounds with simple models, and calibrate."""

        def fit_simple(tried: Candidate) -> LikelihoodState:
            return self._fit_simple(tried, plain.matrix, self._engine_of(tried, None))

        def finish(found: LikelihoodState) -> None:
            assert search.chosen is not None
            self.model.l2_, self.model.noisy_weight_ = search.chosen[:2]
            settings = self._settings(KnownConfusion(found.matrix))
            settings.estimate_posterior(self.engine_without(None), found)

        through = not self._outgrown(search, state)
        state = conclude(search, (plain, state), rounds, fit_simple, finish, through=through)
        self.model.choice_ = search.table()
        self.model._checked = self._checked(search)
        return state

    def _checked(self, search: Search) -> CheckedPredictions | None:
        """Return out-of-fold predictions of the trusted rows; None if not all were held out."""
        data, rows = self.data, search.rows
        known = rows.places[rows.truth]
        complete = data.in_memory and 0 < len(known) == np.count_nonzero(data.known)
        if search.predicted is None or not complete or data.labels.other_labels is not None:
            return None
        truth, observed = data.labels.truth, data.labels.observed
        predicted = np.full(len(truth), MISSING)
        predicted[known] = search.predicted
        there = (truth != MISSING) | (observed != MISSING)
        return CheckedPredictions(truth[there], observed[there], predicted[there])

    def _engine_of(self, tried: Candidate, held: BoolArray | None) -> Engine:
        """Wrap the rows that a candidate is fitted to."""
        if tried.noisy_weight:
            return self.engine_without(held)
        engine: Engine = self.model._engine(*self.data.trusted_rows(held))
        return engine

    def _fit_simple(
        self,
        tried: Candidate,
        matrix: FloatArray,
        engine: Engine,
        state: LikelihoodState | None = None,
    ) -> LikelihoodState:
        """Fit to the labels as they are, or to the trusted rows alone."""
        matrix = np.eye(len(matrix)) if tried.believed else matrix
        settings = self.likelihood(KnownConfusion(matrix), tried.noisy_weight)
        settings = replace(settings, prior_counts=None, l2=tried.l2, verbose=0)
        if state is None:
            state = LikelihoodState(np.zeros((len(matrix), engine.n_features)), matrix)
        return settings.run(engine, state)

    def _outgrown(self, search: Search, state: LikelihoodState) -> bool:
        """Whether a class has more rows than trusted rows and labels allow; warn if so."""
        data = self.data
        if self.known.source != "trusted" or state.posterior is None or not search.simple:
            return False
        if state.interrupted or data.labels.other_labels is not None:
            return False  # how often other labels occur says nothing
        rows = state.posterior[: len(self.known.matrix)].sum(axis=0)
        found = outgrown(rows, data.pair_counts(), data.label_counts(~data.known))
        if len(found):
            warn_of_outgrown(data.labels.classes[found])
        return bool(len(found))

    def _fit_folds(self, known: KnownConfusion, rows: HeldOutRows) -> FitWithout:
        """Return how to fit candidates without the rows of a fold."""
        masks = [rows.held(fold) for fold in range(FOLDS)]
        kept = [self._without(known, held) for held in masks]
        engines: dict[tuple[int, bool], Engine] = {}

        def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
            held, own, alone = masks[fold], kept[fold], tried.noisy_weight == 0
            if (fold, alone) not in engines:
                engines[fold, alone] = self._engine_of(tried, held)
            engine = engines[fold, alone]
            if alone or tried.believed:
                return self._fit_simple(tried, own.matrix, engine, state)
            if state is None:
                state = self.trusted_start(own, held)
                if state.interrupted:
                    return state
            settings = replace(
                self.likelihood(own, tried.noisy_weight),
                l2=tried.l2,
                turns=1,
                matrix_steps=SEARCH_MATRIX_STEPS,
                verbose=0,
            )
            return settings.run(engine, state)

        return fit

    def _without(self, known: KnownConfusion, held: BoolArray) -> KnownConfusion:
        """Return C as it is without the held-out rows: counted again, if it was counted here."""
        if known.source != "trusted":
            return known
        data = self.data.eligible
        labels = data.labels
        truth = np.where(held, -1, labels.truth)
        counts = count_pairs(truth, labels.observed, len(labels.classes), data.sample_weight)
        return replace(known, counts=counts).shrunk()
