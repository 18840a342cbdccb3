"""Scores against the votes of several annotators, and with rows without labels."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import UnconfusedLogisticRegression, confusion, metrics, noise

score = metrics.noisy_log_likelihood


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    X = np.eye(3)[truth] @ rng.standard_normal((3, 20)) + rng.standard_normal((400, 20))
    answers = [
        noise.corrupt_labels(truth, noise.symmetric(3, rate), random_state=seed)
        for seed, rate in enumerate((0.2, 0.3, 0.4, 0.6))
    ]
    votes = np.column_stack(answers).astype(float)
    votes[rng.random(votes.shape) < 0.5] = np.nan
    votes[np.isnan(votes).all(axis=1), 0] = 0
    return X, truth, votes


@pytest.fixture(scope="module")
def fitted(crowd):
    X, _, votes = crowd
    return UnconfusedLogisticRegression(l2=1e-2).fit(X, votes)


def test_it_is_the_likelihood_of_the_votes(crowd, fitted):
    X, _, votes = crowd
    logs = np.log(fitted.predict_proba(X))
    for annotator, matrix in enumerate(fitted.annotator_confusion_):
        said = np.isfinite(votes[:, annotator])
        logs[said] += np.log(matrix[:, votes[said, annotator].astype(int)]).T
    by_hand = logsumexp(logs, axis=1)
    assert score(fitted, X, votes) == pytest.approx(by_hand.mean())
    weight = np.arange(400.0)
    expected = np.average(by_hand, weights=weight)
    assert score(fitted, X, votes, sample_weight=weight) == pytest.approx(expected)
    collected = confusion.votes_from_wide(votes)
    assert score(fitted, X, collected) == pytest.approx(by_hand.mean())
    part = np.array([3, 1, 200])
    assert score(fitted, X[part], collected[part]) == pytest.approx(by_hand[part].mean())


def test_rows_without_a_vote_or_a_label_are_left_out(crowd, fitted):
    X, truth, votes = crowd
    some = votes.copy()
    some[::2] = np.nan
    assert score(fitted, X, some) == pytest.approx(score(fitted, X[1::2], votes[1::2]))
    with pytest.raises(ValueError, match="No row here has a vote"):
        score(fitted, X, np.full_like(votes, np.nan))
    C = noise.symmetric(3, 0.2)
    clf = UnconfusedLogisticRegression(C, l2=1e-2).fit(X, truth)
    labels = np.where(np.arange(400) % 2, truth, np.nan)
    for scorer in (score, metrics.corrected_accuracy_scorer(C)):
        assert scorer(clf, X, labels) == pytest.approx(scorer(clf, X[1::2], truth[1::2]))
    only = metrics.trusted_accuracy(clf, X, np.full(400, np.nan), y_true=labels)
    assert only == metrics.trusted_accuracy(clf, X[1::2], None, y_true=truth[1::2])


@pytest.mark.slow
@pytest.mark.parametrize("as_votes", [False, True])
def test_a_search_over_votes_finds_the_penalty(crowd, as_votes):
    X, truth, votes = crowd
    y = confusion.votes_from_wide(votes) if as_votes else votes
    learner = make_pipeline(StandardScaler(), UnconfusedLogisticRegression())
    grid = {"unconfusedlogisticregression__l2": [1e-6, 1e-1, 1e4]}
    search = GridSearchCV(learner, grid, scoring=score, cv=KFold(3)).fit(X, y)
    assert search.best_params_ == {"unconfusedlogisticregression__l2": 1e-1}
    assert search.score(X, y) == pytest.approx(score(search, X, y))
    assert search.predict(X).shape == truth.shape
    held_out = cross_val_score(learner, X, y, scoring=metrics.noisy_log_likelihood, cv=KFold(3))
    assert np.isfinite(held_out).all()


def test_refusals(crowd, fitted):
    X, truth, votes = crowd
    for scorer in (
        metrics.corrected_accuracy_scorer(),
        metrics.noisy_log_likelihood_scorer(noise.symmetric(3, 0.3)),
    ):
        with pytest.raises(ValueError, match=r"votes of several.*noisy_log_likelihood"):
            scorer(fitted, X, votes)
    with pytest.raises(ValueError, match="LogisticRegression was not fitted to votes"):
        score(LogisticRegression().fit(X, truth), X, votes)
    with pytest.raises(ValueError, match="not by the annotators"):
        score(fitted, X, votes[:, :3])
    with pytest.raises(ValueError, match="y has 400"):
        score(fitted, X[:10], votes)
