"""Logistic regression from the votes of several annotators."""

import numpy as np
import pandas as pd
import pytest
from dataset_files import local_data
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import StandardScaler

from unconfused import UMAClassifier, UnconfusedLogisticRegression, confusion, datasets, noise


@pytest.fixture(scope="module")
def crowd():
    """Digits labelled by a careful annotator, two with habits of their own, and a guesser."""
    X, y = load_digits(return_X_y=True)
    X, X_test, true, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
    matrices = [
        noise.symmetric(10, 0.1),
        noise.pairwise(10, 0.6),
        noise.pairwise(10, 0.5, pairs={k: (k + 3) % 10 for k in range(10)}),
        noise.symmetric(10, 0.9),
    ]
    votes = np.column_stack(
        [noise.corrupt_labels(true, C, random_state=i) for i, C in enumerate(matrices)]
    ).astype(float)
    votes[np.random.RandomState(0).rand(*votes.shape) < 0.4] = np.nan
    answered = ~np.isnan(votes).all(axis=1)
    return X[answered], true[answered], votes[answered], X_test, y_test, matrices


def majority(votes):
    counts = np.stack([(votes == k).sum(axis=1) for k in range(10)], axis=1)
    return counts.argmax(axis=1)


def test_annotators_are_told_apart(crowd):
    X, true, votes, X_test, y_test, matrices = crowd
    clf = UnconfusedLogisticRegression(relabel=0, l2=1e-3).fit(X, votes)
    assert clf.annotator_confusion_.shape == (4, 10, 10)
    assert np.abs(clf.annotator_confusion_[:3] - matrices[:3]).mean() < 0.03
    plain = LogisticRegression(C=1 / (1e-3 * len(X)), max_iter=1000).fit(X, majority(votes))
    assert clf.score(X_test, y_test) > plain.score(X_test, y_test) + 0.05
    posterior = clf.label_posterior(X, votes)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    consensus = confusion.from_annotators(votes).consensus
    guess = clf.classes_[posterior.argmax(axis=1)]
    assert np.mean(guess == true) >= np.mean(consensus == true)


def test_the_objective_comes_down_over_all_turns(crowd):
    X, _, votes, _, _, _ = crowd
    clf = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X, votes)
    objective = clf.history_["objective"]
    assert len(objective) == clf.n_iter_ > 20
    assert objective[-1] < objective[0]
    clf.fit(X, np.arange(len(X)) % 2)
    assert not hasattr(clf, "annotator_confusion_"), "nothing stale is left behind"


def test_every_form_of_votes_is_the_same(crowd):
    X, _, votes, _, _, _ = crowd
    X, votes = X[:300], votes[:300]
    base = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X, votes)
    item, annotator = np.nonzero(~np.isnan(votes))
    long = confusion.votes_from_long(
        item, annotator, votes[item, annotator].astype(int), items=np.arange(300)
    )
    for form in (pd.DataFrame(votes), long):
        clf = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X, form)
        np.testing.assert_allclose(clf.coef_, base.coef_, atol=1e-6)
    names = np.array([f"digit {k}" for k in range(10)] + [None], dtype=object)
    words = names[np.where(np.isnan(votes), 10, votes).astype(int)]
    clf = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X, words)
    np.testing.assert_allclose(clf.coef_, base.coef_, atol=1e-6)
    assert clf.predict(X[:1])[0].startswith("digit")


def test_gold_rows_count_with_their_truth(crowd):
    X, true, votes, X_test, y_test, _ = crowd
    # Two who always agree on the next digit would carry the day without gold.
    liars = np.column_stack([(true + 1) % 10, (true + 1) % 10, votes[:, 0]])
    gold = np.where(np.arange(len(true)) % 10 == 0, true, np.nan)
    clf = UnconfusedLogisticRegression(relabel=0, l2=1e-3).fit(X, liars, y_true=gold)
    assert clf.score(X_test, y_test) > 0.9
    assert clf.annotator_confusion_[0, 3, 4] > 0.8


