"""Rows in memory with the votes of several annotators on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import refuse_other_order
from unconfused._typing import BoolArray, FloatArray, Labels
from unconfused.confusion._dawid_skene import Crowd, Expectation
from unconfused.engines.array_api.engine import ArrayEngine
from unconfused.engines.local.engine import LocalEngine
from unconfused.estimators.annotators.crowd import (
    RowEvidence,
    collect_votes,
    crowd_of,
    evidence_of,
)
from unconfused.solvers.likelihood import LikelihoodState


def check_votes(
    estimator: Any, X: Any, y: Any, y_true: Any, sample_weight: Any, noisy_weight: float
) -> LocalVotes:
    """Check the input of `fit`; rows whose truth is not known have the weight `noisy_weight`."""
    refuse_other_order(y, y_true)
    X = estimator._check_rows(X, reset=True)
    votes, truth = collect_votes(y, y_true, estimator.classes, estimator.missing_label)
    check_consistent_length(X, truth)
    refuse_no_rows(noisy_weight, bool(np.any(truth >= 0)))
    crowd = crowd_of(votes, truth, votes.one_sided)
    refuse_no_votes(crowd)
    n_rows = len(truth)
    given = estimator._check_weight(sample_weight, X)
    given = np.ones(n_rows) if given is None else given
    weight = row_weights(given, crowd, noisy_weight)
    engine = estimator._local_engine(X, np.arange(n_rows), n_rows, weight)
    return LocalVotes(X, votes.classes, votes.annotators, engine, crowd, given, votes.one_sided)


def refuse_no_votes(crowd: Crowd) -> None:
    """Raise if no row has a vote or a truth."""
    if not crowd.informed.any():
        raise ValueError("No row has a vote or a known truth, so there is nothing to learn from.")


def row_weights(sample_weight: FloatArray, crowd: Crowd, noisy_weight: float) -> FloatArray:
    """Return 1 for trusted rows, `noisy_weight` for voted ones, 0 for others, times the weight."""
    trust = np.where(crowd.truth >= 0, 1.0, np.where(crowd.informed, noisy_weight, 0.0))
    return trust * sample_weight


def refuse_no_rows(noisy_weight: float, trusted: bool) -> None:
    """Raise if noisy rows have weight 0, and there are no trusted ones."""
    if noisy_weight == 0 and not trusted:
        raise ValueError(
            "noisy_weight=0 leaves nothing to learn from: no row's truth is known. Pass known "
            "truths as y_true, or raise noisy_weight."
        )


@dataclass(frozen=True)
class LocalVotes:
    """Rows and votes in memory. Every row has its own label code."""

    X: Any
    classes: Labels
    annotators: Labels
    engine: LocalEngine | ArrayEngine
    """Rows without a vote or a truth have weight 0."""

    crowd: Crowd
    sample_weight: FloatArray
    silent: BoolArray | None = None
    """Annotators whose silence is an answer, (A,)."""

    @property
    def n_features(self) -> int:
        """Number of features, including the intercept."""
        return self.engine.n_features

    @cached_property
    def counted(self) -> Crowd:
        """The votes on the rows with a positive weight."""
        crowd, counted = self.crowd, self.engine.weights > 0
        return replace(crowd, indicators=crowd.indicators[counted], truth=crowd.truth[counted])

    def votes_alone(self) -> tuple[Crowd, Expectation]:
        """Return the votes that count, and the statistics of the majority vote."""
        rows = self.counted
        return rows, rows.summed(rows.majority())

    def evidence(self, matrices: FloatArray) -> RowEvidence:
        """Return the evidence of the votes through annotators' matrices, (A, Q, Q)."""
        evidence, scale = evidence_of(self.crowd, matrices)
        weights = self.engine.weights
        return RowEvidence(self.engine, evidence, float(weights @ scale / weights.sum()))

    def counts(self, state: LikelihoodState, matrices: FloatArray) -> FloatArray:
        """Return expected answers by annotator, true class and label, (A, Q, Q)."""
        assert state.posterior is not None
        return self.crowd.counts(state.posterior)
