from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unconfused.theory import (
    inflation,
    margin,
    mistake_bound,
    radius,
    sample_size,
    uma_mistake_bound,
)

# Rows of tenths, so that noise can be given out exactly; not symmetric, not doubly stochastic.
C = np.array([[0.7, 0.2, 0.1], [0.0, 0.6, 0.4], [0.1, 0.1, 0.8]])

seeds = st.integers(0, 2**32 - 1)


def separable(seed, n=150, d=3, n_classes=3, gap=0.15, unit=False):
    """Rows (of different norms) that some W* of Frobenius norm 1 separates by `gap`."""
    rng = np.random.RandomState(seed)
    W = rng.normal(size=(n_classes, d))
    W /= np.linalg.norm(W)
    X = rng.normal(size=(40 * n, d)) * rng.uniform(0.3, 1.5, size=(40 * n, 1))
    if unit:
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    scores = np.sort(X @ W.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] >= gap][:n]
    return W, X, (X @ W.T).argmax(axis=1)


def perceptron_updates(X, y, n_classes, share):
    """Run Algorithm 1 until a pass without mistakes; `share` spreads the -1 over the errors."""
    W = np.zeros((n_classes, X.shape[1]))
    updates = 0
    while True:
        before = updates
        for x, t in zip(X, y, strict=True):
            scores = W @ x
            wrong = [r for r in range(n_classes) if r != t and scores[r] >= scores[t]]
            if wrong:
                W[t] += x
                worst = [max(wrong, key=lambda r: scores[r])]
                taken = wrong if share == "uniform" else worst
                for r in taken:
                    W[r] -= x / len(taken)
                updates += 1
        if updates == before:
            return updates


def uma_in_loops(X, truth, observed, inverse, tol, max_iter):
    """UMA with the perceptron step; also the true means, to measure the sampling error."""
    n, n_classes = len(X), len(inverse)
    W = np.zeros((n_classes, X.shape[1]))
    norms, deviation = [], 0.0
    while len(norms) < max_iter:
        predicted = (X @ W.T).argmax(axis=1)
        best = None
        for p in range(n_classes):
            inside = np.ones(n, bool) if not W.any() else predicted == p
            for q in range(n_classes):
                z = (inverse[observed, q] * inside) @ X / n
                mu = ((truth == q) * inside) @ X / n
                scores = W @ z
                wrong = [r for r in range(n_classes) if r != q and scores[r] >= scores[q]]
                if p != q and wrong and np.linalg.norm(z) >= tol:
                    deviation = max(deviation, np.linalg.norm(z - mu))
                    if best is None or np.linalg.norm(z) > np.linalg.norm(best[0]):
                        best = z, q, max(wrong, key=lambda r: scores[r])
        if best is None:
            break
        z, q, r = best
        W[q] += z
        W[r] -= z
        norms.append(np.linalg.norm(z))
    return len(norms), deviation, norms


# margin and radius


def test_margin_of_a_known_classifier():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    W = np.eye(2) / math.sqrt(2)
    assert margin(W, X, [0, 1, 1]) == pytest.approx(0.2 / math.sqrt(2))
    assert margin(W, X, [0, 1, 0]) == pytest.approx(-0.2 / math.sqrt(2))
    assert margin(W[::-1], X, ["a", "b", "b"], classes=["b", "a"]) == pytest.approx(
        0.2 / math.sqrt(2)
    )


def test_margin_with_an_intercept_is_that_of_a_constant_feature():
    W, X, _ = separable(0)
    b = np.array([0.3, -0.2, 0.1])
    y = (X @ W.T + b).argmax(axis=1)
    wide, extended = np.column_stack([W, b]), np.column_stack([X, np.ones(len(X))])
    assert margin(W, X, y, intercept=b) == pytest.approx(margin(wide, extended, y))
    assert radius(X, intercept=True) == pytest.approx(radius(extended))


def test_one_row_of_weights_stands_for_two_classes():
    X, y = np.array([[0.5, 2.0], [-1.0, 3.0]]), [1, 0]
    w, b = np.array([[2.0, 0.0]]), np.array([-0.1])
    both, both_b = np.vstack([-w / 2, w / 2]), np.array([0.05, -0.05])
    assert margin(w, X, y, intercept=b) == pytest.approx(margin(both, X, y, intercept=both_b))


