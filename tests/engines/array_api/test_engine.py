"""Arrays of other libraries: the same pairs, weights and passes as with NumPy."""

import numpy as np
import pytest
from problems import make_problem
from sklearn import config_context

from unconfused import UMAClassifier, UnconfusedDiscriminantAnalysis, UnconfusedLogisticRegression
from unconfused.engines import ArrayEngine, LocalEngine
from unconfused.engines.array_api import namespace
from unconfused.estimators._base import make_engine
from unconfused.steps import STEPS

strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")

pytestmark = pytest.mark.slow


def _torch():
    return pytest.importorskip("torch", reason="torch is not installed: pip install torch")


@pytest.fixture(params=["array_api_strict", "torch"])
def put(request, monkeypatch):
    """Turn NumPy arrays into those of a library, with scikit-learn's dispatch on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    library = strict if request.param == "array_api_strict" else _torch()
    with config_context(array_api_dispatch=True):
        yield lambda array: library.asarray(np.ascontiguousarray(array))


def engines(put, seed=1, intercept=True, n=200):
    problem = make_problem(seed, n=n)
    weight = np.random.RandomState(seed).randint(1, 4, n).astype(float)
    X = put(problem.X)
    arguments = {"intercept": intercept, "n_threads": 1}
    plain = make_engine(problem.X, problem.y, 4, weight, **arguments)
    other = make_engine(X, problem.y, 4, weight, **arguments)
    assert type(plain) is LocalEngine and type(other) is ArrayEngine
    return problem, plain, other


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(namespace, "BLOCK_BYTES", 8 * 6 * 30)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("intercept", [True, False])
def test_sums_over_rows(put, intercept):
    _, plain, other = engines(put, intercept=intercept)
    vectors = np.random.RandomState(0).randn(plain.n_features, 3)
    for found, expected in [
        (other.code_counts, plain.code_counts),
        (other.code_squares, plain.code_squares),
        (other.code_sums(), plain.code_sums()),
        (other.feature_squares(), plain.feature_squares()),
        (other.second_moment(), plain.second_moment()),
        (other.second_moment_product(vectors), plain.second_moment_product(vectors)),
    ]:
        np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("scale", [1.0, 2000.0])  # the larger makes labels all but impossible
def test_one_pass_of_the_likelihood(put, scale):
    problem, plain, other = engines(put)
    mixing = problem.C.T.copy()
    mixing[0, 1] = 0.0
    weights = scale * np.random.RandomState(1).randn(4, plain.n_features)
    counted = np.array([1.0, 0.5, 1.0, 2.0])
    expected = plain.likelihood(weights, mixing, counted)
    found = other.likelihood(weights, mixing, counted)
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-9)
    np.testing.assert_allclose(found.posterior, expected.posterior, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("step", STEPS)
def test_same_pairs_and_weights(put, step, alpha):
    problem = make_problem(2, n=120)
    truth = [int(t) if i % 5 == 0 else None for i, t in enumerate(problem.true)]
    weight = np.random.RandomState(2).randint(1, 4, 120).astype(float)
    fits = []
    for X in (problem.X, put(problem.X)):
        clf = UMAClassifier(problem.C, step=step, alpha=alpha, tol=1e-6, max_iter=40)
        fits.append(clf.fit(X, problem.y, y_true=truth, sample_weight=weight))
    plain, other = fits
    assert plain.n_iter_ > 20
    for name in ("predicted", "true"):
        np.testing.assert_array_equal(other.history_[name], plain.history_[name])
    np.testing.assert_allclose(other._state.weights, plain._state.weights, atol=1e-9)


def test_rounding_does_not_pile_up(put, monkeypatch):
    monkeypatch.setattr("unconfused.engines.array_api.cells.REBUILD_AFTER", 0)
    problem = make_problem(3)
    fits = [
        UMAClassifier(problem.C, tol=1e-6, max_iter=30).fit(X, problem.y)
        for X in (problem.X, put(problem.X))
    ]
    np.testing.assert_allclose(fits[1]._state.weights, fits[0]._state.weights, atol=1e-9)


MODELS = [
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_estimators_answer_in_the_library_of_the_rows(put, model, n_classes):
    problem = make_problem(1, n=300, Q=n_classes)
    plain = model(problem.C).fit(problem.X, problem.y)
    X = put(problem.X)
    clf = model(problem.C).fit(X, put(problem.y))
    kind = type(X)
    methods = ["decision_function", "predict"]
    if hasattr(clf, "predict_proba"):
        methods += ["predict_proba", "predict_log_proba"]
    for found, expected in [
        (clf.coef_, plain.coef_),
        (clf.intercept_, plain.intercept_),
        *((getattr(clf, name)(X), getattr(plain, name)(problem.X)) for name in methods),
    ]:
        assert type(found) is kind
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-6)
    assert clf.score(X, problem.true) == pytest.approx(plain.score(problem.X, problem.true))
    if hasattr(clf, "label_posterior"):
        found = clf.label_posterior(X, problem.y)
        assert type(found) is kind
        np.testing.assert_allclose(
            np.asarray(found), plain.label_posterior(problem.X, problem.y), atol=1e-6
        )


def test_trusted_rows_choose_the_noisy_weight(put):
    problem = make_problem(1, n=120)
    truth = [int(t) if i % 3 == 0 else None for i, t in enumerate(problem.true)]
    fits = [
        UnconfusedLogisticRegression(random_state=0).fit(X, problem.y, y_true=truth)
        for X in (problem.X, put(problem.X))
    ]
    assert fits[0].noisy_weight_ == fits[1].noisy_weight_
    np.testing.assert_allclose(np.asarray(fits[1].coef_), fits[0].coef_, atol=1e-4)


def test_votes_of_several_annotators(put):
    problem = make_problem(1, n=150)
    votes = np.column_stack([problem.y, problem.true, problem.y])
    fits = [UnconfusedLogisticRegression().fit(X, votes) for X in (problem.X, put(problem.X))]
    np.testing.assert_allclose(np.asarray(fits[1].coef_), fits[0].coef_, atol=1e-4)


def test_labels_may_be_strings(put):
    problem = make_problem(1)
    names = np.array(["a", "b", "c", "d"])
    X = put(problem.X)
    predicted = UMAClassifier(problem.C).fit(X, names[problem.y]).predict(X)
    assert isinstance(predicted, np.ndarray) and set(predicted) <= set(names)


def test_single_precision_stays(put):
    problem = make_problem(7)
    X32 = problem.X.astype(np.float32)
    clf = UMAClassifier(problem.C, tol=1e-6, max_iter=25).fit(put(X32), problem.y)
    plain = UMAClassifier(problem.C, tol=1e-6, max_iter=25).fit(X32, problem.y)
    assert np.asarray(clf.coef_).dtype == np.float32
    np.testing.assert_allclose(clf._state.weights, plain._state.weights, atol=1e-9)


def test_other_rows_than_those_of_the_fit_are_refused(put):
    problem = make_problem(1)
    clf = UMAClassifier(problem.C).fit(put(problem.X), problem.y)
    with pytest.raises(ValueError, match="must use the same namespace"):
        clf.predict(problem.X)
    with config_context(array_api_dispatch=False), pytest.raises(ValueError, match="was fitted on"):
        clf.predict(problem.X)


def test_arrays_elsewhere_need_dispatch():
    problem = make_problem(1)
    elsewhere = _torch().asarray(problem.X).to("meta")
    with pytest.raises(TypeError, match="array_api_dispatch=True"):
        UMAClassifier(problem.C).fit(elsewhere, problem.y)


def test_tensors_on_the_host_are_numpy_without_dispatch():
    problem = make_problem(1)
    clf = UMAClassifier(problem.C).fit(_torch().asarray(problem.X), problem.y)
    assert isinstance(clf.coef_, np.ndarray)


@pytest.mark.parametrize("dispatch", [True, False])
def test_sparse_tensors_are_refused(monkeypatch, dispatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    problem = make_problem(1)
    X = _torch().asarray(problem.X).to_sparse()
    with config_context(array_api_dispatch=dispatch), pytest.raises(TypeError, match="sparse"):
        UMAClassifier(problem.C).fit(X, problem.y)
