"""What runs on a Dask worker: a local engine over its rows, and the cut it remembers.

A task gets a part of the rows and a command, and returns small tables. The part is an ordinary
Dask result that can be made again from its inputs. What it remembers between tasks (scores,
predictions, cell sums: `Cut`) only saves time: it stays behind when the part moves or is written
to disk, and a command that finds it missing or out of date says so by returning None.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray, IntArray
from unconfused.engines.base import CellTables
from unconfused.engines.dask.fingerprint import Fingerprint
from unconfused.engines.local import LocalEngine
from unconfused.engines.local.partition import LocalPartition

Pair = tuple[int, int]
Block = tuple[Any, IntArray, FloatArray]
"""Rows, their label codes, their weights."""


class Cut:
    """A local partition, the last command it carried out, and what was asked of it."""

    def __init__(self, partition: LocalPartition, n_classes: int) -> None:
        self.partition = partition
        self.serial = -1
        self._total = partition.total
        self._tables = np.zeros((2, n_classes, n_classes))
        self.begin(-1)

    def begin(self, epoch: int) -> None:
        """Forget all references."""
        self.epoch = epoch
        self._asked: dict[Pair, FloatArray] = {}
        """Own update sums as they were when the client last asked for them."""

        self._references: dict[Pair, FloatArray] = {}
        """The same over all parts, as the client sent it."""

        self._drawn_up = np.full(self._tables.shape[1], -1)
        """Version of every region when it was last compared; -1 if never since references came."""

    def refer_to(self, pairs: Sequence[Pair], references: FloatArray) -> None:
        """Take what the client made of the sums of all parts."""
        # Copies: a row of an array would keep all of it.
        self._references.update(zip(pairs, map(np.copy, references), strict=True))
        self._drawn_up[[predicted for predicted, _ in pairs]] = -1

    def ask(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return own update sums, (pairs, features), and remember them."""
        sums = np.zeros((len(pairs), self.partition.n_features))
        if self._total > 0:  # without a row that counts there is no mean
            for own, pair in zip(sums, pairs, strict=True):
                own[:] = self.partition.update_vector(*pair) * self._total
        self._asked.update(zip(pairs, map(np.copy, sums), strict=True))
        self._drawn_up[[predicted for predicted, _ in pairs]] = -1
        return sums

    def drift(self) -> FloatArray:
        """Compare all update sums with what was last asked for; two tables of (Q, Q).

        Products with the references (0 without one); and how far sums have moved since they were
        asked for, or from 0, across their reference. Only regions that changed are looked at.
        """
        versions = self.partition.region_versions()
        outdated = np.flatnonzero(self._drawn_up != versions)
        # With no weights all regions are one, and the first stands for it.
        for predicted in outdated[: 1 if self.partition.everywhere else None].tolist():
            own = self.partition.region_sums(predicted)
            self._tables[0, predicted] = 0.0
            for true in range(len(own)):
                reference = self._references.get((predicted, true))
                if reference is not None:
                    self._tables[0, predicted, true] = reference @ own[true]
                    own[true] = across(own[true] - self._asked[predicted, true], reference)
            self._tables[1, predicted] = lengths(own)
        self._drawn_up = versions
        return self._tables.copy()


def lengths(vectors: FloatArray) -> FloatArray:
    """Return the Euclidean norm of every vector."""
    norms: FloatArray = np.sqrt(np.einsum("kj,kj->k", vectors, vectors))
    return norms


def across(vector: FloatArray, direction: FloatArray) -> FloatArray:
    """Return what a vector has across a direction: all of it if that is 0."""
    with np.errstate(over="ignore", invalid="ignore"):  # seen, and told, by whoever chooses
        square = direction @ direction
        if not square > 0:
            return vector
        rest: FloatArray = vector - (direction @ vector) / square * direction
    return rest


@dataclass(frozen=True)
class Command:
    """What the client wants from every part."""

    cut: str
    serial: int
    """A cut goes on only from the command before this one. (There may be an older copy.)"""

    epoch: int
    """References of another epoch are void."""

    begins: bool = False
    """Whether the epoch begins: a part that did not see it begin lacks what the others have."""

    weights: FloatArray | None = None
    """All weights, (Q, features), for a part that cannot go on from the last command."""

    unmixing: Unmixing | None = None
    alpha: float = 0.0
    steps: FloatArray | None = None
    direction: FloatArray | None = None
    references: tuple[tuple[Pair, ...], FloatArray] | None = None
    """New ones, of pairs that were asked for last."""

    pairs: tuple[Pair, ...] = ()
    """Pairs whose update vectors are wanted."""

    drift: bool = False
    """Whether it is wanted how far all update vectors are from their references."""


