"""Every way to run UMA makes the same pairs and weights as the paper in plain loops."""

import re

import naive
import numpy as np
import pytest
from problems import make_problem, plain_uma
from scipy import sparse

from unconfused import UMAClassifier
from unconfused.selection import SELECTIONS
from unconfused.steps import STEPS

SETTINGS = {"tol": 1e-6, "max_iter": 25}


def internal_weights(clf):
    return clf._state.weights


def assert_same(clf, weights, pairs):
    made = list(zip(clf.history_["predicted"], clf.history_["true"], strict=True))
    assert made == pairs
    np.testing.assert_allclose(internal_weights(clf), weights, atol=1e-9, rtol=0)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("step", STEPS)
def test_same_pairs_and_weights(selection, step, alpha):
    for seed, extras in [(1, False), (2, True)]:
        problem = make_problem(seed, n=45)
        truth, weight = None, None
        if extras:
            rng = np.random.RandomState(seed)
            truth = [int(t) if i % 5 == 0 else None for i, t in enumerate(problem.true)]
            weight = rng.randint(1, 4, len(problem.y)).astype(float)
        weights, pairs = naive.uma(
            problem.X, problem.y, problem.C, t=truth,
            weight=None if weight is None else list(weight),
            selection=selection, rule=step, alpha=alpha, rng=np.random.RandomState(3), **SETTINGS,
        )  # fmt: skip
        assert len(pairs) > 5
        for X in (problem.X, sparse.csr_matrix(problem.X), np.asfortranarray(problem.X)):
            clf = plain_uma(
                problem.C, selection=selection, step=step, alpha=alpha, fit_intercept=False,
                random_state=3, **SETTINGS,
            )  # fmt: skip
            clf.fit(X, problem.y, y_true=truth, sample_weight=weight)
            assert_same(clf, weights, pairs)


def test_the_line_in_the_docstring_is_the_paper():
    problem = make_problem(1)
    (line,) = re.findall(r"``(UMAClassifier\(C, .*?\))``", UMAClassifier.__doc__)
    clf = eval(line, {"UMAClassifier": UMAClassifier, "C": problem.C}).set_params(max_iter=25)
    weights, pairs = naive.uma(problem.X, problem.y, problem.C, tol=0.0, max_iter=25)
    assert_same(clf.fit(problem.X, problem.y), weights, pairs)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_the_intercept_is_a_constant_feature(storage):
    problem = make_problem(3)
    with_ones = np.hstack([problem.X, np.ones((len(problem.X), 1))])
    weights, pairs = naive.uma(with_ones, problem.y, problem.C, alpha=0.01, **SETTINGS)
    clf = plain_uma(problem.C, alpha=0.01, **SETTINGS).fit(storage(problem.X), problem.y)
    assert_same(clf, weights, pairs)


def test_several_threads(monkeypatch):
    problem = make_problem(5, n=200)
    weights, pairs = naive.uma(problem.X, problem.y, problem.C, **SETTINGS)
    monkeypatch.setattr("unconfused.engines.local.engine.WORTH_A_THREAD", 1)
    clf = plain_uma(problem.C, fit_intercept=False, n_jobs=4, **SETTINGS)
    assert_same(clf.fit(problem.X, problem.y), weights, pairs)


def test_a_start_other_than_zero():
    problem = make_problem(1)
    clf = plain_uma(problem.C, init="means", fit_intercept=False, **SETTINGS)
    clf.fit(problem.X, problem.y)
    inverse = np.array(naive.inverse(problem.C))
    share = inverse[problem.y]
    means = (share.T @ problem.X) / share.sum(axis=0)[:, None]
    start = means - means.mean(axis=0)
    weights, pairs = naive.uma(problem.X, problem.y, problem.C, W=start, **SETTINGS)
    assert_same(clf, weights, pairs)


def test_float32_rows_are_used_as_they_are():
    problem = make_problem(7)
    X = problem.X.astype(np.float32)
    weights, pairs = naive.uma(X, problem.y, problem.C, **SETTINGS)
    clf = plain_uma(problem.C, fit_intercept=False, **SETTINGS).fit(X, problem.y)
    assert_same(clf, weights, pairs)
    assert clf.coef_.dtype == np.float32


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_are_the_noise_tolerant_perceptron(seed):
    rng = np.random.RandomState(seed)
    # One loud direction that says little: the first vectors point the wrong way.
    X = rng.randn(400, 6) * [6, 1, 1, 1, 1, 1] + [2, 0, 0, 0, 0, 0]
    true = (X @ [0.05, 1, 1, -1, 1, -1] > 0).astype(int)
    flips = {0: 0.1, 1: 0.3}
    y = np.where(rng.rand(400) < np.where(true, flips[1], flips[0]), 1 - true, true)
    C = [[1 - flips[0], flips[0]], [flips[1], 1 - flips[1]]]
    clf = plain_uma(C, fit_intercept=False, tol=1e-3, max_iter=60).fit(X, y)
    direct = naive.noise_tolerant_perceptron(X, 2 * y - 1, {-1: flips[0], 1: flips[1]}, 60, 1e-3)
    assert clf.n_iter_ > 5
    np.testing.assert_allclose(clf.coef_[0], 2 * direct, atol=1e-9)
    assert clf.coef_.shape == (1, 6)
    assert clf.decision_function(X).shape == (400,)
