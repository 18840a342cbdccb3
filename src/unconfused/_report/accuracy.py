"""How often the model is right on checked rows it has not seen: `checked_accuracy`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing

from unconfused._labels import MISSING
from unconfused._matrix import ConfusionWarning
from unconfused._text.checked_accuracy import FEWEST_CHECKED, CheckedAccuracy, measured
from unconfused._typing import BoolArray
from unconfused.confusion.cross_validated import stratified_folds

if TYPE_CHECKING:
    from unconfused._report.case import Case

FOLDS = 5


def checked_accuracy(
    case: Case, seed: int, drawn: BoolArray | None = None
) -> CheckedAccuracy | None:
    """Predict every checked row by a model fitted without it; None with too few checked rows.

    If the fit has not predicted them in folds of its own, this is done here: settings and confusion
    matrix stay as it found them, and all other rows, checked or not, are learnt from. `drawn` marks
    the checked rows to measure on, if not all were drawn at random.
    """
    truth = case.truth if drawn is None else np.where(drawn, case.truth, MISSING)
    known = np.flatnonzero(truth != MISSING)
    if len(known) < FEWEST_CHECKED:
        return None
    of_fit = case.predicted_in_folds()
    if of_fit is not None:
        return measured(of_fit, truth, case.observed)
    predicted = np.full(len(truth), MISSING)
    settings: dict[str, Any] = {}
    if case.votes is None:
        settings = {"confusion": np.asarray(case.final.confusion_, dtype=np.float64)}
    if hasattr(case.final, "n_rounds_"):
        settings["max_rounds"] = min(1, case.final.n_rounds_)  # each costs several fits
    learner, rng = case.settled(**settings), np.random.RandomState(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfusionWarning)  # the fit itself warns
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _, test in stratified_folds(case.truth[known], FOLDS, seed):
            others = np.delete(np.arange(len(case.observed)), known[test])
            try:
                fitted = case.fit(clone(learner), case.features, case.some_rows(others, rng))
            except ValueError:  # a class that only the rows left out show
                return None
            predicted[known[test]] = fitted.predict(_safe_indexing(case.features, known[test]))
    return measured(predicted, truth, case.observed)
