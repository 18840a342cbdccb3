"""Fits of a logistic regression to votes: penalty, weights and matrices, relabelling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import refuse_other_order
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd, fit_crowd
from unconfused.confusion.votes import Votes
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.local.engine import LocalEngine
from unconfused.engines.local.threads import thread_count
from unconfused.estimators._arrays import is_dask
from unconfused.estimators._base import make_engine
from unconfused.estimators._noisy import checked_weight
from unconfused.estimators.annotators.crowd import (
    ANSWERS_OF_ALL,
    ROUNDS,
    SMALLEST,
    annotator_matrices,
    collect_votes,
    evidence_of,
    refuse_nothing_to_learn,
    split_silence,
    training_crowd,
)
from unconfused.estimators.automatic.average import average_of
from unconfused.estimators.automatic.held_out import FOLDS, fold_seed, voted_rows_to_judge_by
from unconfused.estimators.automatic.search import (
    FEWEST_LABELS,
    FEWEST_TRUTHS,
    PENALTIES,
    USUAL_PENALTY,
    Candidate,
    Search,
    penalty_unit,
)
from unconfused.estimators.relabel.evidence import evidence_of_votes
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import preconditioner_of

STEPS_PER_ROUND = 20
"""Steps of the weights in one iteration."""

TOLERANCE = 1e-3
"""Iterations end when no entry of a matrix changes by more than this."""


@dataclass(frozen=True)
class VotedRows:
    """Rows with votes. Every row has its own label code; without a vote or truth it counts 0."""

    X: Any
    votes: Votes
    crowd: Crowd
    engine: LocalEngine | ArrayEngine
    sample_weight: FloatArray


def check_votes(
    model: Any, X: Any, y: Any, y_true: Any, sample_weight: Any, noisy_weight: float
) -> VotedRows:
    """Check the input of `fit`; rows whose truth is not known have the weight `noisy_weight`."""
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
    refuse_nothing_to_learn(noisy_weight, bool(np.any(truth >= 0)))
    crowd, given = training_crowd(votes, truth), checked_weight(sample_weight, len(truth))
    given = np.ones(len(truth)) if given is None else given
    trust = np.where(truth >= 0, 1.0, np.where(crowd.informed, noisy_weight, 0.0))
    return VotedRows(X, votes, crowd, _engine(model, X, trust * given), given)


def fit_model_to_votes(
    model: Any, X: Any, y: Any, y_true: Any, sample_weight: Any
) -> tuple[Any, LikelihoodState]:
    """Fit weights and a matrix per annotator, and set its attributes; return the checked rows."""
    # An annotator's matrix already says how reliable an answer is.
    noisy = 1.0 if model.noisy_weight == "auto" else float(model.noisy_weight)
    rows = check_votes(model, X, y, y_true, sample_weight, noisy)
    model.classes_, model.annotators_ = rows.votes.classes, rows.votes.annotators
    model.noisy_weight_ = noisy
    strength, search = model.prior_strength * ANSWERS_OF_ALL, None
    matrices = _matrices_of_votes(model, rows, rows.crowd.truth)
    unit = penalty_unit(rows.engine)
    model.l2_ = USUAL_PENALTY * unit if model.l2 == "auto" else float(model.l2)
    settings = Likelihood(
        model.l2_,
        1.0,
        None,
        int(model.max_iter),
        float(model.tol),
        preconditioner=preconditioner_of(rows.engine, len(rows.votes.classes), model.l2_),
    )
    if model.l2 == "auto":
        search = _choose_penalty(model, rows, matrices, settings, unit)
        settings = replace(settings, l2=model.l2_)
    # "auto" refines, too: the first matrices do not depend on the features.
    stepwise = replace(settings, max_iter=STEPS_PER_ROUND, verbose=int(model.verbose))
    state, matrices = fit_votes(rows, matrices, stepwise, strength if model.refine else None)
    plain = replace(state)
    rounds = _relabel(model, rows, state, matrices, settings) if model.relabel else None
    if search is not None:
        if search.by_truths and not state.interrupted:
            try:
                evidence, _ = evidence_of(rows.crowd, matrices)
                fit = partial(_fit_candidate, model, rows, settings, evidence)
                state = average_of(search, search.rows, (plain, state), rounds, fit)
                settings.estimate_posterior(rows.engine, state, evidence)
            except KeyboardInterrupt:
                state.interrupted = True
        if state.calibration is None:
            search.calibrate(state)
        model.choice_ = search.table()
    model.annotator_confusion_, silence = split_silence(matrices, rows.votes.one_sided)
    if silence is not None:
        model.annotator_silence_ = silence
    return rows.X, state


def fit_votes(
    rows: VotedRows, matrices: FloatArray, settings: Likelihood, strength: float | None
) -> tuple[LikelihoodState, FloatArray]:
    """Alternate between fitting the weights and re-estimating the annotators' matrices.

    Every iteration increases the likelihood of the votes. The matrix of an annotator with few
    answers is shrunk towards the pooled one by `strength`; with None the matrices are fixed.
    """
    n_classes, weights = len(rows.votes.classes), rows.engine.weights
    state = LikelihoodState(np.zeros((n_classes, rows.engine.n_features)), np.eye(n_classes))
    for turn in range(ROUNDS):
        evidence, scale = evidence_of(rows.crowd, matrices)
        done = len(state.objective)
        state = settings.run(rows.engine, state, evidence)
        assert state.posterior is not None
        # With the factors of the evidence, objectives of different iterations are comparable.
        offset = float(weights @ scale / weights.sum())
        state.objective[done:] = [value - offset for value in state.objective[done:]]
        if strength is None:
            if state.interrupted or not state.exhausted:
                break
            continue
        before, matrices = matrices, annotator_matrices(rows.crowd, state.posterior, strength)
        converged = np.abs(matrices - before).max() < TOLERANCE
        if state.interrupted or (converged and not state.exhausted):
            break
        state.exhausted = turn == ROUNDS - 1
    assert state.posterior is not None
    # That of all answers, without silence.
    spoken = rows.crowd.counts(state.posterior).sum(axis=0)[:, :n_classes] + 1.0 / n_classes
    state.matrix = spoken / spoken.sum(axis=1, keepdims=True)
    return state, matrices


def _matrices_of_votes(model: Any, rows: VotedRows, truth: IntArray) -> FloatArray:
    """Estimate the annotators' matrices from votes and these truths, whatever the features."""
    counted, strength = rows.engine.weights > 0, model.prior_strength * ANSWERS_OF_ALL
    crowd = replace(rows.crowd, indicators=rows.crowd.indicators[counted], truth=truth[counted])
    return np.maximum(fit_crowd(crowd, strength, ROUNDS, 1e-6).matrices, SMALLEST)


