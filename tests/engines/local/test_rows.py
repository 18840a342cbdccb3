"""Rows as people have them: read-only, on disk, in either order, few, short or empty."""

import numpy as np
import pytest
from problems import make_problem, plain_uma
from scipy import sparse

from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.engines.base import exact_norms

SETTINGS = {"tol": 1e-6, "max_iter": 30}


def read_only(X, tmp_path):
    X = X.copy()
    X.flags.writeable = False
    return X


def on_disk(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def long_indices(X, tmp_path):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def read_only_entries(X, tmp_path):
    X = sparse.csr_array(X)
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def entries_in_two_parts(X, tmp_path):
    """Store the first column as two halves, out of order."""
    X, n = sparse.csr_array(np.hstack([X, X[:, :1]])), len(X)
    X.data[:: X.shape[1]] /= 2
    X.data[X.shape[1] - 1 :: X.shape[1]] /= 2
    return sparse.csr_array((X.data, X.indices % (X.shape[1] - 1), X.indptr), (n, X.shape[1] - 1))


SLOW = (read_only, long_indices, read_only_entries)
STORAGES = [
    # Types of their own, for which loops are compiled again.
    *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW),
    on_disk,
    entries_in_two_parts,
    lambda X, _: np.asfortranarray(X),
    lambda X, _: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    lambda X, _: X.astype(X.dtype.newbyteorder()),
    lambda X, _: sparse.csc_matrix(X),
]


@pytest.mark.parametrize("store", STORAGES)
def test_the_weights_do_not_depend_on_how_rows_are_stored(store, tmp_path):
    problem = make_problem(1, n=100)
    expected = plain_uma(problem.C, **SETTINGS).fit(problem.X, problem.y).coef_
    stored = store(problem.X, tmp_path)
    found = plain_uma(problem.C, **SETTINGS).fit(stored, problem.y).coef_
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(
    "X", [np.ones((1, 3)), np.zeros((1, 3)), sparse.csr_array((20, 3)), np.zeros((20, 0))]
)
def test_hardly_any_rows_or_entries(X, alpha, intercept):
    n_rows, C = X.shape[0], np.array([[0.8, 0.2], [0.3, 0.7]])
    codes = np.arange(n_rows) % 2
    engine = LocalEngine(X, codes, 2, intercept=intercept)
    if engine.n_features == 0:
        return
    partition = engine.partition(Unmixing(C), alpha)
    dense = X.toarray() if sparse.issparse(X) else X
    full = np.hstack([dense, np.ones((n_rows, 1))]) if intercept else dense
    share = np.linalg.inv(C)[codes]
    whole = np.linalg.norm(share.T @ full, axis=1) / n_rows
    np.testing.assert_allclose(exact_norms(partition), [whole, whole], atol=1e-12)
    partition.move(np.array([-1.0, 1.0]), np.ones(engine.n_features))
    inside = (2 * full.sum(axis=1) >= alpha) & ((alpha > 0) | full.any(axis=1))
    assert inside.all() or not inside.any()  # all rows are alike here
    expected = np.zeros((2, 2))
    if inside.all():
        expected[1] = whole
    elif alpha == 0:
        expected[0] = whole
    np.testing.assert_allclose(exact_norms(partition), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-60, 1e60, 1e150])
def test_features_beyond_single_precision(scale):
    problem = make_problem(2, n=100)
    settings = {"tol": 0.0, "max_iter": 30, "fit_intercept": False}
    plain = plain_uma(problem.C, **settings).fit(problem.X, problem.y).coef_
    scaled = plain_uma(problem.C, **settings).fit(scale * problem.X, problem.y).coef_
    np.testing.assert_allclose(scaled / scale, plain, atol=1e-12)


def test_features_that_overflow_are_told():
    problem = make_problem(2, n=100)
    with pytest.raises(ValueError, match="scale the features down"):
        plain_uma(problem.C, fit_intercept=False, tol=0.0).fit(1e160 * problem.X, problem.y)
