"""Rows and weights at the ends of the floating-point range: right, or refused in words."""

import numpy as np
import pytest
from problems import make_problem
from scipy import sparse

from unconfused import (
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)
from unconfused.estimators._arrays import class_scores

PROBLEM = make_problem(3, n=150, d=6, Q=4)
TWO = PROBLEM.true < 2
FORMS = {"dense": np.asarray, "CSR": sparse.csr_matrix}
WEIGHED = [UMAClassifier, UnconfusedLogisticRegression, UnconfusedDiscriminantAnalysis]
LINEAR = [*WEIGHED, UltraconservativeClassifier]


def model_of(kind, **settings):
    if kind is UltraconservativeClassifier:
        settings["random_state"] = 0
    if kind is UnconfusedLogisticRegression:
        settings |= {"l2": 1e-4, "relabel": 0}  # about predictions, not about choosing settings
    if kind is UMAClassifier:
        settings["max_iter"] = 60
    return kind(**settings)


@pytest.mark.parametrize(("form", "rows"), [("dense", TWO), ("CSR", slice(None))], ids=FORMS)
@pytest.mark.parametrize("scale", [1e-18, 1e-9, 1e9, 1e18])
@pytest.mark.parametrize("kind", LINEAR)
def test_float32_rows_of_other_sizes_are_predicted_as_in_double_precision(kind, scale, form, rows):
    X = (PROBLEM.X[rows] / 4 * np.float64(scale)).astype(np.float32)
    y = PROBLEM.true[rows]
    single = model_of(kind, fit_intercept=False).fit(FORMS[form](X), y)
    double = model_of(kind, fit_intercept=False).fit(FORMS[form](X.astype(np.float64)), y)
    ours = single.predict(FORMS[form](X))
    assert np.mean(ours == double.predict(FORMS[form](X.astype(np.float64)))) > 0.98
    assert np.mean(ours == single.predict(FORMS[form](X.astype(np.float64)))) > 0.98
    assert np.all(np.isfinite(single.decision_function(FORMS[form](X))))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", LINEAR)
def test_predictions_through_the_origin_do_not_depend_on_the_length_of_a_row(kind, dtype, form):
    X = PROBLEM.X.astype(dtype)
    X[:5] = 0.0
    model = model_of(kind, fit_intercept=False).fit(X, PROBLEM.true)
    expected = model.predict(X)
    info = np.finfo(dtype)
    scales = np.geomspace(float(info.tiny), float(info.max) / 100, 25).astype(dtype)
    for scale in scales:
        rows = FORMS[form](X * scale)
        predicted = model.predict(rows)
        np.testing.assert_array_equal(predicted, expected, err_msg=str(scale))
        if hasattr(model, "predict_proba"):
            assert np.all(np.isfinite(model.predict_proba(rows)))
    mixed = X * np.resize(scales, len(X))[:, np.newaxis]
    np.testing.assert_array_equal(model.predict(FORMS[form](mixed)), expected)


@pytest.mark.parametrize("form", FORMS)
def test_scores_that_overflow_are_refused_in_words(form):
    coef = np.array([[1e200, 2e200], [-3e200, 1e200], [2e200, -1e200]])
    for X in ([[1e200, 1e-3], [1.0, 1.0]], [[-1e300, 1e300]]):
        with pytest.raises(ValueError, match="scores overflow: scale the features down"):
            class_scores(FORMS[form](np.array(X)), coef, np.array([1.0, 0.0, 5.0]))


@pytest.mark.parametrize("form", FORMS)
def test_ordinary_scores_are_the_plain_product(form):
    model = model_of(UMAClassifier).fit(PROBLEM.X, PROBLEM.true)
    plain = FORMS[form](PROBLEM.X) @ model.coef_.T + model.intercept_
    np.testing.assert_array_equal(model.decision_function(FORMS[form](PROBLEM.X)), plain)


@pytest.mark.parametrize("weight", [5e-324, 1e-150, 1e150, 1.7e308])
@pytest.mark.parametrize("kind", WEIGHED)
def test_extreme_weights_are_refused_in_words(kind, weight):
    weights = np.full(len(PROBLEM.y), weight)
    with pytest.raises(ValueError, match=r"weights add up to .* Divide all of them"):
        kind().fit(PROBLEM.X, PROBLEM.y, sample_weight=weights)


def test_extreme_weights_are_refused_everywhere():
    weights = np.full(len(PROBLEM.y), 1e300)
    calls = [
        lambda: UMAClassifier().partial_fit(
            PROBLEM.X, PROBLEM.y, classes=range(4), sample_weight=weights
        ),
        lambda: UnconfusedLogisticRegression().fit(
            PROBLEM.X, np.column_stack([PROBLEM.y, PROBLEM.true]), sample_weight=weights
        ),
        lambda: SelfLabelingClassifier().fit(PROBLEM.X, PROBLEM.true, sample_weight=weights),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="weights add up to"):
            call()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("total", [1.1e-100, 0.9e100])
@pytest.mark.parametrize("kind", WEIGHED)
@pytest.mark.filterwarnings("ignore:UMA made no update")
def test_weights_just_within_their_range_are_of_use(kind, total, form):
    """As many rows, or as few, say more, or less; but nothing overflows."""
    weights = np.full(len(PROBLEM.y), total / len(PROBLEM.y))
    model = model_of(kind, confusion=PROBLEM.C)
    model.fit(FORMS[form](PROBLEM.X), PROBLEM.y, sample_weight=weights)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.class_prior_))


def test_extreme_weights_of_dask_collections_are_refused():
    da = pytest.importorskip("dask.array", reason="needs the extra `dask`")
    weights = da.full(len(PROBLEM.y), 1e300, chunks=50)
    X, y = da.from_array(PROBLEM.X, chunks=(50, -1)), da.from_array(PROBLEM.y, chunks=50)
    with pytest.raises(ValueError, match="weights add up to"):
        UMAClassifier().fit(X, y, sample_weight=weights)