def _choose_penalty(
    model: Any, rows: VotedRows, matrices: FloatArray, settings: Likelihood, unit: float
) -> Search | None:
    """Choose the penalty by the likelihood of held-out votes; None with too few rows.

    With enough truths, the best models of the majority and of the trusted rows alone are found too.
    """
    evidence, _ = evidence_of(rows.crowd, matrices)
    known, informed = rows.crowd.truth >= 0, rows.crowd.informed
    counted = np.where(informed, rows.sample_weight, 0.0)
    held_out = voted_rows_to_judge_by(
        rows.X, evidence, counted, known, fold_seed(model.random_state)
    )
    every = held_out.every
    if not held_out.enough(every, FEWEST_LABELS):
        return None
    truth = held_out.truth
    shown = held_out.evidence[truth].any(axis=0).all()
    by_truths = bool(shown) and held_out.enough(truth, FEWEST_TRUTHS)
    by_truths = by_truths and model.noisy_weight == "auto"
    masks, of_folds = [held_out.held(fold) for fold in range(FOLDS)], [evidence] * FOLDS
    if by_truths:  # held-out truths judge models: the matrices must not have seen them either
        truths = [np.where(held, -1, rows.crowd.truth) for held in masks]
        without = [_matrices_of_votes(model, rows, seen) for seen in truths]
        of_folds = [evidence_of(rows.crowd, own)[0] for own in without]

    def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
        own, held = of_folds[fold], masks[fold]
        return _fit_candidate(model, rows, settings, own, tried, held, state)

    search = Search(held_out, fit, model.fit_intercept, by_truths)
    penalties = [unit * one for one in PENALTIES]
    usual = Candidate(USUAL_PENALTY * unit, 1.0)
    search.chosen, _ = search.best_penalty(usual, penalties, every)
    model.l2_ = search.chosen.l2
    if by_truths:
        alone, believed = Candidate(model.l2_, 0.0), Candidate(model.l2_, 1.0, True)
        search.simple.append(search.best_penalty(alone, penalties, truth)[0])
        search.simple.append(search.best_penalty(believed, penalties, every)[0])
    return search


def _fit_candidate(
    model: Any,
    rows: VotedRows,
    settings: Likelihood,
    evidence: FloatArray,
    tried: Candidate,
    held: BoolArray | None = None,
    state: LikelihoodState | None = None,
) -> LikelihoodState:
    """Fit to the votes, to their majority as if it were right, or to the trusted rows alone."""
    n_classes, weight = evidence.shape[1], rows.engine.weights
    weight = weight if held is None else np.where(held, 0.0, weight)
    if tried.believed:
        majority = rows.crowd.majority()
        evidence = np.eye(n_classes)[majority.argmax(axis=1)]
        weight = np.where(majority.any(axis=1), weight, 0.0)
    elif not tried.noisy_weight:
        weight = np.where(rows.crowd.truth >= 0, weight, 0.0)
    if state is None:
        state = LikelihoodState(np.zeros((n_classes, rows.engine.n_features)), np.eye(n_classes))
    return replace(settings, l2=tried.l2).run(_engine(model, rows.X, weight), state, evidence)


def _engine(model: Any, X: Any, weight: FloatArray) -> LocalEngine | ArrayEngine:
    """Return an engine in which every row has a label code of its own."""
    n_rows, n_threads = len(weight), thread_count(model.n_jobs)
    intercept = model.fit_intercept
    return make_engine(
        X, np.arange(n_rows), n_rows, weight, intercept=intercept, n_threads=n_threads
    )


def _engine_without(model: Any, rows: VotedRows, held: BoolArray) -> LocalEngine | ArrayEngine:
    """Return an engine in which held-out rows have weight 0."""
    return _engine(model, rows.X, np.where(held, 0.0, rows.engine.weights))


def _relabel(
    model: Any, rows: VotedRows, state: LikelihoodState, matrices: FloatArray, settings: Likelihood
) -> Any:
    """Refit to the probable classes of the rows (in place); return the rounds."""
    evidence, _ = evidence_of(rows.crowd, matrices)

    def fit_without(held: BoolArray, weights: FloatArray | None) -> LikelihoodState:
        start = LikelihoodState(0.0 * state.weights if weights is None else weights, state.matrix)
        return settings.run(_engine_without(model, rows, held), start, evidence)

    observed = evidence_of_votes(
        evidence, rows.crowd.truth, model.noisy_weight_, rows.sample_weight
    )
    observed = replace(observed, trust=np.where(rows.crowd.informed, observed.trust, 0.0))
    preconditioner = settings.preconditioner
    return model._relabel(rows.X, observed, state, fit_without, preconditioner=preconditioner)
