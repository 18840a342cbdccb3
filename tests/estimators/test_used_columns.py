"""Columns without entries change nothing but the time of a fit."""

import numpy as np
import pytest
from problems import make_problem
from scipy import sparse

from unconfused import UnconfusedLogisticRegression
from unconfused.estimators._likelihood_fits import used_columns


def with_empty_columns(X, n_empty, seed=0):
    """Put columns of zeros between those of X; also say which are X's."""
    rng = np.random.RandomState(seed)
    own = np.sort(rng.permutation(X.shape[1] + n_empty)[: X.shape[1]])
    wide = np.zeros((len(X), X.shape[1] + n_empty))
    wide[:, own] = X
    return sparse.csr_matrix(wide), own


@pytest.mark.parametrize("settings", [{}, {"relabel": 2}, {"fit_intercept": False}])
def test_a_fit_is_the_same_with_columns_nobody_uses(settings):
    problem = make_problem(0, n=200)
    wide, own = with_empty_columns(problem.X, 40)
    models = [
        UnconfusedLogisticRegression(problem.C, random_state=0, **settings).fit(X, problem.y)
        for X in (sparse.csr_matrix(problem.X), wide)
    ]
    assert models[1].n_features_in_ == wide.shape[1]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_[:, own], atol=1e-8)
    others = np.setdiff1d(np.arange(wide.shape[1]), own)
    assert not models[1].coef_[:, others].any()
    np.testing.assert_allclose(models[0].intercept_, models[1].intercept_, atol=1e-8)


def test_a_warm_start_goes_on_with_other_columns_in_use():
    problem = make_problem(1, n=200)
    some, _ = with_empty_columns(problem.X, 40, seed=0)
    others, _ = with_empty_columns(problem.X, 40, seed=1)
    settings = {"l2": 1e-3, "relabel": 0, "tol": 1e-8}
    cold = UnconfusedLogisticRegression(problem.C, **settings).fit(others, problem.y)
    warm = UnconfusedLogisticRegression(problem.C, **settings, warm_start=True)
    warm.fit(some, problem.y).fit(others, problem.y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)


def test_a_fit_that_fails_leaves_the_last_one_to_go_on_from():
    problem = make_problem(1, n=200)
    wide, _ = with_empty_columns(problem.X, 40)
    model = UnconfusedLogisticRegression(problem.C, warm_start=True).fit(wide, problem.y)
    with pytest.raises(ValueError, match="noisy_weight"):
        model.set_params(noisy_weight=0.0).fit(wide, problem.y)
    model.set_params(noisy_weight="auto").fit(wide, problem.y)
    assert model.coef_.shape == (4, wide.shape[1])


def test_nothing_is_left_out_of_dense_or_full_rows():
    X = np.eye(4)
    assert used_columns(X) is None
    assert used_columns(sparse.csr_matrix(X)) is None
    assert used_columns(sparse.csr_matrix((3, 4))) is None
