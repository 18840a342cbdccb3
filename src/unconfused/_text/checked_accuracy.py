"""How often the model is right on checked rows, and how to say it: for all outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unconfused._text import count, percent, percent_range
from unconfused._text.wrong_labels import share_interval
from unconfused._typing import BoolArray, IntArray

Interval = tuple[float, float, float]
"""A share, and the ends of its 95 % interval."""

FEWEST_CHECKED = 10
"""Checked rows below which nothing is measured."""

CLEARLY = 2.0
"""Standard errors by which one of the two must be better to be called so."""


@dataclass(frozen=True)
class CheckedAccuracy:
    """How often the model and the labels are right on checked rows the model has not seen.

    `labelled` of the rows have a label; `labels` is None if none does. `gain`: by how much the
    model is right more often than the labels, on rows that have both, with its standard error.
    """

    rows: int
    model: Interval
    labels: Interval | None
    gain: float = 0.0
    gain_error: float = 0.0
    labelled: int | None = None


def measured(predicted: IntArray, truth: IntArray, observed: IntArray) -> CheckedAccuracy | None:
    """Compare predictions and labels with the truth, where it is known; None with too few rows.

    All are codes of classes, negative where there is none.
    """
    known = truth >= 0
    if known.sum() < FEWEST_CHECKED:
        return None
    model_right, labelled = predicted[known] == truth[known], observed[known] >= 0
    rows = len(model_right)
    if not labelled.any():
        return CheckedAccuracy(rows, _share(model_right), None)
    labels_right = observed[known][labelled] == truth[known][labelled]
    gains = model_right[labelled].astype(float) - labels_right
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    shares = _share(model_right), _share(labels_right)
    return CheckedAccuracy(rows, *shares, gain, error, len(gains))


def _share(right: BoolArray) -> tuple[float, float, float]:
    """Return a share with its 95 % interval."""
    low, high = share_interval(right.sum(), len(right))
    return float(right.mean()), float(low), float(high)


def accuracy_words(found: CheckedAccuracy | None) -> str:
    """Say how good the model is, beside the labels, and what to do if these are better.

    Examples
    --------
    >>> found = CheckedAccuracy(400, (0.48, 0.43, 0.53), (0.72, 0.67, 0.76), -0.24, 0.03)
    >>> print(accuracy_words(found))
    On 400 checked rows the model is right 48 % of the time (43 to 53 %), the labels 72 % (67 to
    76 %). The labels are better than the model: do not replace them by its predictions. It needs
    more informative features.
    """
    if found is None:
        return (
            "Too few rows are checked to measure how often the model is right: check a few "
            "hundred, drawn at random."
        )
    share, *ends = found.model
    said = f"On {count(found.rows, 'checked row')} the model is right {percent(share)} of the time "
    said += f"({percent_range(*ends)})"
    if found.labels is None:
        return f"{said}."
    share, *ends = found.labels
    some, partly = "the labels", found.labelled not in (None, found.rows)
    if partly:
        some += f" of the {found.labelled:,} that have one"
    verdict = "Neither is clearly better."
    if found.gain < -CLEARLY * found.gain_error:
        verdict = "The labels are better than the model: do not replace them by its predictions. "
        verdict += "It needs more informative features."
        if partly:
            verdict = "On those, the labels are better than the model: keep them."
    elif found.gain > CLEARLY * found.gain_error:
        verdict = "The model is better than the labels it was fitted to."
    return f"{said}, {some} {percent(share)} ({percent_range(*ends)}). {verdict}"
