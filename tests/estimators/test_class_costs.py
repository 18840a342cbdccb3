"""What mistakes cost, in both learners."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from problems import plain_uma
from sklearn.base import clone

from unconfused import (
    UMAClassifier,
    UnconfusedLogisticRegression,
    load,
    metrics,
    noise,
    save,
)
from unconfused.estimators._class_costs import class_costs
from unconfused.persistence import ExportError, to_onnx

CLASSES = np.array(["a", "b", "c"])
PRIOR = np.array([0.7, 0.2, 0.1])


def imbalanced(seed=0, sizes=(1200, 240, 60), spread=1.6):
    """Overlapping classes, one of them rare; returns rows, truth, noisy labels, C."""
    rng = np.random.RandomState(seed)
    truth = np.repeat(CLASSES, sizes)
    X = rng.randn(len(truth), 6) + spread * np.eye(3, 6)[np.searchsorted(CLASSES, truth)]
    C = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.25, 0.05, 0.7]])
    return X, truth, noise.corrupt_labels(truth, C, random_state=seed), C


def test_costs_of_every_kind():
    balanced = class_costs("balanced", CLASSES, PRIOR)
    np.testing.assert_allclose(balanced[:, 0][1:], 1 / (3 * PRIOR[1:]))
    np.testing.assert_array_equal(np.diag(balanced), 0)
    np.testing.assert_array_equal(
        class_costs({"b": 5}, CLASSES, PRIOR), [[0, 1, 1], [5, 0, 5], [1, 1, 0]]
    )
    plain = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 5.0], [6.0, 7.0, 2.0]])
    excess = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    np.testing.assert_array_equal(class_costs(plain, CLASSES, PRIOR), excess)
    order = ["c", "a", "b"]
    frame = pd.DataFrame(plain, index=CLASSES, columns=CLASSES).loc[order, ["b", "c", "a"]]
    np.testing.assert_array_equal(class_costs(frame, CLASSES, PRIOR), excess)
    listed = plain[np.ix_([2, 0, 1], [2, 0, 1])]
    np.testing.assert_array_equal(class_costs(listed, CLASSES, PRIOR, order), excess)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "balanced"),
        ({"z": 1.0}, r"names \['z'\]"),
        ({"a": -1.0}, "finite, non-negative numbers"),
        ({"a": 0, "b": 0, "c": 0}, "every class the weight 0"),
        (np.ones((2, 2)), r"shape \(3, 3\)"),
        (np.ones((3, 3)), "the cost 0"),
        (-np.ones((3, 3)), "finite"),
        (np.eye(3), "costs less than the correct"),
        (np.full((3, 3), np.nan), "finite"),
        (pd.DataFrame(1 - np.eye(3), index=[0, 1, 2], columns=[0, 1, 2]), "do not match"),
    ],
)
def test_bad_costs_are_refused_in_words(class_weight, message):
    with pytest.raises(ValueError, match=message):
        class_costs(class_weight, CLASSES, PRIOR)


def test_bad_costs_are_refused_before_the_fit():
    X, _, seen, C = imbalanced(sizes=(30, 20, 10))
    learner = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0, class_weight={"z": 1.0})
    with pytest.raises(ValueError, match=r"names \['z'\]"):
        learner.fit(X, seen)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        # From the class means, which are as good for rare classes, costs gain nothing.
        UMAClassifier(whiten=False, init="zero"),
        UnconfusedLogisticRegression(l2=1e-3, relabel=0),
    ],
)
def test_balanced_lowers_the_confusion_rate(learner):
    X, _, seen, C = imbalanced()
    X_test, truth_test, *_ = imbalanced(seed=1)
    plain = clone(learner).set_params(confusion=C).fit(X, seen)
    balanced = clone(plain).set_params(class_weight="balanced").fit(X, seen)
    rates = [metrics.confusion_rate(truth_test, m.predict(X_test)) for m in (plain, balanced)]
    assert rates[1] < rates[0] - 0.03, rates
    assert balanced.score(X_test, truth_test) < plain.score(X_test, truth_test)
    # All mistakes at the same cost: the same model.
    even = clone(plain).set_params(class_weight=3.0 * (1 - np.eye(3))).fit(X, seen)
    assert np.mean(even.predict(X_test) == plain.predict(X_test)) > 0.99


def test_probabilities_do_not_depend_on_costs_and_predict_minimises_them():
    X, _, seen, C = imbalanced()
    plain = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X, seen)
    shares = plain.predict_proba(X)
    costs = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
    costly = clone(plain).set_params(class_weight=costs).fit(X, seen)
    np.testing.assert_array_equal(costly.predict_proba(X), shares)
    np.testing.assert_array_equal(costly.predict(X), CLASSES[(shares @ costs).argmin(axis=1)])
    plain.set_params(class_weight=costs)  # no fit needed
    np.testing.assert_array_equal(plain.predict(X), costly.predict(X))


def test_balanced_uma_updates_by_shares_of_the_true_class():
    X, _, seen, C = imbalanced()
    settings = {"tol": 1e-9, "max_iter": 40, "fit_intercept": False}
    by_share = plain_uma(C, selection="confusion", **settings).fit(X, seen)
    balanced = plain_uma(C, class_weight="balanced", **settings).fit(X, seen)
    first = [(m.history_["predicted"][0], m.history_["true"][0]) for m in (by_share, balanced)]
    assert first[0] == first[1]
    weights = 1 / (3 * balanced.class_prior_)
    expected = weights[balanced.history_["true"]]
    np.testing.assert_allclose(balanced.history_["step"], expected)


def test_a_mistake_that_costs_nothing_is_not_mended():
    X, truth, *_ = imbalanced()
    free = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    settings = {"class_weight": free, "tol": 1e-9, "max_iter": 50}
    clf = plain_uma(None, **settings).fit(X, truth)
    pairs = set(zip(clf.history_["predicted"], clf.history_["true"], strict=True))
    assert pairs <= {(0, 1), (0, 2)}


@pytest.mark.slow
def test_saved_and_exported_models_keep_their_costs(tmp_path):
    X, _, seen, C = imbalanced(sizes=(200, 60, 40))
    frame = pd.DataFrame(np.diag([0.0, 1.0, 1.0]).sum() - 2 * np.eye(3), CLASSES, CLASSES)
    frame.loc["c"] = [9.0, 3.0, 0.0]
    for learner in (UMAClassifier(C), UnconfusedLogisticRegression(C, l2=1e-3, relabel=0)):
        for weight in ("balanced", {"c": 7.0}, frame):
            clf = clone(learner).set_params(class_weight=weight)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf.fit(X, seen)
            save(clf, tmp_path / "model", force=True)
            np.testing.assert_array_equal(load(tmp_path / "model").predict(X), clf.predict(X))
    with pytest.raises(ExportError, match="class_weight=None"):
        to_onnx(clf)