@settings(max_examples=25, deadline=None)
@given(seed=seeds, scale=st.floats(1e-3, 1e3))
def test_scale_of_weights_and_rows(seed, scale):
    W, X, y = separable(seed, n=40)
    classes = [0, 1, 2]
    theta, R = margin(W, X, y, classes=classes), radius(X)
    assert theta >= 0.15 - 1e-12
    assert margin(scale * W, X, y, classes=classes) == pytest.approx(theta)
    assert margin(W, scale * X, y, classes=classes) == pytest.approx(scale * theta)
    assert radius(scale * X) == pytest.approx(scale * R)
    assert mistake_bound(scale * theta, scale * R) == pytest.approx(mistake_bound(theta, R))
    assert uma_mistake_bound(
        scale * theta, scale * 0.01, scale * R, deviation=scale * 1e-5
    ) == pytest.approx(uma_mistake_bound(theta, 0.01, R, deviation=1e-5))


def test_sparse_rows():
    W, X, y = separable(3)
    rows = sparse.csr_matrix(X)
    assert margin(W, rows, y) == pytest.approx(margin(W, X, y))
    for intercept in (False, True):
        expected = radius(X, intercept=intercept)
        assert radius(rows, intercept=intercept) == pytest.approx(expected)
        assert radius(sparse.csr_array(X), intercept=intercept) == pytest.approx(expected)


def test_invalid_classifiers():
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(ValueError, match="name the class"):
        margin(np.eye(4)[:, :3], X, y)
    with pytest.raises(ValueError, match="columns but X has"):
        margin(np.eye(3)[:, :2], X, y)
    with pytest.raises(ValueError, match="not all 0"):
        margin(np.zeros((3, 3)), X, y)
    with pytest.raises(ValueError, match="intercept must have shape"):
        margin(np.eye(3), X, y, intercept=[1.0])
    with pytest.raises(ValueError, match="rows but y has"):
        margin(np.eye(3), X, [0, 1, 2, 2])
    with pytest.raises(ValueError, match="missing"):
        margin(np.eye(2), np.eye(2), ["a", None], classes=["a", "b"])
    with pytest.raises(ValueError, match="one row per class"):
        margin([1.0, 2.0], X, y)


# mistake bounds


@pytest.mark.parametrize("share", ["worst", "uniform"])
@pytest.mark.parametrize("seed", range(5))
def test_the_perceptron_keeps_the_bound(seed, share):
    W, X, y = separable(seed)
    bound = mistake_bound(margin(W, X, y, classes=[0, 1, 2]), radius(X))
    assert 1 <= perceptron_updates(X, y, 3, share) <= bound


def test_the_bound_is_reached_by_one_row():
    # One row between two classes: W* = (x, -x)/sqrt(2) has margin sqrt(2), and one update is made.
    X, y, W = np.array([[0.0, 1.0]]), [0], [[0, 1], [0, -1]]
    theta = margin(W, X, y, classes=[0, 1])
    assert mistake_bound(theta) == pytest.approx(1)
    assert perceptron_updates(X, y, 2, "worst") == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tol", [0.1, 0.01, 0.001])
def test_uma_keeps_its_bound_when_the_noise_is_exact(seed, tol):
    W, X, truth = separable(seed, n=60)
    theta, R = margin(W, X, truth, classes=[0, 1, 2]), radius(X)
    # Ten copies of each row, their labels dealt out exactly as the row of C says.
    observed = np.concatenate(
        [np.repeat(np.arange(3), np.rint(10 * C[t]).astype(int)) for t in truth]
    )
    X, truth = np.repeat(X, 10, axis=0), np.repeat(truth, 10)
    bound = uma_mistake_bound(theta, tol, R)
    limit = math.ceil(bound) + 1
    updates, deviation, norms = uma_in_loops(X, truth, observed, np.linalg.inv(C), tol, limit)
    assert deviation < 1e-12
    assert 1 <= updates <= bound
    # With the largest cell known the bound is smaller, and still holds.
    mass = np.bincount(truth).max() / len(truth)
    tight = uma_mistake_bound(theta, tol, R, largest_mass=mass)
    assert max(norms) <= R * mass
    assert updates <= tight <= bound


