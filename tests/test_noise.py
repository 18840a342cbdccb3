from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unconfused.noise import (
    boundary,
    corrupt_labels,
    drift_family,
    pairwise,
    random_confusion,
    symmetric,
)

# Neither symmetric nor doubly stochastic, with a zero: a transposed formula cannot hide.
C = np.array([[0.7, 0.2, 0.1], [0.0, 0.6, 0.4], [0.05, 0.05, 0.9]])

sizes = st.integers(2, 12)
rates = st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)


def observed_shares(y, z, classes):
    table = np.array([[np.sum((y == t) & (z == k)) for k in classes] for t in classes])
    return table / table.sum(axis=1, keepdims=True)


def assert_confusion(matrix):
    assert np.all(matrix >= 0)
    np.testing.assert_allclose(matrix.sum(axis=-1), 1, rtol=0, atol=1e-12)


# corrupt_labels


@settings(max_examples=20, deadline=None)
@given(seed=seeds, n_classes=st.integers(2, 6))
def test_frequencies_follow_the_rows_of_c(seed, n_classes):
    matrix = random_confusion(n_classes, random_state=seed)
    n = 3000
    y = np.repeat(np.arange(n_classes), n)
    shares = observed_shares(y, corrupt_labels(y, matrix, seed), range(n_classes))
    # Six standard errors: a false alarm about once in 1e8 cells.
    assert np.all(np.abs(shares - matrix) <= 6 * np.sqrt(matrix * (1 - matrix) / n) + 1 / n)


def test_impossible_labels_are_never_drawn():
    y = np.repeat([0, 1, 2], 50_000)
    z = corrupt_labels(y, C, random_state=0)
    assert not np.any((y == 1) & (z == 0))
    np.testing.assert_array_equal(corrupt_labels(y, np.eye(3), 0), y)
    cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    np.testing.assert_array_equal(corrupt_labels(y, cycle, 0), (y + 1) % 3)


@pytest.mark.parametrize("make_data", [np.random.RandomState, np.random.default_rng])
def test_a_seed_that_made_the_data_does_not_couple_the_noise_to_it(make_data):
    rng = make_data(0)
    uniform = rng.random_sample(20_000) if hasattr(rng, "random_sample") else rng.random(20_000)
    truth = (uniform * 3).astype(int)
    seen = corrupt_labels(truth, symmetric(3, 0.4), random_state=0)
    shares = observed_shares(truth, seen, range(3))
    np.testing.assert_allclose(shares, symmetric(3, 0.4), atol=0.03)


def test_a_random_state_or_generator_is_used_as_it_is():
    y = np.zeros(1000, dtype=int)
    matrix = [[0.5, 0.5], [0.0, 1.0]]
    for make in (np.random.RandomState, np.random.default_rng):
        uniform = np.random.RandomState(0).random_sample(1000)
        if make is np.random.default_rng:
            uniform = np.random.RandomState(make(0).bit_generator).random_sample(1000)
        seen = corrupt_labels(y, matrix, make(0), classes=[0, 1])
        np.testing.assert_array_equal(seen, uniform >= 0.5)
    twice = np.random.RandomState(0)
    first, second = (corrupt_labels(y, matrix, twice, classes=[0, 1]) for _ in range(2))
    assert np.mean(first != second) > 0.4


@pytest.mark.parametrize("seed", [-1, 2**32, "zero"])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError):
        corrupt_labels([0, 1], symmetric(2, 0.2), random_state=seed)


def test_the_last_uniform_number_stays_in_its_row():
    class AlmostOne(np.random.RandomState):
        def random_sample(self, size=None):
            return np.full(size, np.nextafter(1.0, 0.0))

    y = np.repeat(np.arange(1000), 3)
    z = corrupt_labels(y, symmetric(1000, 0.5), AlmostOne())
    assert set(z) == {999}


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 2], dtype=np.int8),
        np.array([-1, 0, 1]),
        np.array([0.0, 1.0, 2.0], dtype=np.float32),
        np.array(["a", "b", "c"]),
        np.array(["a", "b", "c"], dtype=object),
        ["ant", "bee", "cow"],
        [0, 1, 2],
        pd.Series([3, 4, 5], index=[7, 8, 9]),
        pd.Series(["x", "y", "z"]),
        pd.Series(["x", "y", "z"], dtype="category"),
    ],
    ids=lambda y: f"{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_labels_keep_their_type_and_order_does_not_matter(y):
    plain = np.asarray(y)
    z = corrupt_labels(y, C, random_state=0)
    assert z.dtype == plain.dtype
    assert set(z.tolist()) <= set(plain.tolist())
    np.testing.assert_array_equal(z, plain[corrupt_labels([0, 1, 2], C, random_state=0)])


def test_booleans_and_two_classes():
    z = corrupt_labels(np.array([False, True] * 500), [[1, 0], [0.5, 0.5]], random_state=0)
    assert z.dtype == bool
    assert not z[::2].any()
    assert 0.4 < z[1::2].mean() < 0.6


