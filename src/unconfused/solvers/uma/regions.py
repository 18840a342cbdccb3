"""Unmixing coefficients of every region, adapted to the classes it holds.

The inverse of C is unbiased whatever a region holds. A region of a trained classifier holds mostly
one class and a few of some others, and labels that these classes never get need no correction. The
coefficients here have the smallest mean squared error for the estimated composition of a region:
close to the inverse for classes with many rows there, and less noisy if C is hard to invert.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unconfused._matrix import ILL_CONDITIONED_BEYOND, Unmixing, condition_of
from unconfused._typing import FloatArray
from unconfused.engines.base import Partition

MOST_CLASSES = 128
"""Number of classes above which all regions use the inverse: coefficients take 8 Q^3 bytes."""

EM_STEPS = 100

MOST_ROWS = 1e6
"""Rows of a region beyond which its coefficients no longer change."""

PSEUDO_COUNT = 0.5
"""Rows of every class added to the composition of a region: none is ruled out."""

STANDARD_ERRORS = 4.0
"""Standard errors beyond which there are fewer mistakes than were counted."""


@dataclass(frozen=True)
class RegionUnmixing(Unmixing):
    """Unmixing with coefficients of its own in every region."""

    by_region: FloatArray | None = None
    """(Q, S, Q): region, label code, true class."""

    @property
    def coefficients_by_region(self) -> FloatArray:
        """Coefficients of every region, (Q, S, Q)."""
        assert self.by_region is not None
        return self.by_region

    def of_region(self, predicted: int) -> Unmixing:
        """Return the unmixing of the rows predicted to be of this class."""
        region = Unmixing(self.matrix, self.classes, self.trusted, self.counts)
        vars(region)["coefficients"] = self.coefficients_by_region[predicted]  # not the inverse
        return region


def refine_confusion(unmixing: Unmixing, counts: FloatArray) -> Unmixing:
    """Return the unmixing with C estimated anew from the regions, if it came from trusted rows.

    Given the true class, the region of a row and its label are independent, so that regions
    are like a second annotator: the joint counts, (Q, S), say more of C than the trusted rows
    alone. C stays what it was if it would have far fewer mistakes than were counted: mistakes then
    depend on the rows, and regions repeat them.
    """
    behind = unmixing.counts
    if behind is None or not unmixing.trusted or unmixing.n_classes > MOST_CLASSES:
        return unmixing
    matrix = composition(unmixing.matrix, counts, behind)[1]
    right, rows = np.diag(matrix), behind.sum(axis=1)
    more = rows @ right - np.trace(behind)
    worst = max(ILL_CONDITIONED_BEYOND, unmixing.condition_number)
    if more > STANDARD_ERRORS * np.sqrt(rows @ (right - right**2)) or condition_of(matrix) > worst:
        return unmixing
    return replace(unmixing, matrix=matrix, counts=None)


def restart_adapted(partition: Partition, unmixing: Unmixing, weights: FloatArray) -> Unmixing:
    """Restart a partition from these weights; return the unmixing adapted to its regions."""
    partition.restart(weights)
    adapted = adapt_to_regions(unmixing, partition.tables().counts)
    partition.set_unmixing(adapted)
    return adapted


def adapt_to_regions(unmixing: Unmixing, counts: FloatArray) -> Unmixing:
    """Return an unmixing adapted to regions with these counts, (Q, S)."""
    if unmixing.n_classes > MOST_CLASSES:
        return unmixing
    noisy = least_squares_coefficients(unmixing.matrix, composition(unmixing.matrix, counts)[0])
    if unmixing.trusted:
        shape = len(noisy), unmixing.n_classes, unmixing.n_classes
        identity = np.broadcast_to(np.eye(unmixing.n_classes), shape)
        noisy = np.concatenate([noisy, identity], axis=1)
    return RegionUnmixing(
        unmixing.matrix, unmixing.classes, unmixing.trusted, unmixing.counts, noisy
    )


def composition(
    matrix: FloatArray, counts: FloatArray, behind: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the number of noisy rows of each true class in each region, (Q, Q), and C.

    Maximum likelihood by the EM algorithm, from the counts per label code; those of trusted
    classes follow those of labels. C is estimated too if the counts `behind` it are passed.

    Examples
    --------
    >>> composition(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([[8.0, 2.0]]))[0].round()
    array([[10.,  0.]])
    """
    n_classes, n_labels = matrix.shape
    noisy, trusted = counts[:, :n_labels], counts[:, n_labels:]
    tiny = np.finfo(np.float64).tiny
    shares = np.full((len(counts), n_classes), 1.0 / n_classes)
    matrix = matrix.copy()
    for _ in range(EM_STEPS):
        ratio = noisy / np.maximum(shares @ matrix, tiny)
        found = shares * (ratio @ matrix.T)
        if behind is not None:
            counted = behind.any(axis=1)  # a row of C without counts was assumed, and stays
            labels = (behind + matrix * (shares.T @ ratio))[counted]
            matrix[counted] = labels / labels.sum(axis=1, keepdims=True)
        shares = found + trusted if trusted.shape[1] else found
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), tiny)
    return shares * noisy.sum(axis=1, keepdims=True), matrix


def least_squares_coefficients(matrix: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the coefficients of the noisy labels in each region, (Q, Q, Q).

    With n_t rows of class t in a region, the coefficients b of a class q minimize the squared bias
    plus the variance of its mass, ``sum_t n_t^2 (E[b | t] - 1[t = q])^2 + sum_t n_t Var[b | t]``.

    Examples
    --------
    Class 2 is absent; so label 2 must be a mistake, and is counted as a row of class 1:

    >>> C = np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3], [0.0, 0.3, 0.7]])
    >>> least_squares_coefficients(C, np.array([[0.0, 1e6, 0.0]]))[0].round(1) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    # Beyond, only rounding would grow.
    scale = MOST_ROWS / np.maximum(rows.sum(axis=1, keepdims=True), MOST_ROWS)
    rows = rows * scale + PSEUDO_COUNT
    squared_bias = (matrix.T * (rows**2)[:, np.newaxis]) @ matrix
    variance = -(matrix.T * rows[:, np.newaxis]) @ matrix
    np.einsum("pkk->pk", variance)[:] += rows @ matrix
    curvature = squared_bias + variance
    return np.asarray(np.linalg.solve(curvature, matrix.T * (rows**2)[:, np.newaxis]))
