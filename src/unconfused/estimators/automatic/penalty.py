"""The penalties a search tries, on the scale of the features."""

from __future__ import annotations

import numpy as np

from unconfused.engines.base import Engine

PENALTIES = tuple(10.0 ** (-k / 2) for k in range(-2, 29))
"""Penalties to choose from, strongest first, times the mean squared distance of a row from the mean
of all: features on another scale are the same problem."""

USUAL_PENALTY = 10.0**-3.5
"""The penalty, relative as above, where the search starts, and where rows are too few for one. On
Digits, Reuters and Music the best lie between 1e-4 and 1e-3."""


def penalty_unit(engine: Engine) -> float:
    """Return the mean squared distance of a row from the mean, or from 0 without an intercept.

    Weighted, so that weights are frequencies; 1 if the rows are all the same.
    """
    total = float(engine.code_counts.sum())
    features = engine.n_features - engine.intercept
    unit = float(engine.feature_squares()[:features].sum()) / total
    if engine.intercept:
        mean = engine.code_sums().sum(axis=0)[:features] / total
        spread = unit - float(mean @ mean)
        unit = spread if spread > 1e-9 * unit else unit
    return unit if np.isfinite(unit) and unit > 0 else 1.0
