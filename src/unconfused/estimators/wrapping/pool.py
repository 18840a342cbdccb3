"""Models averaged by what held-out rows say of them.

A classifier that believes the labels, one that has learnt what they probably stand for, and one of
the trusted rows alone are wrong on different rows: their average is better than each of them, and
no harm is done where one is bad, as its weight becomes small. Weights are those that make held-out
truths likeliest or, without truths, held-out labels through C.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax, softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import Calibration, best_floor, calibrate
from unconfused.confusion.estimation.sharpness import log_chances
from unconfused.confusion.estimation.stacking import stacked
from unconfused.estimators.automatic.search import FEWEST_TRUTHS
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.relabel.rounds import SMALLEST
from unconfused.estimators.relabel.weighted_mean import mean_and_error
from unconfused.estimators.wrapping.base import Taught, hard
from unconfused.estimators.wrapping.soft_rounds import CrossFitted, FromLabels, SoftRounds

NEGLIGIBLE = 0.01
"""A model with a smaller share is left out, and need not be fitted."""

BEYOND_CHANCE = 1.645
"""Standard errors by which held-out labels must become likelier where nothing else is known: a
one-sided test at 5 %."""


@dataclass(frozen=True)
class Member:
    """A model that may have a weight in the average.

    Parameters
    ----------
    name : what it was taught: "rounds" (the probable classes of rows), "labels", "mixed" (labels,
        or majorities of votes, and the truth where known) or "trusted"
    taught : the training set
    logs : (n, Q), out-of-fold log-probabilities of classes, without any knowledge of the row's own
        label or truth
    latest : (n, Q), the same after the last round
    calibration : of these, times the weight
    from_labels : how classes are read off predicted labels; None if classes are predicted
    """

    name: str
    taught: Taught
    logs: FloatArray
    latest: FloatArray
    calibration: Calibration
    from_labels: FromLabels | None = None

    def weighted(self, weight: float) -> Member:
        """Return it with another weight, relative to the one it has."""
        fair = self.calibration
        scaled = replace(fair, power=weight * fair.power, shift=weight * fair.shift)
        return replace(self, calibration=scaled)


@dataclass(frozen=True)
class Reading:
    """How a model of the average is read off a fitted classifier.

    Parameters
    ----------
    of : number of the classifier
    calibration : of log-probabilities, times the weight
    from_labels : how classes are read off predicted labels; None if classes are predicted
    """

    of: int
    calibration: Calibration
    from_labels: FromLabels | None

    def scores(self, logs: FloatArray) -> FloatArray:
        """Return what the classifier's log-probabilities add to the scores of classes."""
        return self.calibration.scores(self.from_labels.logs(logs) if self.from_labels else logs)


@dataclass(frozen=True)
class Pool:
    """The models of an average, the largest share first, and what it says of the rows."""

    members: list[Member]
    shares: dict[str, float]
    seen: Evidence
    found: CrossFitted

    @property
    def training_sets(self) -> list[Taught]:
        """What the classifiers are fitted to: some are read in two ways."""
        return list({id(member.taught): member.taught for member in self.members}.values())

    @property
    def readings(self) -> list[Reading]:
        """How the members are read off classifiers fitted to the training sets."""
        places = {id(taught): place for place, taught in enumerate(self.training_sets)}
        return [Reading(places[id(m.taught)], m.calibration, m.from_labels) for m in self.members]


def pool_models(rounds: SoftRounds, *, complete: bool = True) -> Pool:
    """Average the models that rounds have found, and simple ones.

    `complete` says whether models that are not there yet may be fitted. Where held-out labels do
    not support a guessed C there is no member: labels are believed. The guess still ranks rows
    better than plain confidence does, with the classes that the classifier of labels predicts.
    """
    assert rounds.judged is not None
    seen, known = rounds.judged.seen, rounds.seen.known
    members = _members(rounds, complete)
    counted = seen.trust * seen.sample_weight
    if rounds.believed is not None and not _supports_guess(rounds, members, seen, counted):
        return Pool([], {"labels": 1.0}, seen, _cross_fitted(members[-1:], seen))
    if _truths_can_judge(rounds):
        counted = np.where(known, counted, 0.0)
    judging = counted > 0
    logs = np.array([log_softmax(m.calibration.scores(m.logs[judging]), axis=1) for m in members])
    weights = stacked(logs, seen.evidence[judging], counted[judging])
    # How far the scores of classes are moved apart: a model that is sure of nothing adds nothing.
    parts = weights * np.maximum(logs.std(axis=2).mean(axis=1), SMALLEST)
    parts[parts < NEGLIGIBLE * parts.sum()] = 0.0
    parts /= parts.sum()
    shares = dict.fromkeys((m.name for m in members), 0.0)
    for member, part in zip(members, parts.tolist(), strict=True):
        shares[member.name] += part
    kept = [
        m.weighted(float(w)) for m, w, part in zip(members, weights, parts, strict=True) if part
    ]
    kept.sort(key=lambda member: -shares[member.name])
    return Pool(kept, shares, seen, _cross_fitted(kept, seen))


