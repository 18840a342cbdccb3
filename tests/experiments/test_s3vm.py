"""The semi-supervised SVM of the experiments: unlabelled rows help where they should."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from dataset_files import local_data
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from sklearn.datasets import make_moons

from unconfused.datasets import fetch_optdigits

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def s3vm():
    sys.path.insert(0, str(REPOSITORY))
    yield importlib.import_module("experiments.s3vm")
    sys.path.remove(str(REPOSITORY))


def few_labels(true, per_class, seed):
    rng = np.random.RandomState(seed)
    y = np.full(len(true), -1)
    for one in np.unique(true):
        y[rng.choice(np.flatnonzero(true == one), per_class, replace=False)] = one
    return y


def test_the_gradient_is_that_of_the_objective(s3vm):
    rng = np.random.RandomState(0)
    X, unlabelled = rng.randn(6, 3), rng.randn(9, 3)
    targets = np.where(rng.rand(6, 2) > 0.5, 1.0, -1.0)
    problem = s3vm._Problem(X, targets, unlabelled, np.array([0.3, 0.7]), 5.0)

    def free(flat):  # the balance constraint holds the intercepts
        gradient = problem._objective(flat, 0.7)[1].reshape(2, 4)
        assert np.all(gradient[:, -1] == 0)
        return gradient[:, :-1].ravel()

    def at(coef):
        return np.column_stack([coef.reshape(2, 3), [-0.4, 0.4]]).ravel()

    for _ in range(5):
        error = check_grad(
            lambda w: problem._objective(at(w), 0.7)[0], lambda w: free(at(w)), rng.randn(6)
        )
        assert error < 1e-5
    error = check_grad(
        lambda w: problem._objective(w, None)[0],
        lambda w: problem._objective(w, None)[1],
        at(X[:2]),
    )
    assert error < 1e-5


def test_the_balance_holds_on_the_unlabelled_rows(s3vm):
    rng = np.random.RandomState(0)
    X = rng.randn(60, 4)
    y = np.where(np.arange(60) < 12, np.arange(60) % 3, -1)
    shares = np.array([0.2, 0.5, 0.3])
    clf = s3vm.S3VMClassifier(class_prior=shares).fit(X, y)
    mean = clf.decision_function(X[y == -1]).mean(axis=0)
    np.testing.assert_allclose(mean, 2 * shares - 1, atol=1e-8)
    with pytest.raises(ValueError, match="one share per class"):
        s3vm.S3VMClassifier(class_prior=[0.5, 0.5]).fit(X, y)


def test_the_cut_goes_through_the_gap(s3vm):
    # Two clouds side by side, with a label near the top of one and near the bottom of the other:
    # the labels alone say to cut slantwise, the gap between the clouds says where.
    rng = np.random.RandomState(0)
    true = np.arange(400) % 2
    X = rng.randn(400, 2) * [0.3, 1.0] + np.where(true, 1.2, -1.2)[:, None] * [1.0, 0.0]
    X[0], X[1] = (-1.2, -2.0), (1.2, 2.0)
    y = np.full(400, -1)
    y[[0, 1]] = 0, 1
    alone = s3vm.S3VMClassifier(unlabelled_weight=0).fit(X, y)
    helped = s3vm.S3VMClassifier().fit(X, y)
    assert alone.score(X, true) < 0.95
    assert helped.score(X, true) > 0.99
    sparse = s3vm.S3VMClassifier().fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, helped.coef_, rtol=1e-3)


def test_two_moons_with_a_gaussian_kernel(s3vm):
    X, true = make_moons(300, noise=0.08, random_state=0)
    gains = []
    for seed in range(3):
        y = few_labels(true, 3, seed)
        settings = {"kernel": "rbf", "gamma": 4.0, "n_components": 100, "random_state": 0}
        alone = s3vm.S3VMClassifier(unlabelled_weight=0, **settings).fit(X, y)
        helped = s3vm.S3VMClassifier(**settings).fit(X, y)
        gains.append(helped.score(X, true) - alone.score(X, true))
    assert np.mean(gains) > 0.02


def test_without_unlabelled_rows_it_is_the_supervised_machine(s3vm):
    rng = np.random.RandomState(0)
    X, y = rng.randn(40, 3), rng.randint(0, 2, 40)
    plain = s3vm.S3VMClassifier(C=1.0).fit(X, y)
    twin = s3vm.S3VMClassifier(C=1.0, unlabelled_weight=0).fit(
        np.vstack([X, rng.randn(20, 3)]), np.append(y, np.full(20, -1))
    )
    np.testing.assert_allclose(plain.decision_function(X), twin.decision_function(X), atol=1e-4)
    with pytest.raises(ValueError, match="at least two classes"):
        plain.fit(X, np.where(y == 0, 0, -1))
    with pytest.raises(ValueError, match="'linear' or 'rbf'"):
        s3vm.S3VMClassifier("cubic").fit(X, y)


@pytest.mark.slow
def test_on_digits_unlabelled_rows_help(s3vm):
    home = local_data("optdigits")
    X, true = fetch_optdigits(data_home=home, return_X_y=True)
    test, test_true = fetch_optdigits(data_home=home, subset="test", return_X_y=True)
    y = few_labels(true, 10, 0)
    settings = {"kernel": "rbf", "n_components": 300, "random_state": 0}
    alone = s3vm.S3VMClassifier(unlabelled_weight=0, **settings).fit(X / 16, y)
    helped = s3vm.S3VMClassifier(**settings).fit(X / 16, y)
    errors = [1 - clf.score(test / 16, test_true) for clf in (alone, helped)]
    assert errors[1] < 0.85 * errors[0], errors
