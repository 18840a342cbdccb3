"""confusion="auto", and the warning about labels that look noisy."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

import unconfused
from unconfused import (
    ConfusionWarning,
    GuessedConfusionWarning,
    LabelNoiseWarning,
    UnconfusedLogisticRegression,
    noise,
)
from unconfused.confusion import ConfusionEstimate, from_noisy
from unconfused.estimators.automatic.held_out import HeldOutRows
from unconfused.estimators.automatic.search import Candidate, Search


@pytest.fixture(scope="module")
def blobs():
    X, truth = make_blobs(450, centers=3, cluster_std=1.5, random_state=1)
    return X, truth, noise.corrupt_labels(truth, noise.pairwise(3, 0.4), random_state=0)


@pytest.mark.slow
def test_flipped_digits_are_warned_of_or_unmixed():
    X, truth = load_digits(return_X_y=True)
    X = X / 16
    y = noise.corrupt_labels(truth, noise.pairwise(10, 0.4), random_state=0)
    with pytest.warns(LabelNoiseWarning, match="About 4. % of the labels seem wrong"):
        believed = UnconfusedLogisticRegression(relabel=0).fit(X, y)
    with pytest.warns(GuessedConfusionWarning, match="estimated from features and labels alone"):
        guessed = UnconfusedLogisticRegression("auto", relabel=0).fit(X, y)
    assert believed.score(X, truth) < 0.75
    assert guessed.score(X, truth) > 0.94
    assert isinstance(guessed.guessed_confusion_, ConfusionEstimate)
    assert "No true labels were known" in guessed.guessed_confusion_.verdict


@pytest.mark.parametrize("spread", [1.0, 3.0, 6.0])
@pytest.mark.parametrize("confusion", [None, "auto"])
def test_clean_labels_stay_quiet_however_much_classes_overlap(spread, confusion):
    X, y = make_blobs(600, centers=3, cluster_std=spread, random_state=1)
    clf = UnconfusedLogisticRegression(confusion).fit(X, y)  # warnings are errors
    assert not hasattr(clf, "guessed_confusion_")
    assert np.array_equal(clf.confusion_, np.eye(3))


@pytest.mark.parametrize("swapped", [False, True])
def test_no_guess_gives_a_class_mostly_the_label_of_another(swapped):
    """Two classes that are swapped explain labels as well: labels cannot tell which is which."""
    labels = np.arange(200) % 2
    matrix = np.array([[0.8, 0.2], [0.3, 0.7]])[:: -1 if swapped else 1]
    rows = HeldOutRows(
        X=np.zeros((200, 1)),
        evidence=np.eye(2)[labels],
        weight=np.ones(200),
        fold=np.arange(200) % 5,
        places=np.arange(200),
        n_eligible=200,
        truth=np.zeros(200, dtype=bool),
        observed=labels,
    )
    classes = np.where(np.arange(200) % 10 < 8, labels, 1 - labels)  # a model predicts most labels
    scores = 2.0 * np.eye(2)[1 - classes if swapped else classes]
    searches = []
    for own, c in ((scores, matrix), (np.zeros((200, 2)), np.eye(2))):
        search = Search(rows.through(c), fit_without=None, intercept=True)
        search.chosen = Candidate(1e-3, 1.0)
        search.scores[search.chosen], search.matrices[search.chosen] = own, c
        searches.append(search)
    guessing, believing = searches
    assert guessing.supports_guess(believing) is not swapped


def test_what_is_known_comes_before_a_guess(blobs):
    X, truth, y = blobs
    some = np.where(np.arange(len(y)) % 10 == 0, truth, -1)
    auto, none = (
        UnconfusedLogisticRegression(c, relabel=0).fit(X, y, y_true=some) for c in ("auto", None)
    )
    assert not hasattr(auto, "guessed_confusion_")
    np.testing.assert_array_equal(auto.coef_, none.coef_)


def test_votes_know_their_own_matrices(blobs):
    X, _, y = blobs
    votes = np.column_stack([y, y, np.roll(y, 0)])
    clf = UnconfusedLogisticRegression("auto", l2=0.01, relabel=0).fit(X, votes)
    assert clf.annotator_confusion_.shape == (3, 3, 3)


def test_a_guess_can_be_used_with_a_given_penalty_and_names_of_classes(blobs):
    X, truth, y = blobs
    names = np.array(["b", "c", "a"])
    with pytest.warns(GuessedConfusionWarning):
        clf = UnconfusedLogisticRegression("auto", l2=0.01, relabel=0).fit(X, names[y])
    assert clf.l2_ == 0.01
    assert clf.score(X, names[truth]) > 0.9
    assert clf.guessed_confusion_.classes.tolist() == ["a", "b", "c"]


def test_rows_without_weight_and_few_rows_tell_nothing(blobs):
    X, _, y = blobs
    UnconfusedLogisticRegression().fit(X[:80], y[:80])  # too few to choose anything on
    weight = np.where(np.arange(len(y)) < 80, 1.0, 0.0)
    clf = UnconfusedLogisticRegression("auto").fit(X, y, sample_weight=weight)
    assert not hasattr(clf, "guessed_confusion_")


def test_going_on_keeps_the_guess_and_the_temperature(blobs):
    X, _, y = blobs
    clf = UnconfusedLogisticRegression("auto", relabel=0, warm_start=True)
    with pytest.warns(GuessedConfusionWarning):
        clf.fit(X, y)
    before, guess = clf.predict_proba(X), clf.guessed_confusion_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.fit(X, y)
    assert clf.guessed_confusion_ is guess
    np.testing.assert_allclose(clf.predict_proba(X), before, atol=0.02)


def test_a_saved_model_still_says_that_it_is_a_guess(blobs, tmp_path):
    X, _, y = blobs
    with pytest.warns(GuessedConfusionWarning):
        clf = UnconfusedLogisticRegression("auto", relabel=0).fit(X, y)
    unconfused.save(clf, tmp_path / "model.skops")
    again = unconfused.load(tmp_path / "model.skops")
    assert again.guessed_confusion_.caveat == clf.guessed_confusion_.caveat
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_a_report_says_that_it_is_a_guess(blobs):
    from unconfused._report.case import open_case
    from unconfused._report.source import find_source

    X, _, y = blobs
    with pytest.warns(GuessedConfusionWarning):
        clf = UnconfusedLogisticRegression("auto", relabel=0).fit(X, y)
    source = find_source(open_case(clf, X, y, None), 0)
    assert source.kind == "guessed" and "labels alone" in source.words
    assert "No true labels were known" in source.words


def test_other_words_are_refused(blobs):
    X, _, y = blobs
    with pytest.raises(ValueError, match="None or 'auto'; got 'guess'"):
        UnconfusedLogisticRegression("guess").fit(X, y)


def test_an_estimate_passed_as_a_matrix_is_no_surprise(blobs):
    X, truth, y = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfusionWarning)
        clf = UnconfusedLogisticRegression(from_noisy(X, y, random_state=0), relabel=0).fit(X, y)
    assert clf.score(X, truth) > 0.9
