"""Simpler models than one through C, told apart by held-out trusted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.confusion.estimation.sharpness import sharpened_losses
from unconfused.estimators.automatic.search import CLEARLY, FEWEST_TRUTHS
from unconfused.estimators.relabel.weighted_mean import mean_and_error
from unconfused.estimators.wrapping.base import Taught
from unconfused.estimators.wrapping.soft_rounds import SoftRounds

POWERS = np.geomspace(0.05, 20.0, 31)
"""Powers of probabilities at which losses are compared."""


@dataclass(frozen=True)
class Simple:
    """Something simpler to fit to.

    Parameters
    ----------
    name : "labels", "mixed" (labels, and the truth where known) or "trusted"
    taught : what to fit to
    logs : (n, Q), what models of folds fitted to it say; None where there were none
    """

    name: str
    taught: Taught
    logs: FloatArray | None = None


def enough_truths(rounds: SoftRounds) -> bool:
    """Whether a choice can be made on trusted rows."""
    n_classes = rounds.seen.evidence.shape[1]
    return bool(rounds.seen.known.sum() >= FEWEST_TRUTHS * n_classes)


def better_and_simpler(rounds: SoftRounds) -> Simple | None:
    """Return what predicts held-out truths clearly better than the rounds did, if anything does.

    That is the classifier on labels, with the truth where known, or on the trusted rows alone.
    """
    judged = rounds.tried or rounds.judged
    if judged is None or rounds.label_logs is None:
        return None
    known = rounds.seen.known
    alone = rounds.first.without(~known)
    folds = rounds._folds()
    try:
        trusted = rounds._logs(folds, rounds._fit([alone] * len(folds), folds))
    except ValueError:  # too few trusted rows for the classifier: that is no candidate then
        alone, trusted = rounds.first, rounds.label_logs
    weight = rounds.seen.sample_weight[known]
    truth = rounds.first.classes[known]

    def losses(logs: FloatArray) -> FloatArray:
        of_known: Any = logs[known]
        own = of_known[np.arange(len(truth)), truth]
        return sharpened_losses(of_known - own[:, np.newaxis], POWERS, weight)

    ours = losses(judged.logs)
    others = [
        Simple("mixed", rounds.first, rounds.label_logs),
        Simple("mixed" if alone is rounds.first else "trusted", alone, trusted),
    ]
    of_others = [losses(logs) for logs in (rounds.label_logs, trusted)]
    best = int(np.argmin([np.average(one, weights=weight) for one in of_others]))
    gain, error = mean_and_error(ours - of_others[best], weight)
    return others[best] if gain > CLEARLY * error else None