@dataclass(frozen=True)
class Answer:
    """What a part says; answers of all parts add up."""

    tables: CellTables | None
    """What the cells hold; not where nothing but vectors was asked for."""

    vectors: FloatArray
    """Sums (not means) of the pairs asked for, (pairs, features)."""

    products: FloatArray | None = None
    """Products of the update sums with the references, (Q, Q); 0 without a reference."""

    distances: FloatArray | None = None
    """How far the own update sums are from those last asked for, or from 0, across references."""

    def __add__(self, other: Answer) -> Answer:
        """Join the answers of two parts."""
        return Answer(
            _plus(self.tables, other.tables),
            self.vectors + other.vectors,
            _plus(self.products, other.products),
            _plus(self.distances, other.distances),
        )


def _plus(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one + other


class Part:
    """A local engine over some rows, and the cuts it remembers."""

    def __init__(self, block: Block, n_codes: int, intercept: bool) -> None:
        self._made_of = (block, n_codes, intercept)
        X, codes, weights = block
        self.engine = LocalEngine(X, codes, n_codes, weights, intercept=intercept)
        self.forget()

    def forget(self) -> None:
        """Lose the cuts; nothing but time is lost with them."""
        self.cuts: dict[str, Cut] = {}
        self._rest: tuple[str, Part] | None = None
        # An interrupted client may ask again while the task it gave up is still running.
        self.lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """By what these rows are known again."""
        X, codes, weights = self._made_of[0]
        return Fingerprint.of(X, weights, codes)

    def without(self, name: str, rows: IntArray) -> Part:
        """Return a part in which some rows count 0; it is remembered until another is wanted."""
        if self._rest is None or self._rest[0] != name:
            X, codes, weights = self._made_of[0]
            weights = weights.copy()
            weights[rows] = 0.0
            rest = object.__new__(Part)  # shares all but the weights, and what is remembered
            rest._made_of = ((X, codes, weights), *self._made_of[1:])
            rest.engine = copy.copy(self.engine)
            rest.engine.weights = weights
            rest.forget()
            self._rest = name, rest
        return self._rest[1]

    def __reduce__(self) -> tuple[Any, ...]:
        """Let the rows travel, not the cuts."""
        return Part, self._made_of

    def __sizeof__(self) -> int:
        """Tell Dask what moving this costs, so that it moves the tasks instead."""
        X, codes, weights = self._made_of[0]
        return int(X.data.nbytes + codes.nbytes + weights.nbytes)


def build_part(blocks: Sequence[Block], n_columns: int, n_codes: int, intercept: bool) -> Part:
    """Join blocks of rows into one local engine: copied once if there are several, never again."""
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
    return Part((X, codes, weights), n_codes, intercept)


def carry_out(part: Part, command: Command) -> Answer | None:
    """Cut as commanded and say what the cells hold; None if the weights are needed for that."""
    with part.lock:
        cut = _up_to_date(part, command)
        if cut is None:
            return None
        own = cut.ask(command.pairs)
        products, distances = cut.drift() if command.drift else (None, None)
        tables = cut.partition.tables() if command.drift or not command.pairs else None
        return Answer(tables, own, products, distances)


def _up_to_date(part: Part, command: Command) -> Cut | None:
    cut = part.cuts.get(command.cut)
    if command.weights is not None:
        if cut is None:
            assert command.unmixing is not None
            # The norm of a part's own vector is of no use: that of the sum is wanted.
            partition = LocalPartition(part.engine, command.unmixing, command.alpha)
            cut = Cut(partition, command.unmixing.n_classes)
            part.cuts[command.cut] = cut
        cut.serial = -1  # in case it is interrupted
        cut.partition.restart(command.weights)
    elif (
        cut is None
        or cut.serial not in (command.serial - 1, command.serial)
        or (cut.epoch != command.epoch and not command.begins)
    ):
        return None
    elif cut.serial < command.serial and command.steps is not None:
        assert command.direction is not None
        cut.serial = -1
        cut.partition.move(command.steps, command.direction)
    cut.serial = command.serial
    if cut.epoch != command.epoch:
        cut.begin(command.epoch)
    if command.references is not None:
        cut.refer_to(*command.references)
    return cut


def ask_engine(part: Part, question: Callable[[LocalEngine], Any]) -> Any:
    """Ask the local engine one thing."""
    return question(part.engine)


def ask_without(part: Part, task: tuple[Callable[..., Any], Any, str, IntArray]) -> Any:
    """Put a question to a part without some of its rows."""
    function, argument, name, rows = task
    return function(part.without(name, rows), argument)
