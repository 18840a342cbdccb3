"""Rows in memory with the votes of several annotators on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import refuse_other_order
from unconfused._typing import BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion._dawid_skene import TINY, Crowd, Expectation
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.local.engine import LocalEngine
from unconfused.estimators.annotators.crowd import (
    SeenRows,
    collect_votes,
    crowd_of,
    evidence_of,
)
from unconfused.solvers.likelihood import LikelihoodState


def check_votes(
    estimator: Any, X: Any, y: Any, y_true: Any, sample_weight: Any, noisy_weight: float
) -> LocalVotes:
    """Check what was passed to `fit`; rows whose truth is not known count `noisy_weight`."""
    refuse_other_order(y, y_true)
    X = estimator._check_rows(X, reset=True)
    votes, truth = collect_votes(
        y, y_true, estimator.classes, estimator.missing_label, strict=False
    )
    check_consistent_length(X, truth)
    refuse_no_rows(noisy_weight, bool(np.any(truth >= 0)))
    crowd = crowd_of(votes, truth, votes.one_sided)
    weight = weighted(estimator._check_weight(sample_weight, X), truth, noisy_weight)
    if not crowd.informed.all():
        refuse_no_votes(crowd)
        weight = np.where(crowd.informed, 1.0 if weight is None else weight, 0.0)
    n_rows = X.shape[0]
    engine = estimator._local_engine(X, np.arange(n_rows), n_rows, weight)
    return LocalVotes(X, votes.classes, votes.annotators, engine, crowd, votes.one_sided)


def refuse_no_votes(crowd: Crowd) -> None:
    """Raise if no row has a vote or a truth."""
    if not crowd.informed.any():
        raise ValueError("No row has a vote or a known truth, so there is nothing to learn from.")


def weighted(weight: FloatArray | None, truth: IntArray, noisy_weight: float) -> FloatArray | None:
    """Let rows whose truth is not known count less."""
    if noisy_weight == 1:
        return weight
    return np.where(truth >= 0, 1.0, noisy_weight) * (1.0 if weight is None else weight)


def refuse_no_rows(noisy_weight: float, trusted: bool) -> None:
    """Raise if only trusted rows count, and there are none."""
    if noisy_weight == 0 and not trusted:
        raise ValueError(
            "noisy_weight=0 leaves nothing to learn from: no row's truth is known. Pass known "
            "truths as y_true, or let noisy rows count."
        )


@dataclass(frozen=True)
class LocalVotes:
    """Rows and votes in memory; see `VotedRows`. Every row is a label code of its own."""

    X: Any
    classes: Labels
    annotators: Labels
    engine: LocalEngine | ArrayEngine
    """Rows on which nothing is known count 0."""

    crowd: Crowd
    silent: BoolArray | None = None
    """Annotators whose silence is an answer, (A,), if there are any."""

    @property
    def n_features(self) -> int:
        """Columns of the weights, the intercept's included."""
        return self.engine.n_features

    @cached_property
    def counted(self) -> Crowd:
        """The votes on the rows that count."""
        crowd, counted = self.crowd, self.engine.weights > 0
        return replace(crowd, indicators=crowd.indicators[counted], truth=crowd.truth[counted])

    def votes_alone(self) -> tuple[Crowd, Expectation]:
        """Return the answers on the rows that count, and what their majorities say in sum."""
        rows = self.counted
        return rows, rows.summed(rows.majority())

    def through(self, matrices: FloatArray) -> SeenRows:
        """Return the rows as seen through annotators' matrices, (A, Q, Q)."""
        evidence, scale = evidence_of(self.crowd, matrices)
        weights = self.engine.weights
        total = max(float(weights.sum()), TINY)  # on a worker, all rows may count 0
        return SeenRows(self.engine, evidence, float(weights @ scale) / total)

    def counts(self, state: LikelihoodState, matrices: FloatArray) -> FloatArray:
        """Count expected answers by annotator, true class and label, (A, Q, Q)."""
        assert state.posterior is not None
        return self.crowd.counts(state.posterior)
