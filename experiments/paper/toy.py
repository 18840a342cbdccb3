"""The toy problem: ten classes on the unit circle, labels corrupted by a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.paper.protocol import fit_uma
from unconfused import datasets, metrics, noise
from unconfused._typing import FloatArray, IntArray

N_CLASSES = 10
N_TRAIN, N_TEST = 1_000, 10_000
N_MATRICES = 20
REFERENCE = 10
"""Which of the matrices is the reference M."""

N_RUNS = 10

N_UPDATES = 1_600
"""1 / margin²: the order of updates that the theory allows at the margin of 0.025."""

CHECKPOINTS = (60, 200, N_UPDATES)
"""Numbers of updates after which the confusion is measured; the paper does not give its own."""

MARGIN_OF = "distance"
"""What the margin is measured by: the distance to the boundary, or the difference of "score"s."""

DECIDED = f"{CHECKPOINTS} {MARGIN_OF}"
"""Results are kept under this."""


@dataclass(frozen=True)
class Toy:
    """A problem and a family of matrices that drifts from the identity through M and beyond."""

    X: FloatArray
    truth: IntArray
    X_test: FloatArray
    truth_test: IntArray
    family: FloatArray

    def corrupted(self, matrix: FloatArray, seed: int) -> IntArray:
        """Return labels corrupted by a matrix."""
        labels = noise.corrupt_labels(self.truth, matrix, seed, classes=np.arange(N_CLASSES))
        return np.asarray(labels)

    def confusion_norms(self, matrix: FloatArray | None, observed: IntArray) -> list[float]:
        """Learn with UMA through a matrix (None: the identity).

        Returns the confusion norm on test rows after each number of updates in `CHECKPOINTS`.
        """
        found, model = [], None
        for before, now in zip((0, *CHECKPOINTS), CHECKPOINTS, strict=False):
            model = fit_uma(
                matrix, self.X, observed, N_CLASSES, max_iter=now - before, go_on_from=model
            )
            predicted = model.predict(self.X_test)
            found.append(metrics.confusion_rate(self.truth_test, predicted, normalize=False))
        return found


def make_toy(run: int) -> Toy:
    """Make the problem of a run; a family with a member that has no inverse is drawn again."""
    rng = np.random.RandomState(run)
    X, truth, weights = datasets.make_circle(
        N_TRAIN, margin_of=MARGIN_OF, random_state=rng, return_weights=True
    )
    X_test, truth_test = datasets.make_circle(
        N_TEST, margin_of=MARGIN_OF, weights=weights, random_state=rng
    )
    while True:
        family = noise.drift_family(N_CLASSES, N_MATRICES, random_state=rng)
        if all(np.linalg.matrix_rank(matrix) == N_CLASSES for matrix in family):
            return Toy(X, truth, X_test, truth_test, family)


def seed_of(run: int, member: int) -> int:
    """Return the seed of the labels: another for each run and each matrix."""
    return 1_000 * (run + 1) + member


def by_member(values: dict[str, list[Any]]) -> dict[str, Any]:
    """Return values, or lists of them, as plain numbers for the results."""
    return {name: np.asarray(column, dtype=np.float64).tolist() for name, column in values.items()}