def test_a_few_answers_do_no_harm(crowd):
    X, true, votes, X_test, y_test, _ = crowd
    newcomer = np.full((len(true), 1), np.nan)
    newcomer[:4, 0] = (true[:4] + 5) % 10
    settings = {"relabel": 0, "l2": 1e-3}
    without = UnconfusedLogisticRegression(**settings).fit(X, votes).score(X_test, y_test)
    clf = UnconfusedLogisticRegression(**settings).fit(X, np.hstack([votes, newcomer]))
    assert clf.score(X_test, y_test) >= without - 0.01


def test_weights_and_refusals(crowd):
    X, _, votes, _, _, _ = crowd
    X, votes = X[:200], votes[:200]
    weight = np.arange(200) % 2
    half = UnconfusedLogisticRegression(relabel=0, l2=0.1).fit(X[1::2], votes[1::2])
    clf = UnconfusedLogisticRegression(relabel=0, l2=0.1).fit(X, votes, sample_weight=weight)
    np.testing.assert_allclose(clf.coef_, half.coef_, atol=1e-5)
    with pytest.raises(ValueError, match="several annotators"):
        clf.score(X, votes)
    with pytest.raises(ValueError, match="leave confusion=None"):
        UnconfusedLogisticRegression(np.eye(10)).fit(X, votes)
    with pytest.raises(ValueError, match="nothing to learn from"):
        UnconfusedLogisticRegression(classes=[0, 1]).fit(X, np.full((200, 2), np.nan))
    with pytest.raises(ValueError, match="not by the annotators"):
        clf.label_posterior(X, votes[:, :2])
    with pytest.raises(NotFittedError):
        UnconfusedLogisticRegression().label_posterior(X, votes)
    one = UnconfusedLogisticRegression(relabel=0, l2=0.1).fit(X, np.arange(200) % 2)
    with pytest.raises(ValueError, match="fitted with one label per row"):
        one.label_posterior(X, np.zeros((200, 2), int))


@pytest.mark.slow
def test_music_genre_beats_the_majority_vote():
    home = local_data("music_genre")
    train = datasets.fetch_music_genre(data_home=home)
    test = datasets.fetch_music_genre(data_home=home, subset="test")
    scaler = StandardScaler().fit(train.data)
    X, X_test = scaler.transform(train.data), scaler.transform(test.data)
    vote = [pd.Series(row).dropna().mode()[0] for row in train.votes]
    ours, plain = [], []
    for l2 in (1e-3, 1e-2, 3e-2):
        clf = UnconfusedLogisticRegression(l2=l2, relabel=0).fit(X, train.votes)
        ours.append(clf.score(X_test, test.target))
        rival = LogisticRegression(C=1 / (l2 * len(X)), max_iter=2000).fit(X, vote)
        plain.append(rival.score(X_test, test.target))
    assert np.mean(ours) > np.mean(plain) + 0.02


def test_matrices_of_the_votes_alone_can_be_held(crowd):
    X, _, votes, X_test, y_test, _ = crowd
    held = UnconfusedLogisticRegression(relabel=0, l2=1e-2, refine=False).fit(X, votes)
    alone = confusion.from_annotators(votes).annotator_matrices
    np.testing.assert_allclose(held.annotator_confusion_, alone, atol=0.02)
    refined = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X, votes)
    assert np.abs(refined.annotator_confusion_ - alone).max() > 0.04
    assert held.score(X_test, y_test) > 0.8


def test_votes_can_count_less_than_gold_rows(crowd):
    X, true, votes, _, _, _ = crowd
    gold = np.where(np.arange(len(true)) % 5 == 0, true, np.nan)
    none = UnconfusedLogisticRegression(relabel=0, l2=1e-2, noisy_weight=0.0).fit(
        X, votes, y_true=gold
    )
    rows = np.arange(len(true)) % 5 == 0
    plain = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X[rows], true[rows])
    np.testing.assert_allclose(none.coef_, plain.coef_, atol=1e-2)
    some = UnconfusedLogisticRegression(relabel=0, l2=1e-2, noisy_weight=0.1).fit(
        X, votes, y_true=gold
    )
    full = UnconfusedLogisticRegression(relabel=0, l2=1e-2).fit(X, votes, y_true=gold)
    assert (some.noisy_weight_, full.noisy_weight_) == (0.1, 1.0)
    near, far = (np.abs(one.coef_ - none.coef_).max() for one in (some, full))
    assert 0 < near < far


