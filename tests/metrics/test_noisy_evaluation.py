"""Scores corrected for noisy labels: exact without noise, unbiased and covered with it."""

import numpy as np
import pytest
from sklearn import metrics as sk

from unconfused import confusion
from unconfused.metrics import NoisyEvaluation, corrected_accuracy

C = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]])
PREDICTS = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
SHARES = np.array([0.5, 0.3, 0.2])
JOINT = SHARES[:, np.newaxis] * PREDICTS


def draw(rng, chances, rows):
    """Return a class for each row, with the chances of its class."""
    past = rng.random(len(rows))[:, np.newaxis] > chances.cumsum(axis=1)[rows, :-1]
    return past.sum(axis=1)


def simulate(rng, n):
    truth = rng.choice(3, n, p=SHARES)
    return truth, draw(rng, C, truth), draw(rng, PREDICTS, truth)


def values(evaluation):
    names = ["accuracy", "balanced_accuracy", "precision", "recall", "f1", "macro_f1", "prevalence"]
    return [getattr(evaluation, name) for name in [*names, "confusion_matrix"]]


def assert_same(one, other):
    for mine, theirs in zip(values(one), values(other), strict=True):
        np.testing.assert_allclose(mine.value, theirs.value)
        np.testing.assert_allclose(mine.low, theirs.low)
        np.testing.assert_allclose(mine.high, theirs.high)


@pytest.mark.parametrize("trusted", [0.0, 0.3, 1.0])
def test_without_noise_the_scores_are_scikit_learns(trusted):
    rng = np.random.default_rng(0)
    truth, _, predicted = simulate(rng, 400)
    known = np.where(rng.random(400) < trusted, truth, -1)
    found = NoisyEvaluation(truth, predicted, np.eye(3), y_true=known)
    assert found.n_trusted == (known >= 0).sum() == 400 - found.n_noisy
    by_class = sk.precision_recall_fscore_support(truth, predicted)
    np.testing.assert_allclose(found.accuracy.value, sk.accuracy_score(truth, predicted))
    np.testing.assert_allclose(
        found.balanced_accuracy.value, sk.balanced_accuracy_score(truth, predicted)
    )
    np.testing.assert_allclose(found.precision.value, by_class[0])
    np.testing.assert_allclose(found.macro_precision.value, by_class[0].mean())
    np.testing.assert_allclose(found.recall.value, by_class[1])
    np.testing.assert_allclose(found.f1.value, by_class[2])
    np.testing.assert_allclose(found.macro_f1.value, by_class[2].mean())
    np.testing.assert_allclose(found.prevalence.value, np.bincount(truth) / 400)
    np.testing.assert_allclose(
        found.confusion_matrix.value, sk.confusion_matrix(truth, predicted) / 400, atol=1e-15
    )


def test_known_confusion_recovers_the_truth():
    _, y, predicted = simulate(np.random.default_rng(1), 200_000)
    found = NoisyEvaluation(y, predicted, C)
    assert found.accuracy.value == pytest.approx(corrected_accuracy(y, predicted, C))
    np.testing.assert_allclose(found.confusion_matrix.value, JOINT, atol=0.01)
    np.testing.assert_allclose(found.recall.value, np.diag(PREDICTS), atol=0.02)
    np.testing.assert_allclose(found.precision.value, np.diag(JOINT) / JOINT.sum(0), atol=0.02)
    for score in values(found):
        assert np.all(score.low <= score.value)
        assert np.all(score.value <= score.high)


TEN = 0.7 * np.eye(10) + 0.03, 0.8 * np.eye(10) + 0.02, np.full(10, 0.1)


@pytest.mark.parametrize(
    ("case", "n_rows", "n_trusted", "n_counted"),
    [((C, PREDICTS, SHARES), 460, 60, 60), ((C, PREDICTS, SHARES), 1500, 0, 600),
     pytest.param(TEN, 2000, 100, 500, marks=pytest.mark.slow)],
    ids=["few trusted rows", "no trusted rows", "ten classes"],
)  # fmt: skip
def test_intervals_cover_with_a_counted_confusion(case, n_rows, n_trusted, n_counted):
    """`python -m experiments evaluation` is the full study."""
    labels, predicts, shares = case
    rng, classes = np.random.default_rng(2), np.arange(len(shares))
    joint = shares[:, np.newaxis] * predicts
    recall, precision = np.diag(predicts), np.diag(joint) / joint.sum(axis=0)
    f1 = 2 * np.diag(joint) / (joint.sum(axis=0) + shares)
    right = [np.trace(joint), recall.mean(), precision, recall, f1, f1.mean(), shares, joint]
    covered, centre, runs = np.zeros(len(right)), 0.0, 100
    for _ in range(runs):
        truth = rng.choice(classes, n_counted, p=shares)
        counted = confusion.from_trusted(truth, draw(rng, labels, truth), classes=classes)
        truth = rng.choice(classes, n_rows, p=shares)
        known = np.where(np.arange(n_rows) < n_trusted, truth, -1)
        found = NoisyEvaluation(
            draw(rng, labels, truth), draw(rng, predicts, truth), counted,
            y_true=known, classes=classes, n_draws=300,
        )  # fmt: skip
        covered += [
            np.mean((s.low <= r) & (r <= s.high)) for s, r in zip(values(found), right, strict=True)
        ]
        centre += (found.accuracy.low + found.accuracy.high) / 2 / runs
    assert np.all(covered / runs > 0.89), covered / runs
    assert centre == pytest.approx(np.trace(joint), abs=0.015), "intervals lie too low or too high"


