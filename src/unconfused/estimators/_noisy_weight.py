"""How much a noisy row should count beside a trusted one, asked of the trusted rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.model_selection import StratifiedKFold

from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.confusion._sharpness import sharpened_losses
from unconfused.estimators._array_input import rows_at, to_numpy
from unconfused.estimators._paired import mean_and_error
from unconfused.solvers.likelihood import LikelihoodState

GRID = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Weights tried, from "trusted rows only" to "a label is a label"."""

FACTORS = np.geomspace(0.2, 20.0, 21)
"""Factors on the scores among which the fairest is found."""

MOST_FOLDS = 5

THIN_EVIDENCE = float(np.log(20.0))
"""Log-losses on all held-out rows together are logarithms of likelihoods: weights that differ by
less than this, 20 to 1, are as good. A handful of rows, all predicted rightly, would otherwise
decide by the last digits of losses next to 0."""

FitWithout = Callable[[BoolArray, float, LikelihoodState | None], LikelihoodState]
"""Fit without the rows held out, at a noisy weight, from a state on."""


def choose_noisy_weight(
    X: Rows,
    truth: IntArray,
    sample_weight: FloatArray | None,
    intercept: bool,
    fit_without: FitWithout,
    seed: int,
) -> tuple[float, FloatArray]:
    """Return the weight whose fits give held-out trusted rows the best likelihood, or nearly.

    Held-out rows leave the fit entirely, their noisy label and their share in C included. In each
    fold the fits start at the trusted-rows solution and go on along the grid.

    Returns
    -------
    weight : the largest of `GRID` that is not clearly worse than the best
    losses : mean log-loss of held-out rows for each of `GRID`, scores sharpened alike
    """
    margins: list[list[FloatArray]] = [[] for _ in GRID]
    counted: list[FloatArray] = []
    for held in _folds(truth, seed):
        state: LikelihoodState | None = None
        counted.append(np.ones(int(held.sum())) if sample_weight is None else sample_weight[held])
        for place, weight in enumerate(GRID):
            # Not on from the trusted rows alone: they may not show every class.
            state = fit_without(held, weight, state if place > 1 else None)
            margins[place].append(_margins(state.weights, rows_at(X, held), truth[held], intercept))
    if not counted:
        return 1.0, np.zeros(len(GRID))
    rows = np.concatenate(counted)
    # The same penalty leaves a model of many noisy rows less sure than one of a few trusted ones.
    losses = np.array(
        [sharpened_losses(np.vstack(of_weight), FACTORS, rows) for of_weight in margins]
    )
    return GRID[_largest_as_good(losses, rows)], np.average(losses, axis=1, weights=rows)


def _largest_as_good(losses: FloatArray, rows: FloatArray) -> int:
    """Return the place of the largest weight whose loss is not clearly above the least.

    The trusted rows are few, and losses on them differ by chance; the noisy rows are many. Where
    it cannot be told that they do harm, they should count.
    """
    best = int(np.argmin(np.average(losses, axis=1, weights=rows)))
    for place in range(len(losses) - 1, best, -1):
        excess, error = mean_and_error(losses[place] - losses[best], rows)
        if excess <= max(error, THIN_EVIDENCE / rows.sum()):
            return place
    return best


def _folds(truth: IntArray, seed: int) -> Iterator[BoolArray]:
    """Hold out trusted rows in stratified folds; a class's only trusted row is never held out."""
    known = np.flatnonzero(truth >= 0)
    counts = np.bincount(truth[known])
    known = known[counts[truth[known]] >= 2]
    if len(known) == 0:
        return
    fewest = int(np.bincount(truth[known])[np.unique(truth[known])].min())
    splitter = StratifiedKFold(min(MOST_FOLDS, fewest), shuffle=True, random_state=seed)
    for _, fold in splitter.split(np.zeros(len(known)), truth[known]):
        held = np.zeros(len(truth), dtype=bool)
        held[known[fold]] = True
        yield held


def _margins(weights: FloatArray, X: Rows, truth: IntArray, intercept: bool) -> FloatArray:
    """Return how far every class's score is above that of the true one."""
    columns = X.shape[1]
    scores = np.asarray(to_numpy(X) @ weights[:, :columns].T, dtype=np.float64)
    scores += weights[:, columns] if intercept else 0.0
    return np.asarray(scores - scores[np.arange(len(truth)), truth][:, np.newaxis])
