"""The data sets of the benchmark: each with clean labels, noisy labels and the noise between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from unconfused import datasets, noise
from unconfused.kernels import kernel_projection

NOISE = 0.3
"""Share of wrong labels, spread evenly over the other classes."""


@dataclass(frozen=True)
class Problem:
    """Rows with noisy labels, and rows to test on with clean ones."""

    name: str
    X: Any
    y: np.ndarray
    confusion: np.ndarray
    X_test: Any
    y_test: np.ndarray
    intercept: bool

    @property
    def n_bytes(self) -> int:
        """Size of the training rows."""
        X = self.X
        if sparse.issparse(X):
            return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
        return int(X.nbytes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.confusion)


def with_noise(name: str, X: Any, true: np.ndarray, *, n_test: int, intercept: bool) -> Problem:
    """Keep the last rows for testing and corrupt the labels of the others."""
    n_train = X.shape[0] - n_test
    confusion = noise.symmetric(int(true.max()) + 1, NOISE)
    y = noise.corrupt_labels(true[:n_train], confusion, random_state=0)
    rows = X[:n_train] if sparse.issparse(X) else np.ascontiguousarray(X[:n_train])
    return Problem(name, rows, y, confusion, X[n_train:], true[n_train:], intercept)


def dense(n_rows: int = 200_000, n_columns: int = 200, n_classes: int = 10) -> Problem:
    """Gaussian clouds of unit variance, their centres 4 from the origin; single precision."""
    rng = np.random.default_rng(0)
    n_test = max(2_000, n_rows // 20)
    centres = rng.standard_normal((n_classes, n_columns))
    centres *= 4 / np.linalg.norm(centres, axis=1, keepdims=True)
    true = rng.integers(n_classes, size=n_rows + n_test)
    X = rng.standard_normal((len(true), n_columns), dtype=np.float32)
    for start in range(0, len(true), 10_000):  # a second array of this size is not needed
        X[start : start + 10_000] += centres[true[start : start + 10_000]].astype(np.float32)
    name = f"dense {n_rows:,} x {n_columns}, Q = {n_classes}"
    return with_noise(name, X, true, n_test=n_test, intercept=True)


def isotropic(n_rows: int, n_columns: int = 200, n_classes: int = 10) -> Problem:
    """Gaussian rows in no clouds at all, labelled by a noisy linear concept."""
    rng = np.random.default_rng(0)
    n_test = n_rows // 20
    X = rng.standard_normal((n_rows + n_test, n_columns), dtype=np.float32)
    scores = X @ rng.standard_normal((n_columns, n_classes), dtype=np.float32) / n_columns**0.5
    true = (scores + 0.1 * rng.gumbel(size=scores.shape)).argmax(axis=1)
    name = f"isotropic {n_rows:,} x {n_columns}, Q = {n_classes}"
    return with_noise(name, X, true, n_test=n_test, intercept=True)


def text(n_rows: int = 200_000, n_columns: int = 47_236, n_classes: int = 53) -> Problem:
    """Rows with 75 entries, a quarter of them among 400 columns of the class; unit length.

    As usual for such rows there is no intercept.
    """
    rng = np.random.default_rng(1)
    n_test, stored, own = n_rows // 20, 75, 18
    true = rng.integers(n_classes, size=n_rows + n_test)
    topics = rng.integers(n_columns, size=(n_classes, 400), dtype=np.int32)
    columns = rng.integers(n_columns, size=(len(true), stored), dtype=np.int32)
    columns[:, :own] = topics[true[:, np.newaxis], rng.integers(400, size=(len(true), own))]
    values = 0.5 + rng.random(columns.size, dtype=np.float32)
    starts = np.arange(0, columns.size + 1, stored)
    X = sparse.csr_matrix((values, columns.ravel(), starts), (len(true), n_columns))
    X.sum_duplicates()
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    name = f"sparse {n_rows:,} x {n_columns:,}, Q = {n_classes}"
    return with_noise(name, X, true, n_test=n_test, intercept=False)


def letter(cache: Path) -> Problem:
    """Load the UCI letters in 1,600 kernel features, kept in `cache` once they are made."""
    path = cache / "letter-1600.npz"
    if not path.is_file():
        X, y = datasets.fetch_letter(return_X_y=True)
        X = kernel_projection(1600, random_state=0).fit_transform(X)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, X=X, y=np.unique(y, return_inverse=True)[1])
    kept = np.load(path)
    return with_noise("Letter", kept["X"], kept["y"], n_test=5_000, intercept=True)


def reuters() -> Problem:
    """Load the Reuters news of the training set with classes of 20 documents or more."""
    X, y = datasets.fetch_reuters(return_X_y=True)
    _, true, counts = np.unique(y, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(np.isin(true, np.flatnonzero(counts >= 20)))
    kept = np.random.default_rng(0).permutation(kept)
    true = np.unique(true[kept], return_inverse=True)[1]
    return with_noise("Reuters", X[kept], true, n_test=len(kept) // 5, intercept=False)


def named(cache: Path) -> dict[str, Callable[[], Problem]]:
    """Return the data sets by the names the command knows."""
    return {
        "dense": dense,
        "letter": lambda: letter(cache),
        "sparse": text,
        "reuters": reuters,
    }
