"""Classes that a fit makes more frequent than trusted rows and labels allow."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import betaincinv

from unconfused._matrix import ConfusionWarning
from unconfused._typing import FloatArray, IntArray, Labels
from unconfused.confusion.estimate import name_classes

SURELY = 0.999
"""Credible level of the largest share that the trusted rows allow a class."""

FEWEST_KEPT = 0.2
"""Share of a class's rows, at least, that is taken to have its own label."""

BY_FACTOR = 1.5
"""A share larger than allowed by less than this is left alone. Set by reasoning, like the above: on
Digits, Reuters and Music no class comes near."""


def outgrown(rows_by_class: FloatArray, pairs: FloatArray, labels: FloatArray) -> IntArray:
    """Return the classes with a larger share of the noisy rows than they can have.

    A class with a handful of trusted rows, most of them labelled as a frequent class, can take over
    that class: its row of C explains the frequent label as well as the right one does. Neither the
    trusted rows nor the labels allow that many rows of it.

    Parameters
    ----------
    rows_by_class : (Q,), noisy rows that the fit gives each class
    pairs : (Q, Q), trusted rows by class and label
    labels : (Q,), noisy rows by label

    Examples
    --------
    >>> pairs = np.array([[50.0, 10, 0], [10, 40, 0], [4, 1, 0]])
    >>> labels = np.array([550.0, 440, 10])
    >>> outgrown(np.array([500.0, 430, 70]), pairs, labels)
    array([], dtype=int64)
    >>> outgrown(np.array([50.0, 450, 500]), pairs, labels)
    array([2])
    """
    counts, total = pairs.sum(axis=1), float(pairs.sum())
    most = np.asarray(betaincinv(counts + 0.5, total - counts + 0.5, SURELY))
    kept = np.diag(pairs) / np.maximum(counts, 1.0)
    by_label = labels / max(float(labels.sum()), 1e-300) / np.maximum(kept, FEWEST_KEPT)
    share = rows_by_class / max(float(rows_by_class.sum()), 1e-300)
    return np.flatnonzero(share > BY_FACTOR * np.maximum(most, by_label))


def warn_of_outgrown(classes: Labels) -> None:
    """Warn that a fit was discarded, and why."""
    warnings.warn(
        f"Through the confusion matrix {name_classes(classes)} would have taken over rows of other "
        "classes, because few rows are trusted to be of this class, and most of these have the "
        "label of a frequent class. Instead, the model was fitted to the labels as they are, or to "
        "the trusted rows alone. More trusted rows of this class would help.",
        ConfusionWarning,
        stacklevel=8,
    )
