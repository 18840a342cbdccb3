"""Models averaged with the weights that make held-out truths likeliest.

A few trusted rows can tell a good model from a bad one, but not the best of several good ones, and
models that are wrong on different rows correct each other. Scores are averaged, and hence weights:
the result is a linear model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import shares_of, stacked
from unconfused.estimators.automatic.calibrated import calibration_of

if TYPE_CHECKING:
    from unconfused.estimators.automatic.held_out import HeldOutRows
    from unconfused.estimators.automatic.search import Candidate, Search
    from unconfused.estimators.relabel.pseudo_labels import Relabelling
    from unconfused.solvers.likelihood import LikelihoodState


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

    @property
    def trust(self) -> float:
        """What a label seen through C says of its temperature, beside a truth: as in its fit."""
        return 0.0 if self.candidate.believed else self.candidate.noisy_weight


def average_of(
    search: Search,
    rows: HeldOutRows,
    fits: tuple[LikelihoodState, LikelihoodState],
    rounds: Relabelling | None,
    fit_simple: Callable[[Candidate], LikelihoodState],
    *,
    through: bool = True,
) -> LikelihoodState:
    """Return the average of a fit, its rounds and simple models, without its posterior.

    Parameters
    ----------
    search : the search behind the fit; shares are noted in it
    rows : its rows, their labels seen through the C of the fit
    fits : before and after the rounds
    rounds : what was tried in them
    fit_simple : fits the labels as they are, or the trusted rows alone
    through : whether the fit and its rounds take part
    """
    assert search.chosen is not None
    (plain, state), members = fits, list[Member]()
    if through:
        members.append(Member(search.chosen, search.scores[search.chosen], lambda: plain))
    if through and state.relabelled and rounds is not None:
        # Later rounds have seen what held-out truths did to other rows.
        first = rounds.out_of_fold[1][search.rows.places]
        state.uncalibrate(search.intercept)
        members.append(Member(search.chosen, first, lambda: state, relabelled=True))
    members += [
        Member(simple, search.scores[simple], partial(fit_simple, simple))
        for simple in search.simple
        if simple != search.chosen or not through
    ]
    weights, shares = average(members, rows, search.intercept)
    best = members[int(shares.argmax())]
    for member, share in zip(members, shares, strict=True):
        search.shares[member.candidate] = search.shares.get(member.candidate, 0.0) + share
    if not search.shares.get(search.chosen):
        search.chosen = best.candidate
    relabelled = any(m.relabelled and s > 0 for m, s in zip(members, shares, strict=True))
    found = replace(
        state if relabelled else plain, weights=weights, matrix=state.matrix, calibration=None
    )
    if not best.relabelled:  # then the rounds' posteriors are not those of the average
        found.row_posterior = None
    # Stacking has seen to the temperature.
    found.calibrate(1.0, np.zeros(len(weights)), search.intercept)
    return found


def average(
    members: Sequence[Member], rows: HeldOutRows, intercept: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the average, and the share of each member in it.

    Each member enters at the temperature that suits its own held-out rows.
    """
    truth, models, logs = rows.truth, [], []
    for member in members:
        state = member.fit()
        if state.interrupted:
            raise KeyboardInterrupt
        assert state.posterior is not None
        own = state.posterior.sum(axis=0) / state.posterior.sum() if intercept else None
        scale = calibration_of(rows, member.scores, own, member.trust)
        state.calibrate(scale.power, scale.shift, intercept)
        models.append(state.weights)
        logs.append(log_softmax(scale.scores(member.scores[truth]), axis=1))
    factors = stacked(np.array(logs), rows.evidence[truth], rows.weight[truth])
    shares = shares_of(factors, np.array(logs))
    return np.tensordot(factors * (shares > 0), np.array(models), 1), shares
