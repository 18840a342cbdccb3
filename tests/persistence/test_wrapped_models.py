"""Saved and loaded: any classifier through the confusion matrix."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from unconfused import UnconfusedClassifier, load, noise, save
from unconfused.persistence import ModelFileError

pytest.importorskip("skops")
C = noise.symmetric(3, 0.3)


@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(max_iter=3, random_state=0),
        RandomForestClassifier(3, random_state=0),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    ids=lambda base: type(base).__name__,
)
def test_predicts_the_same(tmp_path, base, rounds):
    X, truth = make_blobs(150, centers=3, random_state=0)
    names = np.array(["ape", "bee", "cow"])
    y = names[noise.corrupt_labels(truth, C, random_state=0)]
    model = UnconfusedClassifier(base, C, max_rounds=rounds).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.label_posterior(X, y), model.label_posterior(X, y))
    assert not hasattr(again, "cross_fitted_posterior_")
    assert again.trained_on_ == model.trained_on_


def test_a_guessed_matrix_is_kept(tmp_path):
    X, truth = make_blobs(300, centers=3, random_state=0)
    y = noise.corrupt_labels(truth, C, random_state=0)
    base = RandomForestClassifier(3, random_state=0)
    model = UnconfusedClassifier(base, "auto", max_rounds=1).fit(X, y)
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").confusion_, model.confusion_)


def test_parts_that_do_not_fit_are_refused(tmp_path):
    X, truth = make_blobs(90, centers=3, random_state=0)
    model = UnconfusedClassifier(RandomForestClassifier(2), C, max_rounds=0).fit(X, truth)
    first, shift = model._components[0], model._components[0].calibration.shift
    for part, name, right, wrong in (
        (model, "_components", [first], [first, first]),  # there is one classifier
        (first.calibration, "shift", shift, np.zeros(5)),
    ):
        object.__setattr__(part, name, wrong)
        with pytest.raises(ModelFileError, match="do not fit each other"):
            save(model, tmp_path / "model.skops")
        object.__setattr__(part, name, right)
    save(model, tmp_path / "model.skops")