def test_classes_give_the_order_of_a_plain_array():
    y = np.repeat(["low", "mid", "top"], 20_000)
    z = corrupt_labels(y, C, random_state=0, classes=["top", "low", "mid"])
    shares = observed_shares(y, z, ["top", "low", "mid"])
    np.testing.assert_allclose(shares, C, atol=0.02)


def test_classes_may_go_beyond_the_labels_shown():
    z = corrupt_labels(np.array(["a"] * 1000), C, 0, classes=["a", "bbbb", "c"])
    assert set(z.tolist()) == {"a", "bbbb", "c"}


def test_a_frame_is_aligned_by_its_labels():
    frame = pd.DataFrame(C, index=["b", "a", "c"], columns=["b", "a", "c"])
    y = np.repeat(["a", "b", "c"], 20_000)
    z = corrupt_labels(y, frame.iloc[[2, 0, 1], [1, 2, 0]], random_state=0)
    np.testing.assert_allclose(observed_shares(y, z, ["b", "a", "c"]), C, atol=0.02)
    # It also names classes that y does not show.
    assert set(corrupt_labels(["b"] * 1000, frame, 0).tolist()) == {"a", "b", "c"}


def test_an_object_with_classes_is_aligned_by_them():
    class Estimate:
        classes = np.array([2, 0, 1])

        def __array__(self, dtype=None, copy=None):
            return np.array(C, dtype=dtype)

    y = np.repeat([0, 1, 2], 20_000)
    z = corrupt_labels(y, Estimate(), random_state=0)
    np.testing.assert_allclose(observed_shares(y, z, [2, 0, 1]), C, atol=0.02)


