"""A cut of rows that lie on Dask workers: exact pair norms from few vectors.

The norm of an update vector z is that of a sum over workers, which no worker knows. Sending every
worker's Q x Q vectors would cost Q x Q x d numbers for each update. But an update moves z only a
little from r, what it was when the client last asked for it. With r, the reference, on all workers:

    |z|^2 = (r.z / |r|)^2 + |across|^2

Here r.z adds up over workers, and the part of z across r is at most as long as those of all
workers' own changes together. So two Q x Q tables bound every norm, with an error of second order,
and only pairs that could still be the one looked for are asked for.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np

from unconfused._matrix import Unmixing
from unconfused._typing import FloatArray
from unconfused.engines.base import CellTables
from unconfused.engines.dask.parts import Answer, Command, Pair, carry_out, lengths
from unconfused.engines.dask.pool import Pool

ROUNDING = 1e-12
"""Share by which bounds are widened, as their terms are rounded."""

REFERENCE_BYTES = 256 * 2**20
"""References are kept on every worker while they fit into this; its own sums take as much again."""


class DaskPartition:
    """The partition protocol, and bounds on the pair norms (`norm_bounds`)."""

    def __init__(
        self, pool: Pool, n_features: int, unmixing: Unmixing, alpha: float, total: float
    ) -> None:
        self._pool, self._unmixing, self._alpha, self._total = pool, unmixing, alpha, total
        self._cut = uuid.uuid4().hex
        n_classes = unmixing.n_classes
        self._weights = np.zeros((n_classes, n_features))
        self._serial = self._epoch = self._begun = 0
        self._step: tuple[FloatArray, FloatArray] | None = None
        self._answer: Answer | None = None
        self._in_doubt = False
        self._news: tuple[tuple[Pair, ...], FloatArray] | None = None
        self._referred = np.zeros((n_classes, n_classes), dtype=bool)
        """Which pairs have a reference."""

        self._lengths = np.zeros((n_classes, n_classes))
        """Norms of the references; 0 where there is none."""

        self._vectors: dict[Pair, FloatArray] = {}
        """Update sums as they are now, of pairs asked for."""

        self.restart(self._weights)

    def restart(self, weights: FloatArray) -> None:
        """Cut afresh by these weights; with all of them 0, every row is in every class."""
        self._weights = weights.copy()
        self._change(None)
        self._forget()

    def move(self, steps: FloatArray, direction: FloatArray) -> None:
        """Add ``steps[r] * direction`` to the weights of every class r, and cut again."""
        in_step = self._answer is not None and self._weights.any()
        for r in np.flatnonzero(steps):
            self._weights[r] += steps[r] * direction
        self._change((steps.copy(), direction.copy()) if in_step else None)
        if not in_step:
            self._forget()

    def tables(self) -> CellTables:
        """Return what the cells hold."""
        # After a step the bounds are wanted next: ask for both at once.
        tables = self._cut_rows(drift=self._step is not None).tables
        assert tables is not None
        return tables

    def norm_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return numbers between which the norm of every update vector lies, two of (Q, Q)."""
        answer = self._cut_rows(drift=True)
        products, distances = answer.products, answer.distances
        assert products is not None
        assert distances is not None
        norms = self._lengths
        along = np.abs(np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0))
        slack = ROUNDING * (norms + along + distances)
        lower = np.maximum(along - slack, 0.0)
        upper = np.hypot(along, distances) + slack
        for pair in self._vectors:  # asked for since the last step: these are the references
            lower[pair] = upper[pair] = norms[pair]
        if self._everywhere:
            lower, upper = np.tile(lower[:1], (len(lower), 1)), np.tile(upper[:1], (len(upper), 1))
        return lower / self._total, upper / self._total

    def measure(self, pairs: Sequence[Pair]) -> None:
        """Ask for these update vectors, so that the bounds on their norms close."""
        self._ask(pairs)

    def update_vector(self, predicted: int, true: int) -> FloatArray:
        """Return z: the mean over all rows of those predicted so and truly (unmixed) so."""
        self._ask([(predicted, true)])
        return self._vectors[self._place((predicted, true))] / self._total

    def _ask(self, pairs: Sequence[Pair]) -> None:
        """Get update sums not known yet from all parts; they are the new references."""
        places = {self._place(pair): None for pair in pairs}
        wanted = tuple(place for place in places if place not in self._vectors)
        if not wanted:
            return
        self._cut_rows()
        sums = self._cut_rows(pairs=wanted).vectors
        self._in_doubt = True  # until it is noted here what they were asked
        self._vectors.update(zip(wanted, sums, strict=True))
        rows, columns = zip(*wanted, strict=True)
        self._lengths[rows, columns] = lengths(sums)
        self._referred[rows, columns] = True
        self._news = wanted, sums
        self._in_doubt = False

    @property
    def _everywhere(self) -> bool:
        return not self._weights.any()

    def _place(self, pair: Pair) -> Pair:
        """Return the pair that stands for this one: all regions are one while weights are 0."""
        return (0, pair[1]) if self._everywhere else pair

    def _change(self, step: tuple[FloatArray, FloatArray] | None) -> None:
        self._step, self._answer = step, None
        self._vectors = {}

    def _forget(self) -> None:
        """Drop all references, here and with the next command on the workers."""
        self._epoch += 1
        self._news = None
        self._referred.fill(False)
        self._lengths.fill(0.0)
        self._vectors = {}
        if self._answer is not None:  # distances from what is forgotten mean nothing
            self._answer = replace(self._answer, products=None, distances=None)

    def _cut_rows(self, drift: bool = False, pairs: tuple[Pair, ...] = ()) -> Answer:
        """Have all parts cut by the current weights, and add up what they say."""
        known = self._answer
        if known is not None and not pairs and (known.products is not None or not drift):
            return known
        if drift and not (self._pool.kept and self._references_fit()):
            self._forget()
        parts = range(len(self._pool))
        behind = set(parts) if self._must_restart() else set()
        self._serial += 1
        self._in_doubt = True
        while True:
            commands = [self._command(i in behind, drift, pairs) for i in parts]
            answers = self._pool.ask(carry_out, commands)
            behind = {i for i in parts if answers[i] is None}
            if not behind:
                break
            # Whoever lost its cut has lost its references too: all that was known of them is void.
            self._forget()
            self._pool.find_homes()
        self._news, self._in_doubt, self._begun = None, False, self._epoch
        answer: Answer = reduce(add, answers)
        if answer.tables is not None:
            self._answer = answer
        return answer

    def _references_fit(self) -> bool:
        n_references = np.count_nonzero(self._referred)
        return bool(n_references * self._weights.shape[1] * 8 <= REFERENCE_BYTES)

    def _must_restart(self) -> bool:
        """Say whether the parts cannot go on from their last command."""
        if self._in_doubt:  # an interrupt left some of them behind
            self._forget()
            return True
        return not self._pool.kept or (self._answer is None and self._step is None)

    def _command(self, restart: bool, drift: bool, pairs: tuple[Pair, ...]) -> Command:
        steps, direction = self._step or (None, None)
        return Command(
            cut=self._cut,
            serial=self._serial,
            epoch=self._epoch,
            begins=self._begun != self._epoch,
            weights=self._weights if restart else None,
            unmixing=self._unmixing if restart else None,
            alpha=self._alpha if restart else 0.0,
            steps=None if restart or self._answer is not None else steps,
            direction=None if restart or self._answer is not None else direction,
            references=self._news,
            pairs=pairs,
            drift=drift,
        )
