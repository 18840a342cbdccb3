"""A logistic regression fitted to votes: settings, weights and matrices, rounds, temperature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unconfused._typing import BoolArray, FloatArray
from unconfused.estimators.annotators.choose import choose_for_votes
from unconfused.estimators.annotators.crowd import (
    STEPS_PER_ROUND,
    CrowdState,
    VotedRows,
    evidence_of,
    fit_votes,
    split_silence,
)
from unconfused.estimators.annotators.voted_rows import LocalVotes, check_votes
from unconfused.estimators.dask.lazy import is_dask
from unconfused.estimators.relabel.evidence import seen_in_votes
from unconfused.solvers.likelihood import Likelihood, LikelihoodState


@dataclass(frozen=True)
class FittedVotes:
    """Rows as they were checked, and what was fitted to them."""

    X: Any
    likelihood: LikelihoodState
    matrices: FloatArray
    """One per annotator, (A, Q, Q)."""

    silence: FloatArray | None
    """Chance of no answer by annotator and true class, (A, Q); NaN where that is none."""


def fit_model_to_votes(model: Any, X: Any, y: Any, y_true: Any, sample_weight: Any) -> FittedVotes:
    """Fit weights and a matrix per annotator; set what is known of classes and settings."""
    # What an answer is worth is in its annotator's matrix: no more is taken off unasked.
    noisy = 1.0 if isinstance(model.noisy_weight, str) else float(model.noisy_weight)
    rows = _checked(model, X, y, y_true, sample_weight, noisy)
    model.classes_, model.annotators_, model.noisy_weight_ = rows.classes, rows.annotators, noisy
    in_memory = isinstance(rows, LocalVotes)
    weight = model._check_weight(sample_weight, rows.X) if in_memory else None
    model.l2_, search = choose_for_votes(model, rows, weight)
    settings = Likelihood(
        model.l2_, 1.0, None, STEPS_PER_ROUND, float(model.tol), int(model.verbose)
    )
    # "auto" refines, too: the votes alone know nothing of the rows.
    found = fit_votes(rows, settings, float(model.prior_strength), refine=bool(model.refine))
    if model.relabel and isinstance(rows, LocalVotes):
        _relabel(model, rows, found, noisy, weight)
    state = found.likelihood
    if search is not None:
        if state.calibration is None:
            search.calibrate(state)
        model.choice_ = search.table()
    silent = rows.silent if isinstance(rows, LocalVotes) else None
    return FittedVotes(rows.X, state, *split_silence(found.matrices, silent))


def _checked(
    model: Any, X: Any, y: Any, y_true: Any, sample_weight: Any, noisy_weight: float
) -> VotedRows:
    if not is_dask(X):
        return check_votes(model, X, y, y_true, sample_weight, noisy_weight)
    from unconfused.estimators.dask.votes import check_dask_votes

    return check_dask_votes(model, X, y, y_true, sample_weight, noisy_weight)


def _relabel(
    model: Any, rows: LocalVotes, found: CrowdState, noisy: float, weight: FloatArray | None
) -> None:
    """Fit again to the classes that rows probably have (in place)."""
    evidence, _ = evidence_of(rows.crowd, found.matrices)

    def fit_without(held: BoolArray) -> LikelihoodState:
        start = LikelihoodState(0.0 * found.likelihood.weights, found.likelihood.matrix)
        kept = np.where(held, 0.0, rows.engine.weights)
        engine = model._local_engine(rows.X, np.arange(len(kept)), len(kept), kept)
        quiet = replace(found.settings, max_iter=int(model.max_iter), verbose=0)
        return quiet.run(engine, start, evidence)

    seen = seen_in_votes(evidence, rows.crowd.truth, noisy, weight)
    seen = replace(seen, trust=np.where(rows.crowd.informed, seen.trust, 0.0))
    model._relabel(rows.X, seen, found.likelihood, fit_without, metric=found.settings.metric)
