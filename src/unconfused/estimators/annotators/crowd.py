"""Several annotators inside the likelihood: a matrix each, found together with the weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_consistent_length

from unconfused._labels import label_array
from unconfused._matrix import ConfusionWarning
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion._columns_as_votes import columns_as_votes
from unconfused.confusion._dawid_skene import Answers, Crowd, Expectation, fit_crowd, shrink
from unconfused.confusion.annotators import with_truth
from unconfused.confusion.votes import Votes
from unconfused.engines.base import Engine
from unconfused.estimators._array_input import like, to_numpy
from unconfused.solvers.likelihood import Likelihood, LikelihoodState
from unconfused.solvers.preconditioner import preconditioner_of

ROUNDS = 50
"""Maximum number of alternations between weights and matrices."""

STEPS_PER_ROUND = 20
"""Steps of the weights in one turn: the matrices will move under them anyway."""

SETTLED = 1e-3
"""A turn that moves no entry of a matrix by more than this is the last."""

SMALLEST = 1e-6
"""Smallest probability of an answer: anyone may slip."""

ANSWERS_OF_ALL = 5.0
"""Answers per class that an annotator's matrix is given from those of all annotators."""


def are_votes(y: Any) -> bool:
    """Whether labels come from several annotators: a Votes object, or two or more columns."""
    if isinstance(y, Votes):
        return True
    shape = y.shape if hasattr(y, "shape") else label_array(y).shape
    return len(shape) == 2 and shape[1] > 1


def collect_votes(
    y: Any,
    y_true: ArrayLike | None,
    classes: ArrayLike | None,
    missing_label: Any,
    *,
    strict: bool = True,
    first_row: int = 0,
) -> tuple[Votes, IntArray]:
    """Return votes and known truths with common classes; if strict, refuse rows with neither.

    `first_row` is the number of the first of these rows among all.
    """
    if not isinstance(y, Votes):
        y = columns_as_votes(y, classes=classes, missing_label=missing_label)
    votes = y
    votes, truth = with_truth(votes, y_true, classes, missing_label)
    silent = (np.bincount(votes.item, minlength=votes.n_items) == 0) & (truth < 0)
    if strict and silent.any():
        raise ValueError(
            f"{int(silent.sum())} rows have neither a vote nor a truth (the first is row "
            f"{first_row + int(np.argmax(silent))}). Drop them."
        )
    refuse_one_class(votes.classes)
    if strict:
        warn_of_one_sided(votes)
    return votes, truth


def warn_of_one_sided(votes: Votes) -> None:
    """Warn if most annotators only ever gave one label: their votes alone are uninformative."""
    one_sided = votes.annotators[votes.one_sided].tolist()
    if len(one_sided) > votes.n_annotators / 2:
        warnings.warn(
            f"{len(one_sided)} of {votes.n_annotators} annotators, such as {one_sided[0]!r}, only "
            "ever gave one label, as rules do. Their silence is informative, but this fit ignores "
            "it. Fit confusion.from_annotators(votes).consensus instead, or "
            "UnconfusedLogisticRegression to votes in memory.",
            ConfusionWarning,
            stacklevel=2,
        )


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
    """Weights, and one matrix per annotator."""

    likelihood: LikelihoodState
    matrices: FloatArray
    settings: Likelihood
    """As they were, with the coordinates that steps were taken in."""


