"""Step rules: how an ultraconservative update divides its push among the classes.

A rule sees the scores of one vector (a row, or UMA's z) and says by which multiple of the vector
each weight vector moves: up for the class it should have, down for classes that scored as high.

Each rule is one plain loop over the classes. Run as it is, it serves UMA; compiled, it serves the
row-by-row sweep. There is no second version to keep in step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from unconfused._typing import FloatArray

StepLoop: TypeAlias = Callable[[FloatArray, int, int, float, FloatArray], None]


class StepRule(Protocol):
    """Scores of a vector -> step sizes, one per class, summing to zero."""

    def __call__(
        self, scores: FloatArray, target: int, predicted: int, squared_norm: float
    ) -> FloatArray:
        """Return the steps.

        Parameters
        ----------
        scores : the score of every class on the vector
        target : the class the vector is of; its step is the positive one
        predicted : the class it was taken for
        squared_norm : squared Euclidean norm of the vector
        """
        ...


TIE = 1e-12
"""Scores closer than this share of their scale are tied with the target's."""


def snap_ties(scores: FloatArray, target: int, scale: float) -> bool:
    """Make scores that differ from the target's by rounding only equal to it, in place.

    Rules such as MIRA end with the target and its rivals level. Whether a class is in the error
    set must not then hang on the last bit. The scale of the scores is the vector's norm times the
    largest norm of a class's weights. Returns whether the error set is non-empty.
    """
    any_error = False
    for r in range(len(scores)):
        if r == target:
            continue
        if abs(scores[r] - scores[target]) <= TIE * scale:
            scores[r] = scores[target]
        if scores[r] >= scores[target]:
            any_error = True
    return any_error


def perceptron_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """One up for the target, one down for the class it was taken for.

    Where that class is not in the error set (sampling noise can do that to UMA's vectors), the
    highest-scoring class other than the target goes down instead.
    """
    rival = predicted
    if predicted == target or scores[predicted] < scores[target]:
        rival = -1
        for r in range(len(scores)):
            if r != target and (rival < 0 or scores[r] > scores[rival]):
                rival = r
    steps[:] = 0.0
    steps[target] = 1.0
    steps[rival] = -1.0


def uniform_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """One up for the target; the whole error set shares the way down."""
    size = 0
    for r in range(len(scores)):
        if r != target and scores[r] >= scores[target]:
            size += 1
    for r in range(len(scores)):
        steps[r] = -1.0 / size if r != target and scores[r] >= scores[target] else 0.0
    steps[target] = 1.0


def proportional_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """One up for the target; each class goes down in proportion to its excess.

    With no excess at all (every score tied) the error set shares alike.
    """
    total = 0.0
    size = 0
    for r in range(len(scores)):
        if r != target and scores[r] >= scores[target]:
            total += scores[r] - scores[target]
            size += 1
    for r in range(len(scores)):
        steps[r] = 0.0
        if r != target and scores[r] >= scores[target]:
            steps[r] = -(scores[r] - scores[target]) / total if total > 0.0 else -1.0 / size
    steps[target] = 1.0


def mira_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """Crammer and Singer's MIRA: the smallest weights within reach of one update.

    Minimises the norm of ``W + steps z`` under ``steps[r] <= 1[r == target]`` and a zero sum. The
    optimum is 1 at the target minus the projection of ``scores / |z|^2 + 1[r == target]`` onto
    the simplex. Where every score is tied the optimum is not to move at all, from which no
    algorithm could start; the error set then shares alike.
    """
    n_classes = len(scores)
    total = 0.0
    size = 0
    for r in range(n_classes):
        if r != target and scores[r] >= scores[target]:
            total += scores[r] - scores[target]
            size += 1
    if total <= 0.0 or squared_norm <= 0.0:
        for r in range(n_classes):
            steps[r] = -1.0 / size if r != target and scores[r] >= scores[target] else 0.0
        steps[target] = 1.0
        return
    # The scores relative to the target's: the projection does not mind a common shift.
    for r in range(n_classes):
        steps[r] = (scores[r] - scores[target]) / squared_norm
    steps[target] = 1.0
    level = 0.0
    running = 0.0
    descending = np.sort(steps)[::-1]
    for k in range(n_classes):
        running += descending[k]
        candidate = (running - 1.0) / (k + 1)
        if descending[k] > candidate:
            level = candidate
    for r in range(n_classes):
        steps[r] = -max(steps[r] - level, 0.0)
    steps[target] += 1.0


def passive_aggressive_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """Just far enough, between the target and its highest rival, for a margin of 1.

    Works on the vector scaled to norm 1, so that vectors of little mass are not out of reach,
    with the aggressiveness capped at 1.
    """
    rival = -1
    for r in range(len(scores)):
        if r != target and (rival < 0 or scores[r] > scores[rival]):
            rival = r
    steps[:] = 0.0
    if squared_norm <= 0.0:
        return
    norm = np.sqrt(squared_norm)
    loss = 1.0 - (scores[target] - scores[rival]) / norm
    size = min(1.0, loss / 2.0) / norm
    steps[target] = size
    steps[rival] = -size


@dataclass(frozen=True)
class LoopStep:
    """A step rule made of a plain loop, which the row-by-row sweep can compile.

    Examples
    --------
    >>> import numpy as np
    >>> rule = STEPS["uniform"]
    >>> rule(np.array([0.5, 0.1, 0.3]), target=1, predicted=0, squared_norm=1.0)
    array([-0.5,  1. , -0.5])
    """

    loop: StepLoop

    def __call__(
        self, scores: FloatArray, target: int, predicted: int, squared_norm: float
    ) -> FloatArray:
        """Return the steps for a vector with these scores."""
        steps = np.empty(len(scores))
        self.loop(scores, target, predicted, squared_norm, steps)
        return steps


STEPS: dict[str, LoopStep] = {
    "perceptron": LoopStep(perceptron_loop),
    "uniform": LoopStep(uniform_loop),
    "proportional": LoopStep(proportional_loop),
    "mira": LoopStep(mira_loop),
    "passive_aggressive": LoopStep(passive_aggressive_loop),
}
"""The rules by the names the estimators know."""


def check_steps(steps: FloatArray, n_classes: int, target: int) -> FloatArray:
    """Refuse what a step rule of the user's own must not return."""
    steps = np.asarray(steps, dtype=np.float64)
    if steps.shape != (n_classes,) or not np.all(np.isfinite(steps)):
        raise ValueError(f"A step rule must return {n_classes} finite numbers; got {steps!r}.")
    scale = np.abs(steps).max()
    if abs(steps.sum()) > 1e-9 * max(scale, 1.0):
        raise ValueError(f"The steps of a rule must sum to zero; got {steps!r}.")
    up = steps > 0
    up[target] = False
    if up.any():
        raise ValueError(
            f"Only the class the vector is of (number {target}) may step up; got {steps!r}."
        )
    return steps
