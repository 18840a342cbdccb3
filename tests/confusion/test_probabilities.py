"""Probabilities alone: estimating C, judging and ranking labels."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from unconfused import ConfusionWarning, confusion, noise
from unconfused.confusion import _probability_table
from unconfused.confusion.estimation import class_probabilities, label_quality

NAMES = np.array([f"d{k}" for k in range(10)])


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:900] / 16, truth[:900]
    y = noise.corrupt_labels(truth, noise.pairwise(10, 0.3), random_state=0)
    model = LogisticRegression(C=0.1, max_iter=500)
    return truth, y, cross_val_predict(model, X, y, method="predict_proba"), X


def test_the_matrix_comes_out(digits):
    _, y, pred_probs, _ = digits
    estimate = confusion.from_probabilities(pred_probs, y)
    assert np.abs(estimate.matrix - noise.pairwise(10, 0.3)).sum() / 10 < 0.3
    assert "No true labels were known" in estimate.verdict


def test_wrong_labels_come_first_where_confidence_fails(digits):
    truth, y, pred_probs, _ = digits
    issues = confusion.rank_from_probabilities(pred_probs, y)
    found = y[issues.row] != truth[issues.row]
    plain = 1 - pred_probs[np.arange(len(y)), y]
    assert average_precision_score(found, issues.probability) > 0.9
    assert average_precision_score(y != truth, plain) < 0.8
    assert np.mean(issues.suggested[:100] == truth[issues.row[:100]]) > 0.8


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overconfident_probabilities_keep_their_order(digits):
    truth, _, _, X = digits
    y = noise.corrupt_labels(truth, noise.symmetric(10, 0.1), random_state=1)
    pred_probs = cross_val_predict(GaussianNB(var_smoothing=1e-2), X, y, method="predict_proba")
    issues = confusion.rank_from_probabilities(pred_probs, y)
    wrong = y != truth
    ours = average_precision_score(wrong[issues.row], issues.probability)
    plain = average_precision_score(wrong, 1 - pred_probs[np.arange(len(y)), y])
    assert ours > plain - 0.01


def test_frames_are_matched_by_name_and_arrays_by_classes(digits):
    _, y, pred_probs, _ = digits
    shuffled = np.random.RandomState(0).permutation(10)
    frame = pd.DataFrame(pred_probs, columns=NAMES)[NAMES[shuffled]]
    C = confusion.from_probabilities(pred_probs, y).matrix
    by_name = confusion.from_probabilities(frame, NAMES[y])
    assert by_name.classes.tolist() == NAMES.tolist()
    np.testing.assert_allclose(by_name.matrix, C)
    wanted = confusion.label_posterior(pred_probs, y, C)
    np.testing.assert_allclose(confusion.label_posterior(frame, NAMES[y], C), wanted)
    given = confusion.label_posterior(
        frame.to_numpy(), NAMES[y], C[np.ix_(shuffled, shuffled)], classes=NAMES[shuffled]
    )
    np.testing.assert_allclose(given, wanted)
    with pytest.raises(ValueError, match="different types"):
        confusion.from_probabilities(frame, y)


def test_blocks_and_memory_maps_change_nothing(digits, tmp_path, monkeypatch):
    _, y, pred_probs, _ = digits
    np.save(tmp_path / "probs.npy", pred_probs)
    mapped = np.load(tmp_path / "probs.npy", mmap_mode="r")
    whole = confusion.rank_from_probabilities(pred_probs, y)
    monkeypatch.setattr(_probability_table, "BLOCK_ENTRIES", 370)
    parts = confusion.rank_from_probabilities(mapped, y)
    np.testing.assert_array_equal(parts.row, whole.row)
    np.testing.assert_allclose(parts.probability, whole.probability, atol=1e-12)
    C = noise.pairwise(10, 0.3)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", np.float32, pred_probs.shape)
    confusion.label_posterior(mapped, y, C, out=out)
    np.testing.assert_allclose(out, confusion.label_posterior(pred_probs, y, C), atol=1e-6)
    monkeypatch.setattr(_probability_table, "SAMPLE_ENTRIES", 4000)
    sampled = confusion.from_probabilities(mapped, y)
    assert sampled.counts.sum() < 450


def test_probabilities_of_the_class_are_used_by_bayes_rule():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)
    C = noise.symmetric(3, 0.3)
    found = confusion.label_posterior(p, y, C, predicts="class", calibrate=False)
    joint = p * C[:, y].T
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True))
    estimate = confusion.from_probabilities(p, y, predicts="class")
    np.testing.assert_allclose(estimate.matrix.sum(axis=1), 1)


def test_calibration_through_c_finds_the_temperature():
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(4000, 3))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    C = noise.symmetric(3, 0.3)
    y = noise.corrupt_labels(truth, C, random_state=0)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    model = class_probabilities.ClassProbabilities.of(sharp, C, of_labels=False)
    assert 1 / 3.6 < model.calibrated(sharp, y).weights[0] < 1 / 2.5


def test_missing_labels_are_judged_by_the_row_alone_and_not_ranked():
    p = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    y = np.array(["a", None, "b"], dtype=object)
    C = noise.symmetric(2, 0.2)
    found = confusion.label_posterior(p, y, C, predicts="class", calibrate=False)
    np.testing.assert_allclose(found[1], p[1])
    assert 1 not in confusion.rank_from_probabilities(p, y, C, predicts="class").row


@pytest.mark.parametrize("predicts", ["label", "class"])
def test_without_any_label_only_the_posterior_of_the_rows_is_left(predicts):
    p, y, C = [[0.9, 0.1], [0.3, 0.7]], [None, None], np.eye(2)
    named = {"classes": ["a", "b"], "predicts": predicts}
    np.testing.assert_allclose(confusion.label_posterior(p, y, C, **named), p)
    with pytest.raises(ValueError, match="no labels to rank"):
        confusion.rank_from_probabilities(p, y, **named)
    with pytest.raises(ValueError, match="no labels to estimate"):
        confusion.from_probabilities(p, y, **named)


@pytest.mark.parametrize("calibrate", [False, True])
def test_labels_that_are_no_classes_are_unmixed_too(calibrate):
    C = pd.DataFrame([[0.7, 0.1, 0.2], [0.1, 0.8, 0.1]], ["cat", "dog"], ["cat", "dog", "unsure"])
    truth = np.arange(60) % 2
    y = np.where(np.arange(60) % 5 == 0, "unsure", np.array(["cat", "dog"])[truth])
    of_labels = pd.DataFrame(C.to_numpy()[truth], columns=C.columns)
    found = confusion.label_posterior(of_labels, y, C, calibrate=calibrate)
    assert found.shape == (60, 2)
    np.testing.assert_array_equal(found.argmax(axis=1), truth)


def test_probabilities_of_models_that_saw_the_labels_are_recognised(digits):
    _, y, _, X = digits
    forest = RandomForestClassifier(30, random_state=0)
    seen = forest.fit(X, y).predict_proba(X)
    with pytest.warns(ConfusionWarning, match="cross_val_predict"):
        confusion.rank_from_probabilities(seen, y)
    with pytest.warns(ConfusionWarning, match="cross_val_predict"):
        confusion.label_posterior(seen, y, noise.symmetric(10, 0.3))
    unseen = cross_val_predict(forest, X, y, method="predict_proba")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        confusion.rank_from_probabilities(unseen, y)


@pytest.mark.parametrize(
    ("pred_probs", "message"),
    [
        ([[0.5, 0.7], [0.1, 0.9]], "softmax"),
        ([[-0.1, 1.1], [0.1, 0.9]], "softmax"),
        ([[np.nan, 1.0], [0.1, 0.9]], "NaN"),
        ([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], "classes"),
        ([0.5, 0.5], r"one column per class.*column_stack"),
        ([["0.5", "x"], ["0.1", "0.9"]], "must hold numbers"),
        ([[50, 50], [10, 90]], "percentages"),
        ([[0.5, 0.5]], "one label for each of the 1 rows"),
        (pd.DataFrame([[0.5, 0.5], [0.1, 0.9]], columns=["p_a", "p_b"]), "columns of pred_probs"),
    ],
)
def test_bad_tables_are_refused(pred_probs, message):
    with pytest.raises(ValueError, match=message):
        confusion.label_posterior(pred_probs, ["a", "b"], noise.symmetric(2, 0.2))


def test_arguments_in_the_order_of_cleanlab_are_refused():
    with pytest.raises(ValueError, match="look swapped"):
        confusion.rank_from_probabilities(["a", "b"], [[0.5, 0.5], [0.1, 0.9]])


def test_row_numbers_among_the_probabilities_are_named():
    table = pd.DataFrame({"Unnamed: 0": [0, 1, 2], "a": [0.5, 0.2, 0.1], "b": [0.5, 0.8, 0.9]})
    with pytest.raises(ValueError, match=r"'Unnamed: 0' of pred_probs holds 2.*row number"):
        confusion.rank_from_probabilities(table, ["a", "b", "b"])


def test_other_values_of_predicts_are_refused():
    with pytest.raises(ValueError, match="predicts"):
        confusion.from_probabilities([[0.5, 0.5]], ["a"], predicts="truth")
    with pytest.raises(ValueError, match="'auto' or None; got 'class'"):
        confusion.rank_from_probabilities([[0.5, 0.5]], ["a"], "class")


def two_classes():
    X, truth = make_blobs(400, centers=[[-1.0, 0.0], [1.0, 0.0]], random_state=0)
    y = noise.corrupt_labels(truth, noise.symmetric(2, 0.2), random_state=0)
    return y, cross_val_predict(GaussianNB(), X, y, method="predict_proba")


def test_even_errors_of_two_classes_rank_labels_as_self_confidence_does():
    y, probability = two_classes()
    issues = confusion.rank_from_probabilities(probability, y, noise.symmetric(2, 0.2))
    assert issues.criterion == "posterior"
    own = probability[issues.row, y[issues.row]]
    assert (np.diff(own) >= -1e-9).all()


def test_a_hedged_posterior_knows_how_many_labels_are_wrong():
    y, probability = two_classes()
    rows = np.arange(len(y))
    posterior = label_quality.hedged_posterior(probability, y, rows)
    # Unlike 1 - P(label | x), which counts the mistakes that a model of noisy labels expects.
    wrong, unlikely = (1 - table[rows, y].mean() for table in (posterior, probability))
    assert 1.5 * abs(wrong - 0.2) < abs(unlikely - 0.2)


def test_a_mistake_that_was_never_counted_is_possible():
    counted = confusion.from_trusted([0] * 6 + [1] * 6, [0] * 6 + [1, 1, 1, 1, 0, 0])
    assert counted.matrix[0, 1] == 0
    probability = np.array([[0.999, 0.001], [0.1, 0.9]])
    found = confusion.label_posterior(
        probability, [1, 1], counted, predicts="class", calibrate=False
    )
    assert 0.5 < found[0, 0] < 1