@pytest.mark.parametrize("y", [np.arange(30) % 3, np.column_stack([np.arange(30) % 3] * 2)])
def test_nothing_to_learn_from_is_said(y):
    X = np.random.RandomState(0).randn(30, 2)
    with pytest.raises(ValueError, match="nothing to learn from"):
        UnconfusedLogisticRegression(noisy_weight=0.0).fit(X, y)


def several_questions(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    truth = (X > 0).astype(int)  # each column is a question of its own
    matrices = [[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]]]
    columns = [noise.corrupt_labels(truth[:, k], C, random_state=k) for k, C in enumerate(matrices)]
    return X, truth, np.column_stack(columns), matrices


def test_a_multi_label_problem_is_refused_and_the_recipe_works():
    X, truth, y, matrices = several_questions()
    with pytest.raises(ValueError, match="MultiOutputClassifier"):
        UnconfusedLogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="MultiOutputClassifier"):
        UMAClassifier().fit(X, y)
    given = {"l2": 1e-3, "relabel": 0}
    own = [UnconfusedLogisticRegression(C, **given).fit(X, y[:, k]) for k, C in enumerate(matrices)]
    found = np.column_stack([model.predict(X) for model in own])
    assert np.mean(found == truth) > 0.9
    one = UnconfusedLogisticRegression(noise.symmetric(2, 0.25), **given)
    shared = MultiOutputClassifier(one)
    assert np.mean(shared.fit(X, y).predict(X) == truth) > 0.8


def test_annotators_who_answer_yes_or_no_are_no_multi_label_problem():
    X, truth, _, matrices = several_questions()
    votes = np.column_stack(
        [noise.corrupt_labels(truth[:, 0], C, random_state=k) for k, C in enumerate(matrices)]
    )
    assert (
        UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, votes).score(X, truth[:, 0]) > 0.9
    )


def test_truths_outvote_annotators_who_copy_the_same_mistakes():
    X, true = make_blobs(900, centers=3, cluster_std=2.0, random_state=1)
    seen, X_test = slice(0, 500), X[500:]
    copied = np.where(X[seen, 0] > np.median(X[:, 0]), (true[seen] + 1) % 3, true[seen])
    votes = np.repeat(copied[:, np.newaxis], 5, axis=1).astype(float)
    votes[np.random.RandomState(0).uniform(size=votes.shape) < 0.4] = np.nan
    truth = np.where(np.arange(500) < 60, true[seen], np.nan)
    clf = UnconfusedLogisticRegression(random_state=0).fit(X[seen], votes, y_true=truth)
    alone = LogisticRegression().fit(X[:60], true[:60])
    assert clf.score(X_test, true[500:]) >= alone.score(X_test, true[500:]) - 0.02
    simple = (clf.choice_["believed"] > 0) | (clf.choice_["noisy_weight"] == 0)
    assert clf.choice_["share"][simple].sum() > 0.1
    fixed = UnconfusedLogisticRegression(noisy_weight=1.0, random_state=0)
    fixed.fit(X[seen], votes, y_true=truth)
    assert (fixed.choice_["noisy_weight"] == 1.0).all()
    assert fixed.score(X_test, true[500:]) < clf.score(X_test, true[500:]) - 0.1


def test_votes_on_two_rows_only_can_be_fitted():
    X = np.random.RandomState(0).randn(60, 2)
    votes = confusion.votes_from_long([0, 0, 1], ["a", "b", "a"], [0, 1, 0], items=range(60))
    assert np.isfinite(UnconfusedLogisticRegression().fit(X, votes).predict_proba(X)).all()
