"""The penalty of a fit to votes, chosen by the likelihood of votes held out."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.estimators.annotators.crowd import (
    VotedRows,
    evidence_of,
    matrices_of_votes_alone,
)
from unconfused.estimators.annotators.voted_rows import LocalVotes
from unconfused.estimators.automatic.held_out import fold_seed, voted_rows_to_judge_by
from unconfused.estimators.automatic.search import (
    FEWEST_LABELS,
    PENALTIES,
    USUAL_PENALTY,
    Candidate,
    Search,
    penalty_unit,
)
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import preconditioner_of


def choose_for_votes(
    model: Any, rows: VotedRows, weight: FloatArray | None
) -> tuple[float, Search | None]:
    """Return the penalty to use, and how it was chosen, where the model leaves it open.

    `weight` is the weight of each row of votes in memory, None if they all count the same.
    """
    if not isinstance(model.l2, str):
        return float(model.l2), None
    matrices = matrices_of_votes_alone(rows, float(model.prior_strength))
    engine = rows.through(matrices).engine
    unit = penalty_unit(engine)
    if not isinstance(rows, LocalVotes):
        return USUAL_PENALTY * unit, None
    evidence, _ = evidence_of(rows.crowd, matrices)
    known = rows.crowd.truth >= 0
    informed = rows.crowd.informed
    counted = informed.astype(np.float64) if weight is None else np.where(informed, weight, 0.0)
    held_out = voted_rows_to_judge_by(
        rows.X, evidence, counted, known, fold_seed(model.random_state)
    )
    every = np.ones(len(held_out.truth), dtype=bool)
    if not held_out.enough(every, FEWEST_LABELS):
        return USUAL_PENALTY * unit, None
    n_rows, n_classes = evidence.shape
    metric = preconditioner_of(engine, n_classes, USUAL_PENALTY * unit)

    def fit(fold: int, tried: Candidate, state: LikelihoodState | None) -> LikelihoodState:
        kept = np.where(held_out.held(fold), 0.0, rows.engine.weights)
        own = model._local_engine(rows.X, np.arange(n_rows), n_rows, kept)
        if state is None:
            state = LikelihoodState(np.zeros((n_classes, rows.n_features)), np.eye(n_classes))
        settings = Likelihood(
            tried.l2, 1.0, None, int(model.max_iter), float(model.tol), metric=metric
        )
        return settings.run(own, state, evidence)

    search = Search(held_out, fit, model.fit_intercept)
    penalties = [unit * one for one in PENALTIES]
    usual = Candidate(USUAL_PENALTY * unit, 1.0)
    search.chosen, _ = search.best_penalty(usual, penalties, every)
    return search.chosen.l2, search
