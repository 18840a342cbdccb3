"""What the weights say of kept vectors, brought up to date without scoring them all again.

A step adds multiples of one direction to the weights, so one product per vector tells how all its
scores change. Of a vector that moved, the scores are off by at most its way times the longest
weights; only where a lead is not clear by that much, a vector has to be scored again.
"""

from __future__ import annotations

import numpy as np

from unconfused._typing import BoolArray, FloatArray, IntArray

CLEARLY = 1e-9
"""A lead of this share of the largest score there could be is clear: no rounding undoes it."""


def leads_of(scores: FloatArray, true: IntArray) -> FloatArray:
    """Return by how much every vector's true class leads all others."""
    each = np.arange(len(scores))
    others = scores.copy()
    others[each, true] = -np.inf
    return np.asarray(scores[each, true] - others.max(axis=1))


def clearly_learnt(vectors: FloatArray, true: IntArray, weights: FloatArray) -> BoolArray:
    """Tell which vectors are clearly scored highest by their true classes."""
    largest = np.sqrt(np.einsum("rj,rj->r", weights, weights).max())
    norms = np.sqrt(np.einsum("kj,kj->k", vectors, vectors))
    return np.asarray(leads_of(vectors @ weights.T, true) > CLEARLY * largest * norms)


class KeptScores:
    """Scores of vectors in places 0 .. room - 1."""

    def __init__(self, room: int, n_classes: int) -> None:
        self._scores = np.zeros((room, n_classes))
        self._errors = np.zeros(room)
        """How far each vector's scores may be off."""

        self._norms = np.zeros(room)
        """The most that each vector's norm can be."""

        self._known = np.zeros(room, dtype=bool)
        self._longest = 0.0

    @property
    def any_known(self) -> bool:
        """Whether there is anything to keep up to date."""
        return bool(self._known.any())

    def forget(self, places: int | slice) -> None:
        """Note that another vector is there now."""
        self._known[places] = False

    def move_weights(self, steps: FloatArray, products: FloatArray, longest: float) -> None:
        """Follow a step, given the products of the first vectors with its direction.

        `longest` is the norm of the longest weights after it.
        """
        self._scores[: len(products)] += np.outer(products, steps)
        self._longest = longest

    def move_vector(self, place: int, distance: float) -> None:
        """Note that a vector went no farther than this."""
        self._errors[place] += self._longest * distance
        self._norms[place] += distance

    def know(self, places: IntArray, vectors: FloatArray, weights: FloatArray) -> None:
        """Score vectors."""
        self._scores[places] = vectors @ weights.T
        self._norms[places] = np.sqrt(np.einsum("kj,kj->k", vectors, vectors))
        self._errors[places] = 0.0
        self._known[places] = True

    def are_clear(self, places: IntArray, true: IntArray, longest: float) -> BoolArray:
        """Tell which vectors are clearly scored highest by their true classes, for all we know."""
        leads = leads_of(self._scores[places], true)
        needed = 2.0 * self._errors[places] + CLEARLY * longest * self._norms[places]
        return np.asarray(self._known[places] & (leads > needed))
