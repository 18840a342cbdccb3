"""The confusion matrix from labels of nearest neighbours, and the choice between two estimates."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from unconfused import noise
from unconfused.confusion import from_noisy
from unconfused.confusion.estimation.neighbours import (
    from_neighbours,
    label_log_likelihood,
    nearest,
)

C = np.array([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])


def rings(n=1500, seed=0):
    """Draw three rings around each other, which no linear model tells apart."""
    rng = np.random.default_rng(seed)
    radius, angle = rng.uniform(0, 3, n), rng.uniform(0, 2 * np.pi, n)
    truth = radius.astype(int)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X, truth, noise.corrupt_labels(truth, C, random_state=seed)


def off(matrix, truth=C):
    return np.abs(matrix - truth).sum(axis=1).mean()


def test_neighbours_see_what_no_linear_model_does():
    X, _, y = rings()
    found = from_noisy(X, y, random_state=0)
    assert off(found.matrix) < 0.15
    assert off(from_noisy(X, y, random_state=0, method="confident").matrix) > 0.5
    assert "nearest neighbours" in found.verdict
    assert "better" in found.caveat
    np.testing.assert_allclose(found.counts.sum(axis=0), np.bincount(y))
    np.testing.assert_array_equal(found.matrix, from_noisy(X, y, method="neighbours").matrix)


def test_a_model_is_believed_where_neighbours_are_strangers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 60))
    truth = (X[:, :3] @ rng.standard_normal((3, 3))).argmax(axis=1)
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.3), random_state=0)
    found = from_noisy(X, y, random_state=0)
    plain = from_noisy(X, y, random_state=0, method="confident")
    np.testing.assert_array_equal(found.matrix, plain.matrix)
    assert "from confident predictions" in found.verdict
    assert found.caveat.startswith(plain.caveat)


@pytest.mark.parametrize(
    "matrix", [noise.symmetric(10, 0.4), noise.pairwise(10, 0.4)], ids=["even", "pairs"]
)
def test_digits(matrix):
    X, truth = load_digits(return_X_y=True)
    y = noise.corrupt_labels(truth, matrix, random_state=0)
    found = from_noisy(X / 16, y, random_state=0)
    plain = from_noisy(X / 16, y, random_state=0, method="confident")
    assert off(found.matrix, matrix) < off(plain.matrix, matrix)
    assert "nearest neighbours" in found.caveat


def test_sparse_rows_and_frames_are_the_same():
    pd = pytest.importorskip("pandas")
    X, _, y = rings(400)
    expected = from_neighbours(X, y, 3).matrix
    np.testing.assert_allclose(from_neighbours(sparse.csr_matrix(X), y, 3).matrix, expected)
    np.testing.assert_array_equal(from_neighbours(pd.DataFrame(X), y, 3).matrix, expected)


def test_classes_can_be_permuted():
    X, _, y = rings(600)
    order = np.array([2, 0, 1])  # class q becomes class order[q]
    plain, permuted = from_neighbours(X, y, 3), from_neighbours(X, order[y], 3)
    np.testing.assert_allclose(permuted.matrix[np.ix_(order, order)], plain.matrix, atol=1e-6)
    assert permuted.score == pytest.approx(plain.score, abs=1e-6)


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("unconfused.confusion.estimation.neighbours.MOST_ROWS", 500)
    X, _, y = rings(1700)
    found = from_neighbours(X, y, 3)
    np.testing.assert_allclose(found.counts.sum(axis=0), np.bincount(y))
    assert off(found.matrix) < 0.25


def test_where_neighbours_say_nothing():
    X, _, y = rings(300)
    assert from_neighbours(X.astype(object), y, 3) is None
    assert from_neighbours(np.where(X > 2, np.nan, X), y, 3) is None
    assert from_neighbours(X[:3], y[:3], 3) is None
    with pytest.raises(ValueError, match="method='confident'"):
        from_noisy([["a"], ["b"], ["c"], ["d"]], [0, 1, 0, 1], method="neighbours")
    with pytest.raises(ValueError, match="method must be"):
        from_noisy(X, y, method="nearest")
    # Who brings a model has chosen.
    own = from_noisy(X, y, estimator=LogisticRegression(), random_state=0)
    assert "neighbours" not in own.caveat


def test_a_row_is_no_neighbour_of_itself():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.1], [9.0]])
    rows = np.arange(6)
    found = nearest(X, rows, 2)
    assert found.shape == (6, 2)
    assert not np.any(found == rows[:, np.newaxis])
    assert found[3, 0] == 4
    assert found[5].tolist() == [4, 3]


def test_label_log_likelihood_is_the_likelihood_of_labels():
    sure = np.array([[1.0, 0.0], [0.0, 1.0]])
    matrix = np.array([[0.75, 0.25], [0.5, 0.5]])
    expected = (np.log(0.75) + np.log(0.5)) / 2
    assert label_log_likelihood(sure, matrix, np.array([0, 1])) == pytest.approx(expected, abs=1e-3)
