"""The objective for gradient boosting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits

from unconfused import noise
from unconfused.boosting import ConfusedObjective

NAMES = np.array(["ant", "bee", "cow"])
UNSURE = pd.DataFrame(
    [[0.6, 0.1, 0.0, 0.3], [0.0, 0.7, 0.1, 0.2], [0.2, 0.0, 0.4, 0.4]],
    index=NAMES,
    columns=["ant", "bee", "cow", "unsure"],
)


@pytest.mark.parametrize("C", [UNSURE, noise.pairwise(3, 0.45), np.eye(3)], ids=str)
def test_the_gradient_is_exact(C):
    rng = np.random.default_rng(0)
    objective = ConfusedObjective(C, classes=None if C is UNSURE else NAMES)
    y = rng.choice(objective.labels_, 12)
    truth = np.where(np.arange(12) < 3, rng.choice(NAMES, 12), None)
    codes, scores, weight = objective.encode(y, truth), rng.normal(size=(12, 3)), rng.random(12)

    def loss(flat):
        return weight.sum() * objective.loss(codes, flat.reshape(12, 3), weight)

    gradient, curvature = objective(codes, scores, weight)
    np.testing.assert_allclose(gradient.ravel(), approx_fprime(scores.ravel(), loss), atol=1e-5)
    assert (curvature > 0).all()


def test_a_step_by_half_the_curvature_never_raises_the_loss():
    rng = np.random.default_rng(1)
    objective = ConfusedObjective(noise.random_confusion(4, strength=0.7, random_state=0))
    codes, scores = rng.integers(4, size=200), 3 * rng.normal(size=(200, 4))
    for _ in range(20):
        before = objective.loss(codes, scores)
        gradient, curvature = objective(codes, scores)
        scores = scores - gradient / np.maximum(2 * curvature, 1e-3)
        assert objective.loss(codes, scores) <= before + 1e-12


def test_codes_and_predictions_carry_names():
    objective = ConfusedObjective(UNSURE)
    codes = objective.encode(["unsure", "ant", "bee"], [None, "cow", None])
    assert codes.tolist() == [3, 4 + 2, 1]
    scores = np.log([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    assert objective.predict(scores).tolist() == ["ant", "cow"]
    np.testing.assert_allclose(objective.predict_proba(scores), np.exp(scores))
    joint = np.exp(scores[:1]) * UNSURE["unsure"].to_numpy()
    found = objective.label_posterior(scores[:1], ["unsure"])
    np.testing.assert_allclose(found, joint / joint.sum())


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="DataFrame"):
        ConfusedObjective(UNSURE.to_numpy())
    objective = ConfusedObjective(UNSURE)
    with pytest.raises(ValueError, match="neither a label nor a truth"):
        objective.encode([None, "ant"])
    with pytest.raises(ValueError, match="num_class=3"):
        objective([0, 1], np.zeros((2, 4)))


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    names = np.array([f"d{k}" for k in range(10)])[truth]
    seen = noise.corrupt_labels(names, noise.pairwise(10, 0.4), random_state=0)
    return X[:900], names[:900], seen[:900], X[900:], names[900:]


def test_lightgbm_learns_through_the_matrix(digits):
    lightgbm = pytest.importorskip("lightgbm")
    X, truth, seen, X_test, truth_test = digits
    settings = {"n_estimators": 30, "num_leaves": 15, "verbose": -1, "n_jobs": 1}
    plain = lightgbm.LGBMClassifier(**settings).fit(X, seen).predict(X_test)
    objective = ConfusedObjective(noise.pairwise(10, 0.4), classes=np.unique(truth))
    model = lightgbm.LGBMRegressor(
        objective=objective, num_class=10, metric="None", **settings
    ).fit(X, objective.encode(seen), sample_weight=np.full(900, 2.0))
    ours = objective.predict(model.predict(X_test))
    assert np.mean(ours == truth_test) > np.mean(plain == truth_test) + 0.1
    data = lightgbm.Dataset(X, label=objective.encode(seen))
    parameters = {"objective": objective.lightgbm, "num_class": 10, "metric": "None"}
    parameters |= {"num_leaves": 15, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(parameters, data, 30)
    again = objective.predict(booster.predict(X_test, raw_score=True))
    assert np.mean(again == truth_test) == pytest.approx(np.mean(ours == truth_test), abs=0.03)


def test_with_clean_labels_it_is_lightgbms_own_loss(digits):
    lightgbm = pytest.importorskip("lightgbm")
    X, truth, _, X_test, _ = digits
    settings = {"n_estimators": 3, "verbose": -1, "n_jobs": 1}
    objective = ConfusedObjective(np.eye(10), classes=np.unique(truth))
    ours = lightgbm.LGBMRegressor(objective=objective, num_class=10, metric="None", **settings)
    theirs = lightgbm.LGBMClassifier(boost_from_average=False, **settings).fit(X, truth)
    found = ours.fit(X, objective.encode(truth)).predict(X_test)
    np.testing.assert_allclose(found, theirs.predict(X_test, raw_score=True), atol=1e-6)


def test_xgboost_learns_through_the_matrix(digits):
    xgboost = pytest.importorskip("xgboost")
    X, truth, seen, X_test, truth_test = digits
    objective = ConfusedObjective(noise.pairwise(10, 0.4), classes=np.unique(truth))
    codes = objective.encode(seen, np.where(np.arange(900) < 100, truth, None))
    settings = {"max_depth": 4, "n_estimators": 15, "n_jobs": 1}
    model = xgboost.XGBRegressor(objective=objective, num_class=10, **settings).fit(X, codes)
    assert np.mean(objective.predict(model.predict(X_test)) == truth_test) > 0.8
    data = xgboost.DMatrix(X, label=codes, weight=np.ones(900))
    parameters = {"num_class": 10, "max_depth": 4, "nthread": 1}
    parameters["disable_default_eval_metric"] = True
    booster = xgboost.train(parameters, data, 15, obj=objective.xgboost)
    scores = booster.predict(xgboost.DMatrix(X_test), output_margin=True)
    assert np.mean(objective.predict(scores) == truth_test) > 0.8
