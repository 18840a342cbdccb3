"""UMA in whitened geometry: the oracle on explicitly whitened rows, and the laws."""

import pickle

import naive
import numpy as np
import pytest
from problems import make_noisy_blobs, make_problem
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from unconfused import ConfusionWarning, UMAClassifier, UnconfusedDiscriminantAnalysis, noise
from unconfused._matrix import Unmixing
from unconfused.confusion import from_trusted
from unconfused.engines import LocalEngine
from unconfused.engines.base import RunningMoments
from unconfused.estimators._noisy import unmixing_for
from unconfused.solvers.uma import whitening
from unconfused.solvers.uma.whitening import Whitening, adapt_to_regions

FROM_ZERO = {"init": "zero", "whiten": True, "tol": 1e-3, "max_iter": 20}


@pytest.fixture(scope="module")
def blobs():
    return make_noisy_blobs()


@pytest.mark.parametrize("step", ["perceptron", "uniform"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_it_is_the_oracle_on_whitened_rows(step, form):
    problem = make_problem(3, n=80)
    X = problem.X * [1.0, 5.0, 0.2, 1.0] + 3.0
    clf = UMAClassifier(problem.C, step=step, **FROM_ZERO).fit(form(X), problem.y)
    centre, S = X.mean(axis=0), np.cov(X.T, bias=True)
    root = np.linalg.cholesky(np.linalg.inv(S + clf._state.ridge * np.eye(4)))
    rows = np.column_stack([(X - centre) @ root, np.ones(80)])
    options = {"rule": step, "tol": 1e-3, "max_iter": 20}
    W, pairs = naive.uma(rows.tolist(), problem.y, problem.C.tolist(), **options)
    assert pairs == list(
        zip(clf.history_["predicted"].tolist(), clf.history_["true"].tolist(), strict=True)
    )
    coef = W[:, :-1] @ root.T
    np.testing.assert_allclose(clf.coef_, coef, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(clf.intercept_, W[:, -1] - coef @ centre, rtol=1e-6, atol=1e-9)


def test_rows_in_any_order_and_weights_for_repeated_rows(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(C).fit(X, y)
    order = np.random.RandomState(0).permutation(len(y))
    np.testing.assert_allclose(UMAClassifier(C).fit(X[order], y[order]).coef_, clf.coef_, rtol=1e-6)
    weight = 1.0 + (np.arange(len(y)) % 3 == 0)
    weighted = UMAClassifier(C).fit(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    again = UMAClassifier(C).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(again.coef_, weighted.coef_, rtol=1e-6)


def test_without_a_ridge_linear_maps_of_the_features_change_nothing(blobs, monkeypatch):
    X, _, y, C = blobs
    monkeypatch.setattr(Whitening, "ridge", lambda self: 1e-13 * self.covariance.mean_variance)
    turned = X @ np.random.RandomState(0).randn(5, 5) + 7.0
    clf, other = (UMAClassifier(C, **FROM_ZERO).fit(rows, y) for rows in (X, turned))
    np.testing.assert_allclose(
        other.decision_function(turned), clf.decision_function(X), rtol=1e-5, atol=1e-6
    )


def test_moments_of_chunks_add_up(blobs):
    X, _, y, C = blobs
    whole, first, second = (
        RunningMoments.of(LocalEngine(X[s], y[s], 4), 4, 1000)
        for s in (slice(None), slice(200), slice(200, None))
    )
    both, unmixing = first + second, Unmixing(C, trusted=True)
    np.testing.assert_allclose(both.second_moment(), whole.second_moment())
    ridges = [Whitening(rows, unmixing).ridge() for rows in (both, whole)]
    assert ridges[0] == pytest.approx(ridges[1])
    clf = UMAClassifier(C)
    for first in range(0, 600, 200):
        clf.partial_fit(X[first : first + 200], y[first : first + 200], classes=range(4))
    np.testing.assert_allclose(clf._state.moments.second_moment(), whole.second_moment())


def test_sparse_rows_stay_sparse():
    X = sparse.random_array((50, 30), density=0.1, format="csr", rng=0)
    engine = LocalEngine(X, np.arange(50) % 2, 2)
    change = Whitening(engine, Unmixing(np.eye(2))).row_map(0.1)
    assert change.matrix.shape == (30,)
    mapped = engine.mapped(change)
    assert np.shares_memory(mapped.rows.stored[1], X.indices)
    weights = np.random.RandomState(0).randn(2, 31)
    np.testing.assert_allclose(change.from_mapped(change.to_mapped(weights)), weights)


def test_kept_updates_are_sums_of_the_original_rows(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(C, keep_updates=True, **FROM_ZERO).fit(X, y)
    unmix = np.linalg.inv(C)[y, clf.history_["true"][0]]
    np.testing.assert_allclose(clf.updates_[0], unmix @ X / len(X), atol=1e-9)


def test_region_coefficients_tend_to_the_inverse_and_keep_trusted_labels():
    C = make_problem(1).C
    counts = np.full((4, 8), 1e5)
    unmixing = Unmixing(C, trusted=True)
    adapted = adapt_to_regions(unmixing, counts).coefficients_by_region
    np.testing.assert_allclose(
        adapted[:, :4], np.broadcast_to(np.linalg.inv(C), (4, 4, 4)), rtol=1e-2
    )
    np.testing.assert_array_equal(adapted[:, 4:], np.broadcast_to(np.eye(4), (4, 4, 4)))
    clean = adapt_to_regions(Unmixing(np.eye(4)), counts[:, :4]).coefficients_by_region
    np.testing.assert_allclose(clean, np.broadcast_to(np.eye(4), (4, 4, 4)), atol=1e-12)


def test_an_update_of_all_pairs_is_the_shrunken_sum_of_single_ones(monkeypatch):
    problem = make_problem(3, n=120)
    engine, unmixing = LocalEngine(problem.X, problem.y, 4), Unmixing(problem.C)
    weights = np.random.RandomState(1).randn(4, engine.n_features)
    monkeypatch.setattr(whitening, "ALL_PAIRS_ROUNDS", 1)
    found = whitening.update_all_pairs(engine, unmixing, weights, None)
    rows = np.column_stack([problem.X, np.ones(120)])
    predicted = (rows @ weights.T).argmax(axis=1)
    counts = np.zeros((4, 4))
    np.add.at(counts, (predicted, problem.y), 1)
    coefficients = adapt_to_regions(unmixing, counts).coefficients_by_region
    expected = weights.copy()
    for p in range(4):
        for q in {0, 1, 2, 3} - {p}:
            inside = predicted == p
            unmixed = coefficients[p][problem.y[inside], q]
            z = unmixed @ rows[inside] / 120
            noise = unmixed**2 @ (rows[inside] ** 2).sum(axis=1) / 120**2
            z *= max(0.0, 1 - noise / (z @ z))
            expected[q] += 4 * z
            expected[p] -= 4 * z
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), weights.sum(axis=0), atol=1e-9)


def test_errors_of_an_estimated_matrix_are_not_chased(blobs, monkeypatch):
    X, true, y, C = blobs
    calls = []
    update = whitening.update_all_pairs
    monkeypatch.setattr(
        "unconfused.solvers.uma.solver.update_all_pairs",
        lambda *args: calls.append(1) or update(*args),
    )
    UMAClassifier(from_trusted(true[::3], y[::3]), relabel=0).fit(X, y)
    assert not calls
    UMAClassifier(C).fit(X, y)
    assert calls


def test_a_matrix_from_trusted_rows_is_refined_by_the_regions(blobs):
    X, true, y, C = blobs
    known = np.where(np.arange(600) % 10 == 0, true, -1)
    clf = UMAClassifier().fit(X, y, y_true=known)
    counted = unmixing_for(clf._check_data(X, y, known, None, None, reset=False), None, None)
    errors = [np.abs(found - C).sum() for found in (clf.confusion_, counted.matrix)]
    assert errors[0] < 0.8 * errors[1]


def test_a_row_of_the_matrix_without_trusted_rows_is_not_refined(blobs):
    X, true, y, _ = blobs
    known = np.where((np.arange(600) % 4 == 0) & (true != 2), true, -1)
    with pytest.warns(ConfusionWarning, match="No trusted row"):
        clf = UMAClassifier().fit(X, y, y_true=known)
    with pytest.warns(ConfusionWarning, match="No trusted row"):
        counted = UMAClassifier(whiten=False).fit(X, y, y_true=known)
    np.testing.assert_allclose(clf.confusion_[2], counted.confusion_[2])
    assert not np.allclose(clf.confusion_, counted.confusion_)
    assert clf.score(X, true) > 0.9


def test_a_matrix_that_was_passed_is_not_refined(blobs):
    X, true, y, _ = blobs
    known = np.where(np.arange(600) % 10 == 0, true, -1)
    estimate = from_trusted(known[known >= 0], y[known >= 0], classes=range(4))
    clf = UMAClassifier(estimate).fit(X, y, y_true=known)
    np.testing.assert_allclose(clf.confusion_, estimate.matrix)
    counted = UMAClassifier().fit(X, y, y_true=known).confusion_
    assert np.abs(counted - estimate.matrix).max() > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_regions_that_know_their_rows_do_not_spoil_the_matrix(seed):
    """More features than rows: a model fitted to the labels repeats them on its own rows."""
    rng = np.random.default_rng(seed)
    true = rng.integers(3, size=600)
    X = rng.normal(size=(600, 900)) + 6 * np.eye(3, 900)[true]
    C = noise.pairwise(3, 0.4)
    y = noise.corrupt_labels(true, C, random_state=seed)
    known = np.where(np.arange(600) < 40, true, -1)
    refined = UMAClassifier(relabel=0).fit(X, y, y_true=known).confusion_
    counted = UMAClassifier(whiten=False).fit(X, y, y_true=known).confusion_
    assert np.abs(refined - C).sum() < 0.7 * np.abs(counted - C).sum()


@pytest.mark.parametrize("seed", range(3))
def test_trusted_rows_alone_are_not_better(seed):
    """The labels are those of a model of thirty rows, so that mistakes depend on the rows."""
    X, true = load_digits(return_X_y=True)
    X, X_test, true, true_test = train_test_split(X / 16, true, random_state=seed, stratify=true)
    rough = UnconfusedDiscriminantAnalysis(shrinkage=0.1).fit(X[:30, ::3], true[:30])
    y, known = rough.predict(X[:, ::3]), np.where(np.arange(len(X)) % 8 == 0, true, -1)
    alone = UnconfusedDiscriminantAnalysis().fit(X[known >= 0], true[known >= 0])
    through = UMAClassifier(relabel=0).fit(X, y, y_true=known)
    average = UMAClassifier().fit(X, y, y_true=known)
    assert through.score(X_test, true_test) < alone.score(X_test, true_test) - 0.05
    assert average.score(X_test, true_test) >= alone.score(X_test, true_test) - 0.01


def test_a_fit_that_goes_on_refines_the_matrix_again(blobs):
    X, true, y, _ = blobs
    known = np.where(np.arange(600) % 10 == 0, true, -1)
    whole = UMAClassifier(max_iter=40, tol=1e-9, relabel=0).fit(X, y, y_true=known)
    warm = clone(whole).set_params(max_iter=20, warm_start=True).fit(X, y, y_true=known)
    warm = pickle.loads(pickle.dumps(warm)).fit(X, y, y_true=known)
    assert whole.n_iter_ == warm.n_iter_ == 40
    np.testing.assert_allclose(warm.coef_, whole.coef_)
    np.testing.assert_array_equal(warm.confusion_, whole.confusion_)
    known = np.where(np.arange(600) % 3 == 0, true, -1)
    warm.fit(X, y, y_true=known)  # other trusted rows: another matrix
    whole.fit(X, y, y_true=known)
    np.testing.assert_allclose(warm.confusion_, whole.confusion_)


def test_the_error_set_at_alpha(blobs):
    X, _, y, C = blobs
    seen = []

    def step(scores, target, predicted, squared_norm):
        seen.append(np.delete(scores, target).max() - scores[target])
        steps = np.zeros(4)
        steps[target], steps[predicted] = 1.0, -1.0
        return steps

    options = {"alpha": 0.01, "init": "means", "step": step, "tol": 1e-6, "max_iter": 30}
    UMAClassifier(C, error_margin="alpha", **options).fit(X, y)
    assert min(seen, default=0.0) >= -1e-9  # scores come with the margin added
    n_at_alpha = len(seen)
    seen.clear()
    UMAClassifier(C, **options).fit(X, y)
    assert len(seen) >= n_at_alpha


def test_rounds_run_the_noise_free_algorithm_on_pseudo_labels(blobs):
    X, true, y, C = blobs
    once, rounds = UMAClassifier(C, relabel=0).fit(X, y), UMAClassifier(C).fit(X, y)
    assert not np.array_equal(once.coef_, rounds.coef_)
    assert rounds.score(X, true) >= once.score(X, true) - 0.01
    assert len(rounds.history_["norm"]) == rounds.n_iter_
    weighted = UMAClassifier(C).fit(X, y, sample_weight=np.full(len(y), 3.0))
    assert np.array_equal(weighted.predict(X), rounds.predict(X))
    for settings in ({"tol": 0.0}, {"max_iter": 50}, {"init": "means"}, {"alpha": 1e-6}):
        options = {"whiten": True, **settings}
        plain = UMAClassifier(C, relabel=0, **options).fit(X, y)
        assert np.array_equal(UMAClassifier(C, **options).fit(X, y).coef_, plain.coef_)


def test_rounds_improve_digits():
    X, true = load_digits(return_X_y=True)
    C = noise.random_confusion(10, strength=0.6, random_state=0)
    gains = []
    for seed in range(2):
        rows = train_test_split(X / 16, true, random_state=seed, stratify=true)
        y = noise.corrupt_labels(rows[2], C, random_state=seed)
        scores = [
            UMAClassifier(C, relabel=n).fit(rows[0], y).score(rows[1], rows[3]) for n in (0, 2)
        ]
        gains.append(scores[1] - scores[0])
    assert np.mean(gains) > 0


def test_rounds_end_where_mistakes_depend_on_the_rows(blobs):
    X, true, _, C = blobs
    rough = np.where(X[:, 0] > np.quantile(X[:, 0], 0.7), (true + 1) % 4, true)
    once, asked = (UMAClassifier(C, relabel=n).fit(X, rough) for n in (0, 2))
    assert np.array_equal(once.coef_, asked.coef_)
