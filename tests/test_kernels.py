"""The kernel projection: scikit-learn's conventions, and what is ours around its parts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_circles
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from unconfused import kernels
from unconfused.kernels import KernelProjection, kernel_projection, median_gamma


@pytest.fixture
def blobs():
    return make_blobs(300, n_features=4, centers=5, random_state=0)[0]


@parametrize_with_checks(
    [
        KernelProjection(),
        KernelProjection(n_components=2, exact_limit=0),
        KernelProjection(kernel="cosine", gamma=1.0, unit_norm=False),
        KernelProjection(n_components=2, kernel="cosine", exact_limit=0, dtype=np.float64),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_the_function_passes_every_parameter_on():
    options = {
        "n_components": 7,
        "kernel": "cosine",
        "gamma": 0.5,
        "exact_limit": 9,
        "unit_norm": False,
        "dtype": np.float64,
        "random_state": 3,
    }
    assert kernel_projection(**options).get_params() == options
    assert kernel_projection().get_params() == KernelProjection().get_params()


# The width ----------------------------------------------------------------------------------------


def test_median_gamma_is_the_inverse_median_squared_distance(blobs):
    pairs = [np.sum((a - b) ** 2) for i, a in enumerate(blobs) for b in blobs[:i]]
    assert median_gamma(blobs) == pytest.approx(1 / np.median(pairs))
    assert median_gamma(sparse.csr_matrix(blobs)) == pytest.approx(1 / np.median(pairs))


def test_median_gamma_samples_many_rows():
    X = np.random.RandomState(0).normal(size=(5000, 3))
    assert median_gamma(X, random_state=0) == median_gamma(X, random_state=0)
    assert median_gamma(X, random_state=0) == pytest.approx(
        median_gamma(X, random_state=1), rel=0.2
    )


def test_median_gamma_where_most_rows_coincide():
    X = np.zeros((10, 2))
    assert median_gamma(X) == 1.0
    X[0, 0] = 3.0  # 9 of the 45 pairs are at the squared distance 9
    assert median_gamma(X) == pytest.approx(45 / (9 * 9))


def test_a_given_width_is_used(blobs):
    assert kernel_projection(3, gamma=0.125).fit(blobs).gamma_ == 0.125


# The projection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "cosine"])
def test_exact_projection_is_kernel_pca(blobs, kernel):
    options = {"kernel": kernel, "gamma": 0.1}
    expected = KernelPCA(4, eigen_solver="dense", **options).fit_transform(blobs)
    found = kernel_projection(4, unit_norm=False, dtype=np.float64, **options).fit_transform(blobs)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_approximation_with_all_rows_is_exact(blobs):
    X = blobs[:60]
    options = {"gamma": 0.1, "unit_norm": False, "dtype": np.float64}
    exact = kernel_projection(10, **options).fit_transform(X)
    # 2 x 30 drawn rows are all the rows; both orderings are by variance, signs aside.
    near = kernel_projection(30, exact_limit=0, random_state=0, **options).fit_transform(X)
    np.testing.assert_allclose(np.abs(near[:, :10]), np.abs(exact), atol=1e-6)


def test_beyond_the_limit_it_is_nystroem_then_pca(blobs):
    steps = kernel_projection(5, exact_limit=299).fit(blobs).projector_
    assert isinstance(steps[0], Nystroem)
    assert isinstance(steps[1], PCA)
    assert steps[0].components_.shape == (10, 4)
    assert isinstance(kernel_projection(5, exact_limit=300).fit(blobs).projector_, KernelPCA)


@pytest.mark.parametrize("exact_limit", [0, 5000])
def test_rows_have_unit_norm_in_float32(blobs, exact_limit):
    projection = kernel_projection(8, exact_limit=exact_limit, random_state=0)
    projected = projection.fit_transform(blobs)
    assert projected.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(projected, axis=1), 1.0, rtol=1e-6)
    long = kernel_projection(8, exact_limit=exact_limit, unit_norm=False, random_state=0)
    norms = np.linalg.norm(long.fit_transform(blobs), axis=1)
    assert norms.std() > 1e-3


@pytest.mark.parametrize("exact_limit", [0, 5000])
def test_identical_rows_project_to_zero_not_nan(exact_limit):
    X = np.ones((20, 3))
    projected = kernel_projection(4, exact_limit=exact_limit).fit_transform(X)
    np.testing.assert_array_equal(projected, 0.0)


@pytest.mark.parametrize("exact_limit", [0, 5000])
def test_a_row_far_from_all_others_is_finite(blobs, exact_limit):
    projection = kernel_projection(4, exact_limit=exact_limit, random_state=0).fit(blobs)
    assert np.isfinite(projection.transform(np.full((1, 4), 1e6))).all()


@pytest.mark.parametrize("exact_limit", [0, 5000])
def test_same_seed_same_features(blobs, exact_limit):
    projection = kernel_projection(6, exact_limit=exact_limit, random_state=4)
    first = projection.fit_transform(blobs)
    np.testing.assert_array_equal(first, clone(projection).fit_transform(blobs))
    np.testing.assert_array_equal(first, projection.fit(blobs).transform(blobs))


@pytest.mark.parametrize("exact_limit", [0, 5000])
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_give_the_same_features(blobs, exact_limit, container):
    X = np.where(np.abs(blobs) < 2, 0, blobs)
    projection = kernel_projection(6, exact_limit=exact_limit, random_state=0)
    dense = projection.fit_transform(X)
    np.testing.assert_allclose(projection.fit_transform(container(X)), dense, atol=1e-5)


def test_float32_rows_are_as_good(blobs):
    projection = kernel_projection(6, exact_limit=0, random_state=0)
    double = projection.fit_transform(blobs)
    single = projection.fit_transform(blobs.astype(np.float32))
    np.testing.assert_allclose(single, double, atol=1e-4)


def test_batches_do_not_change_the_result(blobs, monkeypatch):
    projection = kernel_projection(6, random_state=0).fit(blobs)
    whole = projection.transform(blobs)
    monkeypatch.setattr(kernels, "BATCH_ROWS", 7)
    np.testing.assert_allclose(projection.transform(blobs), whole, atol=1e-6)


def test_the_rotation_is_learnt_on_a_bounded_number_of_rows(blobs, monkeypatch):
    monkeypatch.setattr(kernels, "ROTATION_ROWS", 50)
    rotation = kernel_projection(6, exact_limit=0, random_state=0).fit(blobs).projector_[1]
    assert rotation.n_samples_ == 50


def test_rings_become_separable():
    X, y = make_circles(400, factor=0.5, noise=0.05, random_state=0)
    for exact_limit in (0, 5000):
        projection = kernel_projection(30, exact_limit=exact_limit, random_state=0)
        model = make_pipeline(projection, LogisticRegression()).fit(X[:200], y[:200])
        assert model.score(X[200:], y[200:]) > 0.98


# Frames, names and numbers of components ----------------------------------------------------------


def test_names_and_frames(blobs):
    frame = pd.DataFrame(blobs, columns=list("abcd"))
    projection = kernel_projection(3, exact_limit=0, random_state=0).set_output(transform="pandas")
    projected = projection.fit_transform(frame)
    assert list(projected.columns) == [f"kernelprojection{i}" for i in range(3)]
    assert list(projection.get_feature_names_out()) == list(projected.columns)
    assert list(projection.feature_names_in_) == list("abcd")
    with config_context(transform_output="pandas"):
        for exact_limit in (0, 5000):
            projection = kernel_projection(3, exact_limit=exact_limit).fit(frame)
            assert isinstance(projection.transform(frame), pd.DataFrame)


def test_default_number_of_components(blobs, monkeypatch):
    assert kernel_projection().fit(blobs[:20]).transform(blobs).shape == (300, 20)
    monkeypatch.setattr(kernels, "DEFAULT_COMPONENTS", 11)
    assert kernel_projection().fit_transform(blobs).shape == (300, 11)


@pytest.mark.parametrize("exact_limit", [0, 5000])
def test_more_components_than_rows_are_lowered_with_a_warning(blobs, exact_limit):
    projection = kernel_projection(50, exact_limit=exact_limit)
    with pytest.warns(UserWarning, match="n_components=50 exceeds the 20 training rows"):
        projection.fit(blobs[:20])
    assert projection.n_components_ == 20
    assert projection.n_components == 50
    assert np.isfinite(projection.transform(blobs)).all()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"kernel": "sigmoid"}, "'kernel' parameter"),
        ({"gamma": 0.0}, "'gamma' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"gamma": np.nan}, "'gamma' parameter"),
        ({"gamma": np.inf}, "'gamma' parameter"),
        ({"gamma": "scale"}, "'gamma' parameter"),
        ({"exact_limit": -1}, "'exact_limit' parameter"),
        ({"unit_norm": "yes"}, "'unit_norm' parameter"),
        ({"dtype": np.int64}, "dtype must be float32 or float64, got int64"),
        ({"dtype": np.float16}, "dtype must be float32 or float64, got float16"),
        ({"random_state": "seed"}, "'random_state' parameter"),
    ],
)
def test_bad_parameters_are_named(blobs, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        kernel_projection(**options).fit(blobs)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        kernel_projection().fit([[1.0, 2.0]])


@pytest.mark.slow
def test_many_rows_stay_within_memory():
    X = np.random.RandomState(0).normal(size=(30_000, 16)).astype(np.float32)
    tracemalloc.start()
    try:
        projected = kernel_projection(200, random_state=0).fit_transform(X)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert projected.shape == (30_000, 200)
    # The kernel of all pairs of rows alone would take 7 GB.
    assert peak_bytes < 0.5e9
