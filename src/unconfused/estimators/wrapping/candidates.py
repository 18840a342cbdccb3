"""What a classifier may be taught in the end, and which of that held-out rows speak for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from unconfused._typing import FloatArray, IntArray
from unconfused.confusion.estimation.calibration import best_floor, only_power
from unconfused.estimators.automatic.search import FEWEST_TRUTHS
from unconfused.estimators.relabel.out_of_fold import Judged
from unconfused.estimators.relabel.weighted_mean import mean_and_error
from unconfused.estimators.wrapping.base import Taught, hard
from unconfused.estimators.wrapping.soft_rounds import FromLabels, SoftRounds

POWERS = np.geomspace(0.05, 20.0, 31)
"""Powers of probabilities at which losses are compared."""

BEYOND_CHANCE = 1.645
"""Standard errors by which held-out labels must become likelier where nothing else is known: a
one-sided test at 5 %."""


@dataclass(frozen=True)
class Candidate:
    """Something to fit the classifier to.

    Parameters
    ----------
    name : "rounds" (the probable classes of rows), "labels", "mixed" (labels, and the truth where
        known) or "trusted"
    taught : what to fit to
    judged : what models of the folds say of the rows; None where labels are simply believed
    logs : (n, Q), the same by models that have no knowledge of a row's own label or truth
    from_labels : how predicted labels are turned into classes; None if classes are predicted
    """

    name: str
    taught: Taught
    judged: Judged | None = None
    logs: FloatArray | None = None
    from_labels: FromLabels | None = None


def found_by(rounds: SoftRounds) -> list[Candidate]:
    """Return the model after the rounds, if any were made, and the model before them."""
    judged, tried, first = rounds.judged, rounds.tried, rounds.at_first
    found = []
    if rounds.accepted is not None and judged is not None and tried is not None:
        found.append(Candidate("rounds", rounds.accepted, judged, tried.logs))
    if first is not None:
        labels = Candidate("labels", rounds.first, first, first.logs, rounds.from_labels)
        found.append(labels)
    return found or [Candidate("labels", rounds.first)]


def choose(rounds: SoftRounds) -> Candidate:
    """Return the candidate to use.

    With trusted rows, what believes labels or looks at trusted rows alone competes, too. With
    nothing known but labels, or votes, rounds count only if these have become clearly likelier.
    """
    found, known = found_by(rounds), rounds.seen.known
    if known.any():
        enough = known.sum() >= FEWEST_TRUTHS * rounds.seen.evidence.shape[1]
        return best_on_truths(rounds, [*found, *believers(rounds)]) if enough else found[0]
    if rounds.crowd is None and rounds.believed is None:
        return found[0]
    tried, first = rounds.tried, rounds.at_first
    if tried is not None and first is not None:
        gain, error = mean_and_error(tried.explained - first.explained, tried.counted)
        if gain > BEYOND_CHANCE * error:
            return found[0]
    return found[-1] if rounds.crowd is not None else Candidate("labels", rounds.first)


def best_on_truths(rounds: SoftRounds, candidates: list[Candidate]) -> Candidate:
    """Return the first candidate, unless a later one predicts held-out truths better.

    Better by one standard error: a handful of truths should not decide by chance. The loss is the
    quadratic one, as a log-loss on few rows hangs on the one or two that surprise most.
    """
    known = rounds.seen.known
    truth, weight = rounds.first.classes[known], rounds.seen.sample_weight[known]

    def losses(candidate: Candidate) -> FloatArray:
        assert candidate.logs is not None
        return quadratic_losses(candidate.logs[known], truth, weight)

    best, least = candidates[0], losses(candidates[0])
    for candidate in candidates[1:]:
        own = losses(candidate)
        gain, error = mean_and_error(least - own, weight)
        if gain > error:
            best, least = candidate, own
    return best


def quadratic_losses(logs: FloatArray, truth: IntArray, weight: FloatArray) -> FloatArray:
    """Return every row's quadratic loss, at the power of the probabilities that suits them best.

    Examples
    --------
    >>> logs = np.log([[0.6, 0.4], [0.4, 0.6]])
    >>> quadratic_losses(logs, np.array([0, 1]), np.ones(2)).round(3)
    array([0., 0.])
    """
    wanted = np.eye(logs.shape[1])[truth]
    losses = [((softmax(power * logs, axis=1) - wanted) ** 2).sum(axis=1) for power in POWERS]
    return min(losses, key=lambda of_rows: float(np.average(of_rows, weights=weight)))


def believers(rounds: SoftRounds) -> list[Candidate]:
    """Return the classifier on labels with the truth where known, and on trusted rows alone."""
    assert rounds.judged is not None and rounds.label_logs is not None
    known, folds, seen = rounds.seen.known, rounds._folds(), rounds.judged.seen
    mixed, logs = rounds.first, rounds.label_logs
    if rounds.crowd is not None:  # there the first model has learnt more than the majority says
        share = rounds.crowd.majority()
        lots = np.random.RandomState(rounds.seed).random_sample(share.shape)
        mixed = hard((share + 1e-6 * lots).argmax(axis=1), seen.sample_weight)
        logs = rounds.ask([mixed] * len(folds), folds)
    said = {"mixed": (mixed, logs)}
    alone = rounds.first.without(~known)
    with suppress(ValueError):  # too few trusted rows for the classifier
        said["trusted"] = (alone, rounds.ask([alone] * len(folds), folds))
    truths = np.where(known, seen.sample_weight, 0.0)
    candidates = []
    for name, (taught, logs) in said.items():
        floor = best_floor(logs[known], seen.evidence[known], truths[known])
        calibration = only_power(logs, seen.evidence, truths, floor)
        judged = rounds._with_what_was_seen(logs, seen, calibration)
        candidates.append(Candidate(name, taught, judged, logs))
    return candidates
