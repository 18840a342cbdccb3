"""Whether checked rows pass for a random sample, by their labels."""

import warnings

import numpy as np
import pytest

from unconfused import ConfusionWarning, UMAClassifier, UnconfusedLogisticRegression, confusion
from unconfused.confusion.trusted import EXPECTED_AT_LEAST, _pooled, compare_with_all

MANY = np.array([20_000.0, 4_000, 700, 60, 30, 9, 1])


@pytest.mark.parametrize("n_checked", [30, 300, 12_000])
def test_random_samples_pass_as_often_as_the_level_says(n_checked):
    rng = np.random.default_rng(0)
    everything = MANY.astype(int)
    found = [
        compare_with_all(sample.astype(float), MANY).p_value
        for sample in rng.multivariate_hypergeometric(everything, n_checked, size=4000)
    ]
    for level in (0.001, 0.05):
        error = (level * (1 - level) / 4000) ** 0.5
        assert np.mean(np.array(found) < level) < 1.5 * level + 4 * error
    assert np.mean(np.array(found) < 0.05) > 0.02


def test_rows_drawn_by_label_do_not():
    found = compare_with_all(np.array([50.0, 50, 50, 50, 20, 0, 0]), MANY)
    assert not found.random
    assert found.p_value < 1e-10
    assert found.shift == pytest.approx(0.58, abs=0.02)
    assert "from_audit(y_true, y)" in found.warning
    assert "58 % of the 220" in found.warning


def test_two_rows_of_each_class_made_sure_of_do_no_harm():
    checked = np.maximum(MANY * 0.02, np.minimum(2, MANY))
    assert compare_with_all(checked, MANY).random


def test_nothing_to_compare():
    for checked in (np.zeros(7), MANY):
        found = compare_with_all(checked, MANY)
        assert found.random
        assert found.p_value == 1
    only_one_label = compare_with_all(np.array([5.0, 0]), np.array([90.0, 0]))
    assert only_one_label.p_value == 1


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_no_column_expects_too_few(share):
    table = _pooled(np.vstack([share * MANY, (1 - share) * MANY]), share)
    smallest = min(share, 1 - share)
    assert np.all(table.sum(axis=0) * smallest >= EXPECTED_AT_LEAST)
    np.testing.assert_allclose(table.sum(), MANY.sum())


@pytest.mark.parametrize("learner", [UMAClassifier, UnconfusedLogisticRegression])
def test_fits_say_so(learner):
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 3000, p=[0.8, 0.15, 0.05])
    y = np.where(rng.random(3000) < 0.8, truth, rng.integers(0, 3, 3000))
    X = np.eye(3)[truth] + 0.3 * rng.standard_normal((3000, 3))
    by_label, at_random = np.full(3000, np.nan), np.full(3000, np.nan)
    for label in range(3):
        rows = rng.choice(np.flatnonzero(y == label), 60, replace=False)
        by_label[rows] = truth[rows]
    rows = rng.choice(3000, 180, replace=False)
    at_random[rows] = truth[rows]
    clf = learner(max_iter=10)
    if learner is UnconfusedLogisticRegression:
        clf.set_params(tol=0.1, l2=1e-2, relabel=0, noisy_weight=1.0)
    with pytest.warns(ConfusionWarning, match="no random sample of the labels"):
        clf.fit(X, y, y_true=by_label)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(X, y, y_true=at_random)
        clf.set_params(confusion=confusion.from_audit(by_label, y)).fit(X, y, y_true=by_label)
