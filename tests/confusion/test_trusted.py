"""The confusion matrix counted from trusted rows, and its intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unconfused import UMAClassifier, confusion, noise

C = np.array([[0.6, 0.3, 0.1], [0.0, 0.8, 0.2], [0.3, 0.0, 0.7]])


def test_counts_have_true_rows():
    estimate = confusion.from_trusted(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    assert estimate.counts.tolist() == [[1, 1], [0, 2]]
    assert estimate.matrix.tolist() == [[0.5, 0.5], [0, 1]]
    assert estimate.classes.tolist() == ["a", "b"]


@given(st.integers(0, 1000))
def test_the_estimate_is_near_the_matrix(seed):
    true = np.random.RandomState(seed).randint(3, size=6000)
    y = noise.corrupt_labels(true, C, random_state=seed)
    estimate = confusion.from_trusted(true, y)
    assert np.abs(estimate.matrix - C).max() < 0.06


def test_intervals_cover_as_often_as_they_say():
    covered = []
    for seed in range(300):
        true = np.repeat([0, 1, 2], 40)
        y = noise.corrupt_labels(true, C, random_state=seed)
        low, high = confusion.from_trusted(true, y, classes=[0, 1, 2]).interval(0.9)
        covered.append(((low <= C) & (high >= C))[C > 0])
    assert 0.85 < np.mean(covered) < 0.95


def test_weights_count_rows():
    y_true, y = ["a", "a", "b"], ["a", "b", "b"]
    estimate = confusion.from_trusted(y_true, y, sample_weight=[3, 1, 2])
    assert estimate.counts.tolist() == [[3, 1], [0, 2]]


def test_an_unseen_class_needs_smoothing():
    y_true, y = ["a", "a", "b", None], ["a", "b", "b", "c"]
    with pytest.raises(ValueError, match="class 'c'"):
        confusion.from_trusted(y_true, y)
    smooth = confusion.from_trusted(y_true, y, smoothing=1)
    np.testing.assert_allclose(smooth.matrix.sum(axis=1), 1)
    assert smooth.matrix[2].tolist() == [1 / 3] * 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"smoothing": -1}, "smoothing must be at least 0"),
        ({"sample_weight": [1]}, "one number per row"),
        ({"sample_weight": [1, -1]}, "negative"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        confusion.from_trusted(["a", "b"], ["a", "b"], **settings)
    with pytest.raises(ValueError, match="level"):
        confusion.from_trusted(["a", "b"], ["a", "b"]).interval(1)


def test_an_estimate_is_passed_like_a_matrix():
    rng = np.random.RandomState(0)
    true = rng.randint(3, size=300)
    X = np.eye(3)[true] + 0.1 * rng.randn(300, 3)
    names = np.array(["x", "y", "z"])
    y = names[noise.corrupt_labels(true, C, random_state=0)]
    estimate = confusion.from_trusted(names[true], y)
    clf = UMAClassifier(estimate).fit(X, y)
    np.testing.assert_allclose(clf.confusion_, estimate.matrix, rtol=1e-14)
    assert np.asarray(estimate).shape == (3, 3)
    assert estimate.condition_number == pytest.approx(np.linalg.cond(estimate.matrix))
    with pytest.raises(ValueError, match="different types"):
        UMAClassifier(estimate).fit(X, true)


def test_an_interval_holds_its_own_estimate():
    rng = np.random.RandomState(0)
    counts = rng.multinomial(11, [0.55] + [0.05] * 9, size=10)  # few counts of many classes
    counts[0] = [11] + [0] * 9
    for smoothing in (0.0, 1.0):
        estimate = confusion.ConfusionEstimate.from_counts(counts, np.arange(10), smoothing)
        low, high = estimate.interval(0.95)
        assert np.all((low <= estimate.matrix) & (estimate.matrix <= high))
        assert high[0, 0] == 1.0 and np.all(low[0, 1:] == 0.0)
        assert np.all((low >= 0) & (high <= 1) & (high > low))
