"""Steps downhill, and the coordinates they are taken in."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import rosen, rosen_der
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification

from unconfused import ConfusionWarning, UnconfusedLogisticRegression, noise
from unconfused._matrix import label_chances
from unconfused.engines import LocalEngine
from unconfused.engines.local import engine as local_engine
from unconfused.estimators import _likelihood_fits
from unconfused.solvers import lbfgs, preconditioner
from unconfused.solvers.lbfgs import descend
from unconfused.solvers.preconditioner import Preconditioner, preconditioner_of


def plain(n):
    return Preconditioner(np.ones(n))


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
    root = np.linalg.cholesky(hessian).T if kind == "full" else np.sqrt(np.diag(hessian))
    coordinates = Preconditioner(root)

    def bowl(weights):
        away = weights - goal
        return 0.5 * np.einsum("qi,ij,qj->", away, hessian, away), away @ hessian

    path, ended = follow(bowl, start, coordinates, tol=1e-6)
    assert ended
    assert len(path) <= 12
    np.testing.assert_allclose(bowl(path[-1][0])[1], 0.0, atol=1e-6)


@given(st.integers(0, 2**16), st.sampled_from(["full", "diagonal", "centred"]))
def test_coordinates_lead_to_weights_and_back(seed, kind):
    rng = np.random.RandomState(seed)
    root = np.triu(rng.randn(4, 4)) + 5 * np.eye(4)
    coordinates = Preconditioner(root if kind == "full" else np.diag(root))
    if kind == "centred":
        coordinates = Preconditioner(root[:3, :3], rng.randn(3), 2.0)
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
    monkeypatch.setattr(lbfgs, "MEMORY", 3)
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


@pytest.mark.parametrize("intercept", [True, False])
def test_few_features_are_taken_apart_and_many_are_scaled(intercept, monkeypatch):
    X, codes = np.random.RandomState(0).randn(60, 20), np.arange(60) % 2
    engine = LocalEngine(X, codes, 2, intercept=intercept)

    def is_full(n_classes):
        found = preconditioner_of(engine, n_classes, 1e-4)
        assert (found.centre is not None) == intercept
        return found.root.ndim == 2

    assert is_full(2)
    monkeypatch.setattr(preconditioner, "FEW_FEATURES", 5)
    monkeypatch.setattr(preconditioner, "FEATURES_PER_CLASS", 5)
    assert not is_full(2)
    assert is_full(5)


@pytest.mark.parametrize("few", [True, False])
def test_coordinates_make_the_curvature_at_0_round(few, monkeypatch):
    rng = np.random.RandomState(0)
    X = 50 + rng.randn(300, 4) * [1, 10, 0.1, 3]
    if few:
        X[:, 1] += 8 * X[:, 3]  # goes together with another
    else:
        monkeypatch.setattr(preconditioner, "FEW_FEATURES", 0)
        monkeypatch.setattr(preconditioner, "FEATURES_PER_CLASS", 0)
        X = 50 + np.linalg.qr(X - X.mean(axis=0))[0] * [1, 10, 0.1, 3]
    engine = LocalEngine(X, np.arange(300) % 3, 3)
    there = preconditioner_of(engine, 3, 0.0)
    bend = np.stack([there.slope(row) for row in (engine.second_moment() / 300)[:, np.newaxis]])
    bend = np.stack([there.slope(row) for row in bend[:, 0].T[:, np.newaxis]])[:, 0]
    np.testing.assert_allclose(bend / bend[-1, -1], np.eye(5), atol=0.03)


def test_a_dense_block_of_sparse_rows_is_squared_as_an_array(monkeypatch):
    X = np.random.RandomState(0).randn(40, 6) * (np.arange(6) % 2)
    engine = LocalEngine(sparse.csr_array(X), np.zeros(40, int), 1)
    moments = []
    for share in (0.1, 0.9):
        monkeypatch.setattr(local_engine, "DENSE", share)
        moments.append(engine.second_moment())
    np.testing.assert_allclose(moments[0], moments[1])
    np.testing.assert_allclose(moments[0][:6, :6], X.T @ X)


def test_numbers_that_run_out_are_no_end():
    def beyond(weights):
        return np.inf, np.ones((1, 2))

    assert follow(beyond, np.zeros((1, 2)), plain(2)) == ([], False)

    def coarse(weights):  # no step can be seen to gain anything
        return round(float(np.sum(weights**2))), 2 * weights

    path, ended = follow(coarse, np.full((1, 3), 0.05), plain(3))
    assert not ended and len(path) < 5


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_features_does_not_matter(scale):
    X, y = make_classification(300, 8, n_informative=6, n_classes=3, random_state=0)
    plain_fit = UnconfusedLogisticRegression(l2=0.0).fit(X, y)
    scaled = UnconfusedLogisticRegression(l2=0.0).fit(scale * X, y)
    np.testing.assert_allclose(
        scaled.predict_proba(scale * X), plain_fit.predict_proba(X), atol=0.02
    )


def test_features_far_from_0_are_no_trouble():
    X, y = load_iris(return_X_y=True)
    near = UnconfusedLogisticRegression(l2=1e-3).fit(X - X.mean(axis=0), y)
    far = UnconfusedLogisticRegression(l2=1e-3).fit(X + 1e4, y)
    assert far.n_iter_ < 2 * near.n_iter_ + 10
    np.testing.assert_allclose(
        far.predict_proba(X + 1e4), near.predict_proba(X - X.mean(axis=0)), atol=5e-3
    )
    huge = np.where(np.arange(4) < 2, 1e170, 1.0) * X
    with np.errstate(over="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.all(np.isfinite(UnconfusedLogisticRegression().fit(huge, y).coef_))


@pytest.mark.parametrize("relabel", [0, 2])
def test_a_label_that_c_calls_impossible_says_nothing(relabel):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"], dtype=object)
    C = np.array([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.4, 0.6, 0.0]])
    labels = noise.corrupt_labels(y, C, random_state=0)
    labels[0] = 2
    model = UnconfusedLogisticRegression(C, classes=names, tol=1e-7, l2=1e-2, relabel=relabel)
    with pytest.warns(ConfusionWarning) as caught:
        model.fit(X, names[labels])
    assert any("ever labelled 'c'" in str(one.message) for one in caught)
    assert model.n_iter_ > 5
    assert np.all(np.isfinite(model.history_["objective"]))
    if relabel == 0:  # the row might as well not be there, but for its share in the mean
        without = clone(model).set_params(l2=1e-2 * 150 / 149)
        with pytest.warns(ConfusionWarning, match="singular"):
            without.fit(X[1:], names[labels[1:]])
        np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("order", ["C", "F"])
def test_saying_nothing_leaves_the_matrix_alone(order):
    C = np.array([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.4, 0.6, 0.0]], order=order)
    before = C.copy()
    np.testing.assert_array_equal(label_chances(C)[2], 1.0)
    np.testing.assert_array_equal(C, before)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_features_need_not_be_scaled(load, monkeypatch):
    X, y = load(return_X_y=True)
    even = UnconfusedLogisticRegression(l2=1e-4).fit(X, y)
    monkeypatch.setattr(
        _likelihood_fits, "preconditioner_of", lambda engine, *_: plain(engine.n_features)
    )
    uneven = UnconfusedLogisticRegression(l2=1e-4, max_iter=10_000).fit(X, y)
    assert even.n_iter_ < 150 and 5 * even.n_iter_ < uneven.n_iter_
    assert even.history_["objective"][-1] <= uneven.history_["objective"][-1] + 1e-4