def test_trusted_and_noisy_rows_together_are_surer_than_either():
    truth, y, predicted = simulate(np.random.default_rng(3), 3000)
    known = np.where(np.arange(3000) < 600, truth, -1)
    both = NoisyEvaluation(y, predicted, C, y_true=known)
    widths = [
        one.accuracy.high - one.accuracy.low
        for one in (
            both,
            NoisyEvaluation(y[600:], predicted[600:], C),
            NoisyEvaluation(y, predicted, y_true=known),
        )
    ]
    assert widths[0] < 0.95 * min(widths[1:])


def test_compare_is_paired():
    rng = np.random.default_rng(4)
    truth, y, predicted = simulate(rng, 4000)
    worse = np.where(rng.random(4000) < 0.1, (predicted + 1) % 3, predicted)
    found = NoisyEvaluation(y, predicted, C)
    gain = found.compare(worse)
    exact = corrected_accuracy(y, predicted, C) - corrected_accuracy(y, worse, C)
    assert gain.value == pytest.approx(exact)
    assert gain.low < np.mean(predicted == truth) - np.mean(worse == truth) < gain.high
    assert gain.low > 0
    assert gain.high - gain.low < 0.8 * (found.accuracy.high - found.accuracy.low)
    back = NoisyEvaluation(y, worse, C).compare(predicted)
    assert back.value == pytest.approx(-gain.value)
    same = found.compare(predicted)
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_string_labels_and_the_order_of_classes():
    _, y, predicted = simulate(np.random.default_rng(5), 500)
    names = np.array(["zebra", "ant", "mole"])
    found = NoisyEvaluation(names[y], names[predicted], C, classes=names)
    plain = NoisyEvaluation(y, predicted, C)
    assert found.classes.tolist() == ["ant", "mole", "zebra"]
    np.testing.assert_allclose(found.recall.value, plain.recall.value[[1, 2, 0]])


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(6)
    truth, y, predicted = simulate(rng, 300)
    known = np.where(rng.random(300) < 0.2, truth, -1)
    times = rng.integers(3, size=300)
    weighted = NoisyEvaluation(y, predicted, C, y_true=known, sample_weight=times)
    y, predicted, known = (np.repeat(one, times) for one in (y, predicted, known))
    assert_same(weighted, NoisyEvaluation(y, predicted, C, y_true=known))


def test_absent_and_never_predicted_classes():
    found = NoisyEvaluation([0, 0, 1, 1], [0, 0, 1, 0], np.eye(3), classes=[0, 1, 2])
    assert np.isnan(found.recall.value[2])
    assert found.precision.value[2] == 0
    assert found.recall.low[2] < 0.01
    assert found.recall.high[2] > 0.9
    assert found.balanced_accuracy.value == 0.75


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"confusion": None}, "Pass the confusion matrix"),
        ({"level": 95}, "level must lie strictly between"),
        ({"n_draws": 0}, "n_draws"),
        ({"predictions": [0, 1]}, "y has 3 rows but predictions has 2"),
        ({"predictions": [0, None, 1]}, "must not hold missing"),
        ({"y": [None, None, None]}, "no labelled rows"),
        ({"sample_weight": [0, 0, 0]}, "no labelled rows"),
        ({"confusion": [[0.5, 0.5], [0.5, 0.5]]}, "singular"),
        ({"predictions": ["a", "b", "a"]}, "."),
    ],
)
def test_bad_input(change, words):
    given = {"y": [0, 1, 1], "predictions": [0, 1, 0], "confusion": np.eye(2)} | change
    with pytest.raises(ValueError, match=words):
        NoisyEvaluation(**given)


def test_compare_refuses_other_rows():
    with pytest.raises(ValueError, match="other_predictions has 1"):
        NoisyEvaluation([0, 1], [0, 1], np.eye(2)).compare([0])


def test_a_few_rows_of_one_class_among_many_tell_little():
    """As for a proportion of three rows, however many other classes there are."""
    truth = np.repeat(np.arange(40), 60)[: 40 * 60 - 57]  # three rows of class 39
    predictions = np.where(truth == 39, 0, truth)
    predictions[:2] = 39  # of class 0
    found = NoisyEvaluation(truth, predictions, y_true=truth)
    for score in (found.recall, found.precision, found.f1):
        assert score.value[39] == score.low[39] == 0 and score.high[39] > 0.3
        assert score.low[5] > 0.9
