"""Code that runs on a Dask worker: a local engine over its rows, with cached partitions.

A task receives a part of the rows and a command, and returns small tables. The part is an ordinary
Dask result that can be recomputed from its inputs. What it caches between tasks (scores,
assignments, cell sums: `WorkerPartition`) only saves time: it is dropped when the part moves or is
spilled to disk, and a command that finds it missing or out of date returns None.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.dask.partition import Answer, lengths

if TYPE_CHECKING:
    from unconfused.engines.base import RowMap
    from unconfused.engines.dask.partition import Command, Pair
    from unconfused.engines.local.engine import LocalEngine
    from unconfused.engines.local.partition import LocalPartition

Block = tuple[Any, IntArray, FloatArray]
"""Rows, their label codes, their weights."""

MakeEngine: TypeAlias = "Callable[..., LocalEngine]"
"""Make an engine of rows, label codes and `sample_weight`."""

TOLERANCE = 1e-6
"""Relative tolerance of the sums in a fingerprint: machines round differently."""


class WorkerPartition:
    """A local partition, its last command, and the references of its update sums."""

    def __init__(self, partition: LocalPartition, n_classes: int) -> None:
        self.local = partition
        self.serial = -1
        self._total = partition.total
        self._tables = np.zeros((2, n_classes, n_classes))
        self.begin()

    def begin(self) -> None:
        """Drop all references."""
        self._asked: dict[Pair, FloatArray] = {}
        """Own unmixed sums when the client last requested them."""

        self._references: dict[Pair, FloatArray] = {}
        """The same summed over all parts, as sent by the client."""

        self._compared = np.full(self._tables.shape[1], -1)
        """Version of every region when last compared with its references; -1 if outdated."""

    def set_references(self, pairs: Sequence[Pair], references: FloatArray) -> None:
        """Store the sums over all parts of these pairs."""
        # Copies: a view would keep the whole array alive.
        self._references.update(zip(pairs, map(np.copy, references), strict=True))
        self._compared[[predicted for predicted, _ in pairs]] = -1

    def ask(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return the own unmixed sums of these pairs, (pairs, features), and store them."""
        sums = np.zeros((len(pairs), self.local.n_features))
        if self._total > 0:  # without any weight there is no mean
            for own, pair in zip(sums, pairs, strict=True):
                own[:] = self.local.update_vector(*pair) * self._total
        self._asked.update(zip(pairs, map(np.copy, sums), strict=True))
        self._compared[[predicted for predicted, _ in pairs]] = -1
        return sums

    def drift(self) -> FloatArray:
        """Compare all unmixed sums with their references; return two tables, (Q, Q) each.

        The first has the inner products with the references (0 without one), the second the change
        since the last request (or from 0) orthogonal to the reference. Unchanged regions are
        skipped.
        """
        versions = self.local.region_versions()
        outdated = np.flatnonzero(self._compared != versions)
        # At zero weights all regions are the same, and the first represents them.
        for predicted in outdated[: 1 if self.local.at_zero else None].tolist():
            own = self.local.region_sums(predicted)
            self._tables[0, predicted] = 0.0
            for true in range(len(own)):
                reference = self._references.get((predicted, true))
                if reference is not None:
                    self._tables[0, predicted, true] = reference @ own[true]
                    own[true] = across(own[true] - self._asked[predicted, true], reference)
            self._tables[1, predicted] = lengths(own)
        self._compared = versions
        return self._tables.copy()