@pytest.mark.parametrize("seed", range(3))
def test_uma_keeps_its_bound_under_sampling_noise(seed):
    W, X, truth = separable(seed, n=20_000, gap=0.3, unit=True)
    uniform = np.random.RandomState(seed).uniform(size=(len(X), 1))
    observed = (uniform > np.cumsum(C, axis=1)[truth]).sum(axis=1)
    theta, R = margin(W, X, truth, classes=[0, 1, 2]), radius(X)
    # A tolerance that the sampling error of this sample cannot outweigh.
    tol = 0.1
    updates, deviation, _ = uma_in_loops(X, truth, observed, np.linalg.inv(C), tol, 5000)
    assert 0 < deviation < tol * theta / (theta + math.sqrt(2) * R)
    assert 1 <= updates <= uma_mistake_bound(theta, tol, R, deviation=deviation)


def test_shape_of_the_uma_bound():
    # Cells of one size and no sampling error: the bound of the perceptron.
    assert uma_mistake_bound(0.2, 1.0) == pytest.approx(mistake_bound(0.2))
    assert uma_mistake_bound(0.2, 3.0, 6.0, largest_mass=0.5) == pytest.approx(
        mistake_bound(0.2, 6.0)
    )
    by_tolerance = [uma_mistake_bound(0.2, a) for a in (0.5, 0.1, 0.01)]
    assert by_tolerance == sorted(by_tolerance)
    by_deviation = [uma_mistake_bound(0.2, 0.1, deviation=e) for e in (0, 0.001, 0.01)]
    assert by_deviation == sorted(by_deviation)
    limit = 0.1 * 0.2 / (0.2 + math.sqrt(2))
    ratio = uma_mistake_bound(0.2, 0.1, deviation=limit / 2) / uma_mistake_bound(0.2, 0.1)
    assert 4 <= ratio <= 4.1


@given(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=30),
)
def test_kantorovichs_inequality(norms):
    z, a, b = np.array(norms), min(norms), max(norms)
    assert z.sum() ** 2 >= len(z) * np.sum(z**2) * 4 * a * b / (a + b) ** 2 - 1e-9


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "0.1"])
def test_arguments_of_the_bounds_must_be_positive(value):
    with pytest.raises(ValueError, match="margin must be"):
        mistake_bound(value)
    with pytest.raises(ValueError, match="radius must be"):
        mistake_bound(0.1, value)
    with pytest.raises(ValueError, match="tolerance must be"):
        uma_mistake_bound(0.1, value)


def test_invalid_bounds():
    with pytest.raises(ValueError, match="Frobenius norm 1"):
        mistake_bound(1.5)
    with pytest.raises(ValueError, match="deviation must be below"):
        uma_mistake_bound(0.1, 0.1, deviation=0.05)
    with pytest.raises(ValueError, match="deviation must be at least 0"):
        uma_mistake_bound(0.1, 0.1, deviation=-1)
    with pytest.raises(ValueError, match="at most 1"):
        uma_mistake_bound(0.1, 0.1, largest_mass=2)
    with pytest.raises(ValueError, match="longer than"):
        uma_mistake_bound(0.1, 2.0)


# inflation and sample size


def test_inflation_is_the_largest_entry_of_the_inverse():
    assert inflation(np.eye(4)) == 1
    assert inflation(C) == pytest.approx(np.abs(np.linalg.inv(C)).max())
    order = [2, 0, 1]
    assert inflation(C[np.ix_(order, order)]) == pytest.approx(inflation(C))
    with pytest.raises(ValueError, match="singular"):
        inflation(np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="transpose"):
        inflation(C.T)


@given(seed=seeds, n_classes=st.integers(2, 8))
def test_inflation_is_at_least_one(seed, n_classes):
    M = np.random.RandomState(seed).dirichlet(np.ones(n_classes), size=n_classes)
    if np.linalg.cond(M) < 1e8:
        assert np.abs(np.linalg.inv(M)).max(axis=0).min() >= 1 - 1e-6
        assert inflation(M) >= 1


