"""Votes in the likelihood: one matrix per annotator, estimated together with the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import has_columns
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion._columns_as_votes import columns_as_votes, with_truth
from unconfused.confusion._dawid_skene import Crowd, fit_crowd, shrink
from unconfused.confusion.votes import Votes
from unconfused.engines.base import Engine
from unconfused.estimators._array_input import like, to_numpy
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import preconditioner_of

if TYPE_CHECKING:
    from unconfused.estimators.annotators.voted_rows import LocalVotes

ROUNDS = 50
"""Maximum number of alternations between weights and matrices."""

STEPS_PER_ROUND = 20
"""Steps of the weights in one iteration."""

TOLERANCE = 1e-3
"""Iterations end when no entry of a matrix changes by more than this."""

SMALLEST = 1e-6
"""Smallest probability of an answer."""

ANSWERS_OF_ALL = 5.0
"""Pseudocount per class by which an annotator's matrix is shrunk towards that of all annotators."""


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
    refuse_one_class(votes.classes)
    return votes, truth


def refuse_one_class(classes: Labels) -> None:
    """Raise if votes show fewer than two classes."""
    if len(classes) < 2:
        shown = f"only one class ({classes.tolist()})" if len(classes) else "none"
        raise ValueError(f"A classifier needs at least two classes; the votes show {shown}.")


def refuse_other_annotators(given: Labels, known: Labels) -> None:
    """Raise if votes are not by the annotators a model knows."""
    if not np.array_equal(given, known):
        raise ValueError(
            "These votes are not by the annotators the model was fitted with, in the same order: "
            f"{given.tolist()[:6]} against {known.tolist()[:6]}."
        )


@dataclass
class CrowdState:
    """Weights, one matrix per annotator, and the settings with their preconditioner."""

    likelihood: LikelihoodState
    matrices: FloatArray
    settings: Likelihood


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


def annotator_matrices(crowd: Crowd, posterior: FloatArray) -> FloatArray:
    """Estimate the annotators' matrices from a posterior, shrunk towards that of all, (A, Q, Q).

    `posterior` is that of the rows, times their weight.
    """
    counts = crowd.counts(posterior)
    pooled = counts.sum(axis=0) + 1.0 / crowd.n_classes
    pooled /= pooled.sum(axis=1, keepdims=True)
    return np.maximum(shrink(counts, pooled, ANSWERS_OF_ALL), SMALLEST)


def crowd_of(votes: Votes, truth: IntArray, silent: BoolArray | None = None) -> Crowd:
    """Return votes as indicators; the silence of annotators marked in `silent` is an answer."""
    return Crowd(votes.indicators(silent), truth, votes.n_annotators, len(votes.classes))


