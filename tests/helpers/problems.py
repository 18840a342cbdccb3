"""Random problems for the tests: noisy labels with a C that is neither symmetric nor doubly
stochastic, so that a transposed formula cannot hide."""  # noqa: D205, D209

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_blobs

from unconfused import UMAClassifier, noise


@dataclass
class Problem:
    X: np.ndarray
    true: np.ndarray
    y: np.ndarray
    C: np.ndarray


def make_problem(seed=0, n=60, d=4, Q=4, diagonal=2.0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    C = np.eye(Q) * diagonal + rng.rand(Q, Q)
    C /= C.sum(axis=1, keepdims=True)
    true = (X @ rng.randn(d, Q)).argmax(axis=1)
    true[:Q] = np.arange(Q)  # every class is there
    y = np.array([rng.choice(Q, p=C[t]) for t in true])
    y[:Q] = np.arange(Q)
    return Problem(X, true, y, C)


def make_noisy_blobs():
    """Return rows of four classes, their truth, noisy labels and the matrix behind these."""
    X, true = make_blobs(600, centers=4, n_features=5, random_state=1)
    C = np.array([[0.6, 0.3, 0.1, 0.0], [0, 0.9, 0, 0.1], [0.2, 0.2, 0.6, 0], [0, 0, 0.4, 0.6]])
    return X, true, noise.corrupt_labels(true, C, random_state=0), C


def make_moves(rng, n_moves, Q, d):
    """Small moves after large ones, along few directions; some classes never move."""
    for t in range(n_moves):
        steps = np.zeros(Q)
        up, down = rng.choice(max(Q - 1, 2), 2, replace=False)
        steps[up], steps[down] = 1.0, -1.0
        if t % 3 == 0:
            rivals = rng.permutation(Q)[: rng.randint(1, Q)]
            steps[:] = 0.0
            steps[rivals] = -1.0 / len(rivals)
            steps[up] = 1.0 - (up in rivals) / len(rivals)
        direction = rng.randn(d) / (1.0 + t) ** 1.5
        yield steps, np.round(direction, 2) if t % 5 == 0 else direction


def plain_uma(C=None, **settings):
    """Return UMA in the features' own geometry, as in the paper."""
    return UMAClassifier(C, whiten=False, **settings)
