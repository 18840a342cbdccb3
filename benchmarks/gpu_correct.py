"""The estimators' sums on a CUDA device against NumPy's, in both precisions.

Run: SCIPY_ARRAY_API=1 python benchmarks/gpu_correct.py. Every line is one problem of 20,000
weighted rows: whether 120 updates chose the same pairs, and how far weights, loss and gradient are
from NumPy's, as a share of the largest entry.
"""

from __future__ import annotations

import numpy as np
import sklearn
import torch

from unconfused import noise
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.estimators._base import make_engine
from unconfused.selection import SELECTIONS
from unconfused.solvers.uma.solver import UMA, UMAState
from unconfused.steps import STEPS

N_ROWS = 20_000
CASES = [  # classes, features, margin, step rule
    (4, 6, 0.01, "uniform"),
    (40, 50, 0.0, "mira"),
    (10, 256, 0.0, "perceptron"),
    (2, 300, 0.0, "perceptron"),
    (3, 12, 0.0, "perceptron"),
    (16, 200, 0.0, "perceptron"),
    (7, 128, 0.0, "perceptron"),
    (100, 64, 0.0, "perceptron"),
]


def away(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference as a share of the largest entry."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def compare(n_classes: int, n_features: int, alpha: float, step: str, dtype: type) -> None:
    """Run both engines over the same rows and print how far apart they are."""
    rng = np.random.RandomState(n_classes)
    X = rng.randn(N_ROWS, n_features)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)
    C = noise.pairwise(n_classes, 0.3)
    true = (X @ rng.randn(n_features, n_classes)).argmax(axis=1)
    y = np.where(rng.rand(N_ROWS) < 0.3, (true + 1) % n_classes, true)
    weight = rng.randint(1, 4, N_ROWS).astype(float)
    rows = torch.from_numpy(X).cuda()
    plain = LocalEngine(X, y, n_classes, weight)
    other = make_engine(rows, y, n_classes, weight, intercept=True, n_threads=1)
    states = []
    for engine in (plain, other):
        state = UMAState(np.zeros((n_classes, n_features + 1)))
        algorithm = UMA(SELECTIONS["error"], STEPS[step], 1e-9, 120, False, "zero", rng)
        states.append(algorithm.run(engine, Unmixing(C), alpha, state))
    same = states[0].history()["predicted"].tolist() == states[1].history()["predicted"].tolist()
    same &= states[0].history()["true"].tolist() == states[1].history()["true"].tolist()
    weights = 5 * states[0].weights / np.abs(states[0].weights).max()
    arguments = weights, np.ascontiguousarray(C.T), np.ones(n_classes)
    a, b = plain.likelihood(*arguments), other.likelihood(*arguments)
    trusted = likelihoods_with_truths(X, rows, y, true, weight, 20 * weights, C)
    print(
        f"{dtype.__name__} {n_classes:4d} classes {n_features:4d} features {step:10s} "
        f"same pairs: {same} ({states[1].n_updates}), "
        f"weights {away(states[1].weights, states[0].weights):.1e}, "
        f"loss {abs(b.loss - a.loss) / a.loss:.1e}, gradient {away(b.gradient, a.gradient):.1e}, "
        f"with truths {max(trusted):.1e}"
    )


def likelihoods_with_truths(
    X: np.ndarray,
    rows: torch.Tensor,
    y: np.ndarray,
    true: np.ndarray,
    weight: np.ndarray,
    weights: np.ndarray,
    C: np.ndarray,
) -> list[float]:
    """Compare both where some truths are known, and some labels all but impossible."""
    n_classes = len(C)
    codes = np.where(np.arange(len(y)) % 3 == 0, n_classes + true, y)
    mixing = np.vstack([C.T, np.eye(n_classes)])
    counted = np.append(np.full(n_classes, 0.3), np.ones(n_classes))
    found = [
        engine.likelihood(weights, mixing, counted)
        for engine in (
            LocalEngine(X, codes, 2 * n_classes, weight),
            make_engine(
                rows,
                codes,
                2 * n_classes,
                weight,
                intercept=True,
                n_threads=1,
            ),
        )
    ]
    a, b = found
    loss = abs(b.loss - a.loss) / a.loss
    return [loss, away(b.gradient, a.gradient), away(b.posterior, a.posterior)]


if __name__ == "__main__":
    sklearn.set_config(array_api_dispatch=True)
    for dtype in (np.float64, np.float32):
        for case in CASES:
            compare(*case, dtype)
