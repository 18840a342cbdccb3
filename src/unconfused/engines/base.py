"""The interface between the solvers and the data.

An engine holds rows, each with a label code and a weight. A `Partition` groups them into cells by
predicted class (p) and label code (s), and returns Q x Q or Q x S tables or single vectors of
features. Every statistic is a sum over rows, so a distributed engine is one local engine per block
of rows, then ``+``.

A partition is told each change of the weights, so it can cache scores, predictions and cell sums
and update only what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unconfused._typing import FloatArray

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing

TIE = 1e-12
"""Relative tolerance below which two scores of a row are tied; the lowest class wins."""


@dataclass(frozen=True)
class CellTables:
    """Contents of every cell (predicted class, label code); additive over blocks of rows."""

    counts: FloatArray
    """Total weight of the rows, (Q, S)."""

    squares: FloatArray
    """Weighted sum of the rows' squared norms, (Q, S)."""

    def __add__(self, other: CellTables) -> CellTables:
        """Add the tables of two blocks of rows."""
        return CellTables(self.counts + other.counts, self.squares + other.squares)


@dataclass(frozen=True)
class LikelihoodPass:
    """Result of one likelihood pass over the rows; additive over blocks of rows."""

    loss: float
    """Weighted sum of -log P(label | row)."""

    gradient: FloatArray
    """Gradient of the loss with respect to the weights, (Q, features)."""

    posterior: FloatArray
    """Weighted sum of P(true class | row, label) by label code, (S, Q)."""

    def __add__(self, other: LikelihoodPass) -> LikelihoodPass:
        """Add the passes over two blocks of rows."""
        return LikelihoodPass(
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.posterior + other.posterior,
        )


@dataclass(frozen=True)
class RowMap:
    """Linear change of the features of all rows, without the intercept.

    Rows x become ``(x - centre) @ matrix``, or ``x * matrix`` if `matrix` is a vector: a scaling,
    which keeps rows sparse and does not centre them.
    """

    matrix: FloatArray
    """(d, d) or (d,)."""

    inverse: FloatArray
    """Inverse of the matrix, or of the scales."""

    centre: FloatArray
    """(d,); zeros without an intercept, and for a scaling."""

    def apply(self, rows: Any) -> Any:
        """Return the new rows, (n, d); sparse ones stay sparse if they are only scaled."""
        product = _times(rows, self.matrix)
        if self.matrix.ndim == 2:
            product -= self.centre @ self.matrix
        return product

    def to_mapped(self, weights: FloatArray) -> FloatArray:
        """Return weights, (Q, features), that score the new rows as these score the old ones."""
        features, intercepts = np.split(weights, [len(self.centre)], axis=1)
        offsets = (features @ self.centre)[:, np.newaxis]
        return np.hstack([_times(features, self.inverse.T), intercepts + offsets])

    def from_mapped(self, weights: FloatArray) -> FloatArray:
        """Undo `to_mapped`."""
        features, intercepts = np.split(weights, [len(self.centre)], axis=1)
        features = _times(features, self.matrix.T)
        return np.hstack([features, intercepts - (features @ self.centre)[:, np.newaxis]])

    def sums_from_mapped(self, vector: FloatArray) -> FloatArray:
        """Return a weighted sum of the old rows, (features,), given that of the new ones."""
        features, weight = np.split(vector, [len(self.centre)])
        # With an intercept, the last entry of a sum is its weight.
        return np.append(_times(features, self.inverse) + weight.sum() * self.centre, weight)


def _times(rows: Any, matrix: FloatArray) -> Any:
    return rows * matrix if matrix.ndim == 1 else rows @ matrix


def posterior(xp: Any, scores: Any, log_chances: Any) -> tuple[Any, Any, Any]:
    """Return -log P(label), P(class) and P(class | label) of every row, by log-sum-exp.

    `log_chances` are log P(label | class), -inf for 0; at least one per row must be finite.
    """
    scores = scores - xp.max(scores, axis=1, keepdims=True)  # less cancellation in the loss
    log_total, shares = softmax(xp, scores)
    log_seen, responsible = softmax(xp, scores + log_chances)
    return log_total - log_seen, shares, responsible


def softmax(xp: Any, levels: Any) -> tuple[Any, Any]:
    """Return the log-sum-exp and the softmax of every row."""
    highest = xp.max(levels, axis=1, keepdims=True)
    shares = xp.exp(levels - highest)
    total = xp.sum(shares, axis=1, keepdims=True)
    return (highest + xp.log(total))[:, 0], shares / total


