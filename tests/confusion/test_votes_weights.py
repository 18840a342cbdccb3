"""Votes that count more or less, and columns that are no votes."""

import numpy as np
import pytest

from unconfused import UnconfusedLogisticRegression, confusion
from unconfused.confusion import votes_from_long, votes_from_wide
from unconfused.confusion._dawid_skene import Crowd


@pytest.fixture
def crowd():
    """Three models on 300 rows; the third is sure where it is right, and unsure elsewhere."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    right = rng.random((300, 3)) < [0.75, 0.7, 0.6]
    labels = np.where(right, truth[:, np.newaxis], 1 - truth[:, np.newaxis])
    confidence = np.ones((300, 3))
    confidence[:, 2] = np.where(right[:, 2], 0.95, 0.05)
    X = np.column_stack([truth + 0.8 * rng.standard_normal(300), rng.standard_normal(300)])
    return X, truth, labels, confidence


def test_a_weight_of_one_changes_nothing(crowd):
    X, _, labels, _ = crowd
    plain, even = votes_from_wide(labels), votes_from_wide(labels, weight=np.ones((300, 3)))
    np.testing.assert_array_equal(
        confusion.from_annotators(plain).posterior, confusion.from_annotators(even).posterior
    )
    fits = [UnconfusedLogisticRegression(l2=1e-3).fit(X, votes) for votes in (labels, plain, even)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[0].coef_, fits[2].coef_)


def test_no_weight_is_no_vote(crowd):
    _, _, labels, _ = crowd
    weight = np.ones((300, 3))
    weight[:100, 1], weight[100:150, 2] = 0, np.nan
    weighed = votes_from_wide(labels, weight=weight)
    table = labels.astype(object)
    table[:100, 1] = table[100:150, 2] = None
    silent = votes_from_wide(table)
    assert len(weighed) == len(silent) == 750
    np.testing.assert_array_equal(weighed.item, silent.item)
    np.testing.assert_allclose(
        confusion.from_annotators(weighed).posterior, confusion.from_annotators(silent).posterior
    )


def test_confidence_helps(crowd):
    X, truth, labels, confidence = crowd
    weighed = votes_from_wide(labels, weight=confidence, annotators=["a", "b", "c"])
    plain = confusion.from_annotators(labels)
    sure = confusion.from_annotators(weighed)
    assert (sure.consensus == truth).mean() > (plain.consensus == truth).mean() + 0.1
    assert sure.annotators.tolist() == ["a", "b", "c"]
    assert sure.counts.sum() == pytest.approx(confidence.sum())
    clf = UnconfusedLogisticRegression(l2=1e-3).fit(X, weighed)
    posterior = clf.label_posterior(X, weighed)
    ours = UnconfusedLogisticRegression(l2=1e-3).fit(X, labels).label_posterior(X, labels)
    assert (posterior.argmax(axis=1) == truth).mean() > (ours.argmax(axis=1) == truth).mean()


def test_majorities_of_small_weights_are_shares():
    votes = votes_from_wide([["a", "b", "a"], [None, None, None]], weight=np.full((2, 3), 1e-3))
    majority = Crowd.of(votes, np.array([-1, -1])).majority()
    np.testing.assert_allclose(majority, [[2 / 3, 1 / 3], [0, 0]])


def test_long_votes_with_weights_and_duplicates():
    votes = votes_from_long(
        [1, 1, 1, 2, 2],
        ["m", "m", "n", "m", "n"],
        ["x", "y", "x", None, "y"],
        weight=[0.5, 0.25, 0.75, 1, None],
        duplicates="last",
    )
    assert votes.to_wide().tolist() == [["y", "x"], [None, None]]
    assert votes.weight.tolist() == [0.25, 0.75]
    assert votes.tally.tolist() == [[0.75, 0.25], [0, 0]]
    assert votes.take_items(np.array([1, 0])).item.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([[1, -1], [1, 1]], "finite and not negative"),
        ([[1, np.inf], [1, 1]], "finite and not negative"),
        ([1, 1], r"shape of y, \(2, 2\)"),
        ([["high", 1], [1, 1]], "must hold numbers"),
    ],
)
def test_impossible_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        votes_from_wide([["a", "b"], ["b", "b"]], weight=np.array(weight, dtype=object))


def test_other_refusals():
    with pytest.raises(ValueError, match="names 1, but y has 2 columns"):
        votes_from_wide([["a", "b"]], annotators=["Ann"])
    with pytest.raises(ValueError, match="1 in weight"):
        votes_from_long([1, 2], ["a", "a"], [0, 1], weight=[1])


one_hot = np.eye(3)[[0, 1, 2, 1, 0]]


@pytest.mark.parametrize("table", [one_hot, one_hot.astype(int), one_hot > 0, one_hot.tolist()])
def test_indicators_are_no_votes(table):
    X = np.arange(10.0).reshape(5, 2)
    for use in (UnconfusedLogisticRegression().fit, lambda _, y: confusion.from_annotators(y)):
        with pytest.raises(ValueError, match=r"indicator matrix.*argmax.*votes_from_wide"):
            use(X, table)


@pytest.mark.parametrize(
    "table",
    [
        np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]]),
        [[0.9, None], [0.1, 0.9], [0.2, 0.8], [1.0, 0.0], [0.3, 0.7]],
    ],
)
def test_probabilities_are_no_votes(table):
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(ValueError, match=r"fractions.*likeliest class.*weight="):
        UnconfusedLogisticRegression().fit(X, table)


def test_a_frame_of_indicators_is_none_either():
    pd = pytest.importorskip("pandas")
    frame = pd.get_dummies(pd.Series(["a", "b", "c", "b", "a"]))
    with pytest.raises(ValueError, match="indicator matrix"):
        UnconfusedLogisticRegression().fit(np.arange(10.0).reshape(5, 2), frame)


def test_counts_of_votes_are_none_either():
    counts = np.random.default_rng(0).multinomial(5, [0.6, 0.3, 0.1], size=40)
    with pytest.raises(ValueError, match="counts of votes"):
        UnconfusedLogisticRegression().fit(np.arange(80.0).reshape(40, 2), counts)


@pytest.mark.parametrize("kind", [object, str])
def test_names_in_digits_are_votes(kind):
    table = np.array([["1.1", "1.2"], ["1.2", "1.2"], ["1.1", "1.1"]], dtype=kind)
    model = UnconfusedLogisticRegression(l2=0.1, relabel=0).fit(np.eye(3), table)
    assert model.classes_.tolist() == ["1.1", "1.2"]


def test_doubt_can_be_settled(crowd):
    X, _, labels, _ = crowd
    against = np.column_stack([labels[:, 0], 1 - labels[:, 0]])  # two who never agree
    with pytest.raises(ValueError, match="indicator"):
        UnconfusedLogisticRegression().fit(X, against)
    settled = UnconfusedLogisticRegression(max_iter=20).fit(X, votes_from_wide(against))
    named = UnconfusedLogisticRegression(max_iter=20, classes=[0, 1]).fit(X, against)
    np.testing.assert_array_equal(settled.coef_, named.coef_)
    # With a vote that is missing, or two that agree, nothing is in doubt.
    partly = against.astype(float)
    partly[0, 0] = np.nan
    assert UnconfusedLogisticRegression(max_iter=20).fit(X, partly).annotators_.shape == (2,)
    assert UnconfusedLogisticRegression(max_iter=20).fit(X, labels).annotators_.shape == (3,)


def rules(seed=0, n=600):
    """Six rules, each of which knows one label; two speak of the other class as often."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    knows = np.array([0, 0, 0, 1, 1, 1])
    slips = [0.02, 0.1, 0.35, 0.02, 0.1, 0.35]
    speaks = np.where(truth[:, np.newaxis] == knows, 0.4, slips)
    votes = np.where(rng.random((n, 6)) < speaks, knows.astype(float), np.nan)
    return truth, votes