def _truths_can_judge(rounds: SoftRounds) -> bool:
    """Whether there are enough truths to judge models by, of more than half of the classes.

    Truths of few classes would favour models that predict these everywhere.
    """
    known, n_classes = rounds.seen.known, rounds.seen.evidence.shape[1]
    truths = rounds.first.classes[known & (rounds.seen.sample_weight > 0)]
    shown = len(np.unique(truths))
    return bool(len(truths) >= FEWEST_TRUTHS * n_classes and 2 * shown > n_classes)


def _cross_fitted(members: Sequence[Member], seen: Evidence) -> CrossFitted:
    """Return what an average of models says of the training rows."""
    probability = softmax(sum(m.calibration.scores(m.latest) for m in members), axis=1)
    unaware = sum(m.calibration.scores(m.logs) for m in members)
    posterior = seen.posterior(probability)
    return CrossFitted(seen.codes, probability, posterior, np.argmax(unaware, axis=1))


def _members(rounds: SoftRounds, complete: bool) -> list[Member]:
    """List the models: before and after rounds, and simple ones."""
    assert rounds.at_first is not None and rounds.label_logs is not None
    first, judged, known = rounds.at_first, rounds.judged, rounds.seen.known
    said: list[tuple[str, Taught, FloatArray, FloatArray, FromLabels | None]] = []
    if rounds.accepted is not None and judged is not None:
        unaware = rounds.trial or judged
        said.append(("rounds", rounds.accepted, unaware.logs, judged.logs, None))
    if rounds.from_labels is not None:
        said.append(("labels", rounds.first, first.logs, first.logs, rounds.from_labels))
    own = "mixed" if known.any() and rounds.crowd is None else "labels"
    said.append((own, rounds.first, rounds.label_logs, rounds.label_logs, None))
    if complete:
        said += [(name, taught, logs, logs, None) for name, taught, logs in _fitted_anew(rounds)]
    return [
        Member(name, taught, logs, latest, _calibrated(rounds, logs), from_labels)
        for name, taught, logs, latest, from_labels in said
    ]


def _fitted_anew(rounds: SoftRounds) -> list[tuple[str, Taught, FloatArray]]:
    """Fit the classifier to majorities of votes, with the truth where known, and to truths alone.

    To majorities, as the first model of votes has learnt more than these say.
    """
    known, folds = rounds.seen.known, rounds._folds()
    taught = {}
    if rounds.crowd is not None:
        share = rounds.crowd.majority()
        lots = np.random.RandomState(rounds.seed).random_sample(share.shape)
        likeliest = (share + 1e-6 * lots).argmax(axis=1)
        taught["mixed"] = hard(likeliest, rounds.seen.sample_weight)
    alone = rounds.first.without(~known)
    if len(np.unique(alone.codes)) == rounds.seen.evidence.shape[1]:  # or it knows only some
        taught["trusted"] = alone
    found = []
    for name, one in taught.items():
        with suppress(ValueError):  # too few rows for the classifier
            found.append((name, one, rounds.ask([one] * len(folds), folds)))
    return found


def _calibrated(rounds: SoftRounds, logs: FloatArray) -> Calibration:
    """Calibrate a model on what was seen."""
    assert rounds.judged is not None
    seen = rounds.judged.seen
    scale = np.count_nonzero(seen.sample_weight) / max(float(seen.sample_weight.sum()), SMALLEST)
    weight = scale * seen.trust * seen.sample_weight
    floor = best_floor(logs, seen.evidence, weight)
    return calibrate(logs, seen.evidence, weight, floor)


def _supports_guess(
    rounds: SoftRounds, members: Sequence[Member], seen: Evidence, counted: FloatArray
) -> bool:
    """Whether held-out labels support a guessed C: rounds predict them better than simple models.

    Better than labels believed, and than classes believed to be as labelled but seen through the
    same C: a matrix blurs predictions, which may be all that coarse ones need.
    """
    if members[0].name != "rounds" or rounds.believed is None:
        return False
    ours, own = (
        log_chances(softmax(m.calibration.scores(m.logs), axis=1), seen.evidence)
        for m in (members[0], members[-1])
    )
    gains = [mean_and_error(ours - simple, counted) for simple in (rounds.believed, own)]
    return all(gain > BEYOND_CHANCE * error for gain, error in gains)
