"""Fits of a logistic regression to votes: penalty, weights and matrices, relabelling."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import refuse_other_order
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd, fit_crowd
from unconfused.confusion.votes import Votes
from unconfused.engines.base import Engine
from unconfused.estimators._arrays import is_dask, thread_count
from unconfused.estimators._base import make_engine
from unconfused.estimators._noisy import checked_weight
from unconfused.estimators.annotators.crowd import (
    ANSWERS_OF_ALL,
    ROUNDS,
    SMALLEST,
    annotator_matrices,
    collect_votes,
    evidence_of,
    publish_annotators,
    refuse_nothing_to_learn,
    training_crowd,
)
from unconfused.estimators.automatic.average import conclude
from unconfused.estimators.automatic.held_out import FOLDS, fold_seed, voted_rows_to_judge_by
from unconfused.estimators.automatic.penalty import PENALTIES, USUAL_PENALTY, penalty_unit
from unconfused.estimators.automatic.search import (
    FEWEST_TRUTHS,
    Candidate,
    Search,
)
from unconfused.estimators.relabel.evidence import FEWEST_LABELS, evidence_of_votes
from unconfused.estimators.relabel.pseudo_labels import Relabelling
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import preconditioner_of

STEPS_PER_ROUND = 20
"""Steps of the weights in one iteration."""

TOLERANCE = 1e-3
"""Iterations end when no entry of a matrix changes by more than this."""


def fit_model_to_votes(
    model: Any, X: Any, y: Any, y_true: Any, sample_weight: Any
) -> tuple[Any, LikelihoodState]:
    """Fit weights and a matrix per annotator, and set its attributes; return the checked rows."""
    if is_dask(X):
        raise ValueError(
            "Votes of several annotators need rows in memory. On Dask collections, compute the "
            "votes, which are small, and pass as y the `consensus` of "
            "confusion.from_annotators(votes)."
        )
    refuse_other_order(y, y_true)
    X = model._check_rows(X, reset=True)
    votes, truth = collect_votes(y, y_true, model.classes, model.missing_label)
    check_consistent_length(X, truth)
    # An annotator's matrix already says how reliable an answer is.
    model.noisy_weight_ = 1.0 if model.noisy_weight == "auto" else float(model.noisy_weight)
    refuse_nothing_to_learn(model.noisy_weight_, bool(np.any(truth >= 0)))
    crowd, given = training_crowd(votes, truth), checked_weight(sample_weight, len(truth))
    model.classes_ = votes.classes
    fits = VoteFits(model, X, votes, crowd, np.ones(len(truth)) if given is None else given)
    state, matrices = fits.fit()
    publish_annotators(model, votes, matrices)
    return X, state


@dataclass
class VoteFits:
    """Fits to votes. Every row has its own label code; without a vote or truth it counts 0.

    Parameters
    ----------
    model : the logistic regression; its `l2_` and `choice_` are set here
    X, votes, crowd, sample_weight : its rows, and the votes on them
    """

    model: Any
    X: Any
    votes: Votes
    crowd: Crowd
    sample_weight: FloatArray
    weight: FloatArray = field(init=False)
    engine: Engine = field(init=False)
    settings: Likelihood = field(init=False)

    def __post_init__(self) -> None:
        """Weigh the rows, and take the settings of the model."""
        model, crowd = self.model, self.crowd
        voted = np.where(crowd.informed, model.noisy_weight_, 0.0)
        self.weight = np.where(crowd.truth >= 0, 1.0, voted) * self.sample_weight
        self.engine = self._engine(self.weight)
        self.unit = penalty_unit(self.engine)
        model.l2_ = USUAL_PENALTY * self.unit if model.l2 == "auto" else float(model.l2)
        preconditioner = preconditioner_of(self.engine, crowd.n_classes, model.l2_)
        most, tol = int(model.max_iter), float(model.tol)
        self.settings = Likelihood(model.l2_, 1.0, None, most, tol, preconditioner=preconditioner)

    def fit(self) -> tuple[LikelihoodState, FloatArray]:
        """Choose the penalty, fit, relabel, average and calibrate; return the matrices, too."""
        model, search = self.model, None
        matrices = self._matrices_given(self.crowd.truth)
        if model.l2 == "auto":
            search = self._choose_penalty(matrices)
            self.settings = replace(self.settings, l2=model.l2_)
        state, matrices = self._alternate(matrices)
        plain, evidence = replace(state), evidence_of(self.crowd, matrices)[0]
        rounds = self._relabel(state, evidence) if model.relabel else None
        if search is None:
            return state, matrices

        def fit_simple(tried: Candidate) -> LikelihoodState:
            return self._fit_candidate(tried, evidence)

        def finish(found: LikelihoodState) -> None:
            self.settings.estimate_posterior(self.engine, found, evidence)

        state = conclude(search, (plain, state), rounds, fit_simple, finish)
        model.choice_ = search.table()
        return state, matrices

    def _alternate(self, matrices: FloatArray) -> tuple[LikelihoodState, FloatArray]:
        """Alternate between fitting the weights and re-estimating the annotators' matrices.

        Every iteration increases the likelihood of the votes. The matrix of an annotator with few
        answers is shrunk towards the pooled one. Without `refine` the matrices are fixed; "auto"
        refines, too: the first matrices do not depend on the features.
        """
        model, crowd = self.model, self.crowd
        settings = replace(self.settings, max_iter=STEPS_PER_ROUND, verbose=int(model.verbose))
        state = self._start()
        for turn in range(ROUNDS):
            evidence, scale = evidence_of(crowd, matrices)
            done = len(state.objective)
            state = settings.run(self.engine, state, evidence)
            assert state.posterior is not None
            # With the factors of the evidence, objectives of different iterations are comparable.
            offset = float(self.weight @ scale / self.weight.sum())
            state.objective[done:] = [value - offset for value in state.objective[done:]]
            if not model.refine:
                if state.interrupted or not state.exhausted:
                    break
                continue
            before = matrices
            matrices = annotator_matrices(crowd, state.posterior, self._strength)
            converged = np.abs(matrices - before).max() < TOLERANCE
            if state.interrupted or (converged and not state.exhausted):
                break
            state.exhausted = turn == ROUNDS - 1
        assert state.posterior is not None
        # That of all answers, without silence.
        n_classes = crowd.n_classes
        spoken = crowd.counts(state.posterior).sum(axis=0)[:, :n_classes] + 1.0 / n_classes
        state.matrix = spoken / spoken.sum(axis=1, keepdims=True)
        return state, matrices

    @property
    def _strength(self) -> float:
        return float(self.model.prior_strength * ANSWERS_OF_ALL)

    def _start(self) -> LikelihoodState:
        n_classes = self.crowd.n_classes
        return LikelihoodState(np.zeros((n_classes, self.engine.n_features)), np.eye(n_classes))

    def _matrices_given(self, truth: IntArray) -> FloatArray:
        """Estimate the annotators' matrices from votes and these truths, whatever the features."""
        counted, crowd = self.weight > 0, self.crowd
        crowd = replace(crowd, indicators=crowd.indicators[counted], truth=truth[counted])
        return np.maximum(fit_crowd(crowd, self._strength, ROUNDS, 1e-6).matrices, SMALLEST)

    def _choose_penalty(self, matrices: FloatArray) -> Search | None:
        """Choose the penalty by the likelihood of held-out votes; None with too few rows.

        With enough truths, the best models of the majority and of the trusted rows alone are found,
        too.
        """
        model, crowd = self.model, self.crowd
        evidence, _ = evidence_of(crowd, matrices)
        counted = np.where(crowd.informed, self.sample_weight, 0.0)
        held_out = voted_rows_to_judge_by(
            self.X, evidence, counted, crowd.truth >= 0, fold_seed(model.random_state)
        )
        every, truth = held_out.every, held_out.truth
        if not held_out.enough(every, FEWEST_LABELS):
            return None
        shown = bool(held_out.evidence[truth].any(axis=0).all())
        by_truths = shown and held_out.enough(truth, FEWEST_TRUTHS) and model.noisy_weight == "auto"
        masks, of_folds = [held_out.held(fold) for fold in range(FOLDS)], [evidence] * FOLDS
        if by_truths:  # held-out truths judge models: the matrices must not have seen them either
            seen = [np.where(held, -1, crowd.truth) for held in masks]
            of_folds = [evidence_of(crowd, self._matrices_given(own))[0] for own in seen]

        def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
            return self._fit_candidate(tried, of_folds[fold], masks[fold], state)

        search = Search(held_out, fit, model.fit_intercept, by_truths)
        penalties = [self.unit * one for one in PENALTIES]
        search.chosen, _ = search.best_penalty(Candidate(model.l2_, 1.0), penalties, every)
        model.l2_ = search.chosen.l2
        if by_truths:
            alone, believed = Candidate(model.l2_, 0.0), Candidate(model.l2_, 1.0, True)
            search.simple.append(search.best_penalty(alone, penalties, truth)[0])
            search.simple.append(search.best_penalty(believed, penalties, every)[0])
        return search

    def _fit_candidate(
        self,
        tried: Candidate,
        evidence: FloatArray,
        held: BoolArray | None = None,
        state: LikelihoodState | None = None,
    ) -> LikelihoodState:
        """Fit to the votes, to their majority as if it were right, or to the trusted rows alone."""
        weight = self.weight if held is None else np.where(held, 0.0, self.weight)
        if tried.believed:
            majority = self.crowd.majority()
            evidence = np.eye(self.crowd.n_classes)[majority.argmax(axis=1)]
            weight = np.where(majority.any(axis=1), weight, 0.0)
        elif not tried.noisy_weight:
            weight = np.where(self.crowd.truth >= 0, weight, 0.0)
        settings = replace(self.settings, l2=tried.l2)
        return settings.run(self._engine(weight), state or self._start(), evidence)

    def _engine(self, weight: FloatArray) -> Engine:
        """Return an engine in which every row has a label code of its own."""
        n_rows, n_threads = len(weight), thread_count(self.model.n_jobs)
        intercept = self.model.fit_intercept
        return make_engine(
            self.X, np.arange(n_rows), n_rows, weight, intercept=intercept, n_threads=n_threads
        )

    def _relabel(self, state: LikelihoodState, evidence: FloatArray) -> Relabelling:
        """Refit to the probable classes of the rows (in place); return the rounds."""

        def fit_without(held: BoolArray, weights: FloatArray | None) -> LikelihoodState:
            start = self._start() if weights is None else LikelihoodState(weights, state.matrix)
            engine = self._engine(np.where(held, 0.0, self.weight))
            return self.settings.run(engine, start, evidence)

        model = self.model
        rounds = Relabelling(
            X=self.X,
            model=model,
            evidence=evidence_of_votes(
                self.crowd, evidence, model.noisy_weight_, self.sample_weight
            ),
            seed=fold_seed(model.random_state),
            fit_without=fit_without,
            settings=self.settings,
        )
        rounds.run(state)
        return rounds
