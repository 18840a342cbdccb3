"""The automatic choices of a logistic regression, and its average with simpler models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from unconfused._labels import count_pairs
from unconfused._typing import BoolArray, FloatArray
from unconfused.confusion.estimation.label_quality import noise_evidence
from unconfused.engines.base import Engine
from unconfused.estimators._noisy import KnownConfusion, NoisyData, confusion_for
from unconfused.estimators.annotators.crowd import refuse_nothing_to_learn
from unconfused.estimators.automatic.average import average_of
from unconfused.estimators.automatic.guess import (
    CLEAR_ENOUGH_TO_USE,
    CLEAR_ENOUGH_TO_WARN,
    ROWS_PER_ENTRY,
    guess_confusion,
    label_probabilities,
    warn_of_guess,
    warn_of_noise,
)
from unconfused.estimators.automatic.held_out import (
    FOLDS,
    HeldOutRows,
    fold_seed,
    rows_to_judge_by,
)
from unconfused.estimators.automatic.search import (
    FEWEST_LABELS,
    FEWEST_TRUTHS,
    FIRST_WEIGHT,
    PENALTIES,
    SEARCH_MATRIX_STEPS,
    Candidate,
    FitWithout,
    Search,
)
from unconfused.estimators.automatic.shares import outgrown, warn_of_outgrown
from unconfused.estimators.relabel.pseudo_labels import Relabelling
from unconfused.solvers.likelihood import Likelihood, LikelihoodState


@dataclass
class Choice:
    """Chooses the settings left at "auto" for a set of rows.

    Parameters
    ----------
    model : the logistic regression; `l2_`, `noisy_weight_` and `guessed_confusion_` are set here
    data : its rows
    known : the confusion matrix, which a guess may replace
    """

    model: Any
    data: NoisyData
    known: KnownConfusion
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
        penalties = [model._unit * one for one in PENALTIES] if open_l2 else [model.l2_]
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
        data, n_classes = self.data.eligible, len(self.data.labels.classes)
        labels = data.labels.observed
        if data.labels.other_labels is not None or not (labels >= 0).any():
            return np.zeros(n_classes)
        weight = None if data.sample_weight is None else data.sample_weight[labels >= 0]
        counts = np.bincount(labels[labels >= 0], weight, minlength=n_classes)
        return np.asarray(counts / max(float(counts.sum()), 1e-300))

    def _examine(self, search: Search) -> None:
        """Test whether labels that were believed are noisy: guess C if asked to, or warn."""
        rows, probability = search.rows, label_probabilities(search)
        observed = self.data.labels.observed[rows.places]
        few = len(observed) < ROWS_PER_ENTRY * probability.shape[1] ** 2
        if few or not self._may_guess:
            noise = noise_evidence(probability, observed, rows.fold % 2 == 0, rows.weight)
            if not self._may_guess and noise.is_clear(CLEAR_ENOUGH_TO_WARN):
                warn_of_noise(noise)
            if not self._may_guess or not noise.is_clear(CLEAR_ENOUGH_TO_USE):
                return
        model, data = self.model, self.data
        guess = guess_confusion(rows, probability, observed, data.labels.classes)
        guessed = confusion_for(data, guess, model.classes)
        through = self._search(guessed)
        if through is None or not through.is_likelier_than(search, CLEAR_ENOUGH_TO_USE):
            assert search.chosen is not None
            model.l2_ = search.chosen.l2
            return
        model.guessed_confusion_ = guess
        warn_of_guess(guess)
        self.known, self.search = guessed, through

    def begin(self, settings: Likelihood, engine: Engine, state: LikelihoodState) -> None:
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

    def conclude(
        self, plain: LikelihoodState, state: LikelihoodState, rounds: Relabelling | None
    ) -> LikelihoodState:
        """Average the fit with its rounds and with simple models, and calibrate the average.

        Parameters
        ----------
        plain, state : the fit through C before its rounds, and after them
        rounds : what was tried in them
        """
        search, model = self.search, self.model
        if search is None:
            return state
        if not state.relabelled and not state.interrupted:
            # The rounds' calibration is that of the folds' fits, whose optima may be others.
            state = replace(plain, matrix=state.matrix, row_posterior=state.row_posterior)
        if search.by_truths and not state.interrupted:
            try:
                state = self._averaged(search, plain, state, rounds)
            except KeyboardInterrupt:
                state.interrupted = True
        if state.calibration is None:
            search.calibrate(state)
        model.choice_ = search.table()
        return state

    def _averaged(
        self,
        search: Search,
        plain: LikelihoodState,
        state: LikelihoodState,
        rounds: Relabelling | None,
    ) -> LikelihoodState:
        """Return the average of all models worth it, with the matrix of the best through C."""
        model, data, rows = self.model, self.data, search.rows.through(state.matrix)
        fit_simple = partial(self._fit_simple, like=plain)
        outgrown = self._outgrown(search, state)
        found = average_of(search, rows, (plain, state), rounds, fit_simple, through=not outgrown)
        assert search.chosen is not None
        model.l2_, model.noisy_weight_ = search.chosen.l2, search.chosen.noisy_weight
        through = KnownConfusion(found.matrix)
        settings = model._likelihood(data, through, model.noisy_weight_, model.max_iter)
        settings.estimate_posterior(model._engine_without(data, None), found)
        return found

    def _fit_simple(self, simple: Candidate, like: LikelihoodState) -> LikelihoodState:
        """Fit to the labels as they are, or to the trusted rows alone."""
        model, data = self.model, self.data
        fixed = KnownConfusion(np.eye(len(like.matrix)) if simple.believed else like.matrix)
        settings = model._likelihood(data, fixed, simple.noisy_weight, model.max_iter)
        settings = replace(settings, prior_counts=None, l2=simple.l2)
        rows = data.rows_without(None) if simple.noisy_weight else data.trusted_rows(None)
        start = LikelihoodState(0.0 * like.weights, fixed.matrix)
        fitted: LikelihoodState = settings.run(model._engine(*rows), start)
        return fitted

    def _outgrown(self, search: Search, state: LikelihoodState) -> bool:
        """Whether a class has more rows than trusted rows and labels allow; warn if so."""
        data = self.data
        if self.known.source != "trusted" or state.posterior is None or not search.simple:
            return False
        if data.labels.other_labels is not None:  # how often labels occur says nothing then
            return False
        n_classes, observed = len(self.known.matrix), data.labels.observed
        seen = (observed >= 0) & ~data.known
        weight = None if data.sample_weight is None else data.sample_weight[seen]
        labels = np.bincount(observed[seen], weight, minlength=n_classes).astype(np.float64)
        rows = state.posterior[:n_classes].sum(axis=0)
        found = outgrown(rows, data.pair_counts(), labels)
        if len(found):
            warn_of_outgrown(data.labels.classes[found])
        return bool(len(found))

    def _fit_folds(self, known: KnownConfusion, rows: HeldOutRows) -> FitWithout:
        """Return how to fit candidates without the rows of a fold."""
        model, data = self.model, self.data
        masks = [rows.held(fold) for fold in range(FOLDS)]
        kept = [self._without(known, held) for held in masks]
        engines: dict[tuple[int, bool], Engine] = {}

        def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
            held, alone = masks[fold], tried.noisy_weight == 0
            if (fold, alone) not in engines:
                of = data.trusted_rows(held) if alone else data.rows_without(held)
                engines[fold, alone] = model._engine(*of)
            settings = replace(
                model._likelihood(data, kept[fold], tried.noisy_weight, model.max_iter),
                l2=tried.l2,
                turns=1,
                matrix_steps=SEARCH_MATRIX_STEPS,
                verbose=0,
            )
            if state is None and (alone or tried.believed):
                n_features = data.X.shape[1] + model.fit_intercept
                matrix = np.eye(len(known.matrix)) if tried.believed else kept[fold].matrix
                state = LikelihoodState(np.zeros((len(matrix), n_features)), matrix)
            elif state is None:
                state = model._trusted_start(data, kept[fold], held)
                if state.interrupted:
                    return state
            if tried.believed:
                settings = replace(settings, prior_counts=None)
            found: LikelihoodState = settings.run(engines[fold, alone], state)
            return found

        return fit

    def _without(self, known: KnownConfusion, held: BoolArray) -> KnownConfusion:
        """Return C as it is without the held-out rows: counted again, if it was counted here."""
        if known.source != "trusted":
            return known
        data = self.data.eligible
        labels = data.labels
        truth = np.where(held, -1, labels.truth)
        counts = count_pairs(truth, labels.observed, len(labels.classes), data.sample_weight)
        steadied: KnownConfusion = self.model._shrunk(replace(known, counts=counts))
        return steadied