def split_silence(
    matrices: FloatArray, silent: BoolArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Split P(answer | class), (A, Q, Q + 1), into labels given an answer, (A, Q, Q), and silence.

    Silence, (A, Q), is NaN for annotators whose silence is not an answer; None if that is all.
    """
    n_classes = matrices.shape[1]
    spoken = matrices[:, :, :n_classes]
    if silent is None or matrices.shape[2] == n_classes:
        return spoken, None
    silence = np.where(silent[:, np.newaxis], matrices[:, :, n_classes], np.nan)
    return spoken / spoken.sum(axis=2, keepdims=True), silence


def join_silence(spoken: FloatArray, silence: FloatArray | None) -> FloatArray:
    """Undo `split_silence`."""
    if silence is None:
        return spoken
    share = np.nan_to_num(silence)[:, :, np.newaxis]
    return np.concatenate([(1.0 - share) * spoken, share], axis=2)


def answers_of(model: Any, votes: Votes, truth: IntArray) -> tuple[Crowd, FloatArray]:
    """Return votes as a fitted model sees them, and the annotators' matrices, with silence."""
    silence = getattr(model, "annotator_silence_", None)
    silent = None if silence is None else ~np.isnan(silence[:, 0])
    return crowd_of(votes, truth, silent), join_silence(model.annotator_confusion_, silence)


class RowEvidence(NamedTuple):
    """Input of a fit of the weights, for given matrices of the annotators."""

    engine: Engine
    evidence: FloatArray
    """P(votes | true class) of each label code, (S, Q), up to a factor per code."""

    offset: float
    """Mean logarithm of these factors."""


def dawid_skene_matrices(rows: LocalVotes, prior_strength: float) -> FloatArray:
    """Return the annotators' matrices by Dawid and Skene's model, from votes alone, (A, Q, Q)."""
    strength = prior_strength * ANSWERS_OF_ALL
    found = fit_crowd(*rows.votes_alone(), strength, ROUNDS, 1e-6)
    return np.maximum(found.matrices, SMALLEST)


def fit_votes(
    rows: LocalVotes,
    matrices: FloatArray,
    settings: Likelihood,
    prior_strength: float,
    *,
    refine: bool = True,
) -> CrowdState:
    """Alternate between the weights given the matrices and the matrices given the weights.

    Every iteration increases the likelihood of the votes; the matrix of an annotator with few
    answers is shrunk towards that of all. Without `refine` the matrices stay as given.
    """
    n_classes, strength = len(rows.classes), prior_strength * ANSWERS_OF_ALL
    state = LikelihoodState(np.zeros((n_classes, rows.n_features)), np.eye(n_classes))
    for turn in range(ROUNDS):
        engine, evidence, offset = rows.evidence(matrices)
        if settings.metric is None:
            settings = replace(settings, metric=preconditioner_of(engine, n_classes, settings.l2))
        done = len(state.objective)
        state = settings.run(engine, state, evidence)
        # With the factors included, objectives of different iterations are comparable.
        state.objective[done:] = [value - offset for value in state.objective[done:]]
        counts = rows.counts(state, matrices)
        pooled = counts.sum(axis=0) + 1.0 / n_classes
        spoken = pooled[:, :n_classes]  # without silence
        state.matrix = spoken / spoken.sum(axis=1, keepdims=True)
        if not refine:
            if state.interrupted or not state.exhausted:
                break
            continue
        before = matrices
        centre = pooled / pooled.sum(axis=1, keepdims=True)
        matrices = np.maximum(shrink(counts, centre, strength), SMALLEST)
        converged = np.abs(matrices - before).max() < TOLERANCE
        if state.interrupted or (converged and not state.exhausted):
            break
        state.exhausted = turn == ROUNDS - 1
    return CrowdState(state, matrices, settings)


def known_votes(model: Any, y: Any) -> tuple[Crowd, FloatArray]:
    """Return votes of the annotators that a model was fitted with, and their matrices."""
    votes, truth = collect_votes(y, None, model.classes_, model.missing_label)
    refuse_other_annotators(votes.annotators, model.annotators_)
    return answers_of(model, votes, truth)


def log_vote_chances(model: Any, y: Any) -> tuple[FloatArray, BoolArray]:
    """Return log P(votes | true class) of each row, and which rows have any."""
    crowd, matrices = known_votes(model, y)
    return crowd.log_joint(matrices, np.ones(crowd.n_classes)), crowd.informed


def posterior_of_votes(model: Any, X: Any, y: Any) -> FloatArray:
    """Return P(true class | row, votes) under a model with a matrix per annotator, (n, Q)."""
    probabilities = model.predict_proba(X)
    shares = to_numpy(probabilities)
    if not hasattr(model, "annotator_confusion_"):
        raise ValueError("y holds votes, but the model was fitted with one label per row.")
    crowd, matrices = known_votes(model, y)
    check_consistent_length(shares, crowd.truth)
    joint = shares * evidence_of(crowd, matrices)[0]
    posterior: FloatArray = like(joint / joint.sum(axis=1, keepdims=True), probabilities)
    return posterior
