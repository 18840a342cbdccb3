"""Steps downhill, and the coordinates they are taken in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import rosen, rosen_der
from sklearn.datasets import load_breast_cancer, load_wine

from unconfused import UnconfusedLogisticRegression
from unconfused.engines import LocalEngine
from unconfused.solvers import descent, metric
from unconfused.solvers.descent import descend
from unconfused.solvers.metric import DiagonalMetric, FullMetric, metric_of


def plain(n):
    return DiagonalMetric(np.ones(n))


def follow(measure, start, coordinates, max_steps=500, tol=1e-8):
    """Descend, and return the weights and values after each step, and how it ended."""
    path = []
    ended = descend(measure, start, coordinates, max_steps, tol, lambda *now: path.append(now))
    return path, ended


def valley(weights):
    return rosen(weights.ravel()), rosen_der(weights.ravel()).reshape(weights.shape)


@pytest.mark.parametrize("n", [2, 10, 40])
def test_a_bent_valley_is_followed_to_its_end(n):
    path, ended = follow(valley, np.tile([-1.2, 1.0], n // 2)[np.newaxis], plain(n))
    values = [value for _, value in path]
    assert ended
    assert np.all(np.diff(values) < 0)
    assert values[-1] < 1e-12
    assert len(path) < 10 * n + 100


@given(st.integers(0, 2**16), st.integers(2, 12), st.sampled_from(["diagonal", "full"]))
def test_a_bowl_is_as_easy_however_long_and_oblique(seed, n, kind):
    rng = np.random.RandomState(seed)
    axes = np.linalg.qr(rng.randn(n, n))[0] if kind == "full" else np.eye(n)
    hessian = (axes * 10.0 ** rng.uniform(-4, 4, n)) @ axes.T
    goal, start = rng.randn(2, n), rng.randn(2, n)
    coordinates = (
        FullMetric(np.linalg.cholesky(hessian).T)
        if kind == "full"
        else DiagonalMetric(np.sqrt(np.diag(hessian)))
    )

    def bowl(weights):
        away = weights - goal
        return 0.5 * np.einsum("qi,ij,qj->", away, hessian, away), away @ hessian

    path, ended = follow(bowl, start, coordinates, tol=1e-6)
    assert ended
    assert len(path) <= 12
    np.testing.assert_allclose(bowl(path[-1][0])[1], 0.0, atol=1e-6)


@given(st.integers(0, 2**16), st.booleans())
def test_coordinates_lead_to_weights_and_back(seed, full):
    rng = np.random.RandomState(seed)
    root = np.triu(rng.randn(4, 4)) + 5 * np.eye(4)
    coordinates = FullMetric(root) if full else DiagonalMetric(np.diag(root))
    weights, gradient, step = rng.randn(3, 4), rng.randn(3, 4), 1e-3 * rng.randn(3, 4)
    there = coordinates.to_coordinates(weights)
    np.testing.assert_allclose(coordinates.to_weights(there), weights)
    # The slope is what makes a small step in coordinates worth what it is worth in weights.
    moved = coordinates.to_weights(there + step) - weights
    np.testing.assert_allclose(np.sum(coordinates.slope(gradient) * step), np.sum(gradient * moved))


def test_one_at_rest_is_left_alone_and_the_end_of_the_steps_is_told():
    path, ended = follow(valley, np.ones((1, 4)), plain(4))
    assert ended and path == []
    path, ended = follow(valley, np.zeros((1, 4)), plain(4), max_steps=3)
    assert not ended and len(path) == 3


def test_a_memory_that_is_full_forgets_the_oldest(monkeypatch):
    monkeypatch.setattr(descent, "MEMORY", 3)
    path, ended = follow(valley, np.zeros((1, 10)), plain(10))
    assert ended and len(path) > 10
    assert path[-1][1] < 1e-12


def test_where_rounding_leaves_nothing_to_gain_is_the_end():
    path, ended = follow(valley, np.zeros((1, 6)), plain(6), max_steps=10_000, tol=0.0)
    assert ended and len(path) < 300


def test_a_cliff_is_not_stepped_over():
    def cliff(weights):
        value = float(weights[0, 0])
        return (np.nan, weights * np.nan) if value > 1 else (-value, -np.ones((1, 1)))

    path, _ = follow(cliff, np.zeros((1, 1)), plain(1), max_steps=20)
    assert 0.99 < path[-1][0][0, 0] <= 1


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_features_are_squared_and_summed(storage, intercept):
    rng = np.random.RandomState(0)
    X, weight = rng.randn(50, 7) * (rng.rand(50, 7) < 0.5), rng.rand(50)
    engine = LocalEngine(storage(X), np.zeros(50, int), 1, weight, intercept=intercept)
    np.testing.assert_allclose(engine.feature_squares(), np.diag(engine.second_moment()))


def test_few_features_are_taken_apart_and_many_are_scaled(monkeypatch):
    X, codes = np.random.RandomState(0).randn(60, 20), np.arange(60) % 2
    engine = LocalEngine(X, codes, 2)
    assert isinstance(metric_of(engine, 2, 1e-4), FullMetric)
    monkeypatch.setattr(metric, "FEW_FEATURES", 5)
    monkeypatch.setattr(metric, "FEATURES_PER_CLASS", 5)
    assert isinstance(metric_of(engine, 2, 1e-4), DiagonalMetric)
    assert isinstance(metric_of(engine, 5, 1e-4), FullMetric)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_features_that_say_nothing_or_the_same_are_no_trouble(l2):
    rng = np.random.RandomState(0)
    X = rng.randn(200, 3)
    y = (X[:, 0] + 0.5 * rng.randn(200) > 0).astype(int)
    odd = np.column_stack([X, np.zeros(200), X[:, 0], X[:, 1] + X[:, 2], np.full(200, 7.0)])
    models = [UnconfusedLogisticRegression(l2=l2, tol=1e-7).fit(rows, y) for rows in (X, odd)]
    chances = [model.predict_proba(rows) for model, rows in zip(models, (X, odd), strict=True)]
    assert np.all(np.isfinite(models[1].coef_))
    np.testing.assert_allclose(chances[0], chances[1], atol=1e-4 if l2 == 0 else 2e-2)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_features_need_not_be_scaled(load, monkeypatch):
    X, y = load(return_X_y=True)
    raw = UnconfusedLogisticRegression(l2=1e-4).fit(X, y)
    monkeypatch.setattr(metric, "FEW_FEATURES", 0)
    monkeypatch.setattr(metric, "FEATURES_PER_CLASS", 0)
    scaled = UnconfusedLogisticRegression(l2=1e-4, max_iter=5000).fit(X, y)
    assert raw.n_iter_ < 150 and raw.n_iter_ < scaled.n_iter_
    assert raw.history_["objective"][-1] <= scaled.history_["objective"][-1] + 1e-4
