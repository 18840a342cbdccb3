"""Models averaged with the weights that make held-out rows likeliest (stacking).

A few trusted rows can tell a good model from a bad one, but not the best of several good ones, and
models that are wrong on different rows correct each other. Without trusted rows, labels or votes
judge a model before and after its rounds of relabelling. Averages are of log-probabilities; of
linear models the scores are averaged, and hence the weights: the result is a linear model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax, softmax

from unconfused._typing import BoolArray, FloatArray
from unconfused.confusion.estimation.calibration import (
    Calibration,
    posterior_given,
    shares_of,
    stacked,
)

if TYPE_CHECKING:
    from unconfused.estimators.automatic.held_out import HeldOutRows
    from unconfused.estimators.automatic.search import Candidate, Search
    from unconfused.estimators.relabel.pseudo_labels import Relabelling
    from unconfused.solvers.likelihood import LikelihoodState

PRECISION_OF_LABELS = 5.0
"""Precision of the weights that labels suggest, beside truths: lower than around even weights, as
labels mislead where mistakes depend on the row. (Linear SVM and k-NN on nine tables, with and
without such mistakes; 3 and 10 do nearly as well.)"""


@dataclass(frozen=True)
class Blend:
    """An average of models, from their out-of-fold scores.

    Parameters
    ----------
    parts : calibration of each model, times its weight; 0 if it is left out
    shares : (M,), of each model in the average
    logs : (n, Q), averaged log-probabilities of the classes, each row up to a constant
    """

    parts: list[Calibration]
    shares: FloatArray
    logs: FloatArray

    def weights(self, models: Sequence[FloatArray], intercept: bool) -> FloatArray:
        """Return the average of linear models, given the weights of each."""
        mean = np.sum([p.power * own for p, own in zip(self.parts, models, strict=True)], axis=0)
        if intercept:
            mean[:, -1] += np.sum([part.shift for part in self.parts], axis=0)
        return np.asarray(mean)


def blend(
    tables: Sequence[FloatArray],
    calibrations: Sequence[Calibration],
    evidence: FloatArray,
    weight: FloatArray,
    known: BoolArray | None = None,
) -> Blend:
    """Average models with the weights that make the evidence likeliest.

    Parameters
    ----------
    tables : out-of-fold scores or log-probabilities of each model, (n, Q)
    calibrations : of each model on its own
    evidence : (n, Q), P(observation | true class)
    weight : (n,), what each row counts
    known : (n,), rows whose truth is known among others with labels: weights are then moved towards
        those that make the truths likeliest, as far as the number of these allows. Labels are many,
        and truths right even where mistakes depend on more than the class
    """
    pairs = list(zip(tables, calibrations, strict=True))
    logs = np.array([log_softmax(fair.scores(own), axis=1) for own, fair in pairs])
    counted = weight > 0
    some, seen = logs[:, counted], evidence[counted]
    weights = stacked(some, seen, weight[counted])
    if known is not None:
        truths = np.where(known, weight, 0.0)[counted]
        weights = stacked(some, seen, truths, weights, PRECISION_OF_LABELS)
    shares = shares_of(weights, some)
    weights = weights * (shares > 0)
    parts = [fair.times(own) for fair, own in zip(calibrations, weights.tolist(), strict=True)]
    return Blend(parts, shares, np.tensordot(weights, logs, 1))


@dataclass(frozen=True)
class Member:
    """A model that may have a share in the average.

    Parameters
    ----------
    candidate : its settings
    scores : (n, Q), out-of-fold scores of all rows that are judged by
    fit : returns the model fitted to all rows
    relabelled : whether it comes from rounds of relabelling
    """

    candidate: Candidate
    scores: FloatArray
    fit: Callable[[], LikelihoodState]
    relabelled: bool = False


def conclude(
    search: Search,
    fits: tuple[LikelihoodState, LikelihoodState],
    rounds: Relabelling | None,
    fit_simple: Callable[[Candidate], LikelihoodState],
    finish: Callable[[LikelihoodState], None],
    *,
    through: bool = True,
) -> LikelihoodState:
    """Average a fit, its rounds and, if truths can judge them, simple models; and calibrate.

    Parameters
    ----------
    search : the search behind the fit; shares are noted in it
    fits : before and after the rounds
    rounds : what was tried in them
    fit_simple : fits the labels as they are, or the trusted rows alone
    finish : computes the posterior of the average
    through : whether the fit and its rounds take part
    """
    state = fits[1]
    # Where mistakes depend on the row, labels would favour the model that repeats these mistakes.
    fair = bool(state.relabelled) and not state.noise_depends_on_rows
    if (search.by_truths or fair) and not state.interrupted:
        try:
            found = _averaged(search, fits, rounds, fit_simple, through)
            finish(found)
            state = found
        except KeyboardInterrupt:
            state.interrupted = True
    if state.calibration is None:
        search.calibrate(state)
    return state


def _averaged(
    search: Search,
    fits: tuple[LikelihoodState, LikelihoodState],
    rounds: Relabelling | None,
    fit_simple: Callable[[Candidate], LikelihoodState],
    through: bool,
) -> LikelihoodState:
    """Return the average, without its posterior."""
    assert search.chosen is not None
    (plain, state), members = fits, list[Member]()
    if through:
        members.append(Member(search.chosen, search.scores[search.chosen], lambda: plain))
    if through and state.relabelled and rounds is not None:
        # Later rounds have seen what held-out truths did to other rows.
        first = rounds.after_first_round[search.rows.places]
        if state.calibration is not None:
            first = state.calibration[0] * first + state.calibration[1:]
        members.append(Member(search.chosen, first, lambda: state, relabelled=True))
    members += [
        Member(simple, search.scores[simple], partial(fit_simple, simple))
        for simple in search.simple
        if simple != search.chosen or not through
    ]
    rows = search.rows.through(state.matrix)
    # Labels would have themselves believed, but they can judge two models that are seen through C.
    judging = rows.truth if search.by_truths else rows.every
    weights, shares, logs = average(members, rows, judging, search.intercept)
    search.predicted = logs[rows.truth].argmax(axis=1)
    best = members[int(shares.argmax())]
    for member, share in zip(members, shares, strict=True):
        search.shares[member.candidate] = search.shares.get(member.candidate, 0.0) + share
    if not search.shares.get(search.chosen):
        search.chosen = best.candidate
    relabelled = any(m.relabelled and s > 0 for m, s in zip(members, shares, strict=True))
    found = replace(
        state if relabelled else plain, weights=weights, matrix=state.matrix, calibration=None
    )
    posterior = _row_posterior(search.rows, logs)
    if posterior is not None:  # else that of the rounds is close to it
        found.row_posterior = posterior
    # Stacking has seen to the temperature.
    found.calibrate(1.0, np.zeros(len(weights)), search.intercept)
    return found


def _row_posterior(rows: HeldOutRows, logs: FloatArray) -> FloatArray | None:
    """Return P(true class | row, label) of every row, (n, Q); None unless all were held out.

    It is computed through C as counted. The refined C also explains mistakes that the model makes
    itself, and through it wrong labels of these classes would pass for right ones.
    """
    if rows.truth.all() or len(rows.places) < rows.n_eligible:
        return None
    return posterior_given(softmax(logs, axis=1), rows.evidence)


def average(
    members: Sequence[Member], rows: HeldOutRows, judging: BoolArray, intercept: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights of the average, each member's share, and out-of-fold log-probabilities.

    Each member enters at the temperature that suits its own held-out rows; `judging` are the rows
    whose evidence weighs the members.
    """
    models, fair = list[FloatArray](), list[Calibration]()
    for member in members:
        state, candidate = member.fit(), member.candidate
        if state.interrupted:
            raise KeyboardInterrupt
        own = state.shares() if intercept else None
        # What a label seen through C says of the temperature, beside a truth: as in the fit.
        trust = 0.0 if candidate.believed else candidate.noisy_weight
        models.append(state.weights)
        fair.append(rows.calibration(member.scores, own, trust))
    weight = np.where(judging, rows.weight, 0.0)
    found = blend([member.scores for member in members], fair, rows.evidence, weight)
    return found.weights(models, intercept), found.shares, found.logs
