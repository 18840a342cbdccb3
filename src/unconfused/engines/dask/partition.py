"""Partition of rows on Dask workers: exact pair norms from few vectors.

An update vector z is a sum over workers, and no single worker knows its norm. Sending the Q x Q
vectors of every worker would cost Q x Q x d numbers per update. But z stays close to its reference
r, its value when the client last requested it. With r known to all workers,

    |z|^2 = (r.z / |r|)^2 + |component of z orthogonal to r|^2

r.z is additive over workers, and the orthogonal component is no longer than the sum of those of the
workers' own changes. So two Q x Q tables bound every norm, up to an error of second order, and only
pairs that could still have the largest norm are requested.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.engines.base import CellTables

if TYPE_CHECKING:
    from unconfused._matrix import Unmixing
    from unconfused.engines.dask.parts import Part
    from unconfused.engines.dask.pool import PartPool

Pair = tuple[int, int]

ROUNDING = 1e-12
"""Relative widening of the bounds, for rounding."""

REFERENCE_BYTES = 256 * 2**20
"""Memory for references on every worker; the worker's own sums take as much again."""


@dataclass(frozen=True)
class Command:
    """Request of the client to every part."""

    key: str
    serial: int
    """A partition continues only from the preceding command: there may be an outdated copy."""

    begins: bool
    """Whether references are dropped first: some part may lack those that others have."""

    start: tuple[FloatArray, Unmixing, float] | None = None
    """Weights, unmixing and margin, for a part that cannot continue from its last command."""

    step: tuple[FloatArray, FloatArray] | None = None
    """Steps and direction of a move."""

    references: tuple[tuple[Pair, ...], FloatArray] | None = None
    """New references: the pairs requested last, and their sums over all parts."""

    pairs: tuple[Pair, ...] = ()
    """Pairs whose unmixed sums are requested."""

    drift: bool = False
    """Whether to compare all unmixed sums with their references."""


@dataclass(frozen=True)
class Answer:
    """Reply of a part; additive over parts."""

    tables: CellTables | None
    """Cell tables; None if only vectors were requested."""

    vectors: FloatArray
    """Unmixed sums (not means) of the requested pairs, (pairs, features)."""

    drift: FloatArray | None = None
    """Inner products of the unmixed sums with their references (0 without one), and the change of
    the own unmixed sums since requested, orthogonal to the references, (2, Q, Q)."""

    def __add__(self, other: Answer) -> Answer:
        """Add the answers of two parts."""
        return Answer(
            _plus(self.tables, other.tables),
            self.vectors + other.vectors,
            _plus(self.drift, other.drift),
        )