@pytest.mark.parametrize("regions", ["fixed", "learned"])
@given(
    epsilon=st.floats(0.01, 1.5),
    delta=st.floats(0.001, 0.9),
    d=st.integers(1, 1000),
    Q=st.integers(2, 50),
)
def test_sample_size_is_monotone(regions, epsilon, delta, d, Q):
    n0 = sample_size(epsilon, delta, d, Q, regions=regions)
    assert isinstance(n0, int) and n0 * epsilon**2 >= 32
    assert sample_size(epsilon / 2, delta, d, Q, regions=regions) > n0
    assert sample_size(epsilon, delta / 2, d, Q, regions=regions) > n0
    assert sample_size(epsilon, delta, d + 1, Q, regions=regions) > n0
    assert sample_size(epsilon, delta, d, Q + 1, regions=regions) > n0
    assert sample_size(epsilon, delta, d, Q, radius=1.5, regions=regions) >= n0


@pytest.mark.parametrize("regions", ["fixed", "learned"])
def test_failure_probability_at_n0(regions):
    epsilon, delta, d, Q = 0.2, 0.05, 4, 3
    eta, D = epsilon / inflation(C), d + 1

    def log_failure(n):
        cover = 1 + math.log(D + 1) + D * math.log(32 * math.e / eta)
        cuts = D * (Q - 1) * math.log(2 * math.e * n / D) if regions == "learned" else 0.0
        return math.log(4 * Q * (Q - 1)) + cover + cuts - n * eta**2 / 128

    n0 = sample_size(epsilon, delta, d, Q, confusion=C, regions=regions)
    assert log_failure(n0) <= math.log(delta) < log_failure(n0 - 1)
    assert all(log_failure(k * n0) < math.log(delta) for k in (2, 10, 1000))


def test_confusion_and_radius_divide_epsilon():
    kappa = inflation(C)
    noisy = sample_size(0.1, 0.05, 5, 3, confusion=C)
    assert noisy == pytest.approx(sample_size(0.1 / kappa, 0.05, 5, 3), abs=1)
    assert sample_size(0.1, 0.05, 5, 3, confusion=np.eye(3)) == sample_size(0.1, 0.05, 5, 3)
    assert sample_size(0.3, 0.05, 5, 3, radius=3) == pytest.approx(
        sample_size(0.1, 0.05, 5, 3), abs=1
    )
    # Beyond the largest deviation there is nothing left to gain.
    assert sample_size(5, 0.05, 5, 3) == sample_size(2, 0.05, 5, 3)


@pytest.mark.parametrize("seed", range(3))
def test_n0_rows_are_enough(seed):
    rng = np.random.RandomState(seed)
    epsilon = 0.5
    n = sample_size(epsilon, 0.05, 2, 3, confusion=C)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    truth = (3 * angle / (2 * np.pi)).astype(int)
    observed = (rng.uniform(size=(n, 1)) > np.cumsum(C, axis=1)[truth]).sum(axis=1)
    predicted = (X @ rng.normal(size=(2, 3))).argmax(axis=1)
    inverse = np.linalg.inv(C)
    for p in range(3):
        for q in range(3):
            z = (inverse[observed, q] * (predicted == p)) @ X / n
            mu = ((truth == q) * (predicted == p)) @ X / n
            assert np.linalg.norm(z - mu) <= epsilon / 10  # the bound is far from tight


def test_invalid_sample_sizes():
    with pytest.raises(ValueError, match="epsilon"):
        sample_size(0, 0.1, 2, 3)
    for delta in (0, 1, -0.1, math.nan):
        with pytest.raises(ValueError, match="delta"):
            sample_size(0.1, delta, 2, 3)
    with pytest.raises(ValueError, match="n_features"):
        sample_size(0.1, 0.1, 0, 3)
    with pytest.raises(ValueError, match="n_classes"):
        sample_size(0.1, 0.1, 2, 1)
    with pytest.raises(ValueError, match="3 x 3 but there are 4"):
        sample_size(0.1, 0.1, 2, 4, confusion=C)
    with pytest.raises(ValueError, match="regions"):
        sample_size(0.1, 0.1, 2, 3, regions="any")  # type: ignore[arg-type]
