"""UMA in the dual form: the same algorithm, of which linear UMA is the linear kernel's case."""

from __future__ import annotations

import numpy as np
import pytest
from problems import make_noisy_blobs, make_problem, plain_uma
from scipy import sparse
from sklearn.datasets import make_circles
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from unconfused import KernelUMAClassifier, load, noise, save
from unconfused.engines import kernel as engine
from unconfused.persistence import ExportError, to_onnx

TIGHT = {"tol": 1e-9, "max_iter": 60}
"""No statistical stop: the same updates, or not."""


def assert_same(linear, dual, X):
    np.testing.assert_array_equal(dual.history_["predicted"], linear.history_["predicted"])
    np.testing.assert_array_equal(dual.history_["true"], linear.history_["true"])
    np.testing.assert_allclose(dual.history_["norm"], linear.history_["norm"], rtol=1e-6)
    np.testing.assert_allclose(
        dual.decision_function(X), linear.decision_function(X), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_array_equal(dual.predict(X), linear.predict(X))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fit_intercept": False},
        {"init": "means"},
        {"average": True},
        {"alpha": 0.05},
        {"step": "mira", "selection": "confusion"},
        {"class_weight": "balanced", "step": "passive_aggressive"},
    ],
    ids=str,
)
def test_a_linear_kernel_is_linear_uma(settings):
    problem = make_problem(1, n=300)
    linear = plain_uma(problem.C, **TIGHT, **settings).fit(problem.X, problem.y)
    dual = KernelUMAClassifier(problem.C, kernel="linear", **TIGHT, **settings)
    assert_same(linear, dual.fit(problem.X, problem.y), problem.X)


def test_so_it_is_with_the_default_stop_truths_weights_and_sparse_rows():
    X, true, y, C = make_noisy_blobs()
    X = X / 10
    rng = np.random.RandomState(0)
    truth = np.where(rng.rand(len(y)) < 0.2, true, -1)
    weight = rng.randint(1, 4, len(y)).astype(float)
    for arguments in ({}, {"y_true": truth}, {"sample_weight": weight}):
        linear = plain_uma(C).fit(X, y, **arguments)
        dual = KernelUMAClassifier(C, kernel="linear").fit(X, y, **arguments)
        assert_same(linear, dual, X)
    rows = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0))
    linear = plain_uma(C, **TIGHT).fit(rows, y)
    dual = KernelUMAClassifier(C, kernel="linear", **TIGHT).fit(rows, y)
    assert_same(linear, dual, rows)


@pytest.mark.slow
def test_small_blocks_and_rebuilt_sums_change_nothing(monkeypatch):
    problem = make_problem(3, n=100)
    whole = KernelUMAClassifier(problem.C, **TIGHT).fit(problem.X, problem.y)
    monkeypatch.setattr(engine, "BLOCK_VALUES", 350)
    monkeypatch.setattr("unconfused.engines.array_api.cells.REBUILD_AFTER", 0)
    parts = KernelUMAClassifier(problem.C, **TIGHT).fit(problem.X, problem.y)
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_, rtol=1e-6, atol=1e-9)


def test_landmarks_are_uma_on_nystroem_features():
    """The sparse form: the kernel seen through m landmark rows is that of Nystroem's features."""
    problem = make_problem(4, n=300)
    landmarks = Nystroem(gamma=0.5, n_components=25, random_state=0).fit(problem.X)

    def through_landmarks(a, b):
        return landmarks.transform(a) @ landmarks.transform(b).T

    sparse_form = make_pipeline(landmarks, plain_uma(problem.C, **TIGHT))
    sparse_form.fit(problem.X, problem.y)
    dual = KernelUMAClassifier(problem.C, kernel="precomputed", **TIGHT)
    dual.fit(through_landmarks(problem.X, problem.X), problem.y)
    new = make_problem(5, n=100).X
    np.testing.assert_array_equal(
        dual.predict(through_landmarks(new, problem.X)), sparse_form.predict(new)
    )
    # With every row a landmark it is the kernel itself.
    every = Nystroem(gamma=0.5, n_components=300, random_state=0)
    exact = KernelUMAClassifier(problem.C, gamma=0.5, **TIGHT).fit(problem.X, problem.y)
    full = make_pipeline(every, plain_uma(problem.C, **TIGHT)).fit(problem.X, problem.y)
    assert np.mean(exact.predict(new) == full.predict(new)) > 0.97


def test_named_called_and_precomputed_kernels_agree():
    problem = make_problem(6, n=60)
    new = make_problem(7, n=40).X
    named = KernelUMAClassifier(problem.C, gamma=0.7, **TIGHT).fit(problem.X, problem.y)

    def gaussian(a, b):
        return float(np.exp(-0.7 * np.sum((a - b) ** 2)))

    called = KernelUMAClassifier(problem.C, kernel=gaussian, **TIGHT).fit(problem.X, problem.y)
    given = KernelUMAClassifier(problem.C, kernel="precomputed", **TIGHT)
    given.fit(rbf_kernel(problem.X, gamma=0.7), problem.y)
    scores = named.decision_function(new)
    np.testing.assert_allclose(called.decision_function(new), scores, rtol=1e-6, atol=1e-9)
    values = rbf_kernel(new, problem.X, gamma=0.7)
    np.testing.assert_allclose(given.decision_function(values), scores, rtol=1e-6, atol=1e-9)


def test_rings_are_told_apart_through_the_noise():
    X, y = make_circles(600, factor=0.4, noise=0.08, random_state=0)
    C = np.array([[0.9, 0.1], [0.4, 0.6]])
    seen = noise.corrupt_labels(y, C, random_state=0)
    dual = KernelUMAClassifier(C).fit(X, seen)
    assert dual.score(X, y) > 0.97
    assert dual.dual_coef_.shape == (1, 600)
    precomputed = KernelUMAClassifier(C, kernel="precomputed")
    gram = rbf_kernel(X, gamma=dual.gamma_)
    assert cross_val_score(precomputed, gram, seen, cv=3).min() > 0.6  # agreement with noise


def test_saved_models_and_refusals(tmp_path):
    problem = make_problem(8, n=120)
    dual = KernelUMAClassifier(problem.C).fit(problem.X, problem.y)
    save(dual, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(problem.X), dual.predict(problem.X))
    with pytest.raises(ExportError, match="cannot be exported"):
        to_onnx(dual)
    with pytest.raises(ValueError, match="square"):
        KernelUMAClassifier(kernel="precomputed").fit(problem.X, problem.y)
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="UMAClassifier on kernel features"):
        dual.fit(dask.from_array(problem.X), problem.y)
    lazily = dual.predict(dask.from_array(problem.X, chunks=(50, -1)))
    np.testing.assert_array_equal(lazily.compute(), dual.predict(problem.X))
