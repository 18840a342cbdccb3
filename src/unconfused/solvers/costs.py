"""Costs of mistakes, by true and predicted class.

The paper's confusion risk counts a mistake as one part of its true class, whatever the size of the
class: with class weights 1 / share, the expected cost is the mean of the classes' error rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._matrix_labels import own_labels, places_of, refuse_other_labels
from unconfused._typing import ArrayLike, BoolArray, FloatArray, Labels
from unconfused.selection import Selection
from unconfused.steps import StepRule

SMALLEST_SHARE = 1e-6
"""A class estimated to be rarer than this gets no larger a balanced weight."""


def class_costs(
    class_weight: Any, classes: Labels, prior: FloatArray, order: ArrayLike | None = None
) -> FloatArray | None:
    """Return what each mistake costs, (true class, predicted class); None if all cost the same.

    Parameters
    ----------
    class_weight : None, "balanced", a mapping from class to weight, or a (Q, Q) cost matrix
    classes : the sorted classes
    prior : (Q,), estimated share of each true class, for "balanced"
    order : classes in the order of a plain cost matrix; None if sorted
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f'class_weight must be "balanced", not {class_weight!r}.')
        return _by_class(1 / (len(classes) * np.maximum(prior, SMALLEST_SHARE)))
    if isinstance(class_weight, Mapping):
        return _by_class(_weights_of(class_weight, classes))
    costs = np.asarray(class_weight, dtype=np.float64)
    if costs.shape != (len(classes), len(classes)):
        raise ValueError(
            'class_weight must be "balanced", a dict from class to weight, or a cost matrix of '
            f"shape ({len(classes)}, {len(classes)}), rows true and columns predicted; its shape "
            f"is {costs.shape}."
        )
    _check_numbers(costs)
    own = np.asarray(classes if order is None else order)
    sides = own_labels(class_weight) or (own, own)
    for side, where in zip(sides, ("rows", "columns"), strict=True):
        refuse_other_labels(side, classes, f"{where} of the cost matrix")
    costs = costs[np.ix_(*(places_of(side, classes) for side in sides))]
    # What a correct prediction costs is the same for every prediction: only the excess matters.
    excess = costs - np.diag(costs)[:, np.newaxis]
    if np.any(excess < 0):
        raise ValueError("In the cost matrix, a mistake costs less than the correct prediction.")
    if not excess.any():
        raise ValueError("The cost matrix gives every mistake the cost 0.")
    return np.asarray(excess)


def _by_class(weights: FloatArray) -> FloatArray:
    costs = np.tile(weights[:, np.newaxis], (1, len(weights)))
    np.fill_diagonal(costs, 0.0)
    return costs


def _weights_of(class_weight: Mapping[Any, float], classes: Labels) -> FloatArray:
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(f"class_weight names {unknown}, which are none of the classes {known}.")
    weights = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    _check_numbers(weights)
    if not weights.any():
        raise ValueError("class_weight gives every class the weight 0.")
    return weights


def _check_numbers(values: FloatArray) -> None:
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("class_weight must hold finite numbers from 0 on.")


@dataclass(frozen=True)
class CostSelection:
    """A selection strategy applied to norms times costs."""

    selection: Selection
    costs: FloatArray
    """(predicted, true): the transpose of what `class_costs` returns."""

    def __call__(
        self,
        norms: FloatArray,
        prior: FloatArray,
        selectable: BoolArray,
        rng: np.random.RandomState,
    ) -> tuple[int, int]:
        """Return the pair that the strategy selects by these norms."""
        return self.selection(norms * self.costs, prior, selectable, rng)

    @property
    def scale(self) -> Callable[[FloatArray], FloatArray] | None:
        """Factors of the strategy times the costs; None if it has none."""
        scale = getattr(self.selection, "scale", None)
        return None if scale is None else lambda prior: scale(prior) * self.costs


@dataclass(frozen=True)
class CostStep:
    """A step rule applied to the update vector times the cost of its pair."""

    step: StepRule
    costs: FloatArray
    """(predicted, true)."""

    def __call__(
        self, scores: FloatArray, target: int, predicted: int, squared_norm: float
    ) -> FloatArray:
        """Return the steps, as multiples of the update vector itself."""
        cost = float(self.costs[predicted, target])
        steps = self.step(cost * scores, target, predicted, cost * cost * squared_norm)
        return cost * np.asarray(steps, dtype=np.float64)
