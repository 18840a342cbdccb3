"""Shrinkage of confusion matrices counted on few rows per class (empirical Bayes).

A row of C is shrunk towards a target common to all classes, as a Dirichlet prior does. The strength
of the shrinkage is estimated from the counts, or given.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from unconfused._typing import FloatArray
from unconfused.confusion._dawid_skene import shrink

STRENGTHS = np.geomspace(1.0, 1e4, 33)
"""Candidate strengths of the shrinkage, in pseudocounts per class; the likeliest is used."""

FEW_COUNTS = 1000
"""Counts per class below which a row of C is refined together with the model."""

MOST_FROM_OTHER_CLASSES = 30.0
"""Largest strength of the shrinkage to the pooled errors: with more, a rare class would get the
errors of frequent ones. (5 does as well on Digits and Music, 200 is worse.)"""


def pooled_matrix(counts: FloatArray, strength: float) -> FloatArray:
    """Divide counts by rows, after adding `strength` pseudocounts per class.

    Pseudocounts have the pooled accuracy of all classes, at least halfway between chance and 1, and
    symmetric errors. No label is then impossible, and the matrix stays well-conditioned; the same
    pseudocount in every entry would make it nearly singular with many classes.

    Examples
    --------
    >>> pooled_matrix(np.array([[6.0, 2], [0, 0]]), strength=1.0).round(2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return shrink(counts, even_errors(counts, (1 + 1 / len(counts)) / 2), strength)


def shrink_to_symmetric(counts: FloatArray, smoothing: float = 0.0) -> FloatArray:
    """Divide counts by rows, shrunk towards symmetric errors as far as the counts support them.

    The target has the pooled accuracy of all classes, and errors spread evenly over the wrong
    labels. The strength maximizes the Dirichlet-multinomial likelihood of the counts: it is large
    if errors are symmetric, and small if every class has its own. `smoothing` is added to every
    count first.

    Examples
    --------
    >>> shrink_to_symmetric(np.array([[80.0, 9, 11], [12, 78, 10], [2, 1, 7]])).round(2)
    array([[0.78, 0.11, 0.11],
           [0.11, 0.78, 0.11],
           [0.11, 0.11, 0.78]])
    >>> shrink_to_symmetric(np.array([[80.0, 20, 0], [0, 80, 20], [20, 0, 80]])).round(2)
    array([[0.8, 0.2, 0. ],
           [0. , 0.8, 0.2],
           [0.2, 0. , 0.8]])
    """
    drawn = counts_shrunk_to_symmetric(counts + smoothing)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def counts_shrunk_to_symmetric(counts: FloatArray) -> FloatArray:
    """Return counts plus the pseudocounts of `shrink_to_symmetric`."""
    even = even_errors(counts)
    return counts + _strength(counts, even) * even


def counts_shrunk_to_pooled(counts: FloatArray) -> FloatArray:
    """Return counts plus pseudocounts, distributed as `pooled_errors`."""
    target = pooled_errors(counts)
    return counts + min(MOST_FROM_OTHER_CLASSES, _strength(counts, target)) * target


def pooled_errors(counts: FloatArray) -> FloatArray:
    """Return the matrix in which every class has the pooled error rate and wrong labels.

    A class without counts has symmetric errors.

    Examples
    --------
    >>> pooled_errors(np.array([[8.0, 1, 1], [1, 8, 1], [0, 0, 0]])).round(2)
    array([[0.77, 0.09, 0.14],
           [0.09, 0.77, 0.14],
           [0.11, 0.11, 0.77]])
    """
    wrong = counts.sum(axis=0) - np.diag(counts) + 1.0
    even = even_errors(counts)
    right = np.diag(even)
    matrix = np.where(np.eye(len(counts)) > 0, 0.0, wrong)
    matrix *= ((1 - right) / matrix.sum(axis=1))[:, np.newaxis]
    return np.where(counts.any(axis=1, keepdims=True), matrix + np.diag(right), even)


def _strength(counts: FloatArray, target: FloatArray) -> float:
    """Return the number of pseudocounts per class that makes the counts likeliest."""
    likelihoods = [_log_likelihood(counts, strength * target) for strength in STRENGTHS]
    return float(STRENGTHS[int(np.argmax(likelihoods))])


def _log_likelihood(counts: FloatArray, prior: FloatArray) -> float:
    """Return the Dirichlet-multinomial log-likelihood of the rows of counts, up to a constant."""
    rows = gammaln(prior.sum(axis=1)) - gammaln((prior + counts).sum(axis=1))
    return float(rows.sum() + np.sum(gammaln(prior + counts) - gammaln(prior)))


def even_errors(counts: FloatArray, least_right: float = 0.0) -> FloatArray:
    """Return the matrix with the pooled accuracy of the counts and symmetric errors.

    Examples
    --------
    >>> even_errors(np.array([[40.0, 10], [2, 48]])).round(2)
    array([[0.87, 0.13],
           [0.13, 0.87]])
    """
    n_classes = len(counts)
    # A uniform prior on the accuracy: few counts imply neither 0 nor 1.
    right = (np.trace(counts) + 1) / (counts.sum() + 2)
    right = max(right, least_right)
    matrix = np.full((n_classes, n_classes), (1 - right) / max(1, n_classes - 1))
    np.fill_diagonal(matrix, right)
    return matrix
