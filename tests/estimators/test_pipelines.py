"""`y_true` on its way through scikit-learn: pipelines, metadata routing, searches."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import UMAClassifier, noise
from unconfused._matrix import ConfusionWarning


@pytest.fixture(scope="module")
def data():
    X, true = make_blobs(300, centers=3, n_features=4, random_state=1)
    C = np.array([[0.6, 0.3, 0.1], [0.0, 0.8, 0.2], [0.3, 0.0, 0.7]])
    y = noise.corrupt_labels(true, C, random_state=0)
    y_true = np.where(np.arange(300) % 4 == 0, true, np.nan)
    return X, true, y, y_true, C


def test_through_a_pipeline_by_name(data):
    X, _, y, y_true, _ = data
    pipeline = make_pipeline(StandardScaler(), UMAClassifier())
    pipeline.fit(X, y, umaclassifier__y_true=y_true)
    direct = UMAClassifier().fit(StandardScaler().fit_transform(X), y, y_true=y_true)
    np.testing.assert_array_equal(pipeline[-1].coef_, direct.coef_)
    assert not np.array_equal(direct.confusion_, np.eye(3))


def test_through_a_pipeline_by_routing(data):
    X, _, y, y_true, _ = data
    with config_context(enable_metadata_routing=True):
        learner = UMAClassifier().set_fit_request(y_true=True).set_score_request(y_true=True)
        pipeline = make_pipeline(StandardScaler(), learner)
        pipeline.fit(X, y, y_true=y_true)
        direct = UMAClassifier().fit(StandardScaler().fit_transform(X), y, y_true=y_true)
        np.testing.assert_array_equal(pipeline[-1].coef_, direct.coef_)
        known = ~np.isnan(y_true)
        expected = np.mean(pipeline.predict(X)[known] == y_true[known])
        assert pipeline.score(X, y, y_true=y_true) == expected


def test_a_search_slices_the_truth(data):
    X, _, y, y_true, _ = data
    search = GridSearchCV(UMAClassifier(), {"alpha": [0.0, 0.5]}, cv=3, error_score="raise")
    search.fit(X, y, y_true=y_true)
    assert search.best_estimator_.confusion_.shape == (3, 3)
    with config_context(enable_metadata_routing=True):
        learner = UMAClassifier().set_fit_request(y_true=True).set_score_request(y_true=True)
        search = GridSearchCV(learner, {"alpha": [0.0, 0.5]}, cv=3, error_score="raise")
        search.fit(X, y, y_true=y_true)
        assert search.best_score_ > 0.9, "scored against the truth, not the noise"


def test_a_fold_without_a_trusted_row_of_a_class_warns(data):
    X, true, y, _, C = data
    # All trusted rows of class 2 sit in the first of two folds.
    y_true = np.full(300, np.nan)
    halves = np.arange(300) < 150
    trusted = (np.arange(300) % 3 == 0) & ((true != 2) | halves)
    y_true[trusted] = true[trusted]
    folds = KFold(2)
    grid = {"alpha": [0.0]}
    search = GridSearchCV(UMAClassifier(), grid, cv=folds, error_score="raise")
    with pytest.warns(ConfusionWarning, match="is of class 2; mistakes in its labels"):
        search.fit(X, y, y_true=y_true)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.warns(ConfusionWarning, match="is of class 2"):
        UMAClassifier().fit(X[~halves], y[~halves], y_true=y_true[~halves])
    # With the matrix given, no class needs a trusted row.
    search = GridSearchCV(UMAClassifier(C), grid, cv=folds, error_score="raise")
    search.fit(X, y, y_true=y_true)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.filterwarnings("ignore:No trusted row:unconfused._matrix.ConfusionWarning")
def test_a_class_without_trusted_rows_is_learnt(data):
    # How it errs is a guess, so a single draw of the labels says little.
    X, true, _, _, C = data
    y_true = np.where((np.arange(300) % 3 == 0) & (true != 2), true, np.nan)
    scores = []
    for seed in range(6):
        y = noise.corrupt_labels(true, C, random_state=seed)
        learnt = UMAClassifier().fit(X[:150], y[:150], y_true=y_true[:150])
        scores.append(learnt.score(X[150:], true[150:]))
    assert np.mean(scores) > 0.9


def test_a_fold_without_a_class_needs_its_name(data):
    X, true, _, _, C = data
    ordered = np.argsort(true)
    y = noise.corrupt_labels(true, np.eye(3), random_state=0)[ordered]
    learner = UMAClassifier(C, classes=[0, 1, 2])
    with pytest.warns(UserWarning, match="do not fit each other"):
        scores = cross_val_score(learner, X[ordered], y, cv=KFold(3), error_score="raise")
    assert scores.shape == (3,)
    with pytest.raises(ValueError, match="3 x 3 but there are 2 classes"):
        cross_val_score(UMAClassifier(C), X[ordered], y, cv=KFold(3), error_score="raise")
