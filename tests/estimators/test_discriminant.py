"""Discriminant analysis through the confusion matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_discriminant import discriminant
from problems import make_problem
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from unconfused import (
    ConfusionWarning,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    noise,
)
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.solvers import discriminant as solver
from unconfused.solvers.discriminant import (
    NarrowCovariance,
    WideCovariance,
    fit_discriminant,
    shrunken_prior,
)

STORAGE = [np.asarray, sparse.csr_matrix]


def shown(clf):
    return np.column_stack([clf.coef_, clf.intercept_])


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_it_is_scikit_learns(storage, shrinkage, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[:130][y[:130] < n_classes], y[:130][y[:130] < n_classes]
    ours = UnconfusedDiscriminantAnalysis(shrinkage=shrinkage).fit(storage(X), y)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    centred = theirs.coef_ - (theirs.coef_.mean(axis=0) if n_classes > 2 else 0)
    np.testing.assert_allclose(ours.coef_, centred, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.means_, theirs.means_)
    np.testing.assert_allclose(ours.class_prior_, theirs.priors_)
    assert ours.shrinkage_ == pytest.approx(shrinkage)


@given(st.integers(0, 2**16), st.booleans(), st.sampled_from([0.05, 0.5]))
def test_it_agrees_with_plain_loops(seed, trusted, shrinkage):
    problem = make_problem(seed, n=200, Q=3)
    weight = np.random.RandomState(seed).randint(1, 3, 200).astype(float)
    known = (np.arange(200) % 4 == 0) & trusted
    truth = [t if k else None for t, k in zip(problem.true, known, strict=True)]
    codes = np.where(known, 3 + problem.true, problem.y)
    engine = LocalEngine(problem.X, codes, 6 if trusted else 3, weight)
    found = fit_discriminant(engine, Unmixing(problem.C, trusted=trusted), shrinkage).weights
    W, b = discriminant(problem.X, problem.y, truth, weight, problem.C, shrinkage)
    np.testing.assert_allclose(found, np.column_stack([W, b]), rtol=1e-6, atol=1e-6)


@given(st.integers(0, 2**16), st.sampled_from(["auto", 0.2]))
def test_permuted_classes_permute_the_weights(seed, shrinkage):
    problem = make_problem(seed)
    order = np.random.RandomState(seed).permutation(4)
    clf = UnconfusedDiscriminantAnalysis(problem.C, shrinkage=shrinkage)
    moved = UnconfusedDiscriminantAnalysis(problem.C[np.ix_(order, order)], shrinkage=shrinkage)
    clf.fit(problem.X, problem.y)
    moved.fit(problem.X, np.argsort(order)[problem.y])
    np.testing.assert_allclose(shown(moved), shown(clf)[order], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(clf.coef_.sum(axis=0), 0, atol=1e-9 * np.abs(clf.coef_).max())


@given(st.integers(0, 2**16), st.sampled_from(STORAGE), st.sampled_from(["auto", 0.2]))
def test_weights_are_repeated_rows(seed, storage, shrinkage):
    problem = make_problem(seed)
    weight = np.random.RandomState(seed).randint(0, 3, 60)
    weight[:4] = 1
    clf = UnconfusedDiscriminantAnalysis(problem.C, shrinkage=shrinkage)
    once = shown(clf.fit(storage(problem.X), problem.y, sample_weight=weight))
    rows = np.repeat(np.arange(60), weight)
    again = shown(clf.fit(problem.X[rows], problem.y[rows]))
    np.testing.assert_allclose(once, again, rtol=1e-6, atol=1e-6)


@given(st.integers(0, 2**16), st.integers(1, 59), st.sampled_from(STORAGE), st.booleans())
def test_second_moments_of_row_blocks_add_up(seed, cut, storage, intercept):
    problem = make_problem(seed)
    rng = np.random.RandomState(seed)
    weight, vectors = rng.rand(60), rng.randn(4 + intercept, 3)

    def engine(rows):
        X, codes = storage(problem.X[rows]), problem.y[rows]
        return LocalEngine(X, codes, 4, weight[rows], intercept=intercept)

    whole, parts = engine(slice(None)), [engine(slice(0, cut)), engine(slice(cut, None))]
    moment = whole.second_moment()
    X = np.hstack([problem.X, np.ones((60, 1))]) if intercept else problem.X
    pairs = zip(weight, X, strict=True)
    np.testing.assert_allclose(moment, sum(w * np.outer(x, x) for w, x in pairs))
    np.testing.assert_allclose(sum(part.second_moment() for part in parts), moment)
    products = sum(part.second_moment_product(vectors) for part in parts)
    np.testing.assert_allclose(products, moment @ vectors)
    np.testing.assert_allclose(whole.second_moment_product(vectors), moment @ vectors)


@pytest.mark.parametrize("storage", STORAGE)
def test_small_blocks_and_threads_change_nothing(monkeypatch, storage):
    from unconfused.engines.local import engine, rows

    rng = np.random.RandomState(0)
    X, codes, vectors = storage(rng.rand(1000, 5)), np.zeros(1000, dtype=int), rng.randn(6, 2)
    whole = LocalEngine(X, codes, 2)
    expected = whole.second_moment(), whole.second_moment_product(vectors)
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1)
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 10)
    parts = LocalEngine(X, codes, 2, n_threads=3)
    np.testing.assert_allclose(parts.feature_squares(), np.diag(expected[0]))
    np.testing.assert_allclose(parts.second_moment(), expected[0])
    np.testing.assert_allclose(parts.second_moment_product(vectors), expected[1])


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_many_features_are_solved_as_few_are(monkeypatch, storage, fit_intercept):
    problem = make_problem(3, n=300, d=12)
    clf = UnconfusedDiscriminantAnalysis(problem.C, shrinkage=0.1, fit_intercept=fit_intercept)
    narrow = shown(clf.fit(storage(problem.X), problem.y))
    monkeypatch.setattr(solver, "WIDE", 5)
    monkeypatch.setattr(solver, "PROBES", 2000)  # enough for the trace to be known
    wide = shown(clf.fit(storage(problem.X), problem.y))
    np.testing.assert_allclose(wide, narrow, rtol=2e-3, atol=2e-3 * np.abs(narrow).max())


def test_a_wide_covariance_answers_as_a_narrow_one(monkeypatch):
    rng = np.random.RandomState(0)
    X, vectors = rng.randn(200, 30) * np.linspace(0.1, 2, 30) + 1, rng.randn(3, 30)
    engine = LocalEngine(X, np.zeros(200, dtype=int), 2)
    centre = X.mean(axis=0)
    narrow, wide = NarrowCovariance(engine, centre), WideCovariance(engine, centre)
    assert wide.mean_variance == pytest.approx(narrow.mean_variance)
    np.testing.assert_allclose(wide.solve(vectors, 0.3), narrow.solve(vectors, 0.3), atol=1e-7)
    monkeypatch.setattr(solver, "PROBES", 3000)
    exact, near = narrow.spectrum(vectors), wide.spectrum(vectors)
    for ridge in (0.01, 1.0):
        forms = [one.vectors @ (1 / (one.values + ridge)) for one in (exact, near)]
        traces = [one.trace @ (one.values / (one.values + ridge)) for one in (exact, near)]
        assert forms[1] == pytest.approx(forms[0], rel=1e-6)
        assert traces[1] == pytest.approx(traces[0], rel=0.01)


def test_without_a_share_of_the_identity_constant_features_say_nothing():
    X, y = load_iris(return_X_y=True)
    plain = UnconfusedDiscriminantAnalysis(shrinkage=0).fit(X, y)
    more = UnconfusedDiscriminantAnalysis(shrinkage=0).fit(np.hstack([X, np.ones((150, 2))]), y)
    np.testing.assert_allclose(more.coef_[:, :4], plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(more.coef_[:, 4:], 0, atol=1e-9)


def test_the_ridge_is_that_of_generalised_cross_validation():
    problem = make_problem(5, n=80, d=6, diagonal=4.0)
    clf = UnconfusedDiscriminantAnalysis(problem.C).fit(problem.X, problem.y)
    labels = np.linalg.inv(problem.C)[problem.y]
    centred = problem.X - problem.X.mean(axis=0)
    average = np.trace(centred.T @ centred) / 80 / 6
    errors = []
    for ridge in average * np.logspace(-6, 3, 91):
        fitted = Ridge(alpha=80 * ridge).fit(problem.X, labels).predict(problem.X)
        hat = centred @ np.linalg.solve(centred.T @ centred + 80 * ridge * np.eye(6), centred.T)
        errors.append(np.sum((labels - fitted) ** 2) / (1 - (1 + np.trace(hat)) / 80) ** 2)
    best = average * np.logspace(-6, 3, 91)[int(np.argmin(errors))]
    engine = LocalEngine(problem.X, problem.y, 4)
    assert 0 < int(np.argmin(errors)) < 90  # or the choice is none
    within = best * (1 - clf.shrinkage_) / clf.shrinkage_
    fixed = fit_discriminant(engine, Unmixing(problem.C), clf.shrinkage_).weights
    assert 0 < within < 2 * average
    # A given share scales the covariance down as well; but for that, the same weights.
    offset = fixed[:, :-1] * (1 - clf.shrinkage_)
    np.testing.assert_allclose(clf.coef_, offset, rtol=1e-5, atol=1e-8)


def test_noise_of_the_masses_is_that_of_many_draws():
    problem = make_problem(2, n=400)
    unmixing, rng = Unmixing(problem.C), np.random.RandomState(0)
    drawn = [noise.corrupt_labels(problem.true, problem.C, random_state=rng) for _ in range(3000)]
    draws = unmixing.masses(np.array([np.bincount(y, minlength=4) for y in drawn]))
    counts = np.bincount(problem.true, minlength=4) @ problem.C
    expected = unmixing.mass_covariance(counts)
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.06 * np.abs(expected).max())
    np.testing.assert_allclose(np.diag(expected), unmixing.mass_errors(counts) ** 2)


def test_shares_are_drawn_together_by_label_noise_only():
    counts = np.array([70.0, 20.0, 10.0])
    np.testing.assert_allclose(shrunken_prior(Unmixing(np.eye(3)), counts), counts / 100)
    C = noise.symmetric(3, 0.5)
    blurred = shrunken_prior(Unmixing(C), np.array([36.0, 33.0, 31.0]))
    np.testing.assert_allclose(blurred, 1 / 3)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y, random_state=0, stratify=y)


SEEN_THROUGH = [
    (noise.symmetric(10, 0.2), 0.07),
    (noise.symmetric(10, 0.5), 0.12),
    (noise.pairwise(10, 0.3), 0.08),
]


@pytest.mark.parametrize(("matrix", "at_most"), SEEN_THROUGH)
def test_it_sees_through_the_noise(digits, matrix, at_most):
    X, X_test, true, y_test = digits
    y = noise.corrupt_labels(true, matrix, random_state=0)
    clf = UnconfusedDiscriminantAnalysis(matrix).fit(X, y)
    error = 1 - clf.score(X_test, y_test)
    assert error < at_most
    assert error < 1 - UMAClassifier(matrix, init="means", whiten=False).fit(X, y).score(
        X_test, y_test
    )
    posterior = clf.label_posterior(X, y)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert np.mean(posterior.argmax(axis=1) == true) > np.mean(y == true) + 0.1


def test_trusted_rows_give_the_matrix_and_count_with_their_truth(digits):
    X, X_test, true, y_test = digits
    y = noise.corrupt_labels(true, noise.pairwise(10, 0.3), random_state=0)
    y_true = np.where(np.arange(len(y)) % 5 == 0, true, -1)
    clf = UnconfusedDiscriminantAnalysis().fit(X, y, y_true=y_true)
    assert clf.score(X_test, y_test) > 0.92
    everything = UnconfusedDiscriminantAnalysis().fit(X, y, y_true=true)
    clean = UnconfusedDiscriminantAnalysis().fit(X, true)
    np.testing.assert_allclose(everything.coef_, clean.coef_, rtol=1e-6, atol=1e-9)


def test_precision_labels_and_storage(digits):
    X, _, true, _ = digits
    names = np.array(list("abcdefghij"))
    C = noise.pairwise(10, 0.2)
    y = noise.corrupt_labels(true, C, random_state=0)
    double = UnconfusedDiscriminantAnalysis(C).fit(X, y)
    single = UnconfusedDiscriminantAnalysis(C).fit(X.astype(np.float32), names[y])
    stored = UnconfusedDiscriminantAnalysis(C).fit(sparse.csr_array(X), y)
    assert single.coef_.dtype == single.means_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(single.classes_, names)
    np.testing.assert_allclose(stored.coef_, double.coef_, rtol=1e-6, atol=1e-8)


def test_what_cannot_be_fitted_is_told():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="singular"):
        UnconfusedDiscriminantAnalysis(np.full((3, 3), 1 / 3)).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        UnconfusedDiscriminantAnalysis().fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="shrinkage"):
        UnconfusedDiscriminantAnalysis(shrinkage=1.0).fit(X, y)
    with pytest.warns(ConfusionWarning, match="do not fit each other"):
        UnconfusedDiscriminantAnalysis(noise.symmetric(3, 0.5)).fit(X[:101], y[:101])