def logarithms(chances: FloatArray) -> FloatArray:
    """Return logarithms, with log 0 = -inf."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chances))


class Partition(Protocol):
    """Assignment of the rows to cells by the current weights."""

    def restart(self, weights: FloatArray) -> None:
        """Assign all rows by these weights, (Q, features).

        While all weights are 0, every row belongs to every predicted class.
        """

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and reassign the rows."""

    def set_unmixing(self, unmixing: Unmixing) -> None:
        """Unmix the sums of cells by other coefficients; rows stay where they are."""

    def tables(self) -> CellTables:
        """Return counts and squared norms of all cells."""

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds on the norms of all update vectors, (Q, Q) each."""

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Tighten the norm bounds of these pairs; repeated calls make them exact."""

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z_pq: the unmixed sum of the pair divided by the total weight of all rows."""

    def update_vectors(self, predicted: int) -> FloatArray:
        """Return the update vectors of a region for all true classes, (Q, features)."""


def exact_norms(partition: Partition) -> FloatArray:
    """Return the norm of every update vector, (Q, Q)."""
    lower, upper = partition.norm_bounds()
    while np.any(lower < upper):  # a loop, as a lost worker can invalidate measured norms
        partition.measure([(p, q) for p, q in np.argwhere(lower < upper).tolist()])
        lower, upper = partition.norm_bounds()
    return upper


class ExactNorms:
    """Mixin for partitions that compute all norms exactly; implement `pair_norms`."""

    def pair_norms(self) -> FloatArray:
        """Return the norm of every update vector, (Q, Q)."""
        raise NotImplementedError

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the exact norms as both bounds."""
        norms = self.pair_norms()
        return norms, norms

    def measure(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Do nothing: the norms are already exact."""


class Moments(Protocol):
    """Sums over weighted rows with label codes."""

    @property
    def intercept(self) -> bool:
        """Whether the last feature is the constant 1."""

    @property
    def n_features(self) -> int:
        """Number of features, including the intercept."""

    @property
    def code_counts(self) -> FloatArray:
        """Total weight of the rows with each label code."""

    @property
    def code_squares(self) -> FloatArray:
        """Weighted sum of the squared norms of the rows with each label code."""

    def code_sums(self) -> FloatArray:
        """Return the weighted sum of the rows with each label code, (S, features)."""

    @property
    def density(self) -> float:
        """Share of the entries of the rows that are stored; 1 for arrays."""

    def feature_squares(self) -> FloatArray:
        """Return the weighted sum of the rows' squared entries, (features,)."""

    def second_moment(self) -> FloatArray:
        """Return the weighted sum of x x' over the rows, (features, features)."""


class Engine(Moments, Protocol):
    """Weighted rows with label codes."""

    def mapped(self, change: RowMap) -> Engine:
        """Return an engine over changed copies of these rows."""

    def second_moment_product(self, vectors: FloatArray) -> FloatArray:
        """Return the second moment times vectors, (features, k), without forming the matrix."""

    def partition(self, unmixing: Unmixing, alpha: float) -> Partition:
        """Return a partition at zero weights; a row needs a margin of at least `alpha`."""

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        """Compute loss, gradient and posterior of the labels (the E-step) in one pass.

        Parameters
        ----------
        weights : (Q, features)
        mixing : (S, Q), P(label code | true class), with a positive entry in every row
        code_weights : (S,), factor on the weight of rows with each label code
        """

    def scored(self, weights: FloatArray) -> Engine | None:
        """Return an engine whose features are the scores of these rows, where these can be held."""


@dataclass(frozen=True)
class RunningMoments:
    """Moments of all rows so far, with the part of an engine's interface that needs no rows.

    There are always 2 Q label codes, the second half for trusted labels.
    """

    intercept: bool
    code_counts: FloatArray
    code_squares: FloatArray
    sums: FloatArray
    """(2 Q, features)."""

    second: FloatArray
    """(features, features), or its diagonal, (features,), if there are too many."""

    density: float

    @classmethod
    def of(cls, engine: Engine, n_classes: int, wide: int) -> RunningMoments:
        """Return the moments of the rows of an engine; beyond `wide` features the diagonal only."""
        missing = 2 * n_classes - len(engine.code_counts)
        narrow = engine.n_features - engine.intercept <= wide
        return cls(
            intercept=engine.intercept,
            code_counts=np.pad(engine.code_counts, (0, missing)),
            code_squares=np.pad(engine.code_squares, (0, missing)),
            sums=np.pad(engine.code_sums(), ((0, missing), (0, 0))),
            second=engine.second_moment() if narrow else engine.feature_squares(),
            density=engine.density,
        )

    def __add__(self, other: RunningMoments) -> RunningMoments:
        """Add the moments of two blocks of rows."""
        added = ("code_counts", "code_squares", "sums", "second")
        totals = {name: getattr(self, name) + getattr(other, name) for name in added}
        return replace(self, **totals, density=min(self.density, other.density))

    @property
    def n_features(self) -> int:
        return int(self.sums.shape[1])

    def code_sums(self) -> FloatArray:
        return self.sums

    def second_moment(self) -> FloatArray:
        return self.second

    def feature_squares(self) -> FloatArray:
        return np.diagonal(self.second).copy() if self.second.ndim == 2 else self.second
