"""P(class | row, label): every implementation gives the same, at the ends of the scale too."""

import os
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import log_softmax, logsumexp, softmax
from sklearn import config_context

from unconfused import UnconfusedLogisticRegression
from unconfused.confusion.estimation.calibration import posterior_given
from unconfused.engines import ArrayEngine, LocalEngine
from unconfused.engines.base import logarithms, posterior
from unconfused.estimators._arrays import array_space

N_CLASSES = 4
CHANCES = st.sampled_from([0.0, 1e-300, 1e-30, 1e-6, 0.01, 0.5, 1.0])
SCORES = arrays(np.float64, (3, N_CLASSES), elements=st.integers(-1000, 1000).map(float))
EQUALLY_FAR = np.array([[0.0, -600, -600, -900], [0.0, -700, -700, -900], [0.0, -800, -800, -801]])
ONLY_FAR_ONES = np.tile([0.0, 0.5, 0.5, 0.0], (3, 1))


@st.composite
def mixings(draw):
    """Chances of three labels given each class; every label is possible for one, at least."""
    chances = draw(arrays(np.float64, (3, N_CLASSES), elements=CHANCES))
    for row in chances:
        row[draw(st.integers(0, N_CLASSES - 1))] = draw(st.sampled_from([1e-300, 0.3, 1.0]))
    return chances


def one_pass(engine, scores, chances):
    """Return losses' sum, derivatives by scores and posteriors of rows that are unit vectors."""
    found = engine.likelihood(np.ascontiguousarray(scores.T), chances, np.ones(len(scores)))
    return found.loss, found.gradient.T, found.posterior


def local(dtype, sparse=False):
    from scipy.sparse import csr_matrix

    rows = np.eye(3, dtype=dtype)
    X = csr_matrix(rows) if sparse else rows
    engine = LocalEngine(X, np.arange(3), 3, np.ones(3), intercept=False)
    return lambda scores, chances: one_pass(engine, scores, chances)


def space_of(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        with config_context(array_api_dispatch=True):
            return array_space(rows)


def array_api(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    rows = xp.asarray(np.eye(3))
    engine = ArrayEngine(rows, np.arange(3), 3, np.ones(3), space=space_of(rows), intercept=False)
    return lambda scores, chances: one_pass(engine, scores, chances)


def numpy_helper():
    def found(scores, chances):
        losses, shares, given_label = posterior(np, scores, logarithms(chances))
        return losses.sum(), shares - given_label, given_label

    return found


def triton():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("triton", reason="triton is not installed")
    if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET")):
        pytest.skip("needs a CUDA device")
    from unconfused.engines.cuda import engine as cuda

    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.eye(3, dtype=torch.float32, device=device)
    data = rows, np.arange(3), 3, np.ones(3)
    engine = cuda.TorchEngine(*data, space=space_of(rows), intercept=False)

    return lambda scores, chances: one_pass(engine, scores, chances)


IMPLEMENTATIONS = {
    "local": (lambda: local(np.float64), 1e-12),
    "local, float32": (lambda: local(np.float32), 1e-6),
    "local, sparse": (lambda: local(np.float64, sparse=True), 1e-12),
    "array-api-strict": (lambda: array_api("array_api_strict"), 1e-12),
    "torch": (lambda: array_api("torch"), 1e-12),
    "numpy": (numpy_helper, 1e-12),
    "triton": (triton, 1e-5),
}


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def implementation(request):
    make, tolerance = IMPLEMENTATIONS[request.param]
    return make(), tolerance


@given(SCORES, mixings(), st.permutations(range(N_CLASSES)))
@example(EQUALLY_FAR, ONLY_FAR_ONES, [2, 3, 1, 0])
def test_all_are_the_softmax_of_score_and_log_chance(implementation, scores, chances, order):
    measure, near = implementation
    with np.errstate(divide="ignore"):
        levels = scores + np.log(chances)
    expected = softmax(levels, axis=1)
    residuals = softmax(scores, axis=1) - expected
    losses = logsumexp(scores, axis=1) - logsumexp(levels, axis=1)
    loss, gradient, found = measure(scores, chances)
    np.testing.assert_allclose(found, expected, rtol=0, atol=near)
    np.testing.assert_allclose(gradient, residuals, rtol=0, atol=near)
    np.testing.assert_allclose(loss, losses.sum(), rtol=near, atol=10 * near)
    loss, gradient, found = measure(scores[:, order], chances[:, order])
    np.testing.assert_allclose(found, expected[:, order], rtol=0, atol=near)
    np.testing.assert_allclose(gradient, residuals[:, order], rtol=0, atol=near)
    np.testing.assert_allclose(loss, losses.sum(), rtol=near, atol=10 * near)


@pytest.mark.parametrize("far", [600.0, 700.0, 800.0])
def test_a_fitted_model_says_the_same(far):
    C = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    X = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
    model = UnconfusedLogisticRegression(C, max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # C is singular, and two steps are few
        model.fit(X, [0, 1, 2, 0, 1, 2])
    model.coef_, model.intercept_ = np.array([[0.0], [-far], [-far]]), np.zeros(3)
    found = model.label_posterior([[1.0], [1.0]], [1, 2])
    np.testing.assert_allclose(found, np.tile([0, 0.5, 0.5], (2, 1)), atol=1e-12)


@given(arrays(np.float64, (3, N_CLASSES), elements=st.floats(-50, 50)), mixings())
def test_probabilities_say_the_same_as_scores(scores, chances):
    with np.errstate(divide="ignore"):
        expected = softmax(log_softmax(scores, axis=1) + np.log(chances), axis=1)
    np.testing.assert_allclose(
        posterior_given(softmax(scores, axis=1), chances), expected, atol=1e-12
    )


def test_evidence_that_no_class_allows_says_nothing():
    probability = np.array([[1.0, 0.0], [0.3, 0.7]])
    found = posterior_given(probability, np.array([[0.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, probability)
