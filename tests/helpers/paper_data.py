"""Tiny data in place of the paper's, for tests of its experiments."""

from __future__ import annotations

import numpy as np


def small_problem(setting, run):
    """Four clouds in six dimensions, rows of norm 1, uneven classes."""
    rng = np.random.RandomState(run if setting.n_train else 0)
    centres = 2.0 * np.eye(6)[:4]
    y = np.repeat(np.arange(4), (240, 200, 160, 120))
    X = centres[y] + 0.6 * rng.randn(len(y), 6)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train = rng.permutation(len(y)) < 480
    return X[train], y[train], X[~train], y[~train]
