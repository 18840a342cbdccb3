"""What Dask collections are refused, and in which words."""

import numpy as np
import pytest
from problems import make_problem

from unconfused import ConfusionWarning, UMAClassifier, UnconfusedLogisticRegression

dask = pytest.importorskip("dask", reason="needs the extra `dask`")
da = pytest.importorskip("dask.array", reason="needs the extra `dask`")


@pytest.fixture
def rows():
    problem = make_problem(0, n=60, Q=3)
    return da.from_array(problem.X, chunks=(20, -1)), da.from_array(problem.y, chunks=20)


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def test_a_nan_in_some_block(rows):
    X, y = rows
    holed = X.map_blocks(lambda block: np.where(block > 0.9, np.nan, block))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        UMAClassifier().fit(holed, y)


def test_a_negative_weight(rows):
    X, y = rows
    with pytest.raises(ValueError, match="egative"):
        UMAClassifier().fit(X, y, sample_weight=-np.ones(60))


def test_too_few_labels(rows):
    X, y = rows
    with pytest.raises(ValueError, match="y has 40 rows but X has 60"):
        UMAClassifier().fit(X, y[:40])
    with pytest.raises(ValueError, match="y has 59 rows but X has 60"):
        UMAClassifier().fit(X, y.compute()[:59])


def test_blocks_of_unknown_length(rows):
    X, y = rows
    some = X[X[:, 0] > 0]
    with pytest.raises(ValueError, match=r"X.compute_chunk_sizes\(\)"):
        UMAClassifier().fit(some, np.zeros(3))
    fitted = UMAClassifier(max_iter=5).fit(some, y[X[:, 0] > 0])
    assert fitted.predict(some).compute().shape == (int((X[:, 0] > 0).sum().compute()),)
    with pytest.raises(ValueError, match="but that of y has 20"):
        UMAClassifier().fit(some, y)


def test_no_labels_at_all(rows):
    X, y = rows
    with pytest.raises(ValueError, match="requires y to be passed"):
        UMAClassifier().fit(X, None)
    with pytest.raises(ValueError, match="No row has an observed label"):
        UMAClassifier(classes=[0, 1]).fit(X, y.map_blocks(lambda b: b + np.nan, dtype=float))
    with pytest.raises(ValueError, match="at least two classes"):
        UMAClassifier().fit(X, da.zeros(60, chunks=20, dtype=int))


def test_no_rows_at_all(rows):
    X, y = rows
    with pytest.raises(ValueError, match="0 sample"):
        UMAClassifier().fit(X[:0], y[:0])


def test_labels_of_mixed_types_and_measurements(rows):
    X, y = rows
    mixed = y.compute().astype(object)
    mixed[30:] = "three"
    with pytest.raises(ValueError, match="different types"):
        UMAClassifier().fit(X, da.from_array(mixed, chunks=20))
    with pytest.raises(ValueError, match="continuous"):
        UMAClassifier().fit(X, X[:, 0])


def test_rows_without_columns_and_columns_of_labels(rows):
    X, y = rows
    with pytest.raises(ValueError, match="rows and columns"):
        UMAClassifier().fit(y, y)
    with pytest.raises(ValueError, match="one value per row"):
        UMAClassifier().fit(X, da.stack([y, y], axis=1))


def test_rows_that_count_nothing(rows):
    X, y = rows
    weight = np.zeros(60)
    with pytest.raises(ValueError, match="at least one non-zero"):
        UMAClassifier().fit(X, y, sample_weight=weight)
    weight[25:35] = 1  # a block of zeros only is no mistake
    UMAClassifier(max_iter=3).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="shape"):
        UMAClassifier().fit(X, y, sample_weight=np.ones((60, 2)))


def test_labels_and_rows_of_different_lengths(rows):
    X, y = rows
    model = UnconfusedLogisticRegression(l2=1e-2).fit(X, y)
    with pytest.raises(ValueError, match="y has 40 rows but X has 60"):
        model.label_posterior(X, y[:40])


def test_another_number_of_features(rows):
    X, y = rows
    model = UMAClassifier(max_iter=3).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_many_classes_are_no_measurements():
    # Each label was shown to scikit-learn once, which took more than twenty of them for numbers.
    true = np.arange(120) % 40
    X = np.eye(40)[true]
    fitted = UMAClassifier(max_iter=5, tol=1e-9).fit(da.from_array(X, chunks=(60, -1)), true)
    assert len(fitted.classes_) == 40


def test_few_labels_beside_all_truths_are_counted_by_rows(rows):
    X, y = rows
    truth = y.compute()
    few = np.where(np.arange(60) < 10, truth, np.nan)
    with pytest.raises(ValueError, match="a label for 10 of 60: they look swapped"):
        UMAClassifier().fit(X, few, y_true=truth)
    # One label and three truths are four combinations, but most rows have a label.
    truth = np.where(np.arange(60) < 50, 0, np.arange(60) % 3)
    UMAClassifier().fit(X, np.where(np.arange(60) < 40, 0, np.nan), y_true=truth)
    minus = np.where(np.arange(60) < 12, -1, y.compute())
    with pytest.warns(ConfusionWarning, match="12 rows labelled -1"):
        UMAClassifier().fit(X, minus)
