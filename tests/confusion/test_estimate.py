"""What an estimate says of itself, and the confusion of a classifier by cross-validation."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from unconfused.confusion import ConfusionEstimate, from_cross_validation, from_trusted

from_counts = ConfusionEstimate.from_counts


class LabelColumn(ClassifierMixin, BaseEstimator):
    """Predicts what the first column says, whatever it was trained on."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


def test_noise_rate_weighs_rows_by_class_shares():
    counts = np.array([[90, 10], [5, 5]])
    assert from_counts(counts, ["a", "b"]).noise_rate == pytest.approx(15 / 110)
    matrix = counts / counts.sum(axis=1, keepdims=True)
    even = ConfusionEstimate(matrix, counts, np.array(["a", "b"]), np.array([0.5, 0.5]))
    assert even.noise_rate == pytest.approx(0.3)
    assert from_counts(np.diag([3.0, 0.1]), [0, 1]).noise_rate == 0
    assert np.isnan(from_counts(np.zeros((2, 2)), [0, 1], smoothing=1).noise_rate)


def test_rare_classes_have_fewer_than_twenty_counts():
    counts = np.diag([20.0, 19.0, 0.0])
    assert from_counts(counts, ["a", "b", "c"]).rare_classes.tolist() == ["b", "c"]


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        (np.zeros((3, 3)), "nothing was counted"),
        ([[40, 40, 0], [40, 40, 0], [0, 0, 80]], r"singular.*classes 'a', 'b' apart\.$"),
        ([[1000, 990, 0], [990, 1000, 0], [0, 0, 99]], r"Weak.*hardly tell classes 'a', 'b' apart"),
        ([[90, 10, 0], [0, 90, 10], [0, 0, 9]], "Uncertain: too few counts of class 'c'; entries"),
        ([[12, 12, 0], [0, 90, 10], [0, 0, 99]], "Uncertain.*class 'a'"),
        (
            [[90, 10, 0], [0, 90, 10], [10, 0, 90]],
            "Precise enough to learn with: entries are known",
        ),
    ],
)
def test_the_verdict_names_the_trouble(counts, says):
    verdict = from_counts(counts, ["a", "b", "c"]).verdict
    assert "\n" not in verdict
    assert re.search(says, verdict), verdict


def test_a_caveat_ends_the_verdict():
    counts = np.diag([50.0, 50.0])
    estimate = ConfusionEstimate(np.eye(2), counts, np.array([0, 1]), caveat="Beware.")
    assert estimate.verdict.endswith("itself. Beware.")


def test_a_singular_matrix_inflates_errors_without_bound():
    estimate = from_counts(np.ones((2, 2)), [0, 1])
    assert estimate.error_inflation == np.inf
    assert from_counts(np.eye(2), [0, 1]).error_inflation == pytest.approx(1)


def test_many_classes_are_not_written_out():
    estimate = from_counts(np.eye(30), np.arange(30))
    assert repr(estimate) == (
        "ConfusionEstimate(30 classes, 30 counts, noise rate 0.00, condition number 1)"
    )
    assert len(str(estimate).splitlines()) == 3
    assert "classes 0, 1, 2, 3, 4 and 25 more" in estimate.verdict
    assert len(str(from_counts(np.eye(3), list("abc"))).splitlines()) == 6


@pytest.mark.parametrize(
    ("counts", "smoothing", "message"),
    [
        (np.eye(3), 0, "each of the 2 classes"),
        ([[1, -1], [0, 1]], 0, "negative"),
        (np.eye(2), -1, "smoothing"),
    ],
)
def test_bad_counts(counts, smoothing, message):
    with pytest.raises(ValueError, match=message):
        from_counts(counts, ["a", "b"], smoothing)


def test_an_estimate_keeps_numpys_copy_rules():
    estimate = from_counts(np.eye(2), [0, 1])
    assert np.asarray(estimate, dtype=np.float32).dtype == np.float32
    assert np.array(estimate, copy=True) is not estimate.matrix


# Cross-validation


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_predictions_that_ignore_training_are_counted_as_they_are(seed, cv):
    rng = np.random.RandomState(seed)
    truth, predicted = np.repeat([0, 1, 2], 8), rng.randint(3, size=24)
    X = predicted[:, np.newaxis].astype(float)
    got = from_cross_validation(LabelColumn(), X, truth, cv=cv, random_state=seed)
    np.testing.assert_array_equal(
        got.counts, from_trusted(truth, predicted, classes=[0, 1, 2]).counts
    )


