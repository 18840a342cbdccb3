"""Models averaged in proportion to the likelihood of held-out truths.

A few trusted rows can tell a good model from a bad one, but not the best of several good ones. The
average of good models is better than most of them, and weighting it by the likelihood of held-out
truths removes the bad ones. Scores are averaged, and hence weights: the result is a linear model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax, softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.estimators.automatic.calibrated import calibration_of

if TYPE_CHECKING:
    from unconfused.estimators.automatic.held_out import HeldOutRows
    from unconfused.estimators.automatic.search import Candidate
    from unconfused.solvers.likelihood import LikelihoodState

NEGLIGIBLE = 0.01
"""A model with a smaller share is left out; it need not be fitted then."""

N_DRAWS = 500
"""Draws of the losses, each taken with both signs."""


@dataclass(frozen=True)
class Member:
    """A model that may have a share in the average.

    Parameters
    ----------
    candidate : its settings
    losses : (n,), of held-out truths
    scores : (n, Q), out-of-fold scores of all rows that are judged by
    fit : returns the model fitted to all rows
    relabelled : whether it comes from rounds of relabelling
    """

    candidate: Candidate
    losses: FloatArray
    scores: FloatArray
    fit: Callable[[], LikelihoodState]
    relabelled: bool = False

    @property
    def trust(self) -> float:
        """What a label seen through C says of its temperature, beside a truth: as in its fit."""
        return 0.0 if self.candidate.believed else self.candidate.noisy_weight


def shares_of(members: Sequence[Member], weight: FloatArray) -> FloatArray:
    """Return the share of each member.

    Pseudo-BMA+ (Yao, Vehtari, Simpson and Gelman, 2018): the posterior probability of each member
    given the held-out truths, averaged over draws of their total loss, here from a normal
    approximation of its bootstrap. With few rows no member is ruled out by chance.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> good, bad = (Member(None, rng.exponential(mean, 60), None, None) for mean in (0.2, 0.4))
    >>> shares_of([good, bad], np.ones(60)).round(1)
    array([1., 0.])
    >>> from dataclasses import replace
    >>> few = [replace(member, losses=member.losses[:6]) for member in (good, bad)]
    >>> shares_of(few, np.ones(6)).round(1)
    array([0.5, 0.5])
    """
    losses = np.array([member.losses for member in members])
    total = losses @ weight
    around = losses - total[:, np.newaxis] / weight.sum()
    spread, axes = np.linalg.eigh((weight * around) @ around.T)
    chance = np.random.RandomState(0).standard_normal((N_DRAWS, len(members)))
    drawn = total + np.vstack([chance, -chance]) * np.sqrt(np.maximum(spread, 0.0)) @ axes.T
    shares = softmax(-drawn, axis=1).mean(axis=0)
    shares[shares < NEGLIGIBLE] = 0.0
    return np.asarray(shares / shares.sum())


def average(
    members: Sequence[Member], shares: FloatArray, rows: HeldOutRows, intercept: bool
) -> tuple[FloatArray, Calibration]:
    """Return the weights of the average, and its calibration.

    Each member enters at the temperature that suits its own held-out rows.
    """
    weights, scores = np.zeros(0), np.zeros(0)
    prior: FloatArray | None = None
    for member, share in zip(members, shares, strict=True):
        if share == 0.0:
            continue
        state = member.fit()
        if state.interrupted:
            raise KeyboardInterrupt
        assert state.posterior is not None
        own = state.posterior.sum(axis=0) / state.posterior.sum() if intercept else None
        scale = calibration_of(rows, member.scores, own, member.trust)
        state.calibrate(scale.power, scale.shift, intercept)
        weights = weights + share * state.weights if weights.size else share * state.weights
        part = share * log_softmax(scale.power * member.scores + scale.shift, axis=1)
        scores = scores + part if scores.size else part
        if own is not None:
            prior = share * own if prior is None else prior + share * own
    return weights, calibration_of(rows, scores, prior, members[int(shares.argmax())].trust)