def test_silence_of_one_sided_annotators_is_an_answer():
    truth, votes = rules()
    spoken = np.isfinite(votes).any(axis=1)
    collected = votes_from_wide(votes[spoken])
    assert collected.one_sided.all()
    crowd = confusion.from_annotators(collected)
    majority = collected.tally.argmax(axis=1)
    right = (crowd.consensus == truth[spoken]).mean()
    assert right > (majority == truth[spoken]).mean() + 0.02
    assert crowd.class_prior == pytest.approx(truth[spoken].mean(), abs=0.1)
    assert crowd.annotator_matrices.shape == (6, 2, 2)
    np.testing.assert_allclose(crowd.annotator_matrices.sum(axis=2), 1)
    # Matrices and counts are of the votes that were given.
    assert crowd.annotator_counts.sum() == pytest.approx(len(collected))


def test_who_knows_both_labels_is_not_one_sided():
    _, votes = rules()
    votes[0, 0], votes[:, 1] = 1, np.nan
    votes[:19, 1] = 0
    assert votes_from_wide(votes).one_sided.tolist() == [False, False, True, True, True, True]
    alone = votes_from_wide(np.zeros((30, 2)))
    assert not alone.one_sided.any()  # there is no other label to give


def test_silent_annotators_answer_on_every_item():
    votes = votes_from_wide([["a", None], [None, "b"], ["b", "b"]])
    plain, silent = votes.indicators(), votes.indicators(np.array([False, True]))
    assert plain.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1]]
    assert silent.toarray().tolist() == [[1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0], [0, 1, 0, 0, 1, 0]]


def test_fits_take_the_silence_of_rules_for_an_answer():
    truth, votes = rules()
    X = truth[:, np.newaxis] + np.random.default_rng(0).standard_normal((len(truth), 2))
    clf = UnconfusedLogisticRegression(l2=0.01, relabel=0).fit(X, votes)  # rows without votes too
    clean = UnconfusedLogisticRegression(l2=0.01).fit(X, truth)
    assert clf.score(X, truth) > clean.score(X, truth) - 0.03
    # A rule is mostly silent about the class it does not know.
    assert clf.annotator_silence_.shape == (6, 2)
    assert clf.annotator_silence_[0, 1] > clf.annotator_silence_[0, 0] + 0.2
    np.testing.assert_allclose(clf.annotator_confusion_.sum(axis=2), 1)
    sure = clf.label_posterior(X, votes)
    assert (sure.argmax(axis=1) == truth).mean() > clf.score(X, truth)


def test_who_answers_with_every_label_is_silent_for_no_reason():
    truth, votes = rules()
    rng = np.random.default_rng(1)
    person = np.where(rng.random(len(truth)) < 0.5, truth.astype(float), np.nan)
    X = truth[:, np.newaxis] + rng.standard_normal((len(truth), 2))
    clf = UnconfusedLogisticRegression(l2=0.01, relabel=0)
    clf.fit(X, np.column_stack([votes, person]))
    assert np.isnan(clf.annotator_silence_[6]).all()
    assert not np.isnan(clf.annotator_silence_[:6]).any()
    assert clf.annotator_confusion_[6].diagonal().min() > 0.9
