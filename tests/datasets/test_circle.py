from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unconfused.datasets._circle import make_circle


@pytest.mark.parametrize("margin_of", ["distance", "score"])
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 8),
    margin=st.floats(0, 0.05),
    n_samples=st.integers(1, 400),
)
def test_what_is_promised(margin_of, seed, n_classes, margin, n_samples):
    X, y, weights = make_circle(
        n_samples,
        n_classes=n_classes,
        margin=margin,
        margin_of=margin_of,
        random_state=seed,
        return_weights=True,
    )
    assert X.shape == (n_samples, 2) and y.shape == (n_samples,)
    assert weights.shape == (n_classes, 2)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1)
    np.testing.assert_array_equal(y, (X @ weights.T).argmax(axis=1))
    for x, own in zip(X, y, strict=True):
        rivals = np.delete(weights, own, axis=0)
        ahead = (weights[own] - rivals) @ x
        if margin_of == "distance":
            ahead /= np.linalg.norm(weights[own] - rivals, axis=1)
        assert ahead.min() >= margin * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_papers_problem_has_all_ten_classes(seed):
    X, y = make_circle(random_state=seed)
    assert len(X) == 1000
    np.testing.assert_array_equal(np.unique(y), np.arange(10))


def test_same_seed_same_problem():
    first, again = (make_circle(50, random_state=3) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    generated = [make_circle(50, random_state=np.random.default_rng(3))[0] for _ in range(2)]
    np.testing.assert_array_equal(*generated)
    assert np.any(first[0] != make_circle(50, random_state=4)[0])


def test_a_test_set_of_the_same_problem():
    weights = make_circle(10, random_state=0, return_weights=True)[2]
    X, y, same = make_circle(5000, weights=weights, random_state=1, return_weights=True)
    np.testing.assert_array_equal(same, weights)
    np.testing.assert_array_equal(y, (X @ weights.T).argmax(axis=1))
    assert len(X) == 5000


def test_points_are_uniform_where_the_margin_is_kept():
    # Two opposite classes: what remains are two equal arcs, symmetric about the weights.
    X, y = make_circle(20_000, weights=[[1, 0], [-1, 0]], margin=0.25, random_state=0)
    assert np.abs(X[:, 0]).min() >= 0.25
    assert y.mean() == pytest.approx(0.5, abs=0.02)
    assert X[:, 1].mean() == pytest.approx(0, abs=0.02)
    half_width = np.arccos(0.25)
    angles = np.arctan2(X[y == 0, 1], X[y == 0, 0])
    assert np.mean(np.abs(angles)) == pytest.approx(half_width / 2, abs=0.02)


def test_invalid_arguments():
    with pytest.raises(ValueError, match="n_samples"):
        make_circle(0)
    with pytest.raises(ValueError, match="n_classes"):
        make_circle(10, n_classes=1)
    with pytest.raises(ValueError, match="margin"):
        make_circle(10, margin=-0.1)
    with pytest.raises(ValueError, match="margin_of"):
        make_circle(10, margin_of="angle")
    with pytest.raises(ValueError, match="two columns"):
        make_circle(10, weights=np.ones((3, 3)))
    with pytest.raises(ValueError, match="n_classes is 4"):
        make_circle(10, n_classes=4, weights=np.eye(2))
    with pytest.raises(ValueError, match="finite"):
        make_circle(10, weights=[[1, 0], [np.nan, 1]])
    with pytest.raises(ValueError, match="No point satisfies margin"):
        make_circle(10, weights=[[1, 0], [1, 0]])


def test_a_margin_that_leaves_no_room_is_refused():
    with pytest.raises(ValueError, match="smaller margin or fewer classes"):
        make_circle(10, n_classes=10, margin=0.5, random_state=0)