def across(vector: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the component of a vector orthogonal to a direction; all of it if that is 0."""
    with np.errstate(over="ignore", invalid="ignore"):  # the solver reports overflow
        square = direction @ direction
        if not square > 0:
            return vector
        rest: FloatArray = vector - (direction @ vector) / square * direction
    return rest


@dataclass(frozen=True)
class Fingerprint:
    """Sums that tell whether rows computed a second time are the same."""

    n_rows: int
    sums: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, X: Any, weights: FloatArray, *columns: Any) -> Fingerprint:
        """Sum a projection of the rows, and its products with columns of labels."""
        with np.errstate(all="ignore"):
            # Not the row sums: normalized rows have all the same.
            direction = np.cos(np.arange(X.shape[1])).astype(X.dtype)
            projected = np.asarray(X @ direction, dtype=np.float64)
            labels = np.stack([np.ones(len(weights)), *columns])
            terms = np.concatenate([weights * labels, weights * projected * labels])
            return cls(len(weights), terms.sum(axis=1), np.abs(terms).sum(axis=1))

    def differs_from(self, other: Fingerprint) -> bool:
        """Return whether these are different rows, beyond rounding of the sums."""
        if self.n_rows != other.n_rows:
            return True
        with np.errstate(all="ignore"):  # sums that overflow compare as equal
            return bool(np.any(np.abs(self.sums - other.sums) > TOLERANCE * self.sizes))


class Part:
    """A local engine over some rows, with cached partitions."""

    def __init__(self, block: Block, make_engine: MakeEngine) -> None:
        self._made_of = (block, make_engine)
        X, codes, weights = block
        self.engine = make_engine(X, codes, sample_weight=weights)
        self.forget()

    def forget(self) -> None:
        """Drop the cached partitions, which costs only time."""
        self.partitions: dict[str, WorkerPartition] = {}
        self._rest: tuple[str, Part] | None = None
        # An interrupted client may send a command while the abandoned task is still running.
        self.lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Fingerprint of these rows."""
        X, codes, weights = self._made_of[0]
        return Fingerprint.of(X, weights, codes)

    def mapped(self, change: RowMap) -> Part:
        """Return a part with changed copies of these rows."""
        (_, codes, weights), make_engine = self._made_of
        return Part((self.engine.rows.mapped(change), codes, weights), make_engine)

    def without(self, name: str, rows: IntArray) -> Part:
        """Return a part in which some rows have weight 0; the last one is cached."""
        if self._rest is None or self._rest[0] != name:
            X, codes, weights = self._made_of[0]
            weights = weights.copy()
            weights[rows] = 0.0
            rest = object.__new__(Part)  # shares everything but weights and caches
            rest._made_of = ((X, codes, weights), self._made_of[1])
            rest.engine = copy.copy(self.engine)
            rest.engine.weights = weights
            vars(rest.engine).pop("code_counts", None)  # of all rows
            rest.forget()
            self._rest = name, rest
        return self._rest[1]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the rows without the cached partitions."""
        return Part, self._made_of

    def __sizeof__(self) -> int:
        """Report the size of the rows, so that Dask moves tasks rather than parts."""
        X, codes, weights = self._made_of[0]
        return int(X.data.nbytes + codes.nbytes + weights.nbytes)


def build_part(blocks: Sequence[Block], n_columns: int, make_engine: MakeEngine) -> Part:
    """Join blocks of rows into one part; rows are copied only if there are several blocks."""
    filled = [block for block in blocks if block[0].shape[0]]
    if not filled:
        raise ValueError("A part of the rows is empty.")
    if len(filled) == 1:
        X, codes, weights = filled[0]
    else:
        rows, all_codes, all_weights = zip(*filled, strict=True)
        if any(sparse.issparse(block) for block in rows):
            X = sparse.vstack(rows, format="csr")
        else:
            X = np.concatenate(rows)
        codes, weights = np.concatenate(all_codes), np.concatenate(all_weights)
    if X.shape[1] != n_columns:
        raise ValueError(f"A block of X has {X.shape[1]} columns, not {n_columns}.")
    return Part((X, codes, weights), make_engine)


def carry_out(part: Part, command: Command) -> Answer | None:
    """Execute a command; return None if the part needs the full weights to do so."""
    with part.lock:
        held = _up_to_date(part, command)
        if held is None:
            return None
        own = held.ask(command.pairs)
        tables = held.local.tables() if command.drift or not command.pairs else None
        return Answer(tables, own, held.drift() if command.drift else None)


def _up_to_date(part: Part, command: Command) -> WorkerPartition | None:
    held = part.partitions.get(command.key)
    if command.start is not None:
        weights, unmixing, alpha = command.start
        if held is None:
            partition = part.engine.partition(unmixing, alpha)
            held = part.partitions[command.key] = WorkerPartition(partition, unmixing.n_classes)
        held.serial = -1  # in case it is interrupted
        held.local.restart(weights)
    elif held is None or held.serial not in (command.serial - 1, command.serial):
        return None
    elif held.serial < command.serial and command.step is not None:
        held.serial = -1
        held.local.move(*command.step)
    held.serial = command.serial
    if command.begins:
        held.begin()
    if command.references is not None:
        held.set_references(*command.references)
    return held


def ask_engine(part: Part, question: Callable[[LocalEngine], Any]) -> Any:
    """Call a function of the local engine."""
    return question(part.engine)
