"""Confusion matrices from few counts per class, shrunk towards the counts of all classes."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from unconfused._typing import FloatArray
from unconfused.confusion._dawid_skene import shrink

STRENGTHS = np.geomspace(1.0, 1e4, 33)
"""Candidate strengths of the shrinkage, in rows per class; the likeliest is used."""

FEW_COUNTS = 1000
"""A row of C counted from fewer labels than this is worth refining."""

MOST_FROM_OTHER_CLASSES = 30.0
"""Rows that a class's row of C is given, at most, from how all classes err: what few trusted rows
of a rare class seem to say must not make it look like a frequent one. (5 does as well on Digits and
Music, 200 is worse.)"""


def pooled_matrix(counts: FloatArray, strength: float) -> FloatArray:
    """Divide counts by rows, after adding `strength` rows per class that err like all classes do.

    The added rows are right as often as all counted rows were, with their mistakes spread evenly;
    and never less often than halfway between chance and certainty. So no label is impossible, a
    class with few counts leans on the others, and the matrix keeps its inverse, which even counts
    added to every entry would weaken when classes are many.

    Examples
    --------
    >>> pooled_matrix(np.array([[6.0, 2], [0, 0]]), strength=1.0).round(2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return shrink(counts, _even_mistakes(counts, (1 + 1 / len(counts)) / 2), strength)


def drawn_together(counts: FloatArray, smoothing: float = 0.0) -> FloatArray:
    """Divide counts by rows, drawn towards even mistakes as far as the counts agree with these.

    Each row is taken for drawn around the matrix that is right as often as all counts together and
    errs evenly; how far rows stray from it is found from the counts themselves, as the strength
    that makes them likeliest. Where mistakes are even, few counts then do no harm; where every
    class errs in its own way, hardly anything is drawn anywhere. `smoothing` is added to every
    count first.

    Examples
    --------
    >>> drawn_together(np.array([[80.0, 9, 11], [12, 78, 10], [2, 1, 7]])).round(2)
    array([[0.78, 0.11, 0.11],
           [0.11, 0.78, 0.11],
           [0.11, 0.11, 0.78]])
    >>> drawn_together(np.array([[80.0, 20, 0], [0, 80, 20], [20, 0, 80]])).round(2)
    array([[0.8, 0.2, 0. ],
           [0. , 0.8, 0.2],
           [0.2, 0. , 0.8]])
    """
    drawn = drawn_counts(counts + smoothing)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def drawn_counts(counts: FloatArray) -> FloatArray:
    """Return the effective counts behind `drawn_together`."""
    even = _even_mistakes(counts)
    return np.asarray(counts + _strength(counts, even) * even)


def steadied_counts(counts: FloatArray, most: float = np.inf) -> FloatArray:
    """Shrink counts towards those of all classes together, by at most `most` rows per class.

    These are `usual_mistakes`.
    """
    target = usual_mistakes(counts)
    return np.asarray(counts + min(most, _strength(counts, target)) * target)


def usual_mistakes(counts: FloatArray) -> FloatArray:
    """Return the matrix whose classes all have the error rate and the wrong labels of all counts.

    A class without counts errs evenly: the mistakes of one other class could make it look like a
    third.

    Examples
    --------
    >>> usual_mistakes(np.array([[8.0, 1, 1], [1, 8, 1], [0, 0, 0]])).round(2)
    array([[0.77, 0.09, 0.14],
           [0.09, 0.77, 0.14],
           [0.11, 0.11, 0.77]])
    """
    wrong = counts.sum(axis=0) - np.diag(counts) + 1.0
    even = _even_mistakes(counts)
    right = np.diag(even)
    matrix = np.where(np.eye(len(counts)) > 0, 0.0, wrong)
    matrix *= ((1 - right) / matrix.sum(axis=1))[:, np.newaxis]
    return np.where(counts.any(axis=1, keepdims=True), matrix + np.diag(right), even)


def _strength(counts: FloatArray, target: FloatArray) -> float:
    """Return how many rows like a target's make counts likeliest."""
    likelihoods = [_log_likelihood(counts, strength * target) for strength in STRENGTHS]
    return float(STRENGTHS[int(np.argmax(likelihoods))])


def _log_likelihood(counts: FloatArray, prior: FloatArray) -> float:
    """Return the logarithm of the chance of counts whose shares are Dirichlet's, row by row."""
    rows = gammaln(prior.sum(axis=1)) - gammaln((prior + counts).sum(axis=1))
    return float(rows.sum() + np.sum(gammaln(prior + counts) - gammaln(prior)))


def _even_mistakes(counts: FloatArray, least_right: float = 0.0) -> FloatArray:
    """Return the matrix that is right as often as all the counts, and errs evenly."""
    n_classes = len(counts)
    # One right and one wrong row more: neither certainty nor its opposite follows from few counts.
    right = (np.trace(counts) + 1) / (counts.sum() + 2)
    right = max(right, least_right)
    matrix = np.full((n_classes, n_classes), (1 - right) / max(1, n_classes - 1))
    np.fill_diagonal(matrix, right)
    return matrix