def test_same_seed_same_labels():
    y = np.arange(300) % 3
    first = corrupt_labels(y, C, random_state=5)
    np.testing.assert_array_equal(first, corrupt_labels(y, C, random_state=np.int64(5)))
    assert np.any(first != corrupt_labels(y, C, random_state=6))
    a, b = (corrupt_labels(y, C, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_clear_errors_of_corrupt_labels():
    with pytest.raises(ValueError, match="outside the classes"):
        corrupt_labels([0, 1, 5], C, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"3 x 3 but there are 2"):
        corrupt_labels([0, 1], C)
    with pytest.raises(ValueError, match="different types"):
        corrupt_labels(["0", "1", "2"], C, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="do not match"):
        corrupt_labels([0, 1, 2], pd.DataFrame(C, columns=[0, 1, 3]))
    with pytest.raises(ValueError, match="missing"):
        corrupt_labels(["a", None, "b"], symmetric(2, 0.1))
    with pytest.raises(ValueError, match="transpose"):
        corrupt_labels([0, 1, 2], C.T)


# matrices


@given(n_classes=sizes, rate=rates)
def test_symmetric(n_classes, rate):
    matrix = symmetric(n_classes, rate)
    assert_confusion(matrix)
    np.testing.assert_allclose(np.diag(matrix), 1 - rate)
    order = np.random.RandomState(n_classes).permutation(n_classes)
    np.testing.assert_array_equal(matrix[np.ix_(order, order)], matrix)


@given(n_classes=sizes, rate=rates)
def test_pairwise(n_classes, rate):
    matrix = pairwise(n_classes, rate)
    assert_confusion(matrix)
    for k in range(n_classes):
        assert matrix[k, (k + 1) % n_classes] == rate
    # Relabelling the classes moves the matrix with them.
    order = np.random.RandomState(n_classes).permutation(n_classes)
    pairs = {int(order[k]): int(order[(k + 1) % n_classes]) for k in range(n_classes)}
    moved = pairwise(n_classes, rate, pairs=pairs)
    np.testing.assert_array_equal(moved[np.ix_(order, order)], matrix)


@given(n_classes=sizes, strength=rates, seed=seeds)
def test_random_confusion(n_classes, strength, seed):
    matrix = random_confusion(n_classes, strength=strength, random_state=seed)
    assert_confusion(matrix)
    assert np.linalg.matrix_rank(matrix) == n_classes
    np.testing.assert_array_equal(
        matrix, random_confusion(n_classes, strength=strength, random_state=seed)
    )


def test_strength_sets_the_noise():
    np.testing.assert_array_equal(random_confusion(4, strength=0, random_state=0), np.eye(4))
    rates = [
        1 - np.diag(random_confusion(5, strength=0.5, random_state=s)).mean() for s in range(300)
    ]
    assert np.mean(rates) == pytest.approx(0.5 * (1 - 1 / 5), abs=0.01)


@given(n_classes=sizes, seed=seeds)
def test_drift_family_is_the_papers(n_classes, seed):
    reference = random_confusion(n_classes, random_state=seed)
    family = drift_family(reference)
    assert family.shape == (20, n_classes, n_classes)
    assert_confusion(family)
    np.testing.assert_allclose(family[9], reference, atol=1e-14)
    step = (reference - np.eye(n_classes)) / 10
    for i, member in enumerate(family, start=1):
        clipped = np.clip(np.eye(n_classes) + i * step, 0, None)
        np.testing.assert_allclose(member, clipped / clipped.sum(axis=1, keepdims=True), atol=1e-12)
    drawn = drift_family(n_classes, random_state=seed)
    np.testing.assert_allclose(family, drawn, atol=1e-14)


def test_drift_family_with_other_steps():
    family = drift_family(C, n_steps=4, reference_step=2)
    np.testing.assert_allclose(family[0], (np.eye(3) + C) / 2)
    np.testing.assert_allclose(family[1], C)


@pytest.mark.parametrize("make", [symmetric, pairwise])
@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1"])
def test_rates_outside_zero_and_one(make, rate):
    with pytest.raises(ValueError, match="rate must be a number from 0 to 1"):
        make(3, rate)


@pytest.mark.parametrize("n_classes", [1, 0, -3, 2.5])
def test_too_few_classes(n_classes):
    for make in (lambda q: symmetric(q, 0.1), lambda q: pairwise(q, 0.1), random_confusion):
        with pytest.raises(ValueError, match="n_classes must be an integer of at least 2"):
            make(n_classes)


def test_other_invalid_arguments():
    with pytest.raises(ValueError, match="strength"):
        random_confusion(3, strength=1.5)
    with pytest.raises(ValueError, match="from 0 to 2"):
        pairwise(3, 0.1, pairs={0: 3})
    with pytest.raises(ValueError, match="itself"):
        pairwise(3, 0.1, pairs={1: 1})
    with pytest.raises(ValueError, match="n_steps"):
        drift_family(3, n_steps=0)
    with pytest.raises(ValueError, match="reference_step"):
        drift_family(3, reference_step=0)


# boundary


def scored(n=6000, seed=0):
    rng = np.random.RandomState(seed)
    scores = rng.randn(n, 3)
    return scores, scores.argmax(axis=1)


@pytest.mark.parametrize("softness", [None, 0.1, 5.0])
def test_boundary_noise_has_the_stated_rates(softness):
    scores, y = scored()
    seen = boundary(y, scores, C, random_state=0, softness=softness)
    shares = observed_shares(y, seen, range(3))
    np.testing.assert_allclose(shares, C, atol=6 * 0.5 / np.sqrt(1500))
    assert not np.any((y == 1) & (seen == 0))


def test_boundary_noise_falls_with_the_distance():
    scores, y = scored(40_000)
    seen = boundary(y, scores, C, random_state=1, softness=0.5)
    for q, k in [(0, 1), (0, 2), (1, 2), (2, 0)]:
        rows = np.flatnonzero(y == q)
        distance = scores[rows, q] - scores[rows, k]
        parts = np.array_split(rows[np.argsort(distance)], 4)
        rates = [np.mean(seen[part] == k) for part in parts]
        assert rates[0] > rates[1] > rates[2] > rates[3]
        assert rates[0] > 3 * rates[3]
    # Very soft noise depends on the class alone.
    even = boundary(y, scores, C, random_state=1, softness=1e6)
    rows = np.flatnonzero(y == 0)
    near = scores[rows, 0] - scores[rows, 1] < 1
    rates = [np.mean(even[rows][part] == 1) for part in (near, ~near)]
    assert abs(rates[0] - rates[1]) < 0.03


def test_boundary_noise_of_two_named_classes():
    score = np.linspace(-2, 2, 2000)
    y = np.where(score > 0, "yes", "no")
    seen = boundary(y, score, symmetric(2, 0.4), random_state=0)
    assert np.mean(seen != y) == pytest.approx(0.4, abs=0.04)
    columns = np.column_stack([score, 0 * score])  # in the order yes, no
    order = boundary(y, columns, [[0.5, 0.5], [0, 1]], random_state=0, classes=["yes", "no"])
    assert set(order[y == "no"]) == {"no"}
    assert np.mean(order[y == "yes"] == "no") == pytest.approx(0.5, abs=0.06)
    wrong = order != y
    assert np.mean(wrong[(score > 0) & (score < 1)]) > np.mean(wrong[score > 1])


def test_boundary_noise_of_high_rate_mislabels_rows_further_away():
    score = np.concatenate([np.full(50, 0.01), np.full(950, 3.0)])
    seen = boundary(np.ones(1000, dtype=int), score, [[1, 0], [0.5, 0.5]], 0, classes=[0, 1])
    assert np.mean(seen == 0) == pytest.approx(0.5, abs=0.06)
    assert np.all(seen[:50] == 0)


@pytest.mark.parametrize(
    ("scores", "settings", "message"),
    [
        (np.zeros((3, 2)), {}, r"shape \(2, 2\)"),
        ([[0.0, np.nan], [0, 1]], {}, "finite"),
        (np.zeros((2, 2)), {"softness": 0.0}, "softness"),
    ],
)
def test_clear_errors_of_boundary_noise(scores, settings, message):
    with pytest.raises(ValueError, match=message):
        boundary([0, 1], scores, symmetric(2, 0.2), **settings)
    with pytest.raises(ValueError, match="missing"):
        boundary(["a", None], np.zeros((2, 2)), symmetric(2, 0.2), classes=["a", "b"])
