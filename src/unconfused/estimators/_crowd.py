"""Several annotators inside the likelihood: a matrix each, found together with the weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unconfused._labels import label_array
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion._dawid_skene import Crowd, CrowdFit, fit_crowd, shrink
from unconfused.confusion.annotators import with_truth
from unconfused.confusion.votes import Votes, votes_from_wide
from unconfused.engines.local import LocalEngine
from unconfused.solvers.likelihood import Likelihood, LikelihoodState

ROUNDS = 50
"""At most so many turns between weights and matrices."""

STEPS_PER_ROUND = 20
"""Steps of the weights in one turn: the matrices will move under them anyway."""

SETTLED = 1e-6
"""A turn that lowers the objective by less than this is the last."""

SMALLEST = 1e-6
"""Smallest chance of an answer: nobody is beyond a slip."""

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
) -> tuple[Votes, IntArray]:
    """Return votes and known truths with common classes; if strict, refuse rows with neither."""
    votes = y if isinstance(y, Votes) else votes_from_wide(y, missing_label=missing_label)
    votes, truth = with_truth(votes, y_true, classes, missing_label)
    silent = (np.bincount(votes.item, minlength=votes.n_items) == 0) & (truth < 0)
    if strict and silent.any():
        raise ValueError(
            f"{int(silent.sum())} rows have neither a vote nor a truth (the first is row "
            f"{int(np.argmax(silent))}). Drop them."
        )
    if len(votes.classes) < 2:
        raise ValueError("A classifier needs at least two classes; the votes show only one class.")
    return votes, truth


def refuse_other_annotators(given: Labels, known: Labels) -> None:
    """Raise if votes are not by the annotators a model knows."""
    if not np.array_equal(given, known):
        raise ValueError(
            "These votes are not by the annotators the model was fitted with, in the same order: "
            f"{given.tolist()[:6]} against {known.tolist()[:6]}."
        )


@dataclass
class CrowdState:
    """Weights and one matrix per annotator, with the probabilities of the truth they give."""

    likelihood: LikelihoodState
    matrices: FloatArray
    counts: FloatArray
    posterior: FloatArray
    objective: list[float] = field(default_factory=list)


def evidence_of(crowd: Crowd, matrices: FloatArray) -> FloatArray:
    """Return the chance of each row's votes given each true class, up to a factor per row."""
    logs = crowd.log_joint(matrices, np.ones(crowd.n_classes))
    logs[crowd.truth >= 0] = 0.0
    scaled = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.ascontiguousarray(crowd.fix_truth(scaled))


def crowd_of(votes: Votes, truth: IntArray) -> Crowd:
    """Put votes and truths into the form the computations want."""
    return Crowd(votes.indicators(), truth, votes.n_annotators, len(votes.classes))


def fit_votes(
    engine: LocalEngine,
    votes: Votes,
    truth: IntArray,
    settings: Likelihood,
    prior_strength: float,
) -> CrowdState:
    """Alternate between the weights given the matrices and the matrices given the weights.

    Starts at the matrices that the votes alone give (Dawid and Skene). Every turn raises the
    likelihood of the votes; an annotator with few answers stays near the matrix of all.
    """
    crowd = crowd_of(votes, truth)
    start = _votes_alone(crowd, votes.tally, engine.weights > 0, prior_strength * ANSWERS_OF_ALL)
    matrices = np.maximum(start.matrices, SMALLEST)
    zero = np.zeros((len(votes.classes), engine.n_features))
    state = LikelihoodState(zero, np.eye(len(votes.classes)))
    objective: list[float] = []
    while True:
        state = settings.run(engine, state, evidence_of(crowd, matrices))
        assert state.posterior is not None
        counts = crowd.counts(state.posterior)
        pooled = counts.sum(axis=0) + 1.0 / len(votes.classes)
        centre = pooled / pooled.sum(axis=1, keepdims=True)
        matrices = shrink(counts, centre, prior_strength * ANSWERS_OF_ALL)
        matrices = np.maximum(matrices, SMALLEST)
        objective.append(state.objective[-1] if state.objective else np.inf)
        settled = len(objective) > 1 and objective[-2] - objective[-1] < SETTLED
        if settled or state.interrupted or len(objective) >= ROUNDS:
            state.matrix = centre
            return CrowdState(state, matrices, counts, state.posterior, objective)


def _votes_alone(crowd: Crowd, tally: FloatArray, counted: BoolArray, strength: float) -> CrowdFit:
    """Fit Dawid and Skene's model to the rows that count, from their majority votes."""
    rows = Crowd(
        crowd.indicators[counted], crowd.truth[counted], crowd.n_annotators, crowd.n_classes
    )
    shares = tally[counted] / np.maximum(tally[counted].sum(axis=1, keepdims=True), 1.0)
    return fit_crowd(rows, rows.fix_truth(shares), strength, ROUNDS, SETTLED)
