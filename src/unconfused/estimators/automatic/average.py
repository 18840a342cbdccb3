"""Models averaged with the weights that make held-out truths likeliest.

A few trusted rows can tell a good model from a bad one, but not the best of several good ones, and
models that are wrong on different rows correct each other. Scores are averaged, and hence weights:
the result is a linear model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import shares_of, stacked
from unconfused.estimators.automatic.calibrated import calibration_of

if TYPE_CHECKING:
    from unconfused.estimators.automatic.held_out import HeldOutRows
    from unconfused.estimators.automatic.search import Candidate
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
