"""A fit takes no more memory than it is meant to: of many classes and of short rows, too."""

import tracemalloc

import numpy as np
import pytest

from unconfused import UMAClassifier, noise


def make_clouds(n_rows, n_columns, n_classes):
    """Rows in clouds, one for every class, with one label in five wrong."""
    rng = np.random.RandomState(0)
    means, true = rng.randn(n_classes, n_columns), rng.randint(n_classes, size=n_rows)
    X = (means[true] + rng.randn(n_rows, n_columns)).astype(np.float32)
    C = noise.symmetric(n_classes, 0.2)
    return X, noise.corrupt_labels(true, C, random_state=0), C


def peak_of_a_fit(X, y, C):
    """Return the bytes that a fit takes at its peak beside its rows, and its weights."""
    clf = UMAClassifier(C, tol=1e-9, max_iter=10)
    clf.fit(X, y)  # compiled code stays in memory, and is not counted
    tracemalloc.start()
    try:
        clf.fit(X, y)
        return tracemalloc.get_traced_memory()[1], clf.coef_
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_classes", "short_of_room"),
    [(30_000, 25, 10, True), (10_000, 100, 10, False), (6_000, 60, 200, True)],
    ids=["short rows", "long rows", "many classes"],
)
def test_peak_memory_of_a_fit(n_rows, n_columns, n_classes, short_of_room, monkeypatch):
    X, y, C = make_clouds(n_rows, n_columns, n_classes)
    peak, coef = peak_of_a_fit(X, y, C)
    assert X.nbytes + peak <= (1.3 * X.nbytes + 4 * n_rows * n_classes + 64 * n_classes * n_columns)
    # The scores of all rows would take more, where there is little room, and change nothing else.
    monkeypatch.setattr("unconfused.engines.cut.rows_with_scores", lambda *_: n_rows)
    more, same = peak_of_a_fit(X, y, C)
    assert (more > 1.05 * peak) == short_of_room
    np.testing.assert_array_equal(coef, same)
