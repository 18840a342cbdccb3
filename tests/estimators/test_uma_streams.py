"""UMAClassifier on rows that come chunk by chunk, and on fits that go on."""

import numpy as np
import pytest
from problems import make_noisy_blobs
from sklearn.base import clone

from unconfused import UMAClassifier, confusion, noise


@pytest.fixture(scope="module")
def blobs():
    return make_noisy_blobs()


def test_partial_fit_makes_one_update_per_chunk(blobs):
    X, true, _, C = blobs
    names = np.array(["a", "b", "c", "d"])
    clf = UMAClassifier(C, tol=1e-3)
    rng = np.random.RandomState(0)
    for chunk in range(60):
        rows = rng.randint(600, size=300)
        y = names[noise.corrupt_labels(true[rows], C, random_state=chunk)]
        clf.partial_fit(X[rows], y, classes=names)
        assert clf.n_iter_ == chunk + 1
    assert clf.score(X, names[true]) > 0.9
    assert len(clf.history_["norm"]) == 60


def test_partial_fit_counts_trusted_rows_over_all_chunks(blobs):
    X, true, y, _ = blobs
    y_true = np.where(np.arange(600) % 2 == 0, true, np.nan)
    clf = UMAClassifier(tol=1e-3)
    for start in range(0, 600, 200):
        rows = slice(start, start + 200)
        clf.partial_fit(X[rows], y[rows], classes=range(4), y_true=y_true[rows])
    whole = UMAClassifier(whiten=False).fit(X, y, y_true=y_true)
    np.testing.assert_allclose(clf.confusion_, whole.confusion_)


def test_partial_fit_on_the_first_chunk_is_the_first_update(blobs):
    X, _, y, C = blobs
    for whiten in (False, True):
        one = UMAClassifier(C, whiten=whiten, init="zero", max_iter=1).fit(X, y)
        chunk = UMAClassifier(C, whiten=whiten).partial_fit(X, y, classes=range(4))
        np.testing.assert_allclose(one.coef_, chunk.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="first call to partial_fit"):
        UMAClassifier(C).partial_fit(X, y)
    assert UMAClassifier(C, classes=range(4)).partial_fit(X, y).n_iter_ == 1
    with pytest.raises(ValueError, match="differ from those of the first call"):
        chunk.partial_fit(X, y, classes=[0, 1])


def test_warm_start_goes_on(blobs):
    X, _, y, C = blobs
    settings = {"tol": 1e-6, "average": True}
    straight = UMAClassifier(C, max_iter=20, **settings).fit(X, y)
    halves = UMAClassifier(C, max_iter=10, warm_start=True, **settings).fit(X, y).fit(X, y)
    np.testing.assert_allclose(halves.coef_, straight.coef_, atol=1e-12)
    assert halves.n_iter_ == 20
    with pytest.raises(ValueError, match="Fit a clone"):
        halves.fit(X[:, :2], y)
    assert clone(halves).fit(X[:, :2], y).n_iter_ == 10


def test_settings_that_change_between_chunks_are_refused(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(C).partial_fit(X, y, classes=range(4))
    with pytest.raises(ValueError, match="Fit a clone"):
        clf.set_params(fit_intercept=False).partial_fit(X, y)
    with pytest.raises(ValueError, match="differ from the constructor's"):
        UMAClassifier(classes=range(4)).partial_fit(X, y, classes=range(5))


def test_chunks_may_name_their_classes_by_an_estimate(blobs):
    X, true, y, _ = blobs
    estimate = confusion.from_trusted(true, y)
    assert UMAClassifier(estimate).partial_fit(X, y).n_iter_ == 1


def test_a_stream_may_start_with_few_trusted_rows(blobs):
    X, true, y, _ = blobs
    y_true = np.where((true == 0) & (np.arange(600) < 100), true, np.nan)
    clf = UMAClassifier(tol=1e-3)
    clf.partial_fit(X[:300], y[:300], classes=range(4), y_true=y_true[:300])
    assert 0 < clf.confusion_[0, 0] < 1
    right = np.diag(clf.confusion_)[1:]  # as usual where nothing is known yet
    np.testing.assert_allclose(right, right[0])
    assert right[0] < 1
    clf.partial_fit(X, y, y_true=true)
    assert np.all(np.diag(clf.confusion_) < 1)


def test_chance_goes_on_from_chunk_to_chunk(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(C, selection="random", random_state=0, tol=1e-6)
    for _ in range(40):
        clf.partial_fit(X, y, classes=range(4))
    pairs = set(zip(clf.history_["predicted"], clf.history_["true"], strict=True))
    assert len(pairs) > 5


def test_averaging_may_begin_with_a_warm_start(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(C, tol=1e-6, max_iter=5, warm_start=True).fit(X, y)
    weights = [clf._state.weights.copy()]
    clf.set_params(average=True, max_iter=1)
    for _ in range(4):
        clf.fit(X, y)
        weights.append(clf._state.weights.copy())
    np.testing.assert_allclose(clf.coef_, np.mean(weights[1:], axis=0)[:, :-1], atol=1e-12)
