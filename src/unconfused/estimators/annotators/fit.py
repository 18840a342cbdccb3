"""Fits of a logistic regression to votes: penalty, weights and matrices, relabelling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unconfused._typing import BoolArray, FloatArray
from unconfused.estimators.annotators.crowd import (
    STEPS_PER_ROUND,
    CrowdState,
    dawid_skene_matrices,
    evidence_of,
    fit_votes,
    split_silence,
)
from unconfused.estimators.annotators.voted_rows import LocalVotes, check_votes
from unconfused.estimators.automatic.held_out import fold_seed, voted_rows_to_judge_by
from unconfused.estimators.automatic.search import (
    FEWEST_LABELS,
    PENALTIES,
    USUAL_PENALTY,
    Candidate,
    Search,
    penalty_unit,
)
from unconfused.estimators.dask.lazy import is_dask
from unconfused.estimators.relabel.evidence import seen_in_votes
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import preconditioner_of


class FittedVotes(NamedTuple):
    """Checked rows, and the model fitted to them."""

    X: Any
    likelihood: LikelihoodState
    matrices: FloatArray
    """One per annotator, (A, Q, Q)."""

    silence: FloatArray | None
    """Probability of no answer by annotator and true class, (A, Q); NaN where not modelled."""


def fit_model_to_votes(model: Any, X: Any, y: Any, y_true: Any, sample_weight: Any) -> FittedVotes:
    """Fit weights and a matrix per annotator; set the attributes for classes and settings."""
    # An annotator's matrix already says how reliable an answer is.
    noisy = 1.0 if isinstance(model.noisy_weight, str) else float(model.noisy_weight)
    if is_dask(X):
        raise ValueError(
            "Votes of several annotators need rows in memory. On Dask collections, compute the "
            "votes, which are small, and pass as y the `consensus` of "
            "confusion.from_annotators(votes)."
        )
    rows = check_votes(model, X, y, y_true, sample_weight, noisy)
    model.classes_, model.annotators_, model.noisy_weight_ = rows.classes, rows.annotators, noisy
    strength, search = float(model.prior_strength), None
    matrices = dawid_skene_matrices(rows, strength)
    if not isinstance(model.l2, str):
        model.l2_ = float(model.l2)
    else:
        engine = rows.evidence(matrices).engine
        unit = penalty_unit(engine)
        model.l2_ = USUAL_PENALTY * unit
        search = _choose_penalty(model, rows, matrices, unit)
    settings = Likelihood(
        model.l2_, 1.0, None, STEPS_PER_ROUND, float(model.tol), int(model.verbose)
    )
    # "auto" refines, too: the first matrices do not depend on the features.
    found = fit_votes(rows, matrices, settings, strength, refine=bool(model.refine))
    if model.relabel:
        _relabel(model, rows, found)
    state = found.likelihood
    if search is not None:
        if state.calibration is None:
            search.calibrate(state)
        model.choice_ = search.table()
    return FittedVotes(rows.X, state, *split_silence(found.matrices, rows.silent))


def _choose_penalty(
    model: Any, rows: LocalVotes, matrices: FloatArray, unit: float
) -> Search | None:
    """Choose the penalty by the likelihood of held-out votes; None with too few rows."""
    evidence, _ = evidence_of(rows.crowd, matrices)
    known, informed = rows.crowd.truth >= 0, rows.crowd.informed
    counted = np.where(informed, rows.sample_weight, 0.0)
    held_out = voted_rows_to_judge_by(
        rows.X, evidence, counted, known, fold_seed(model.random_state)
    )
    every = np.ones(len(held_out.truth), dtype=bool)
    if not held_out.enough(every, FEWEST_LABELS):
        return None
    n_classes = len(rows.classes)
    metric = preconditioner_of(rows.engine, n_classes, USUAL_PENALTY * unit)

    def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
        if state is None:
            state = LikelihoodState(np.zeros((n_classes, rows.n_features)), np.eye(n_classes))
        settings = Likelihood(
            tried.l2, 1.0, None, int(model.max_iter), float(model.tol), metric=metric
        )
        return settings.run(_engine_without(model, rows, held_out.held(fold)), state, evidence)

    search = Search(held_out, fit, model.fit_intercept)
    penalties = [unit * one for one in PENALTIES]
    usual = Candidate(USUAL_PENALTY * unit, 1.0)
    search.chosen, _ = search.best_penalty(usual, penalties, every)
    model.l2_ = search.chosen.l2
    return search


def _engine_without(model: Any, rows: LocalVotes, held: BoolArray) -> Any:
    """Return an engine in which held-out rows have weight 0."""
    kept = np.where(held, 0.0, rows.engine.weights)
    return model._local_engine(rows.X, np.arange(len(kept)), len(kept), kept)


def _relabel(model: Any, rows: LocalVotes, found: CrowdState) -> None:
    """Refit to the probable classes of the rows (in place)."""
    evidence, _ = evidence_of(rows.crowd, found.matrices)
    settings = replace(found.settings, max_iter=int(model.max_iter), verbose=0)

    def fit_without(held: BoolArray, weights: FloatArray | None) -> LikelihoodState:
        start = 0.0 * found.likelihood.weights if weights is None else weights
        state = LikelihoodState(start, found.likelihood.matrix)
        return settings.run(_engine_without(model, rows, held), state, evidence)

    seen = seen_in_votes(evidence, rows.crowd.truth, model.noisy_weight_, rows.sample_weight)
    seen = replace(seen, trust=np.where(rows.crowd.informed, seen.trust, 0.0))
    model._relabel(rows.X, seen, found.likelihood, fit_without, metric=settings.metric)
