"""Update vectors that were asked for lately, moved along with the rows.

A pair of classes that makes no update, as its vector is already scored right, is asked for again
with every update, as long as its norm is among the highest. To sum its rows each time can take
longer than all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.engines.cells import Cells, Transfer

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

Pair = tuple[int, int]

TOGETHER = 16
"""Vectors that are scored at once, out of a copy: one of all of them would take as much room."""

CLEARLY = 1e-9
"""A lead of this share of the largest score there could be is clear: no rounding undoes it."""


def clearly_learnt(vectors: FloatArray, true: IntArray, weights: FloatArray) -> BoolArray:
    """Tell which vectors are clearly scored highest by their true classes."""
    largest = np.sqrt(np.einsum("rj,rj->r", weights, weights).max())
    norms = np.sqrt(np.einsum("kj,kj->k", vectors, vectors))
    scores, each = vectors @ weights.T, np.arange(len(vectors))
    own = scores[each, true]
    scores[each, true] = -np.inf
    leads = own - scores.max(axis=1)
    return np.asarray(leads > CLEARLY * largest * norms)


class KeptVectors:
    """Unmixed sums of some regions, those asked for last.

    Parameters
    ----------
    engine, cells : the rows, and what the cells hold
    n_bytes : room for vectors; with less than two of them none is kept
    """

    def __init__(self, engine: LocalEngine, cells: Cells, n_bytes: int) -> None:
        self._engine = engine
        self._cells = cells
        room = n_bytes // (8 * engine.n_features)
        n_pairs = len(cells.sizes) ** 2
        self._room = min(room, n_pairs) if room >= 2 else 0
        self._vectors = np.empty((self._room, engine.n_features))
        self._places: dict[Pair, int] = {}
        """Where the vector of a pair is; the one asked for longest ago comes first."""

        self._watched: set[Pair] = set()
        """Pairs that were learnt when last looked at, or have been asked for since."""

    def clear(self) -> None:
        """Forget them all."""
        self._places.clear()
        self._watched.clear()

    def get(self, pair: Pair) -> FloatArray | None:
        """Return the vector of a pair, if it is here."""
        place = self._places.pop(pair, None)
        if place is None:
            return None
        self._places[pair] = place
        self._watched.add(pair)
        return np.asarray(self._vectors[place])

    def put(self, pair: Pair, vector: FloatArray) -> None:
        """Keep a vector, in the place of the one asked for longest ago if there is no room."""
        if self._room == 0:
            return
        place = len(self._places)
        if place == self._room:
            oldest = next(iter(self._places))
            self._watched.discard(oldest)
            place = self._places.pop(oldest)
        self._vectors[place] = vector
        self._places[pair] = place
        self._watched.add(pair)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        names = {first: second, second: first}
        self._places = {(names.get(p, p), q): k for (p, q), k in self._places.items()}
        self._watched = {(names.get(p, p), q) for p, q in self._watched}

    def shift(self, transfer: Transfer, coefficients: FloatArray) -> None:
        """Move some rows, given the coefficients by code and true class."""
        n_codes = self._engine.n_codes
        pairs = list(self._places)
        ends = np.searchsorted(transfer.cells, [(p * n_codes, (p + 1) * n_codes) for p, _ in pairs])
        moving = [k for k in range(len(pairs)) if ends[k, 0] < ends[k, 1]]

        def run(k: int) -> None:
            own, (p, q) = slice(*ends[k]), pairs[k]
            weights = coefficients[transfer.cells[own] - p * n_codes, q] * transfer.weights[own]
            place = self._places[pairs[k]]
            nowhere: IntArray = np.zeros(len(weights), dtype=np.intp)
            vector = self._vectors[place : place + 1]
            self._engine.add(transfer.rows[own], nowhere, weights, vector)

        n_entries = sum(ends[k, 1] - ends[k, 0] for k in moving)
        self._engine.in_threads.each(run, moving, n_entries * self._engine.rows.entries_per_row)
        bare = self._cells.empty
        for p, q in [pairs[k] for k in moving]:
            # Rounding must not leave a trace of rows where there are none.
            if bare[p, coefficients[:, q] != 0].all():
                self._vectors[self._places[p, q]] = 0.0

    def learnt(self, weights: FloatArray) -> list[Pair]:
        """Return the pairs whose vectors are clearly scored highest by their true class.

        They are not asked for, having no error set, and kept all the same.
        """
        pairs = [pair for pair in self._places if pair in self._watched]
        if not pairs:
            return []
        places, true = [self._places[pair] for pair in pairs], np.array(pairs)[:, 1]
        learnt = np.zeros(len(pairs), dtype=bool)

        def run(start: int) -> None:
            some = slice(start, start + TOGETHER)
            learnt[some] = clearly_learnt(self._vectors[places[some]], true[some], weights)

        n_entries = len(pairs) * weights.size
        self._engine.in_threads.each(run, range(0, len(pairs), TOGETHER), n_entries)
        found = [pairs[k] for k in np.flatnonzero(learnt)]
        for pair in found:
            self._places[pair] = self._places.pop(pair)
        self._watched = set(found)
        return found
