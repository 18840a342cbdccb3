"""Logistic regression through the confusion matrix."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split

from unconfused import ConfusionWarning, UnconfusedLogisticRegression, confusion, noise
from unconfused.confusion.estimation.pooled import counts_shrunk_to_pooled
from unconfused.engines import LocalEngine
from unconfused.engines.local import engine as local_engine
from unconfused.solvers.likelihood import Likelihood, _Objective
from unconfused.solvers.refine_confusion import matrix_objective

TIGHT = {"tol": 1e-9, "max_iter": 5000}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, random_state=0, stratify=y)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_it_is_scikit_learns(storage, n_classes, fit_intercept):
    X, y = load_iris(return_X_y=True)
    keep = y < n_classes
    X, y, l2 = storage(X[keep]), y[keep], 1e-3
    weight = np.random.RandomState(0).randint(1, 4, len(y))
    ours = UnconfusedLogisticRegression(l2=l2, fit_intercept=fit_intercept, **TIGHT)
    theirs = LogisticRegression(
        C=1 / (l2 * weight.sum()), fit_intercept=fit_intercept, tol=1e-9, max_iter=5000
    )
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3, rtol=1e-3)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_array_equal(ours.confusion_, np.eye(n_classes))


def labelled_engine(problem, n_classes, trusted, rng):
    codes, n_codes = problem.y, n_classes
    if trusted:
        known = np.arange(30) % 4 == 0
        codes, n_codes = np.where(known, n_classes + problem.true, problem.y), 2 * n_classes
    return LocalEngine(problem.X, codes, n_codes, rng.rand(30))


def assert_slope(objective, start, rng):
    _, gradient = objective(start)
    direction = rng.randn(len(start))
    ahead, behind = (objective(start + h * direction)[0] for h in (1e-5, -1e-5))
    assert gradient @ direction == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-7)


@given(st.integers(0, 2**16), st.booleans(), st.sampled_from([2, 4]))
def test_the_gradient_is_the_slope_of_the_objective(seed, trusted, n_classes):
    problem = make_problem(seed, n=30, Q=n_classes)
    rng = np.random.RandomState(seed)
    engine = labelled_engine(problem, n_classes, trusted, rng)
    objective = _Objective(Likelihood(0.1, 0.6, None, 1, 1e-9), engine, (n_classes, n_classes))
    objective.matrix = problem.C

    def flat(parameters):
        value, gradient = objective(parameters.reshape(n_classes, 5))
        return value, gradient.ravel()

    assert_slope(flat, rng.randn(n_classes * 5), rng)


@given(st.integers(0, 2**16), st.booleans(), st.sampled_from([2, 4]))
def test_the_gradient_by_matrix_and_sharpness_is_their_slope(seed, trusted, n_classes):
    problem = make_problem(seed, n=30, Q=n_classes)
    rng = np.random.RandomState(seed)
    engine = labelled_engine(problem, n_classes, trusted, rng)
    likelihood = _Objective(Likelihood(0.1, 0.6, None, 1, 1e-9), engine, (n_classes, n_classes))
    counts = rng.rand(n_classes, n_classes) * 5
    objective = matrix_objective(likelihood.measure, rng.randn(n_classes, 5), counts, 20.0)
    assert_slope(objective, 0.3 * rng.randn(1 + n_classes**2), rng)


def test_a_label_never_counted_is_not_thought_impossible(digits):
    X, _, y, _ = digits
    C = noise.symmetric(10, 0.3)
    seen = noise.corrupt_labels(y, C, random_state=0)
    truth = np.where(np.arange(len(y)) % 20 == 0, y, -1)
    clf = UnconfusedLogisticRegression(l2=1e-3, noisy_weight=1.0).fit(X, seen, y_true=truth)
    counted = confusion.from_trusted(y[truth >= 0], seen[truth >= 0]).matrix
    assert (counted == 0).sum() > 40  # seven rows a class show few of nine wrong labels
    assert np.abs(clf.confusion_ - C).mean() < 0.6 * np.abs(counted - C).mean()


@given(st.integers(0, 2**16), st.integers(1, 59), st.sampled_from([np.asarray, sparse.csr_matrix]))
def test_passes_over_row_blocks_add_up(seed, cut, storage):
    problem = make_problem(seed)
    rng = np.random.RandomState(seed)
    weights, weight = rng.randn(4, 5), rng.rand(60)

    def measure(rows):
        engine = LocalEngine(storage(problem.X[rows]), problem.y[rows], 4, weight[rows])
        return engine.likelihood(weights, np.ascontiguousarray(problem.C.T), np.ones(4))

    whole, joined = measure(slice(None)), measure(slice(0, cut)) + measure(slice(cut, None))
    assert joined.loss == pytest.approx(whole.loss)
    np.testing.assert_allclose(joined.gradient, whole.gradient, atol=1e-9)
    np.testing.assert_allclose(joined.posterior, whole.posterior, atol=1e-9)


def test_small_blocks_change_nothing(monkeypatch):
    problem = make_problem(1)
    whole = UnconfusedLogisticRegression(problem.C, **TIGHT).fit(problem.X, problem.y)
    monkeypatch.setattr(local_engine, "BLOCK_ROWS", 7)
    parts = UnconfusedLogisticRegression(problem.C, **TIGHT).fit(problem.X, problem.y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-4)


def test_hopeless_labels_keep_the_loss_finite():
    X, codes = np.array([[1e4], [-1e4]]), np.array([0, 1])
    engine = LocalEngine(X, codes, 2, intercept=False)
    measured = engine.likelihood(np.array([[-1.0], [1.0]]), np.eye(2), np.ones(2))
    assert measured.loss == pytest.approx(4e4)
    assert np.isfinite(measured.gradient).all()
    np.testing.assert_array_equal(measured.posterior, np.eye(2))


@pytest.mark.slow
@pytest.mark.parametrize(("matrix", "factor"), [(noise.pairwise(10, 0.45), 1.5)])
def test_knowing_the_matrix_nearly_makes_up_for_the_noise(digits, matrix, factor):
    X, X_test, true, y_test = digits
    y = noise.corrupt_labels(true, matrix, random_state=0)
    settings = {"l2": 1e-3, "relabel": 0}
    clean = UnconfusedLogisticRegression(**settings).fit(X, true)
    noisy = UnconfusedLogisticRegression(**settings).fit(X, y)
    through = UnconfusedLogisticRegression(matrix, **settings).fit(X, y)
    error = [1 - clf.score(X_test, y_test) for clf in (clean, noisy, through)]
    assert error[2] <= factor * error[0] + 0.01
    assert error[2] < error[1] - 0.2


def test_refining_brings_the_matrix_nearer(digits):
    X, _, true, _ = digits
    matrix = noise.pairwise(10, 0.3)
    y = noise.corrupt_labels(true, matrix, random_state=1)
    y_true = np.where(np.arange(len(y)) % 20 == 0, true, -1)
    for digit in range(10):  # at least five of each
        y_true[np.flatnonzero(true == digit)[:5]] = digit
    settings = {"l2": 1e-3, "noisy_weight": 1.0, "relabel": 0}
    clf = UnconfusedLogisticRegression(**settings).fit(X, y, y_true=y_true)
    known = y_true >= 0
    counts = confusion.from_trusted(true[known], y[known]).counts
    counted = counts / counts.sum(axis=1, keepdims=True)
    fixed = UnconfusedLogisticRegression(refine=False, **settings)
    held = fixed.fit(X, y, y_true=y_true).confusion_
    drawn = counts_shrunk_to_pooled(counts)
    np.testing.assert_allclose(held, drawn / drawn.sum(axis=1, keepdims=True))
    assert np.abs(clf.confusion_ - matrix).mean() <= 0.5 * np.abs(counted - matrix).mean()


@pytest.mark.slow
def test_the_weight_of_noisy_rows_is_chosen_from_the_data(digits):
    X, X_test, true, y_test = digits
    y_true = np.full(len(true), -1)
    for digit in range(10):
        y_true[np.flatnonzero(true == digit)[:8]] = digit
    # Noise that C describes: full weight, or near it.
    good = noise.corrupt_labels(true, noise.pairwise(10, 0.45), random_state=0)
    settings = {"l2": 1e-3, "relabel": 0, "random_state": 0}
    clf = UnconfusedLogisticRegression(**settings).fit(X, good, y_true=y_true)
    assert clf.noisy_weight_ >= 0.1
    alone = UnconfusedLogisticRegression(noisy_weight=0.0, **settings)
    alone.fit(X, good, y_true=y_true)
    assert clf.score(X_test, y_test) > alone.score(X_test, y_test) + 0.02
    # Labels drawn at random say nothing.
    useless = np.random.RandomState(0).randint(10, size=len(true))
    clf = UnconfusedLogisticRegression(**settings).fit(X, useless, y_true=y_true)
    alone.fit(X, useless, y_true=y_true)
    assert clf.score(X_test, y_test) >= alone.score(X_test, y_test) - 0.02
    assert {0.0, 0.1, 0.3, 1.0} <= set(clf.choice_["noisy_weight"])
    assert set(clf.choice_["l2"]) == {1e-3}, "a number means that number"


def test_probabilities_and_posteriors(digits):
    X, X_test, true, _ = digits
    matrix = noise.pairwise(10, 0.3)
    y = noise.corrupt_labels(true, matrix, random_state=0)
    clf = UnconfusedLogisticRegression(matrix, l2=1e-3, relabel=0).fit(X, y)
    shares = clf.predict_proba(X_test)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(clf.predict_log_proba(X_test)), shares)
    posterior = clf.label_posterior(X, y)
    expected = clf.predict_proba(X) * matrix[:, y].T
    np.testing.assert_allclose(posterior, expected / expected.sum(axis=1, keepdims=True))
    wrong = 1 - posterior[np.arange(len(y)), y]
    assert np.mean(wrong[y != true]) > np.mean(wrong[y == true]) + 0.5
    np.testing.assert_allclose(
        clf.label_posterior(X[:3], [np.nan, y[1], np.nan])[[0, 2]], clf.predict_proba(X[:3])[[0, 2]]
    )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.label_posterior(X[:3], y[:1])


@pytest.mark.parametrize("kind", ["float32", "csr", "frame", "strings"])
def test_kinds_of_data(digits, kind):
    X, _, true, _ = digits
    matrix = noise.pairwise(10, 0.2)
    y = noise.corrupt_labels(true, matrix, random_state=0)
    base = UnconfusedLogisticRegression(matrix, l2=1e-2, relabel=0).fit(X, y)
    rows = {"float32": X.astype(np.float32), "csr": sparse.csr_array(X), "frame": pd.DataFrame(X)}
    labels = np.array([f"digit {k}" for k in range(10)])[y] if kind == "strings" else y
    clf = UnconfusedLogisticRegression(matrix, l2=1e-2, relabel=0).fit(rows.get(kind, X), labels)
    np.testing.assert_allclose(
        clf.predict_proba(rows.get(kind, X)), base.predict_proba(X), atol=0.02
    )
    if kind == "float32":
        assert clf.coef_.dtype == np.float32


@given(st.integers(0, 2**16))
def test_a_weight_is_a_number_of_rows(seed):
    problem = make_problem(seed)
    weight = np.random.RandomState(seed).randint(0, 4, len(problem.y))
    weight[:4] = 1
    truth = np.where(np.arange(len(problem.y)) % 3 == 0, problem.true, np.nan)
    clf = UnconfusedLogisticRegression(problem.C, l2=0.05, noisy_weight=0.5, **TIGHT)
    repeated = clone(clf).fit(
        np.repeat(problem.X, weight, axis=0),
        np.repeat(problem.y, weight),
        y_true=np.repeat(truth, weight),
    )
    weighted = clf.fit(problem.X, problem.y, y_true=truth, sample_weight=weight)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_, atol=1e-4)


def test_a_singular_matrix_is_warned_of_not_refused():
    problem = make_problem(0, Q=3)
    matrix = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    with pytest.warns(ConfusionWarning, match=r"singular.*\[0, 1\]"):
        UnconfusedLogisticRegression(matrix, l2=0.1, relabel=0).fit(problem.X, problem.y)


def test_a_nearly_singular_matrix_is_warned_of_too():
    problem = make_problem(0, Q=3)
    matrix = np.array([[0.5, 0.5, 0.0], [0.5 - 1e-5, 0.5 + 1e-5, 0.0], [0.0, 0.0, 1.0]])
    with pytest.warns(ConfusionWarning, match=r"ill-conditioned.*\[0, 1\]"):
        UnconfusedLogisticRegression(matrix, l2=0.1, relabel=0).fit(problem.X, problem.y)


def clusters(seed, n, n_classes, n_features, spread):
    rng = np.random.RandomState(seed)
    means = spread * rng.randn(n_classes, n_features)
    true = rng.randint(n_classes, size=n)
    return means[true] + rng.randn(n, n_features), true, rng


@pytest.mark.parametrize("zero_weight", [False, True])
@pytest.mark.parametrize("noisy_weight", [1.0, "auto"])
def test_a_class_without_trusted_rows_does_not_vanish(noisy_weight, zero_weight):
    X, true, rng = clusters(0, 500, 6, 8, 1.0)
    C = noise.symmetric(6, 0.2)
    y = noise.corrupt_labels(true, C, random_state=0)
    known = rng.permutation(np.flatnonzero(true < 4))[:8]
    truth, weight = np.full(500, -1), np.ones(500)
    truth[known] = true[known]
    if zero_weight:  # rows that do not count show no class
        rest = np.flatnonzero(true >= 4)[:2]
        truth[rest], weight[rest] = true[rest], 0.0
    clf = UnconfusedLogisticRegression(C, l2=1e-2, noisy_weight=noisy_weight, random_state=0)
    without = clone(clf).fit(X, y, sample_weight=weight)
    clf.fit(X, y, y_true=truth, sample_weight=weight)
    assert set(clf.predict(X)) == set(range(6))
    assert clf.score(X, true) > without.score(X, true) - 0.02


@pytest.mark.parametrize(("seed", "n_classes", "n_trusted"), [(0, 3, 10), (7, 6, 20)])
def test_few_trusted_rows_all_predicted_rightly_do_not_outweigh_many(seed, n_classes, n_trusted):
    X, true, rng = clusters(seed, 2000, n_classes, 10, 1.5)
    C = noise.symmetric(n_classes, 0.3)
    y = noise.corrupt_labels(true, C, random_state=seed)
    truth = np.full(2000, -1)
    known = rng.permutation(2000)[:n_trusted]
    truth[known] = true[known]
    clf = UnconfusedLogisticRegression(C, relabel=0, random_state=0).fit(X, y, y_true=truth)
    assert clf.noisy_weight_ == 1.0
    assert clf.score(X, true) > 0.97


def test_warm_start_interrupt_and_no_convergence(monkeypatch):
    problem = make_problem(2)
    settings = {"confusion": problem.C, "l2": 0.1}
    clf = UnconfusedLogisticRegression(max_iter=2, tol=1e-9, warm_start=True, **settings)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        clf.fit(problem.X, problem.y)
    assert clf.n_iter_ == 2 and len(clf.history_["objective"]) == 2
    real = LocalEngine.likelihood
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(LocalEngine, "likelihood", interrupted)
    clf.set_params(max_iter=500)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(problem.X, problem.y)
    assert clf.predict(problem.X).shape == problem.y.shape
    clf.fit(problem.X, problem.y)
    straight = UnconfusedLogisticRegression(**settings, **TIGHT).fit(problem.X, problem.y)
    np.testing.assert_allclose(
        clf.predict_proba(problem.X), straight.predict_proba(problem.X), atol=1e-3
    )
    with pytest.raises(ValueError, match="Fit a clone"):
        clf.fit(problem.X[:, :2], problem.y)


def test_through_a_search_with_truths():
    problem = make_problem(3, n=200)
    y_true = np.where(np.arange(200) % 2 == 0, problem.true, np.nan)
    search = GridSearchCV(
        UnconfusedLogisticRegression(noisy_weight=0.5, relabel=0),
        {"l2": [1e-2, 1e-1]},
        error_score="raise",
    )
    search.fit(problem.X, problem.y, y_true=y_true)
    assert search.best_estimator_.noisy_weight_ == 0.5


@pytest.mark.slow
def test_wrong_labels_are_found(digits):
    X, _, true, _ = digits
    matrix = noise.pairwise(10, 0.3)
    y = noise.corrupt_labels(true, matrix, random_state=0)
    known = confusion.rank_label_errors(
        UnconfusedLogisticRegression(matrix, l2=1e-3, relabel=0), X, y, random_state=0
    )
    wrong = (y != true)[known.row]
    assert average_precision_score(wrong, known.probability) > 0.99
    assert np.mean(known.suggested[wrong] == true[known.row][wrong]) > 0.9
    y_true = np.where(np.arange(len(y)) % 10 == 0, true, -1)
    clf = UnconfusedLogisticRegression(l2=1e-3, noisy_weight=1.0, relabel=0, random_state=0)
    trusted = confusion.rank_label_errors(clf, X, y, y_true=y_true, random_state=0)
    assert not np.any(y_true[trusted.row] >= 0), "trusted rows are left out"
    assert average_precision_score((y != true)[trusted.row], trusted.probability) > 0.9


def test_a_warm_start_follows_a_new_matrix():
    problem = make_problem(4)
    clf = UnconfusedLogisticRegression(problem.C, l2=0.1, warm_start=True, **TIGHT)
    clf.fit(problem.X, problem.y).set_params(confusion=np.eye(4)).fit(problem.X, problem.y)
    np.testing.assert_array_equal(clf.confusion_, np.eye(4))
    fresh = UnconfusedLogisticRegression(l2=0.1, **TIGHT).fit(problem.X, problem.y)
    np.testing.assert_allclose(clf.coef_, fresh.coef_, atol=1e-4)


def test_interrupting_the_search_leaves_the_trusted_model(monkeypatch):
    problem = make_problem(5, n=200)
    y_true = np.where(np.arange(200) % 4 == 0, problem.true, np.nan)
    alone = UnconfusedLogisticRegression(problem.C, l2=0.1, noisy_weight=0.0, relabel=0)
    alone.fit(problem.X, problem.y, y_true=y_true)
    real, calls = Likelihood.run, []

    def interrupted(self, engine, state, evidence=None):
        calls.append(1)
        if len(calls) == 4:
            state.interrupted = True
            return state
        return real(self, engine, state, evidence)

    monkeypatch.setattr(Likelihood, "run", interrupted)
    clf = UnconfusedLogisticRegression(problem.C, l2=0.1)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(problem.X, problem.y, y_true=y_true)
    assert len(calls) == 4, "the search ended with the interrupt"
    np.testing.assert_allclose(
        clf.predict_proba(problem.X), alone.predict_proba(problem.X), atol=1e-2
    )


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
def test_scores_in_place_of_rows_measure_the_same(storage, intercept):
    problem, rng = make_problem(0, n=90), np.random.RandomState(0)
    codes, weight = problem.y, rng.rand(90)
    engine = LocalEngine(storage(problem.X), codes, 4, weight, intercept=intercept)
    W, mixing = rng.randn(4, engine.n_features), rng.dirichlet(np.ones(4), 4)
    scored = engine.scored(W)
    rows = engine.likelihood(0.7 * W, mixing, np.ones(4))
    scores = scored.likelihood(0.7 * np.eye(4), mixing, np.ones(4))
    assert scores.loss == pytest.approx(rows.loss, rel=1e-12)
    np.testing.assert_allclose(scores.posterior, rows.posterior, rtol=1e-10)
    assert np.trace(scores.gradient) == pytest.approx(np.sum(rows.gradient * W), rel=1e-9)


def test_scores_too_many_to_hold_are_not_held(monkeypatch):
    problem = make_problem(0, n=400)
    y_true = np.where(np.arange(400) % 5 == 0, problem.true, -1)
    models, held = [], []
    scored = LocalEngine.scored

    def noting(engine, weights):
        held.append(scored(engine, weights))
        return held[-1]

    monkeypatch.setattr(LocalEngine, "scored", noting)
    for room in (2**30, 0):
        monkeypatch.setattr(local_engine, "SCORES_BYTES", room)
        model = UnconfusedLogisticRegression(noisy_weight=1.0, l2=1e-4, relabel=0, tol=1e-7)
        models.append(model.fit(problem.X, problem.y, y_true=y_true))
    assert held[0] is not None and held[-1] is None
    np.testing.assert_allclose(models[0].confusion_, models[1].confusion_, atol=1e-4)


def test_a_refined_matrix_that_trusted_rows_contradict_is_not_published():
    # No linear model fits these classes: refined, C would explain its mistakes by wrong labels.
    rng = np.random.RandomState(2)
    X = rng.randn(1500, 2)
    truth = np.digitize(np.hypot(*X.T), [1.2, 2.0])
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.28), random_state=0)
    checked = np.where(rng.rand(1500) < 0.15, truth, np.nan)
    settings = {"l2": 1e-2, "relabel": 0, "noisy_weight": 1.0}
    weak, usual = (
        UnconfusedLogisticRegression(prior_strength=strength, **settings).fit(X, y, y_true=checked)
        for strength in (0.01, 1.0)
    )
    assert np.diag(weak._state.matrix).min() < 0.57
    assert np.diag(weak.confusion_).min() > 0.6
    np.testing.assert_array_equal(usual.confusion_, usual._state.matrix)
    posterior = weak.label_posterior(X, y)
    expected = 1500 - posterior[np.arange(1500), y].sum()
    assert abs(expected - np.sum(y != truth)) < 100
