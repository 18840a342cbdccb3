"""Costs of mistakes, by true and predicted class, from `class_weight`.

The paper's confusion risk counts a mistake as one part of its true class, whatever the size of the
class: with class weights 1 / share, the expected cost is the mean of the classes' error rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unconfused._matrix_labels import own_labels, places_of, refuse_other_labels
from unconfused._typing import ArrayLike, FloatArray, Labels

SMALLEST_SHARE = 1e-6
"""A class estimated to be rarer than this gets no larger a balanced weight."""


def class_costs(
    class_weight: Any, classes: Labels, prior: FloatArray, order: ArrayLike | None = None
) -> FloatArray:
    """Return what each mistake costs, (true class, predicted class).

    Parameters
    ----------
    class_weight : "balanced", a mapping from class to weight, or a (Q, Q) cost matrix
    classes : the sorted classes
    prior : (Q,), estimated share of each true class, for "balanced"
    order : classes in the order of a plain cost matrix; None if sorted
    """
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
        raise ValueError("class_weight must hold finite, non-negative numbers.")
