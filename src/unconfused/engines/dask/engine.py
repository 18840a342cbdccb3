"""Engine for Dask collections: one local engine per worker thread, then ``+``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add, attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.dask.partition import DaskPartition
from unconfused.engines.dask.parts import ask_engine, build_part, carry_out
from unconfused.engines.dask.pool import PartPool

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing
    from unconfused.engines.base import LikelihoodPass, RowMap
    from unconfused.engines.local.engine import LocalEngine


@dataclass(frozen=True)
class DaskRows:
    """Validated, delayed blocks of rows with their label codes and weights.

    Parameters
    ----------
    blocks : one Delayed (rows, codes, weights) per block, rows C-ordered or CSR
    shape : (rows, columns); the number of rows may be NaN
    dtype : of the rows
    n_rows : number of rows of every block; NaN where unknown
    n_bytes : size of all rows; NaN if unknown
    homes : for each block, the worker that already holds it, or None
    left_out : for every block, the positions of rows to leave out; None for no rows
    """

    blocks: Sequence[Any]
    shape: tuple[float, int]
    dtype: Any
    n_rows: FloatArray
    n_bytes: float
    homes: Sequence[str | None]
    left_out: Sequence[IntArray] | None = None
    _pools: dict[tuple[int, bool], PartPool] = field(default_factory=dict, repr=False)

    def engine(self, n_codes: int, *, intercept: bool) -> DaskEngine:
        """Return an engine over these rows; all rows are loaded onto the workers once."""
        from unconfused.engines.local.engine import LocalEngine  # loads numba

        kind = (n_codes, intercept)
        if kind not in self._pools:
            make_engine = partial(LocalEngine, n_codes=n_codes, intercept=intercept)
            build = partial(build_part, n_columns=self.shape[1], make_engine=make_engine)
            self._pools[kind] = PartPool(self.blocks, self.homes, self.n_rows, self.n_bytes, build)
        pool = self._pools[kind]
        if self.left_out is not None:
            pool = pool.without(self.left_out)
        return DaskEngine(pool, self.shape[1] + intercept, intercept)


class DaskEngine:
    """Rows on workers; see `unconfused.engines.base.Engine`."""

    def __init__(self, pool: PartPool, n_features: int, intercept: bool) -> None:
        self._pool, self.n_features, self.intercept = pool, n_features, intercept

    @cached_property
    def density(self) -> float:
        entries, size = self._sum(_entries)
        return float(entries / max(1.0, size))

    def mapped(self, change: RowMap) -> DaskEngine:
        return DaskEngine(self._pool.mapped(change), self.n_features, self.intercept)

    @cached_property
    def code_counts(self) -> FloatArray:
        return np.asarray(self._sum(attrgetter("code_counts")))

    @cached_property
    def code_squares(self) -> FloatArray:
        return np.asarray(self._sum(attrgetter("code_squares")))

    @cached_property
    def _code_sums(self) -> FloatArray:
        return np.asarray(self._sum(methodcaller("code_sums")))

    def code_sums(self) -> FloatArray:
        return self._code_sums.copy()

    def feature_squares(self) -> FloatArray:
        return np.asarray(self._sum(methodcaller("feature_squares")))

    def second_moment(self) -> FloatArray:
        return np.asarray(self._sum(methodcaller("second_moment")))

    def second_moment_product(self, vectors: FloatArray) -> FloatArray:
        return np.asarray(self._sum(methodcaller("second_moment_product", vectors)))

    def partition(self, unmixing: Unmixing, alpha: float) -> DaskPartition:
        total = float(self.code_counts.sum())
        return DaskPartition(self._pool, carry_out, self.n_features, unmixing, alpha, total)

    def likelihood(
        self, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
    ) -> LikelihoodPass:
        measured: LikelihoodPass = self._sum(
            methodcaller("likelihood", weights, mixing, code_weights)
        )
        return measured

    def scored(self, weights: FloatArray) -> None:
        return None

    def _sum(self, question: Callable[[LocalEngine], Any]) -> Any:
        # In the order of the parts, whichever worker finished first: results are reproducible.
        return reduce(add, self._pool.ask(ask_engine, [question] * len(self._pool)))


def _entries(engine: LocalEngine) -> FloatArray:
    size = engine.rows.n_rows * engine.rows.n_columns
    return np.array([float(engine.rows.n_entries), float(size)])
