"""Convergence of the fit, from what the learner wrote down."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from unconfused._report.data import Convergence, PairUse
from unconfused._typing import FloatArray, IntArray
from unconfused.estimators import UMAClassifier, UnconfusedClassifier
from unconfused.solvers.uma.solver import CONVERGED

MOST_POINTS = 300
"""Points of a curve: more could not be told apart on a screen."""

MOST_PAIRS = 12


def convergence_of(final: Any) -> Convergence:
    """Read a fitted learner's history."""
    if isinstance(final, UMAClassifier):
        return _of_uma(final)
    if isinstance(final, UnconfusedClassifier):
        return _of_rounds(final)
    return _of_likelihood(final)


def _of_rounds(final: UnconfusedClassifier) -> Convergence:
    name, changed = type(final.estimator).__name__, final.history_["relabelled"]
    taught = {
        "rounds": "It was trained on the probable classes of the rows, predicted out of fold; "
        "below is the share of rows whose class changed.",
        "labels": "It was trained on the labels: rounds of relabelling did not help, or there was "
        "nothing to correct.",
        "mixed": "It was trained on the labels, and the truth where known: that predicts held-out "
        "trusted rows better than rounds of relabelling.",
        "trusted": "It was trained on the trusted rows alone: that predicts held-out ones better "
        "than rounds of relabelling.",
    }[final.taught_]
    return Convergence(
        "rounds",
        f"{name} was fitted {final.n_fits_} times, in {final.n_rounds_} rounds. {taught}",
        list(range(1, len(changed) + 1)),
        changed.tolist(),
        n_steps=len(changed),
    )


def _of_uma(final: UMAClassifier) -> Convergence:
    history, n_updates = final.history_, len(final.history_["norm"])
    shown = _spread(n_updates)
    ended = (
        "It ended by itself: no pair of classes stands out of the label noise any more."
        if final.stopped_ == CONVERGED
        else f"It was ended before it converged ({final.stopped_})."
    )
    words = f"UMA made {n_updates:,} updates. {ended}"
    if final.means_at_ is not None:
        words += f" After update {final.means_at_:,} it went on from the unmixed class means."
    return Convergence(
        "uma",
        words,
        (shown + 1).tolist(),
        np.asarray(history["norm"])[shown].tolist(),
        np.asarray(history["noise"])[shown].tolist(),
        _pairs(history["predicted"], history["true"]),
        n_steps=n_updates,
    )


def _pairs(predicted: FloatArray | IntArray, true: FloatArray | IntArray) -> list[PairUse]:
    """List the pairs by how often they were chosen, the most frequent first."""
    used: dict[tuple[int, int], list[int]] = defaultdict(list)
    for update, pair in enumerate(zip(predicted.tolist(), true.tolist(), strict=True), start=1):
        used[int(pair[0]), int(pair[1])].append(update)
    ranked = sorted(used.items(), key=lambda item: (-len(item[1]), item[0]))
    return [PairUse(p, q, updates) for (p, q), updates in ranked[:MOST_PAIRS]]


def _of_likelihood(final: Any) -> Convergence:
    objective = np.asarray(final.history_["objective"])
    shown = _spread(len(objective))
    # A model that was stored and loaded again may not know how its fit ended.
    rest = getattr(final, "_state", None)
    ended = ""
    if rest is not None:
        ended = " It converged."
        if rest.exhausted:
            ended = " It used up its steps before it converged: raise max_iter, or scale the "
            ended += "features."
        elif rest.interrupted:
            ended = " It was interrupted."
    return Convergence(
        "likelihood",
        f"The likelihood was maximised in {len(objective):,} steps.{ended}",
        (shown + 1).tolist(),
        objective[shown].tolist(),
        weights=_weights_tried(final),
        n_steps=len(objective),
    )


def _weights_tried(final: Any) -> list[tuple[float, float]]:
    """List weights of noisy rows and the least held-out loss of each, where one was looked for."""
    choice = getattr(final, "choice_", None)
    if choice is None or len(np.unique(choice["noisy_weight"])) < 2:
        return []
    least: dict[float, float] = {}
    for weight, loss in zip(choice["noisy_weight"].tolist(), choice["loss"].tolist(), strict=True):
        least[weight] = min(loss, least.get(weight, loss))
    return sorted(least.items())


def _spread(n_points: int) -> IntArray:
    """Return places over the whole curve, first and last included."""
    if n_points <= MOST_POINTS:
        return np.arange(n_points)
    return np.unique(np.linspace(0, n_points - 1, MOST_POINTS).round().astype(np.intp))
