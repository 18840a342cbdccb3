"""Rows with votes on Dask workers.

A worker holds rows with their votes, gets the weights and the annotators' matrices, and returns
sums, which the client adds up.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray, Labels
from unconfused.confusion._dawid_skene import Answers, Crowd, Expectation
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.dask.engine import DaskEngine, DaskRows
from unconfused.engines.dask.parts import Fingerprint
from unconfused.engines.dask.pool import PartPool
from unconfused.engines.local.engine import LocalEngine
from unconfused.estimators.annotators.crowd import RowEvidence
from unconfused.estimators.annotators.voted_rows import LocalVotes
from unconfused.solvers.likelihood import LikelihoodState

VotedBlock = tuple[Any, Any, IntArray, FloatArray]
"""Rows, their votes as indicators, their truths, their weights."""


class VotedPart:
    """Rows with votes on a worker, which can be rebuilt from blocks; keeps the last evidence."""

    def __init__(self, block: VotedBlock, n_classes: int, intercept: bool) -> None:
        self._made_of = (block, n_classes, intercept)
        X, indicators, truth, weights = block
        n_rows = X.shape[0]
        self.engine = LocalEngine(
            X, np.zeros(n_rows, dtype=np.intp), 1, weights, intercept=intercept
        )
        by_row = copy.copy(self.engine)
        by_row.codes, by_row.n_codes = np.arange(n_rows), n_rows
        crowd = Crowd(indicators, truth, indicators.shape[1] // n_classes, n_classes)
        self.votes = LocalVotes(X, np.arange(n_classes), np.arange(0), by_row, crowd, weights)
        self._last: tuple[FloatArray, RowEvidence] | None = None

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Identifies these rows after they were computed again."""
        X, indicators, truth, weights = self._made_of[0]
        votes = indicators @ np.arange(1.0, 1.0 + indicators.shape[1])
        return Fingerprint.of(X, weights, truth, votes)

    def evidence(self, matrices: FloatArray) -> RowEvidence:
        """Return the evidence of the votes through annotators' matrices; the last is kept."""
        last = self._last
        if last is None or not np.array_equal(last[0], matrices):
            last = self._last = matrices, self.votes.evidence(matrices)
        return last[1]

    def likelihood(self, weights: FloatArray, matrices: FloatArray) -> LikelihoodPass:
        """Return the likelihood of the votes; its posterior has an entry per row."""
        evidence = self.evidence(matrices).evidence
        return self.votes.engine.likelihood(weights, evidence, np.ones(len(evidence)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the rows, not what was computed from them."""
        return VotedPart, self._made_of

    def __sizeof__(self) -> int:
        """Return the size, so that Dask moves tasks rather than rows."""
        X, indicators, truth, weights = self._made_of[0]
        return int(X.data.nbytes + 2 * indicators.data.nbytes + truth.nbytes + weights.nbytes)


def build_voted_part(blocks: Sequence[VotedBlock], n_classes: int, intercept: bool) -> VotedPart:
    """Join blocks of rows with votes."""
    filled = [block for block in blocks if block[0].shape[0]]
    if not filled:
        raise ValueError("A part of the rows is empty.")
    if len(filled) == 1:
        return VotedPart(filled[0], n_classes, intercept)
    rows, indicators, truths, weights = zip(*filled, strict=True)
    X = sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    votes = sparse.vstack(indicators, format="csr")
    joined = (X, votes, np.concatenate(truths), np.concatenate(weights))
    return VotedPart(joined, n_classes, intercept)


class DaskVotes:
    """Rows and votes on workers, with the interface of `LocalVotes`; there is one label code."""

    def __init__(
        self, rows: DaskRows, classes: Labels, annotators: Labels, *, intercept: bool
    ) -> None:
        self.X, self.classes, self.annotators = rows, classes, annotators
        build = partial(build_voted_part, n_classes=len(classes), intercept=intercept)
        self._pool = PartPool(rows.blocks, rows.homes, rows.n_rows, rows.n_bytes, build)
        self.n_features, self._intercept = rows.shape[1] + intercept, intercept

    def votes_alone(self) -> tuple[Answers, Expectation]:
        """Return the votes that count, and the statistics of the majority vote."""
        return self, reduce(add, self._pool.ask_all(_majorities, None))

    def expect(self, matrices: FloatArray, prior: FloatArray) -> Expectation:
        """Sum up the posterior that matrices (A, Q, Q) and class shares (Q,) give."""
        found: Expectation = reduce(add, self._pool.ask_all(_expect, (matrices, prior)))
        return found

    def evidence(self, matrices: FloatArray) -> RowEvidence:
        """Return the evidence of the votes through annotators' matrices, (A, Q, Q)."""
        weight, logs = np.sum(self._pool.ask_all(_scale, matrices), axis=0)
        engine = VotedEngine(self._pool, self.n_features, self._intercept, matrices)
        return RowEvidence(engine, np.ones((1, len(self.classes))), float(logs / weight))

    def counts(self, state: LikelihoodState, matrices: FloatArray) -> FloatArray:
        """Return expected answers by annotator, true class and label, (A, Q, Q)."""
        question = (state.weights, matrices)
        counts: FloatArray = reduce(add, self._pool.ask_all(_answer_counts, question))
        return counts


class VotedEngine(DaskEngine):
    """Rows on workers with votes, for given matrices of the annotators; there is one label code."""

    def __init__(
        self, pool: PartPool, n_features: int, intercept: bool, matrices: FloatArray
    ) -> None:
        super().__init__(pool, n_features, intercept)
        self._matrices = matrices

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Return the likelihood of the votes; `mixing` and `code_weights` are ignored."""
        question = (weights, self._matrices)
        measured: LikelihoodPass = reduce(add, self._pool.ask_all(_measure, question))
        return measured


def _majorities(part: VotedPart, _: None) -> Expectation:
    return part.votes.votes_alone()[1]


def _expect(part: VotedPart, question: tuple[FloatArray, FloatArray]) -> Expectation:
    return part.votes.counted.expect(*question)


def _scale(part: VotedPart, matrices: FloatArray) -> FloatArray:
    """Return the weight of all rows, and the weighted sum of their offsets."""
    weight = part.engine.weights.sum()
    return np.array([weight, weight * part.evidence(matrices).offset])


def _measure(part: VotedPart, question: tuple[FloatArray, FloatArray]) -> LikelihoodPass:
    measured = part.likelihood(*question)
    return replace(measured, posterior=measured.posterior.sum(axis=0, keepdims=True))


def _answer_counts(part: VotedPart, question: tuple[FloatArray, FloatArray]) -> FloatArray:
    return part.votes.crowd.counts(part.likelihood(*question).posterior)
