"""Vectors in one byte an entry, for where it is enough to know them nearly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unconfused._typing import FloatArray

HIGHEST = 127
"""Largest code: the largest entry of a vector gets it."""


@dataclass(frozen=True)
class RoughVectors:
    """Some vectors, each as whole multiples of a scale of its own."""

    codes: NDArray[np.int8]
    """(vectors, features)."""

    scales: FloatArray
    """(vectors,)."""

    @classmethod
    def of(cls, vectors: FloatArray) -> RoughVectors:
        """Round vectors, (vectors, features); whoever needs it has to see how far off they are."""
        scales = np.abs(vectors).max(axis=1, initial=0.0) / HIGHEST
        scales[np.isinf(scales)] = np.nan  # sums that overflow: 0 times this raises no warning
        codes = np.zeros(vectors.shape, dtype=np.int8)
        for vector, scale, own in zip(vectors, scales, codes, strict=True):
            if scale > 0:
                own[:] = np.rint(vector / scale)
        return cls(codes, scales)

    def __getitem__(self, k: int) -> FloatArray:
        """Return one of the vectors that the codes stand for."""
        vector: FloatArray = self.codes[k] * self.scales[k]
        return vector

    def values(self) -> FloatArray:
        """Return the vectors that the codes stand for, the same wherever it is asked."""
        values: FloatArray = self.codes * self.scales[:, np.newaxis]
        return values


def length(vector: FloatArray) -> float:
    """Return the Euclidean norm of a vector."""
    return float(np.sqrt(np.einsum("j,j->", vector, vector)))


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
