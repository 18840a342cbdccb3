"""The temperature that suits rows held out, for the final weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from unconfused._typing import BoolArray, FloatArray
from unconfused.confusion.estimation.calibration import LARGEST_POWER, Calibration, log_chances

if TYPE_CHECKING:
    from unconfused.estimators.automatic.held_out import HeldOutRows

SMALLEST = 1e-12
"""Class shares below this count as this much: their logarithms are taken."""

PRECISION_OF_POWER = 1.0
"""Precision of a normal prior on the log inverse temperature, centred at 0. Without it, a few
held-out rows that are all predicted correctly would push probabilities to certainty."""


def calibration_of(
    rows: HeldOutRows,
    scores: FloatArray,
    shares: FloatArray | None,
    trust: float = 1.0,
    which: BoolArray | None = None,
) -> Calibration:
    """Fit the temperature to out-of-fold scores, and draw the class shares towards even ones.

    The scores are scaled around the log class shares, as the penalty shrinks the effect of the
    features only. The shares themselves are not fitted, as the models of the folds may be in poor
    optima; but C magnifies the chance in label frequencies, and an intercept follows it.

    Parameters
    ----------
    rows, scores : held-out rows and their out-of-fold scores
    shares : (Q,), class shares; None without an intercept
    trust : weight of a label relative to a truth
    which : rows to fit to; None for all
    """
    which = rows.every if which is None else which
    n_classes = scores.shape[1]
    prior = target = np.zeros(n_classes)
    if shares is not None:
        kept = rows.evidence_of_shares
        prior = np.log(np.maximum(shares, SMALLEST))
        target = np.log(np.maximum(kept * shares + (1.0 - kept) / n_classes, SMALLEST))
    around, evidence = scores[which] - prior, rows.evidence[which]
    # Weights of any scale mean the same: as many rows as there are.
    weight = rows.weight[which] / max(float(rows.weight[which].mean()), 1e-300)
    weight = np.where(rows.truth[which], 1.0, trust) * weight

    def loss(log_power: float) -> float:
        probability = softmax(np.exp(log_power) * around + target, axis=1)
        explained = float(weight @ log_chances(probability, evidence))
        return PRECISION_OF_POWER * log_power**2 / 2 - explained

    limit = float(np.log(LARGEST_POWER))
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded", options={"xatol": 0.01})
    power = float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0
    shift = target - power * prior
    return Calibration(power, shift - shift.mean())
