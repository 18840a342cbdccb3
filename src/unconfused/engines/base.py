"""What the algorithms ask of an engine, and nothing more.

An engine holds rows, each with a label code and a weight. A `Partition` cuts these rows into cells
by what the current weights predict (p) and by the label code (s), and answers with tables of
Q x Q or Q x S numbers, or with one vector over the features. Everything summed over rows adds up
over blocks of rows, so that a distributed engine is a local one per block, then ``+``.

A partition is told how the weights change, not only what they are: it may keep scores, predictions
and cell sums between updates and touch only what an update moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray

TIE = 1e-12
"""Scores of a row closer than this share of their scale are tied: the lowest class wins."""


@dataclass(frozen=True)
class CellTables:
    """What each cell (predicted class, label code) holds; tables of row blocks add up."""

    counts: FloatArray
    """Total weight of the rows, (Q, S)."""

    squares: FloatArray
    """Weighted sum of the rows' squared norms, (Q, S)."""

    def __add__(self, other: CellTables) -> CellTables:
        """Join the tables of two blocks of rows."""
        return CellTables(self.counts + other.counts, self.squares + other.squares)


@dataclass(frozen=True)
class LikelihoodPass:
    """What one pass over the rows says of given weights; passes over row blocks add up."""

    loss: float
    """Weighted sum of -log P(label | row)."""

    gradient: FloatArray
    """Its derivative by the weights, (Q, features)."""

    posterior: FloatArray
    """Weighted sum of P(true class | row, label) by label code, (S, Q)."""

    def __add__(self, other: LikelihoodPass) -> LikelihoodPass:
        """Join the passes over two blocks of rows."""
        return LikelihoodPass(
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.posterior + other.posterior,
        )


class Partition(Protocol):
    """The rows of an engine, cut into cells by the current weights."""

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights, (Q, features). With all of them 0, every row is in
        every predicted class."""  # noqa: D205, D209 - one sentence each
        ...

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        ...

    def tables(self) -> CellTables:
        """Return what the cells hold."""
        ...

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return numbers between which the norm of every update vector lies, two of (Q, Q)."""
        ...

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Close the bounds on these pairs' norms, or bring them closer; ask until they are."""
        ...

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        ...


class ExactNorms:
    """The bounds of a partition that knows all norms at once."""

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        raise NotImplementedError

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the norms twice: they are their own bounds."""
        norms = self.pair_norms()
        return norms, norms

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Do nothing: the norms are exact."""


class Engine(Protocol):
    """Rows with label codes and weights."""

    intercept: bool
    """Whether the last feature is the constant 1."""

    @property
    def n_features(self) -> int:
        """Columns of the weights, the intercept's included."""
        ...

    @property
    def code_counts(self) -> FloatArray:
        """Total weight of the rows with each label code."""
        ...

    @property
    def code_squares(self) -> FloatArray:
        """Weighted sum of the squared norms of the rows with each label code."""
        ...

    def code_sums(self) -> FloatArray:
        """Return the weighted sum of the rows with each label code, (S, features)."""
        ...

    def feature_squares(self) -> FloatArray:
        """Return the weighted sum of the rows' squared entries, (features,)."""
        ...

    def second_moment(self) -> FloatArray:
        """Return the weighted sum of x x' over the rows, (features, features)."""
        ...

    def second_moment_product(self, vectors: FloatArray) -> FloatArray:
        """Return the second moment times vectors, (features, k), without writing it out."""
        ...

    def partition(self, unmixing: Unmixing, alpha: float) -> Partition:
        """Return a cut of the rows, for rows predicted with a margin of at least `alpha`."""
        ...

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Measure weights against the labels.

        Parameters
        ----------
        weights : (Q, features)
        mixing : (S, Q), the chance of each label code given each true class; not 0 for all of them
        code_weights : (S,), what a row with each code counts, times its own weight
        """
        ...


@runtime_checkable
class ScoringEngine(Engine, Protocol):
    """An engine that can put scores in the place of rows."""

    def scored(self, weights: FloatArray) -> Engine | None:
        """Return the same labels on rows that are the scores of these rows; None if too many.

        Whatever is asked of weights that are multiples of these costs as little there as it does
        with Q features.
        """
        ...
