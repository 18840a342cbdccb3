"""How much a noisy row should count beside a trusted one, asked of the trusted rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.model_selection import StratifiedKFold

from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.solvers.likelihood import LikelihoodState

GRID = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Weights tried, from "trusted rows only" to "a label is a label"."""

MOST_FOLDS = 5

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
    """Return the weight whose fits give held-out trusted rows the best likelihood.

    Held-out rows leave the fit entirely, their noisy label and their share in C included. In each
    fold the fits start at the trusted-rows solution and go on along the grid.

    Returns
    -------
    weight : the best of `GRID`
    losses : mean log-loss of held-out rows for each of `GRID`
    """
    losses, n_held = np.zeros(len(GRID)), 0.0
    weights = np.ones(len(truth)) if sample_weight is None else sample_weight
    for held in _folds(truth, seed):
        state: LikelihoodState | None = None
        n_held += float(weights[held].sum())
        for place, weight in enumerate(GRID):
            state = fit_without(held, weight, state)
            lost = _log_losses(state.weights, X[held], truth[held], intercept)
            losses[place] += float(weights[held] @ lost)
    if n_held == 0:
        return 1.0, losses
    return GRID[int(np.argmin(losses))], losses / n_held


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


def _log_losses(weights: FloatArray, X: Rows, truth: IntArray, intercept: bool) -> FloatArray:
    columns = X.shape[1]
    scores = np.asarray(X @ weights[:, :columns].T, dtype=np.float64)
    scores += weights[:, columns] if intercept else 0.0
    scores -= scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(truth)), truth]
    return np.asarray(np.log(np.exp(scores).sum(axis=1)) - own)
