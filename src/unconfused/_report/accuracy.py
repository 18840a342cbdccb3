"""How often the model is right on checked rows it has not seen: `checked_accuracy`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._matrix import ConfusionWarning
from unconfused._report.data import CheckedAccuracy
from unconfused._text import count, percent, percent_range
from unconfused._typing import BoolArray, IntArray
from unconfused.confusion.cross_validated import stratified_folds

if TYPE_CHECKING:
    from unconfused._report.case import Case

FOLDS = 5

FEWEST_CHECKED = 10
"""Checked rows below which nothing is measured."""

CLEARLY = 2.0
"""Standard errors by which one of the two must be better to be called so."""


def checked_accuracy(
    case: Case, seed: int, drawn: BoolArray | None = None
) -> CheckedAccuracy | None:
    """Predict every checked row by a model fitted without it; None with too few checked rows.

    Settings and confusion matrix stay as the fit found them; all other rows, checked or not, are
    learnt from. `drawn` marks the checked rows to measure on, if not all were drawn at random.
    """
    known = np.flatnonzero(case.trusted if drawn is None else case.trusted & drawn)
    if len(known) < FEWEST_CHECKED:
        return None
    folds_of_fit = case.known_folds()
    if folds_of_fit is not None and folds_of_fit.predicted is not None:
        return _compared(case, known, folds_of_fit.predicted[known] == case.truth[known])
    predicted = np.empty(len(known), dtype=np.intp)
    learner, rng = _settled(case), np.random.RandomState(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfusionWarning)  # the fit itself warns
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _, test in stratified_folds(case.truth[known], FOLDS, seed):
            others = np.delete(np.arange(len(case.observed)), known[test])
            try:
                fitted = case.fit(clone(learner), case.features, case.some_rows(others, rng))
            except ValueError:  # a class that only the rows left out show
                return None
            predicted[test] = fitted.predict(_safe_indexing(case.features, known[test]))
    return _compared(case, known, predicted == case.truth[known])


def _settled(case: Case) -> Any:
    """Return the learner, not fitted, with what its fit found as its settings."""
    final, names = case.final, ("l2", "noisy_weight")
    found = {name: getattr(final, f"{name}_") for name in names if hasattr(final, f"{name}_")}
    if hasattr(final, "n_rounds_"):
        found["max_rounds"] = min(1, final.n_rounds_)  # each costs several fits
    if case.votes is None:
        found |= {"confusion": np.asarray(final.confusion_, dtype=np.float64), "refine": False}
    return case.learner(**found)


def _compared(case: Case, known: IntArray, model_right: BoolArray) -> CheckedAccuracy:
    both = case.labelled[known]
    labels_right = case.observed[known][both] == case.truth[known][both]
    if not both.any():
        return CheckedAccuracy(len(known), _share(model_right), None)
    gains = model_right[both].astype(float) - labels_right
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    shares = _share(model_right), _share(labels_right)
    return CheckedAccuracy(len(known), *shares, gain, error, len(gains))


def _share(right: BoolArray) -> tuple[float, float, float]:
    """Return a share with its 95 % interval (Jeffreys)."""
    hits, total = int(right.sum()), len(right)
    low, high = betaincinv(hits + 0.5, total - hits + 0.5, [0.025, 0.975])
    return hits / total, 0.0 if hits == 0 else float(low), 1.0 if hits == total else float(high)


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