def evidence_of(crowd: Crowd, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the chance of each row's votes given each true class, and the log of its scale.

    Each row is divided by its largest chance, as that of many votes would be too small to write.
    """
    logs = crowd.log_joint(matrices, np.ones(crowd.n_classes))
    gold = crowd.truth >= 0
    scale = logs.max(axis=1)
    scale[gold] = logs[gold, crowd.truth[gold]]
    evidence = crowd.fix_truth(np.exp(logs - scale[:, np.newaxis]))
    return np.ascontiguousarray(evidence), scale


def annotator_matrices(crowd: Crowd, posterior: FloatArray) -> FloatArray:
    """Count each annotator's answers by probable class, few ones drawn to those of all, (A, Q, Q).

    `posterior` is that of the rows, times their weight.
    """
    counts = crowd.counts(posterior)
    pooled = counts.sum(axis=0) + 1.0 / crowd.n_classes
    pooled /= pooled.sum(axis=1, keepdims=True)
    return np.maximum(shrink(counts, pooled, ANSWERS_OF_ALL), SMALLEST)


def crowd_of(votes: Votes, truth: IntArray, silent: BoolArray | None = None) -> Crowd:
    """Put votes and truths into the form the computations want.

    The silence of annotators marked in `silent`, (A,), is an answer, too.
    """
    return Crowd(votes.indicators(silent), truth, votes.n_annotators, len(votes.classes))


def split_silence(
    matrices: FloatArray, silent: BoolArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Part answers (A, Q, Q + 1) into labels given an answer (A, Q, Q), and silence (A, Q).

    Silence is NaN where it is no answer; None if it is none for all.
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


class VotedRows(Protocol):
    """Rows with votes on them, in memory or on workers."""

    @property
    def X(self) -> Any:  # noqa: N802 - as estimators call it
        """The rows."""
        ...

    @property
    def classes(self) -> Labels:
        """The classes, sorted."""
        ...

    @property
    def annotators(self) -> Labels:
        """Who voted."""
        ...

    @property
    def n_features(self) -> int:
        """Columns of the weights, the intercept's included."""
        ...

    def votes_alone(self) -> tuple[Answers, Expectation]:
        """Return the answers on the rows that count, and what their majorities say in sum."""
        ...

    def through(self, matrices: FloatArray) -> SeenRows:
        """Return the rows as seen through annotators' matrices, (A, Q, Q)."""
        ...

    def counts(self, state: LikelihoodState, matrices: FloatArray) -> FloatArray:
        """Count expected answers by annotator, true class and label, (A, Q, Q).

        `state` was found through these matrices.
        """
        ...


@dataclass(frozen=True)
class SeenRows:
    """What a fit of the weights needs, while the annotators' matrices are held."""

    engine: Engine
    evidence: FloatArray
    """The chance of each label code given each true class, (S, Q)."""

    offset: float
    """Mean log of what the evidence was divided by."""


def matrices_of_votes_alone(rows: VotedRows, prior_strength: float) -> FloatArray:
    """Return the annotators' matrices that the votes alone give (Dawid and Skene), (A, Q, Q)."""
    strength = prior_strength * ANSWERS_OF_ALL
    found = fit_crowd(*rows.votes_alone(), strength, ROUNDS, 1e-6)
    return np.maximum(found.matrices, SMALLEST)


def fit_votes(
    rows: VotedRows, settings: Likelihood, prior_strength: float, *, refine: bool = True
) -> CrowdState:
    """Alternate between the weights given the matrices and the matrices given the weights.

    Starts at the matrices that the votes alone give (Dawid and Skene). Every turn raises the
    likelihood of the votes; an annotator with few answers stays near the matrix of all. Without
    `refine` the matrices stay those of the votes alone.
    """
    n_classes, strength = len(rows.classes), prior_strength * ANSWERS_OF_ALL
    matrices = matrices_of_votes_alone(rows, prior_strength)
    state = LikelihoodState(np.zeros((n_classes, rows.n_features)), np.eye(n_classes))
    for turn in range(ROUNDS):
        seen = rows.through(matrices)
        if settings.metric is None:
            settings = replace(
                settings, metric=preconditioner_of(seen.engine, n_classes, settings.l2)
            )
        done = len(state.objective)
        state = settings.run(seen.engine, state, seen.evidence)
        # With the scale back in, the objective of one turn can be compared with the next's.
        state.objective[done:] = [value - seen.offset for value in state.objective[done:]]
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
        settled = np.abs(matrices - before).max() < SETTLED
        if state.interrupted or (settled and not state.exhausted):
            break
        state.exhausted = turn == ROUNDS - 1
    return CrowdState(state, matrices, settings)


def log_vote_chances(model: Any, y: Any) -> tuple[FloatArray, BoolArray]:
    """Return the log-chance of each row's votes given each true class, and where there are any."""
    votes, truth = collect_votes(y, None, model.classes_, model.missing_label, strict=False)
    refuse_other_annotators(votes.annotators, model.annotators_)
    crowd, matrices = answers_of(model, votes, truth)
    return crowd.log_joint(matrices, np.ones(crowd.n_classes)), crowd.informed


def posterior_of_votes(model: Any, X: Any, y: Any) -> FloatArray:
    """Return P(true class | row, votes) under a model with a matrix per annotator, (n, Q)."""
    probabilities = model.predict_proba(X)
    shares = to_numpy(probabilities)
    if not hasattr(model, "annotator_confusion_"):
        raise ValueError("y holds votes, but the model was fitted with one label per row.")
    votes, truth = collect_votes(y, None, model.classes_, model.missing_label, strict=False)
    refuse_other_annotators(votes.annotators, model.annotators_)
    check_consistent_length(shares, truth)
    joint = shares * evidence_of(*answers_of(model, votes, truth))[0]
    posterior: FloatArray = like(joint / joint.sum(axis=1, keepdims=True), probabilities)
    return posterior