def test_rows_without_truth_are_left_out():
    X, y = load_iris(return_X_y=True)
    kept = np.arange(150) % 3 > 0
    some = np.where(kept, y, np.nan)
    whole = from_cross_validation(GaussianNB(), X[kept], y[kept], random_state=0)
    part = from_cross_validation(GaussianNB(), X, some, random_state=0)
    np.testing.assert_array_equal(whole.counts, part.counts)
    minus = from_cross_validation(GaussianNB(), X, np.where(kept, y, -1), random_state=0)
    np.testing.assert_array_equal(whole.counts, minus.counts)
    assert minus.classes.tolist() == [0, 1, 2]


def test_frames_sparse_rows_and_strings_give_the_same():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MultinomialNB()
    expected = from_cross_validation(model, X, names, random_state=0)
    assert expected.classes.tolist() == ["setosa", "versicolor", "virginica"]
    for rows in (pd.DataFrame(X), sparse.csr_matrix(X), sparse.coo_array(X), X.tolist()):
        got = from_cross_validation(model, rows, pd.Series(names), random_state=0)
        np.testing.assert_array_equal(got.counts, expected.counts)
    with parallel_config(backend="threading"):
        two = from_cross_validation(model, X, names, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(two.counts, expected.counts)


def test_weights_count_rows_and_reach_the_classifier():
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 2, 10.0, 1.0)
    weighted = from_cross_validation(
        DummyClassifier(strategy="prior"), X, y, sample_weight=weight, random_state=0
    )
    assert weighted.counts[:, 2].tolist() == [50, 50, 500]  # the heavy class is the prediction
    plain = from_cross_validation(LabelColumn(), y[:, np.newaxis], y, sample_weight=weight)
    assert np.diag(plain.counts).tolist() == [50, 50, 500]
    with pytest.raises(ValueError, match="one number per row"):
        from_cross_validation(GaussianNB(), X, y, sample_weight=weight[1:])


def test_a_class_smaller_than_the_folds():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:50, 50:53, 100:150]
    estimate = from_cross_validation(GaussianNB(), X[few], y[few], random_state=0)
    assert estimate.counts.sum(axis=1).tolist() == [50, 3, 50]
    tiny = np.r_[0:3, 50:53, 100:103]
    assert from_cross_validation(GaussianNB(), X[tiny], y[tiny], cv=5).counts.sum() == 9
    single = np.r_[0:50, 50:51, 100:150]
    with pytest.raises(ValueError, match="only one row of class 1"):
        from_cross_validation(GaussianNB(), X[single], y[single])


def test_an_unseen_class_needs_smoothing():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="class 7"):
        from_cross_validation(GaussianNB(), X, y, classes=[0, 1, 2, 7])
    smooth = from_cross_validation(GaussianNB(), X, y, classes=[0, 1, 2, 7], smoothing=1)
    np.testing.assert_allclose(smooth.matrix[3], 0.25)


def test_splitters_must_test_each_row_once():
    X, y = load_iris(return_X_y=True)
    folds = from_cross_validation(GaussianNB(), X, y, cv=KFold(5, shuffle=True, random_state=0))
    assert folds.counts.sum() == 150
    with pytest.raises(ValueError, match="exactly once"):
        from_cross_validation(GaussianNB(), X, y, cv=ShuffleSplit(3, random_state=0))


@pytest.mark.parametrize(
    ("y", "cv", "message"),
    [
        (np.zeros(150, int), 5, "at least two classes"),
        (np.full(150, np.nan), 5, "no class"),
        (np.arange(150) % 3, 1, "at least 2 folds"),
        (np.arange(149) % 3, 5, "150 rows but y_true has 149"),
    ],
)
def test_what_cannot_be_cross_validated(y, cv, message):
    X = load_iris().data
    with pytest.raises(ValueError, match=message):
        from_cross_validation(GaussianNB(), X, y, cv=cv)


def test_it_measures_the_noise_of_a_rough_classifier():
    """The paper's Example 1: the classifier trained on few rows labels all the others."""
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    few, others = order[:300], order[300:]
    rough = GaussianNB(var_smoothing=0.01).fit(X[few], y[few])
    made = from_trusted(y[others], rough.predict(X[others]))
    foreseen = from_cross_validation(
        GaussianNB(var_smoothing=0.01), X[few], y[few], cv=10, random_state=0
    )
    assert abs(foreseen.noise_rate - made.noise_rate) < 0.03
    assert np.abs(foreseen.matrix - made.matrix).mean() < 0.02
