"""What rows are judged to be, and how well that explains what was seen on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.calibration import Calibration
from unconfused.estimators.relabel.evidence import Evidence
from unconfused.estimators.relabel.weighted_mean import mean_and_error


@dataclass(frozen=True)
class Judged:
    """What models say of rows they have not seen."""

    seen: Evidence
    """What was seen on the rows, through the matrix as it was then."""

    calibration: Calibration
    """What makes the probabilities as sure, the classes as frequent, as what was seen warrants."""

    explained: FloatArray
    """Logarithms of the chances of what was seen, under probabilities made so, (n,); 0 where
    mistakes depend on the rows, as labels are then no guide to what is better."""

    posterior: FloatArray
    """The probabilities made so, with what was seen brought in, (n, Q)."""

    logs: FloatArray
    """What the models said, logarithms of the classes' probabilities, (n, Q)."""

    @property
    def counted(self) -> FloatArray:
        """What the evidence of every row counts for, (n,)."""
        return self.seen.trust * self.seen.sample_weight

    @property
    def likelihood(self) -> float:
        """Mean logarithm of the chance of what was seen."""
        return mean_and_error(self.explained, self.counted)[0]

    def explains_less_than(self, other: Judged, by_errors: float) -> bool:
        """Whether what was seen is less likely than it was, by so many standard errors."""
        gain, error = mean_and_error(self.explained - other.explained, self.counted)
        return gain < -by_errors * error


def log_chances(probability: FloatArray, evidence: FloatArray) -> FloatArray:
    """Return the logarithm of the chance of what was seen on each row."""
    return np.asarray(np.log(np.maximum((probability * evidence).sum(axis=1), 1e-300)))


def power_matching(logs: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """Return the power that makes probabilities as sure as those of a target.

    It is for where what was seen says too much of the probabilities, or too little. A truth that
    is held out has still had its say in the classes of the rows nearby, so that it seems easier to
    guess than it is; the first round's posterior knew nothing of it.
    """

    def loss(log_power: float) -> float:
        own = log_softmax(np.exp(log_power) * logs, axis=1)
        return -float(weight @ np.einsum("iq,iq->i", target, own))

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))
