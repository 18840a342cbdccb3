"""A fit takes no more memory than it is meant to: of many classes and of short rows, too."""

import tracemalloc

import numpy as np
import pytest
from problems import plain_uma
from scipy import sparse

from unconfused import noise
from unconfused.engines import LocalEngine
from unconfused.engines.local import engine as choice
from unconfused.engines.local.engine import cell_sums
from unconfused.engines.local.gram import GramSums
from unconfused.engines.local.partition import KeptSums, LazySums, SumsOnDemand


def make_clouds(n_rows, n_columns, n_classes):
    """Rows in clouds, one for every class, with one label in five wrong."""
    rng = np.random.RandomState(0)
    means, true = rng.randn(n_classes, n_columns), rng.randint(n_classes, size=n_rows)
    X = (means[true] + rng.randn(n_rows, n_columns)).astype(np.float32)
    C = noise.symmetric(n_classes, 0.2)
    return X, noise.corrupt_labels(true, C, random_state=0), C


def peak_of_a_fit(X, y, C):
    """Return the bytes that a fit takes at its peak beside its rows."""
    clf = plain_uma(C, tol=1e-9, max_iter=10)
    clf.fit(X, y)  # compiled code stays in memory, and is not counted
    tracemalloc.start()
    try:
        clf.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes"),
    [(30_000, 25, 10), (10_000, 100, 10), (6_000, 60, 200)],
    ids=["short rows", "long rows", "many classes"],
)
def test_peak_memory_of_a_fit(n_rows, n_columns, n_classes):
    X, y, C = make_clouds(n_rows, n_columns, n_classes)
    most = 1.5 * X.nbytes + 8 * n_rows * n_classes + 64 * n_classes * n_columns
    assert X.nbytes + peak_of_a_fit(X, y, C) <= most


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "chosen"),
    [
        (500, 20, 4, KeptSums),
        (500, 3000, 12, LazySums),
        (500, 60_000, 30, GramSums),
        (40, 500, 150, SumsOnDemand),
    ],
)
def test_the_sums_that_fit_are_kept(n_rows, n_columns, n_classes, chosen, monkeypatch):
    monkeypatch.setattr(choice, "SMALL", 2**22)
    X = sparse.random_array((n_rows, n_columns), density=0.001, format="csr", rng=0)
    engine = LocalEngine(X, np.zeros(n_rows, dtype=np.intp), n_classes)
    region = np.zeros(n_rows, dtype=np.int16)
    assert type(cell_sums(engine, n_classes, region)) is chosen
