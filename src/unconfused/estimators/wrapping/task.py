"""Input of rounds around a classifier: checked labels or votes, and C."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

from unconfused._labels import refuse_other_order
from unconfused._matrix import warn_if_impossible, warn_if_singular
from unconfused._matrix_labels import is_rectangular
from unconfused._typing import FloatArray, IntArray, Labels
from unconfused.confusion._dawid_skene import fit_crowd
from unconfused.confusion.estimation.balance import class_shares
from unconfused.confusion.estimation.calibration import posterior_given
from unconfused.estimators._noisy import (
    NoisyData,
    checked_labels,
    checked_weight,
    confusion_for,
    encode_noisy,
    is_open,
    refuse_rows_without_label,
)
from unconfused.estimators.annotators.crowd import (
    ANSWERS_OF_ALL,
    ROUNDS,
    SMALLEST,
    annotator_matrices,
    are_votes,
    collect_votes,
    training_crowd,
)
from unconfused.estimators.relabel.evidence import Evidence, evidence_of_labels, evidence_of_votes
from unconfused.estimators.wrapping.base import Task, hard_labels, pseudo_labels
from unconfused.estimators.wrapping.soft_rounds import through_votes


def open_task(settings: Any, X: Any, y: Any, y_true: Any, sample_weight: Any) -> Task:
    """Check what was passed to `fit` of an estimator with these settings."""
    tags = get_tags(settings.estimator)
    name, kind = type(settings.estimator).__name__, tags.estimator_type
    # Some classifiers, such as StackingClassifier, have `predict` only once they are fitted.
    if kind != "classifier" and (kind is not None or not hasattr(settings.estimator, "predict")):
        raise ValueError(f"{name} is a {kind or 'transformer'}: pass a classifier.")
    if tags.input_tags.pairwise:
        raise ValueError(
            f"{name} takes a precomputed kernel or distances, which cannot be split into folds by "
            "row: pass the features themselves."
        )
    refuse_other_order(X, y, "X", "y")
    refuse_other_order(y, y_true)
    if are_votes(y):
        return task_of_votes(settings, X, y, y_true, sample_weight)
    return task_of_labels(settings, X, checked_labels(settings, y, X), y_true, sample_weight)


def task_of_labels(
    settings: Any, X: Any, observed: Labels, y_true: Any, sample_weight: Any
) -> Task:
    """Check one label per row and known truths, and find C."""
    guesses = isinstance(settings.confusion, str) and is_open(settings.confusion)
    confusion = None if guesses else settings.confusion
    if is_rectangular(confusion):
        raise ValueError(
            "The first model learns the labels as they are, so these must be classes. With other "
            "labels use UnconfusedLogisticRegression, or unconfused.boosting with a boosted model."
        )
    labels = encode_noisy(observed, y_true, confusion, settings.classes, settings.missing_label)
    refuse_rows_without_label(labels)
    weight = checked_weight(sample_weight, _num_samples(X))
    data = NoisyData(X, labels, weight)
    known = confusion_for(data, confusion, settings.classes).shrunk()
    matrix = known.matrix
    warn_if_singular(matrix, labels.classes)
    if not known.few_counts:
        warn_if_impossible(matrix, labels.observed[~data.known], labels.classes)
    evidence = evidence_of_labels(data, matrix, 1.0)
    codes = np.where(data.known, labels.truth, labels.observed)
    return Task(
        labels.classes,
        evidence,
        hard_labels(codes, evidence.sample_weight),
        mixed_matrix(matrix, evidence, codes),
        known.counts if known.few_counts else None,
        guesses and not data.trusted,
    )


def task_of_votes(settings: Any, X: Any, y: Any, y_true: Any, sample_weight: Any) -> Task:
    """Check votes and known truths; estimate annotators' matrices from the votes alone.

    Of people that is Dawid and Skene's model. Rules, which only ever give one label, are counted
    against the majority: they are silent on the same rows, or match the same words, so that the
    model would find what goes together in them, and not the classes.
    """
    votes, truth = collect_votes(y, y_true, settings.classes, settings.missing_label)
    if not is_open(settings.confusion):
        raise ValueError(
            "With votes of several annotators each has a confusion matrix of their own, found "
            "from the votes: leave confusion=None."
        )
    if len(truth) != _num_samples(X):
        raise ValueError(f"X has {_num_samples(X)} rows but there are votes on {len(truth)}.")
    weight = checked_weight(sample_weight, len(truth))
    crowd = training_crowd(votes, truth)
    if votes.one_sided.mean() > 0.5:
        majority = crowd.majority()
        matrices = annotator_matrices(crowd, majority)
        prior = majority[crowd.informed].mean(axis=0)
    else:
        found = fit_crowd(crowd, ANSWERS_OF_ALL, ROUNDS, 1e-6)
        matrices, prior = np.maximum(found.matrices, SMALLEST), found.prior
    evidence = evidence_of_votes(crowd, np.ones((len(truth), crowd.n_classes)), 1.0, weight)
    evidence = through_votes(evidence, crowd, matrices)
    posterior = posterior_given(np.broadcast_to(prior, evidence.chances.shape), evidence.chances)
    first = pseudo_labels(settings.estimator, posterior, evidence.weight)
    return Task(votes.classes, evidence, first, votes=votes, crowd=crowd)


def mixed_matrix(matrix: FloatArray, evidence: Evidence, codes: IntArray) -> FloatArray:
    """Return P(training class | true class) if some rows are trained with their known truth.

    `matrix` is that of the other rows, `codes` are the training classes of all, (n,).
    """
    n_classes, weight = len(matrix), evidence.sample_weight
    noisy = np.bincount(codes[~evidence.known], weight[~evidence.known], minlength=n_classes)
    known = np.bincount(codes[evidence.known], weight[evidence.known], minlength=n_classes)
    of_class = class_shares(matrix, noisy.astype(np.float64)) * noisy.sum()
    share = (known / np.maximum(known + of_class, SMALLEST))[:, np.newaxis]
    return np.asarray((1.0 - share) * matrix + share * np.eye(n_classes))
