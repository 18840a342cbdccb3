"""Step rules: how an ultraconservative update is distributed over the classes.

A rule takes the scores of one vector (a row, or UMA's z) and returns the multiple of the vector to
add to the weights of each class: positive for the target class, negative for classes in the error
set, those that scored at least as high.

Each built-in rule is one function of plain NumPy. UMA runs it in Python; for the online learner it
is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from unconfused._typing import FloatArray

StepLoop: TypeAlias = Callable[[FloatArray, int, int, float, FloatArray], None]


class StepRule(Protocol):
    """Callable from the scores of a vector to one step per class, summing to zero."""

    def __call__(
        self, scores: FloatArray, target: int, predicted: int, squared_norm: float
    ) -> FloatArray:
        """Return the steps.

        Parameters
        ----------
        scores : score of every class on the vector
        target : true class of the vector, the only one with a positive step
        predicted : predicted class
        squared_norm : squared Euclidean norm of the vector
        """
        ...


TIE = 1e-12
"""Relative tolerance below which a score is tied with the target's."""


def snap_ties(scores: FloatArray, target: int, scale: float) -> bool:
    """Set scores within rounding error of the target's to it, in place.

    Rules such as MIRA produce exact ties between the target and other classes, and rounding must
    not decide which of them are in the error set. `scale` is the vector's norm times the largest
    norm of any class's weights. Returns whether the error set is non-empty.
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
    """Step +1 for the target and -1 for the predicted class.

    If the predicted class is not in the error set (possible for UMA's vectors, by sampling noise),
    the highest-scoring class other than the target takes its place.
    """
    if predicted == target or scores[predicted] < scores[target]:
        others = scores.copy()
        others[target] = -np.inf
        predicted = int(np.argmax(others))
    steps[:] = 0.0
    steps[target] = 1.0
    steps[predicted] = -1.0


def uniform_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """Step +1 for the target and -1 divided equally over the error set."""
    steps[:] = np.where(scores >= scores[target], 1.0, 0.0)
    steps[target] = 0.0
    steps /= -steps.sum()
    steps[target] = 1.0


def proportional_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """Step +1 for the target and -1 divided over the error set in proportion to the excess score.

    Without any excess (all scores tied) it is divided equally.
    """
    steps[:] = np.maximum(scores - scores[target], 0.0)
    if not steps.any():
        steps[:] = np.where(scores >= scores[target], 1.0, 0.0)
        steps[target] = 0.0
    steps /= -steps.sum()
    steps[target] = 1.0


def mira_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """MIRA (Crammer and Singer): the steps that minimize the norm of the updated weights.

    Minimizes the norm of ``W + steps z`` subject to ``steps[r] <= 1[r == target]`` and a zero sum.
    The optimum is 1 at the target minus the projection of ``scores / |z|^2 + 1[r == target]`` onto
    the simplex. If all scores are tied the optimum is 0 and no algorithm could start from W = 0, so
    the uniform rule is used instead.
    """
    # Relative to the target's score: the projection is invariant to a common shift.
    steps[:] = scores - scores[target]
    if steps.max() <= 0.0 or squared_norm <= 0.0:
        steps[:] = np.where(steps >= 0.0, 1.0, 0.0)
        steps[target] = 0.0
        steps /= -steps.sum()
        steps[target] = 1.0
        return
    steps /= squared_norm
    steps[target] = 1.0
    descending = np.sort(steps)[::-1]
    candidates = (np.cumsum(descending) - 1.0) / np.arange(1, len(steps) + 1)
    level = candidates[np.flatnonzero(descending > candidates)[-1]]
    steps[:] = -np.maximum(steps - level, 0.0)
    steps[target] += 1.0


def passive_aggressive_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """Passive-aggressive: the smallest step that gives the target a margin of 1.

    Only the target and its highest-scoring rival move. The vector is scaled to norm 1 first, so
    that vectors of small mass can reach the margin; the aggressiveness is capped at 1.
    """
    others = scores.copy()
    others[target] = -np.inf
    rival = np.argmax(others)
    steps[:] = 0.0
    if squared_norm <= 0.0:
        return
    norm = np.sqrt(squared_norm)
    loss = 1.0 - (scores[target] - scores[rival]) / norm
    size = min(1.0, loss / 2.0) / norm
    steps[target] = size
    steps[rival] = -size


def copa_loop(
    scores: FloatArray, target: int, predicted: int, squared_norm: float, steps: FloatArray
) -> None:
    """Passive-aggressive step on the confusion, after COPA (Ralaivola, 2012).

    With weights that sum to zero over the classes and u = z / |z|, class r is confused with the
    target by ``loss_r = max(0, <w_r, u> + 1 / (Q - 1))``; if every loss is 0, the target scores at
    least 1. The steps on u minimize ``sum_r steps[r]^2`` subject to ``loss_r = 0`` after the step
    for all classes of the error set, and to no other class moving but the target. The solution is
    ``steps[r] = -loss_r``, and minus their sum for the target. Without the restriction to the error
    set, classes with room below the bound would be raised as well, which an ultraconservative step
    may not do. ``steps[r]`` is limited to 1, in place of an aggressiveness parameter. Weights by
    class size are left to ``class_weight="balanced"``.
    """
    steps[:] = 0.0
    if squared_norm <= 0.0:
        return
    norm = np.sqrt(squared_norm)
    losses = (scores - np.mean(scores)) / norm + 1.0 / (len(scores) - 1)
    sizes = np.minimum(np.maximum(losses, 0.0), 1.0) / norm
    steps[:] = np.where(scores >= scores[target], -sizes, 0.0)
    steps[target] = 0.0
    steps[target] = -steps.sum()


@dataclass(frozen=True)
class LoopStep:
    """Step rule made of a function of plain NumPy, which the online sweep can compile."""

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
    "copa": LoopStep(copa_loop),
}
"""Built-in rules by name."""


def check_steps(steps: FloatArray, n_classes: int, target: int) -> FloatArray:
    """Validate the steps of a custom rule."""
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
            f"Only the target class (index {target}) may have a positive step; got {steps!r}."
        )
    return steps
