"""Probabilities that mean what they say."""

import numpy as np
import pytest
from problems import make_problem
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.estimators.automatic.held_out import HeldOutRows


def calibration_error(probability, truth, n_bins=15):
    top, right = probability.max(axis=1), probability.argmax(axis=1) == truth
    bins = np.array_split(np.argsort(top), n_bins)
    return sum(len(rows) * abs(top[rows].mean() - right[rows].mean()) for rows in bins) / len(top)


@pytest.mark.slow
@pytest.mark.parametrize("known", ["matrix", "truths"])
def test_it_is_as_calibrated_as_on_clean_labels(known):
    X, true = load_digits(return_X_y=True)
    X, X_test, true, true_test = train_test_split(X / 16, true, test_size=600, random_state=0)
    C = noise.symmetric(10, 0.4)
    y = noise.corrupt_labels(true, C, random_state=0)
    truth = np.where(np.random.RandomState(7).uniform(size=len(true)) < 0.1, true, -1)
    clean = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, true)
    given = {"matrix": C, "truths": None}[known]
    noisy = UnconfusedLogisticRegression(given, relabel=0, random_state=0)
    noisy.fit(X, y, y_true=truth if known == "truths" else None)
    ours, theirs = (
        calibration_error(model.predict_proba(X_test), true_test) for model in (noisy, clean)
    )
    assert ours <= theirs + 0.02
    if known == "truths":  # an average of models that have their own temperatures
        return
    # Without the temperature it would be far from that.
    power = noisy._state.calibration[0]
    noisy.coef_, noisy.intercept_ = noisy.coef_ / power, noisy.intercept_ / power
    assert calibration_error(noisy.predict_proba(X_test), true_test) > ours + 0.05


def test_a_number_means_that_number():
    problem = make_problem(0, n=400)
    clf = UnconfusedLogisticRegression(problem.C, l2=0.01, relabel=0).fit(problem.X, problem.y)
    assert clf._state.calibration is None


def test_class_shares_are_drawn_towards_even_ones():
    problem = make_problem(2, n=600)
    clf = UnconfusedLogisticRegression(problem.C, relabel=0).fit(problem.X, problem.y)
    power, shift = clf._state.calibration[0], clf._state.calibration[1:]
    assert power != 1.0
    shares = softmax(shift + power * np.log(clf.class_prior_))
    kept = (shares - 0.25) / (clf.class_prior_ - 0.25)
    np.testing.assert_allclose(kept, kept[0], rtol=1e-6)
    assert 0.0 <= kept[0] < 1.0


def test_without_an_intercept_there_is_only_a_temperature():
    problem = make_problem(2, n=600)
    clf = UnconfusedLogisticRegression(problem.C, relabel=0, fit_intercept=False)
    clf.fit(problem.X, problem.y)
    assert clf._state.calibration[0] != 1.0
    assert not clf._state.calibration[1:].any() and not clf.intercept_.any()


def rows_labelled(counts):
    """Rows with these numbers of labels, seen through C."""
    observed = np.repeat(np.arange(len(counts)), counts)
    n = len(observed)
    nothing = np.zeros(n, dtype=bool)
    rows = HeldOutRows(
        np.zeros((n, 1)), np.ones((n, len(counts))), np.ones(n), nothing, nothing, n, nothing,
        observed,
    )  # fmt: skip
    return rows.through(np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]))


def test_labels_that_chance_explains_are_no_evidence_of_uneven_shares():
    assert rows_labelled([105, 95, 100]).evidence_of_shares == 0.0
    assert rows_labelled([160, 90, 50]).evidence_of_shares > 0.9
    # A sample that is ten times as large says more about the same shares.
    few, many = (rows_labelled([55 * k, 46 * k, 49 * k]).evidence_of_shares for k in (1, 10))
    assert few == 0.0 < many


def test_calibrated_weights_are_frequencies_and_can_be_undone():
    problem = make_problem(1, n=300)
    weight = np.random.RandomState(0).randint(0, 3, 300)
    clf = UnconfusedLogisticRegression(problem.C, relabel=0)
    clf.fit(problem.X, problem.y, sample_weight=weight)
    rows = np.repeat(np.arange(300), weight)
    again = UnconfusedLogisticRegression(problem.C, relabel=0).fit(problem.X[rows], problem.y[rows])
    np.testing.assert_allclose(clf._state.calibration, again._state.calibration, atol=0.05)
    clf._state.uncalibrate(intercept=True)
    plain = UnconfusedLogisticRegression(problem.C, relabel=0, l2=clf.l2_)
    plain.fit(problem.X, problem.y, sample_weight=weight)
    np.testing.assert_allclose(clf._state.weights, plain._state.weights, atol=0.02)


def test_votes_are_calibrated_too():
    problem, fitted = make_problem(3, n=2400), slice(400)
    votes = np.column_stack(
        [noise.corrupt_labels(problem.true, problem.C, random_state=seed) for seed in range(3)]
    )
    clf = UnconfusedLogisticRegression(relabel=0).fit(problem.X[fitted], votes[fitted])
    raw = UnconfusedLogisticRegression(relabel=0, l2=clf.l2_).fit(problem.X[fitted], votes[fitted])
    assert clf._state.calibration is not None and raw._state.calibration is None
    loss, raw_loss = (
        log_loss(problem.true[400:], model.predict_proba(problem.X[400:])) for model in (clf, raw)
    )
    assert loss < 0.9 * raw_loss


def test_labels_taken_as_right_are_calibrated_by_a_temperature_alone():
    rng = np.random.RandomState(0)
    y = (rng.rand(600) < 0.2).astype(int)
    X = rng.randn(600, 20) + 0.5 * y[:, np.newaxis]
    clf = UnconfusedLogisticRegression().fit(X, y)
    plain = UnconfusedLogisticRegression(l2=clf.l2_, relabel=0).fit(X, y)
    own, raw = (one.decision_function(X) for one in (clf, plain))
    factor = own[0] / raw[0]
    assert abs(factor - 1) > 1e-3
    np.testing.assert_allclose(own, factor * raw, rtol=0, atol=0.02)
