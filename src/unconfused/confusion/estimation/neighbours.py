"""The confusion matrix from the agreement of the labels of nearest neighbours.

Neighbours in a good embedding nearly always have the same class. Their labels are then independent
answers about the same truth, and the frequencies of labels, pairs and triples of labels identify
the class shares and the matrix (the consensus equations of first to third order; Zhu, Song and Liu,
2021). Here they are solved by maximum likelihood, which is Dawid
and Skene's model with a row and its two nearest neighbours as annotators who share one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from unconfused._matrix import loses_a_class
from unconfused._typing import FloatArray, IntArray, Rows
from unconfused.confusion._dawid_skene import Crowd, maximise
from unconfused.confusion.estimation.calibration import log_chances, sharpened
from unconfused.confusion.estimation.pooled import shrink_to_symmetric

TRIPLE = 3
"""A row and two neighbours, the smallest number that identifies the matrix."""

VOTERS = 10
"""Neighbours that predict a row's label when estimates are compared."""

MOST_ROWS = 5000
"""Rows whose neighbours are searched; more hardly improve the matrix."""

MOST_STEPS, TOLERANCE = 100, 1e-6

SMALLEST = 1e-6
"""Smallest probability of a label in comparisons: no single label may dominate them."""


@dataclass(frozen=True)
class Neighbourly:
    """An estimate by neighbours, and how well it predicts labels."""

    matrix: FloatArray
    counts: FloatArray
    score: float
    """Mean log-likelihood of the rows' labels, given those of their neighbours."""


def from_neighbours(X: Rows, codes: IntArray, n_classes: int) -> Neighbourly | None:
    """Estimate the matrix from labels of neighbours; None where that cannot be done.

    It cannot if features are not numeric, rows are too few, or a class would lose all its rows.
    """
    if hasattr(X, "iloc"):
        X = np.asarray(X)
    if not _are_numbers(X) or len(codes) <= TRIPLE:
        return None
    rows = np.arange(len(codes))[:: -(-len(codes) // MOST_ROWS)]
    around = nearest(X, rows, min(VOTERS, len(codes) - 1))
    crowd = _crowd(np.column_stack([codes[rows], codes[around[:, : TRIPLE - 1]]]), n_classes)

    def shared(counts: FloatArray) -> tuple[FloatArray, float]:
        # Each label is counted in three triples.
        matrix = shrink_to_symmetric(counts.sum(axis=0) / TRIPLE)
        return np.broadcast_to(matrix, counts.shape), 0.0

    fit = maximise(crowd, crowd.summed(crowd.majority()), shared, MOST_STEPS, TOLERANCE)
    posterior = crowd.posterior(fit.used_matrices, fit.prior)[0]
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts.T, codes[rows], posterior)
    labels = np.bincount(codes, minlength=n_classes).astype(np.float64)
    seen = counts.sum(axis=0)
    counts *= np.divide(labels, seen, out=np.zeros(n_classes), where=seen > 0)
    if loses_a_class(labels, counts.sum(axis=1)):
        return None
    matrix = shrink_to_symmetric(counts)
    voters = _crowd(codes[around], n_classes)
    each = np.broadcast_to(matrix, (voters.n_annotators, n_classes, n_classes))
    predicted = voters.posterior(np.maximum(each, SMALLEST), fit.prior)[0]
    return Neighbourly(matrix, counts, label_log_likelihood(predicted, matrix, codes[rows]))


def label_log_likelihood(probability: FloatArray, matrix: FloatArray, codes: IntArray) -> float:
    """Return the mean log-likelihood of labels through C, given probabilities of the classes.

    The probabilities must not depend on the row's own label. They are calibrated on the labels.
    """
    evidence = np.maximum(matrix[:, codes].T, SMALLEST)
    return float(log_chances(sharpened(probability, evidence), evidence, SMALLEST).mean())


def nearest(X: Rows, rows: IntArray, n_neighbours: int) -> IntArray:
    """Return the nearest other rows of each of `rows`, the nearest first."""
    index = NearestNeighbors(n_neighbors=n_neighbours + 1).fit(X)
    found = index.kneighbors(X[rows], return_distance=False)
    own = found == rows[:, np.newaxis]
    own[~own.any(axis=1), -1] = True  # among copies of a row it may not find itself
    return np.asarray(found[~own].reshape(len(rows), n_neighbours), dtype=np.intp)


def _crowd(answers: IntArray, n_classes: int) -> Crowd:
    """Take labels by column for answers of as many annotators."""
    n_rows, n_voters = answers.shape
    columns = np.arange(n_voters) * n_classes + answers
    ends = n_voters * np.arange(n_rows + 1)
    parts = (np.ones(answers.size), columns.ravel(), ends)
    indicators = sparse.csr_matrix(parts, shape=(n_rows, n_voters * n_classes))
    return Crowd(indicators, np.full(n_rows, -1), n_voters, n_classes)


def _are_numbers(X: Any) -> bool:
    """Return whether distances between rows make sense without knowing more of them."""
    if sparse.issparse(X):
        return True
    table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf"
    return table and bool(np.isfinite(X).all())
