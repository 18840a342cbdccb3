"""Update vectors that were asked for lately, moved along with the rows.

A pair of classes that makes no update, as its vector is already scored right, is asked for again
with every update, as long as its norm is among the highest. To sum its rows each time can take
longer than all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines._kept_scores import KeptScores
from unconfused.engines.cells import Cells, Transfer

if TYPE_CHECKING:
    from unconfused.engines.local import LocalEngine

Pair = tuple[int, int]

TOGETHER = 16
"""Vectors that are scored at once, out of a copy: one of all of them would take as much room."""


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
        self._scores = KeptScores(self._room, len(cells.sizes))
        self._places: dict[Pair, int] = {}
        """Where the vector of a pair is; the one asked for longest ago comes first."""

        self._watched: set[Pair] = set()
        """Pairs that were learnt when last looked at, or have been asked for since."""

    def clear(self) -> None:
        """Forget them all."""
        self._places.clear()
        self._watched.clear()
        self._scores.forget(slice(None))

    def __contains__(self, pair: Pair) -> bool:
        """Say whether the vector of a pair is here."""
        return pair in self._places

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
        self._scores.forget(place)
        self._places[pair] = place
        self._watched.add(pair)

    def exchange(self, first: int, second: int) -> None:
        """Let two regions change places."""
        names = {first: second, second: first}
        self._places = {(names.get(p, p), q): k for (p, q), k in self._places.items()}
        self._watched = {(names.get(p, p), q) for p, q in self._watched}

    def follow(self, steps: FloatArray, direction: FloatArray, longest: float) -> None:
        """Follow a step of the weights, the longest of which is now as long as that."""
        if not self._scores.any_known:
            return
        n_vectors = len(self._places)
        products = np.empty(n_vectors)

        def run(start: int) -> None:
            some = slice(start, min(start + TOGETHER, n_vectors))
            products[some] = self._vectors[some] @ direction

        n_entries = n_vectors * len(direction)
        self._engine.in_threads.each(run, range(0, n_vectors, TOGETHER), n_entries)
        self._scores.move_weights(steps, products, longest)

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
            way = np.abs(weights) @ self._engine.row_norms[transfer.rows[own]]
            self._scores.move_vector(place, float(way))

        n_entries = sum(ends[k, 1] - ends[k, 0] for k in moving)
        self._engine.in_threads.each(run, moving, n_entries * self._engine.rows.entries_per_row)
        bare = self._cells.empty
        for p, q in [pairs[k] for k in moving]:
            # Rounding must not leave a trace of rows where there are none.
            if bare[p, coefficients[:, q] != 0].all():
                self._vectors[self._places[p, q]] = 0.0

    def learnt(self, weights: FloatArray, longest: float) -> list[Pair]:
        """Return the pairs whose vectors are clearly scored highest by their true class.

        They are not asked for, having no error set, and kept all the same. `longest` is the norm
        of the longest weights.
        """
        pairs = [pair for pair in self._places if pair in self._watched]
        if not pairs:
            return []
        places = np.array([self._places[pair] for pair in pairs])
        true = np.array([q for _, q in pairs])
        in_doubt = places[~self._scores.are_clear(places, true, longest)]

        def run(start: int) -> None:
            some = in_doubt[start : start + TOGETHER]
            self._scores.know(some, self._vectors[some], weights)

        n_entries = len(in_doubt) * weights.size
        self._engine.in_threads.each(run, range(0, len(in_doubt), TOGETHER), n_entries)
        learnt = self._scores.are_clear(places, true, longest)
        found = [pair for pair, known in zip(pairs, learnt, strict=True) if known]
        for pair in found:
            self._places[pair] = self._places.pop(pair)
        self._watched = set(found)
        return found
