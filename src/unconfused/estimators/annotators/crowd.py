"""Votes, and their likelihood given the true class, by one confusion matrix per annotator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unconfused._labels import has_columns
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray
from unconfused.confusion._dawid_skene import Crowd, shrink
from unconfused.confusion.annotators import columns_as_votes, with_truth
from unconfused.confusion.votes import Votes
from unconfused.estimators._arrays import like, to_numpy

ROUNDS = 50
"""Maximum number of iterations over the annotators' matrices."""

SMALLEST = 1e-6
"""Smallest probability of an answer."""

ANSWERS_OF_ALL = 5.0
"""Pseudocounts per class by which an annotator's matrix is shrunk towards the pooled one."""


def are_votes(y: Any) -> bool:
    """Whether labels come from several annotators: a Votes object, or two or more columns."""
    return isinstance(y, Votes) or has_columns(y)


def collect_votes(
    y: Any, y_true: ArrayLike | None, classes: ArrayLike | None, missing_label: Any
) -> tuple[Votes, IntArray]:
    """Return votes and known truths with common classes."""
    if not isinstance(y, Votes):
        y = columns_as_votes(y, classes=classes, missing_label=missing_label)
    votes, truth = with_truth(y, y_true, classes, missing_label)
    if len(votes.classes) < 2:
        found = f"only one class, {votes.classes.tolist()[0]!r}" if len(votes.classes) else "none"
        raise ValueError(f"A classifier needs at least two classes; the votes show {found}.")
    return votes, truth


def refuse_nothing_to_learn(noisy_weight: float, trusted: bool) -> None:
    """Raise if noisy rows have weight 0 and no row is trusted."""
    if noisy_weight == 0 and not trusted:
        raise ValueError(
            "noisy_weight=0 leaves nothing to learn from: no row's truth is known. Pass known "
            "truths as y_true, or raise noisy_weight."
        )


def evidence_of(crowd: Crowd, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return P(votes | true class) of each row, and the logarithm of the factor it is divided by.

    Rows are scaled to a maximum of 1: products over many votes would underflow.
    """
    logs = crowd.log_joint(matrices, np.ones(crowd.n_classes))
    gold = crowd.truth >= 0
    scale = logs.max(axis=1)
    scale[gold] = logs[gold, crowd.truth[gold]]
    evidence = crowd.fix_truth(np.exp(logs - scale[:, np.newaxis]))
    return np.ascontiguousarray(evidence), scale


def annotator_matrices(
    crowd: Crowd, posterior: FloatArray, strength: float = ANSWERS_OF_ALL
) -> FloatArray:
    """Estimate the annotators' matrices from a posterior, shrunk towards the pooled one, (A, Q, Q).

    `posterior` is that of the rows, times their weight.
    """
    counts = crowd.counts(posterior)
    pooled = counts.sum(axis=0) + 1.0 / crowd.n_classes
    pooled /= pooled.sum(axis=1, keepdims=True)
    return np.maximum(shrink(counts, pooled, strength), SMALLEST)


def training_crowd(votes: Votes, truth: IntArray) -> Crowd:
    """Return votes as indicators, silence of rules included; raise if there is no vote or truth."""
    crowd = Crowd.of(votes, truth, votes.one_sided)
    if not crowd.informed.any():
        raise ValueError("No row has a vote or a known truth, so there is nothing to learn from.")
    return crowd


def split_silence(
    matrices: FloatArray, silent: BoolArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Split P(answer | class), (A, Q, Q + 1), into P(label | class, answered) and P(silence).

    The latter, (A, Q), is NaN for annotators whose silence is not informative; None if all are so.
    """
    n_classes = matrices.shape[1]
    spoken = matrices[:, :, :n_classes]
    if silent is None or matrices.shape[2] == n_classes:
        return spoken, None
    silence = np.where(silent[:, np.newaxis], matrices[:, :, n_classes], np.nan)
    return spoken / spoken.sum(axis=2, keepdims=True), silence


def publish_annotators(model: Any, votes: Votes, matrices: FloatArray) -> None:
    """Set the attributes of a model that say how its annotators err."""
    model.annotators_ = votes.annotators
    model.annotator_confusion_, silence = split_silence(matrices, votes.one_sided)
    if silence is not None:
        model.annotator_silence_ = silence


def join_silence(spoken: FloatArray, silence: FloatArray | None) -> FloatArray:
    """Undo `split_silence`."""
    if silence is None:
        return spoken
    share = np.nan_to_num(silence)[:, :, np.newaxis]
    return np.concatenate([(1.0 - share) * spoken, share], axis=2)


def answers_of(model: Any, votes: Votes, truth: IntArray) -> tuple[Crowd, FloatArray]:
    """Return votes in the form of a fitted model, and its annotators' matrices, with silence."""
    silence = getattr(model, "annotator_silence_", None)
    silent = None if silence is None else ~np.isnan(silence[:, 0])
    return Crowd.of(votes, truth, silent), join_silence(model.annotator_confusion_, silence)


def known_votes(model: Any, y: Any, y_true: ArrayLike | None = None) -> tuple[Votes, IntArray]:
    """Return votes of the annotators that a model was fitted with, and known truths."""
    check_is_fitted(model)
    if not hasattr(model, "annotator_confusion_"):
        raise ValueError("y holds votes, but the model was fitted with one label per row.")
    votes, truth = collect_votes(y, y_true, model.classes_, model.missing_label)
    if not np.array_equal(votes.annotators, model.annotators_):
        raise ValueError(
            "These votes are not by the annotators the model was fitted with, in the same order: "
            f"{votes.annotators.tolist()[:6]} against {model.annotators_.tolist()[:6]}."
        )
    return votes, truth


def log_vote_chances(model: Any, y: Any) -> tuple[FloatArray, BoolArray]:
    """Return log P(votes | true class) of each row, and which rows have any."""
    crowd, matrices = answers_of(model, *known_votes(model, y))
    return crowd.log_joint(matrices, np.ones(crowd.n_classes)), crowd.informed


def posterior_of_votes(model: Any, X: Any, y: Any) -> FloatArray:
    """Return P(true class | row, votes) under a model with a matrix per annotator, (n, Q)."""
    crowd, matrices = answers_of(model, *known_votes(model, y))
    probabilities = model.predict_proba(X)
    check_consistent_length(probabilities, crowd.truth)
    joint = to_numpy(probabilities) * evidence_of(crowd, matrices)[0]
    posterior: FloatArray = like(joint / joint.sum(axis=1, keepdims=True), probabilities)
    return posterior
