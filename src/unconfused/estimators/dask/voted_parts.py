"""Rows with votes on Dask workers: what a worker does, and how the client adds it up.

A worker holds its rows with the votes on them, and is sent the weights and the annotators'
matrices. What the votes say of every row is worked out there; only sums come back.
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
from unconfused.estimators.annotators.crowd import SeenRows
from unconfused.estimators.annotators.voted_rows import LocalVotes
from unconfused.solvers.likelihood import LikelihoodState

VotedBlock = tuple[Any, Any, IntArray, FloatArray]
"""Rows, their votes as indicators, their truths, their weights."""


class VotedPart:
    """Rows with votes on a worker: what can be made again from blocks, and one evidence."""

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
        self.votes = LocalVotes(X, np.arange(n_classes), np.arange(0), by_row, crowd)
        self._seen: tuple[FloatArray, SeenRows] | None = None

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """By what these rows are known again."""
        X, indicators, truth, weights = self._made_of[0]
        votes = indicators @ np.arange(1.0, 1.0 + indicators.shape[1])
        return Fingerprint.of(X, weights, truth, votes)

    def through(self, matrices: FloatArray) -> SeenRows:
        """Return the rows as seen through matrices; the last time is remembered."""
        last = self._seen
        if last is None or not np.array_equal(last[0], matrices):
            last = self._seen = matrices, self.votes.through(matrices)
        return last[1]

    def likelihood(self, weights: FloatArray, matrices: FloatArray) -> LikelihoodPass:
        """Measure weights against the votes; the posterior is one of every row."""
        evidence = self.through(matrices).evidence
        return self.votes.engine.likelihood(weights, evidence, np.ones(len(evidence)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the rows travel, not what is remembered of them."""
        return VotedPart, self._made_of

    def __sizeof__(self) -> int:
        """Tell Dask what moving this costs, so that it moves the tasks instead."""
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
    """Rows and votes on workers; see `VotedRows`. All rows have one label code in common."""

    def __init__(
        self, rows: DaskRows, classes: Labels, annotators: Labels, *, intercept: bool
    ) -> None:
        self.X, self.classes, self.annotators = rows, classes, annotators
        build = partial(build_voted_part, n_classes=len(classes), intercept=intercept)
        self._pool = PartPool(rows.blocks, rows.homes, rows.n_rows, rows.n_bytes, build)
        self.n_features, self._intercept = rows.shape[1] + intercept, intercept

    def votes_alone(self) -> tuple[Answers, Expectation]:
        """Return the answers on the rows that count, and what their majorities say in sum."""
        return self, reduce(add, self._pool.ask_all(_majorities, None))

    def expect(self, matrices: FloatArray, prior: FloatArray) -> Expectation:
        """Sum up the posterior that matrices (A, Q, Q) and class shares (Q,) give."""
        found: Expectation = reduce(add, self._pool.ask_all(_expect, (matrices, prior)))
        return found

    def through(self, matrices: FloatArray) -> SeenRows:
        """Return the rows as seen through annotators' matrices, (A, Q, Q)."""
        weight, logs = np.sum(self._pool.ask_all(_scale, matrices), axis=0)
        engine = VotedEngine(self._pool, self.n_features, self._intercept, matrices)
        return SeenRows(engine, np.ones((1, len(self.classes))), float(logs / weight))

    def counts(self, state: LikelihoodState, matrices: FloatArray) -> FloatArray:
        """Count expected answers by annotator, true class and label, (A, Q, Q)."""
        question = (state.weights, matrices)
        counts: FloatArray = reduce(add, self._pool.ask_all(_answer_counts, question))
        return counts


class VotedEngine(DaskEngine):
    """Rows on workers whose votes are seen through annotators' matrices.

    What the votes say of each row is known to its worker, so there is one label code, of all rows.
    """

    def __init__(
        self, pool: PartPool, n_features: int, intercept: bool, matrices: FloatArray
    ) -> None:
        super().__init__(pool, n_features, intercept)
        self._matrices = matrices

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Measure weights against the votes; `mixing` and `code_weights` say nothing here."""
        question = (weights, self._matrices)
        measured: LikelihoodPass = reduce(add, self._pool.ask_all(_measure, question))
        return measured


def _majorities(part: VotedPart, _: None) -> Expectation:
    return part.votes.votes_alone()[1]


def _expect(part: VotedPart, question: tuple[FloatArray, FloatArray]) -> Expectation:
    return part.votes.counted.expect(*question)


def _scale(part: VotedPart, matrices: FloatArray) -> FloatArray:
    """Return the weight of all rows, and the sum of the logs of their scales."""
    weight = part.engine.weights.sum()
    return np.array([weight, weight * part.through(matrices).offset])


def _measure(part: VotedPart, question: tuple[FloatArray, FloatArray]) -> LikelihoodPass:
    measured = part.likelihood(*question)
    return replace(measured, posterior=measured.posterior.sum(axis=0, keepdims=True))


def _answer_counts(part: VotedPart, question: tuple[FloatArray, FloatArray]) -> FloatArray:
    return part.votes.crowd.counts(part.likelihood(*question).posterior)