def _plus(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one + other


class DaskPartition:
    """Partition whose norm bounds come from references; see `base.Partition`.

    `carry_out` executes a command on a part; it returns None if it needs the full weights to do so.
    """

    def __init__(
        self,
        pool: PartPool,
        carry_out: Callable[[Part, Command], Answer | None],
        n_features: int,
        unmixing: Unmixing,
        alpha: float,
        total: float,
    ) -> None:
        self._pool, self._carry_out = pool, carry_out
        self._alpha, self._total = alpha, total
        n_classes = unmixing.n_classes
        self._weights = np.zeros((n_classes, n_features))
        self._serial, self._begins = 0, True
        self._step: tuple[FloatArray, FloatArray] | None = None
        self._answer: Answer | None = None
        self._in_doubt = False
        self._new_references: tuple[tuple[Pair, ...], FloatArray] | None = None
        self._lengths = np.zeros((n_classes, n_classes))
        """Norms of the references; 0 without one."""

        self._vectors: dict[Pair, FloatArray] = {}
        """Current unmixed sums of the pairs requested since the last step."""

        self.set_unmixing(unmixing)

    def set_unmixing(self, unmixing: Unmixing) -> None:
        self._unmixing, self._key = unmixing, uuid.uuid4().hex
        self.restart(self._weights)

    def restart(self, weights: FloatArray) -> None:
        self._weights = weights.copy()
        self._change(None)
        self._forget()

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        in_step = self._answer is not None and self._weights.any()
        for r in np.flatnonzero(steps):
            self._weights[r] += steps[r] * direction
        self._change((steps.copy(), direction.copy()) if in_step else None)
        if not in_step:
            self._forget()

    def tables(self) -> CellTables:
        # After a step the bounds are needed next: request both in one round trip.
        tables = self._query(drift=self._step is not None).tables
        assert tables is not None
        return tables

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        drift, norms = self._query(drift=True).drift, self._lengths
        assert drift is not None
        products, distances = drift
        along = np.abs(np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0))
        slack = ROUNDING * (norms + along + distances)
        lower = np.maximum(along - slack, 0.0)
        upper = np.hypot(along, distances) + slack
        for pair in self._vectors:  # requested since the last step: equal to the references
            lower[pair] = upper[pair] = norms[pair]
        if self._at_zero:
            lower, upper = np.tile(lower[:1], (len(lower), 1)), np.tile(upper[:1], (len(upper), 1))
        return lower / self._total, upper / self._total

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        self.measure([(predicted, true)])
        return self._vectors[self._place((predicted, true))] / self._total

    def update_vectors(self, predicted: int) -> FloatArray:
        pairs = [(predicted, true) for true in range(len(self._weights))]
        self.measure(pairs)  # in one request
        return np.array([self.update_vector(*pair) for pair in pairs])

    def measure(self, pairs: Sequence[Pair]) -> None:
        """Request unmixed sums not known yet from all parts; they become the references."""
        places = {self._place(pair): None for pair in pairs}
        wanted = tuple(place for place in places if place not in self._vectors)
        if not wanted:
            return
        self._query()
        sums = self._query(pairs=wanted).vectors
        self._in_doubt = True  # until the reply is recorded here
        self._vectors.update(zip(wanted, sums, strict=True))
        rows, columns = zip(*wanted, strict=True)
        self._lengths[rows, columns] = lengths(sums)
        self._new_references = wanted, sums
        self._in_doubt = False

    @property
    def _at_zero(self) -> bool:
        return not self._weights.any()

    def _place(self, pair: Pair) -> Pair:
        """Return the representative of a pair: at zero weights all regions are the same."""
        return (0, pair[1]) if self._at_zero else pair

    def _change(self, step: tuple[FloatArray, FloatArray] | None) -> None:
        self._step, self._answer = step, None
        self._vectors = {}

    def _forget(self) -> None:
        """Drop all references, here and, with the next command, on the workers."""
        self._begins, self._new_references = True, None
        self._lengths.fill(0.0)
        self._vectors = {}
        if self._answer is not None:  # distances from dropped references are void
            self._answer = replace(self._answer, drift=None)

    def _query(self, drift: bool = False, pairs: tuple[Pair, ...] = ()) -> Answer:
        """Have all parts assign their rows by the current weights, and sum their answers."""
        known = self._answer
        if known is not None and not pairs and (known.drift is not None or not drift):
            return known
        if drift and not (self._pool.kept and self._references_fit()):
            self._forget()
        parts = range(len(self._pool))
        behind = set(parts) if self._must_restart() else set()
        self._serial += 1
        self._in_doubt = True
        while True:
            commands = [self._command(i in behind, drift, pairs) for i in parts]
            answers = self._pool.ask(self._carry_out, commands)
            behind = {i for i in parts if answers[i] is None}
            if not behind:
                break
            # A part that lost its partition lost its references too, so all of them are void.
            self._forget()
            self._pool.find_homes()
        self._new_references, self._in_doubt, self._begins = None, False, False
        answer: Answer = reduce(add, answers)
        if answer.tables is not None:
            self._answer = answer
        return answer

    def _references_fit(self) -> bool:
        n_references = np.count_nonzero(self._lengths)
        return bool(n_references * self._weights.shape[1] * 8 <= REFERENCE_BYTES)

    def _must_restart(self) -> bool:
        """Return whether the parts cannot continue from their last command."""
        if self._in_doubt:  # an interrupt may have left some of them behind
            self._forget()
            return True
        return not self._pool.kept or (self._answer is None and self._step is None)

    def _command(self, restart: bool, drift: bool, pairs: tuple[Pair, ...]) -> Command:
        return Command(
            key=self._key,
            serial=self._serial,
            begins=self._begins,
            start=(self._weights, self._unmixing, self._alpha) if restart else None,
            step=None if restart or self._answer is not None else self._step,
            references=self._new_references,
            pairs=pairs,
            drift=drift,
        )


def lengths(vectors: FloatArray) -> FloatArray:
    """Return the Euclidean norm of every vector."""
    norms: FloatArray = np.sqrt(np.einsum("kj,kj->k", vectors, vectors))
    return norms
