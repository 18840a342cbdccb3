"""What is refused as a confusion matrix, what is warned of, and how it is aligned."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unconfused import ConfusionWarning, UMAClassifier, confusion, noise
from unconfused._matrix import Unmixing, make_unmixing
from unconfused._matrix_labels import align_confusion, aligned_counts, check_confusion

C = np.array([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.3, 0.0, 0.7]])
CLASSES = np.array(["a", "b", "c"])


def fit(matrix, y=("a", "b", "c") * 10, **settings):
    X = np.random.RandomState(0).randn(len(y), 2)
    return UMAClassifier(matrix, **settings).fit(X, np.array(y))


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (C[:2], "the match is ambiguous"),
        (C[0], "must be square"),
        (np.eye(4), r"4 x 4 but there are 3 classes.*`classes`"),
        (C - [[0, 0, 0.2], [0, 0, 0], [0, 0, 0]], "negative entries"),
        (np.where(C == 0.9, np.nan, C), "NaN or infinite"),
        (C * 2, r"row \d sums to 2"),
        (C.T, "transpose it"),
        (np.array([[7, 2, 1], [0, 9, 1], [3, 0, 7]]), "look like counts"),
        ([["x", "y", "z"]] * 3, "numbers only"),
        ([[0.7, 0.2, 0.1]] * 3, "singular"),
    ],
)
def test_refusals_say_what_to_do(matrix, message):
    with pytest.raises(ValueError, match=message):
        fit(matrix)


def test_a_singular_matrix_names_the_classes_it_cannot_tell_apart():
    matrix = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match=r"classes \['a', 'b'\] are \(nearly\) dependent"):
        fit(matrix)


def test_a_little_rounding_in_the_rows_is_mended():
    rounded = np.array([[0.333, 0.333, 0.333], [0.1, 0.9, 0.0], [0.0, 0.1, 0.9]])
    np.testing.assert_allclose(check_confusion(rounded).sum(axis=1), 1, atol=1e-15)


def test_the_callers_matrix_is_not_changed():
    matrix = C.copy()
    fit(matrix)
    assert np.array_equal(matrix, C)


def test_ill_conditioning_warns_with_the_number_and_what_it_costs():
    matrix = np.array([[0.505, 0.495], [0.495, 0.505]])
    with pytest.warns(ConfusionWarning, match=r"number 100\).*\d+ rows may be worth no more"):
        make_unmixing(matrix * [[1, 1], [1, 1]] + 1e-6 * np.array([[-1, 1], [1, -1]]), CLASSES[:2])


def test_the_stated_inflation_is_what_sampling_shows():
    matrix = noise.pairwise(3, 0.4)
    unmixing = Unmixing(matrix)
    rng = np.random.RandomState(0)
    true = rng.randint(3, size=600)
    masses = []
    for seed in range(400):
        seen = noise.corrupt_labels(true, matrix, random_state=seed)
        masses.append(unmixing.masses(np.bincount(seen, minlength=3).astype(float)))
    spread = np.std(masses, axis=0)
    stated = unmixing.mass_errors(np.bincount(true, minlength=3) @ matrix)
    np.testing.assert_allclose(spread, stated, rtol=0.12)
    np.testing.assert_allclose(np.mean(masses, axis=0), np.bincount(true), atol=4)


def test_the_error_of_a_counted_matrix_is_stated_too():
    # 300 rows are unmixed with a C counted from only 60 others: its error hits all rows alike.
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.3, 0.1, 0.6]])
    true, trusted = np.repeat([0, 1, 2], 100), np.repeat([0, 1, 2], 20)
    masses = []
    for seed in range(600):
        counted = confusion.from_trusted(
            trusted, noise.corrupt_labels(trusted, matrix, random_state=seed), classes=[0, 1, 2]
        )
        seen = noise.corrupt_labels(true, matrix, random_state=10_000 + seed)
        masses.append(Unmixing(counted.matrix).masses(np.bincount(seen, minlength=3).astype(float)))
    expected_counts = np.bincount(true) @ matrix
    stated = Unmixing(matrix, counts=20 * matrix).mass_errors(expected_counts)
    known = Unmixing(matrix).mass_errors(expected_counts)
    np.testing.assert_allclose(np.std(masses, axis=0), stated, rtol=0.25)
    assert np.all(stated > 2 * known)


def test_an_estimate_brings_its_counts_along():
    estimate = confusion.ConfusionEstimate.from_counts([[8, 2], [1, 29]], ["b", "a"])
    counts = aligned_counts(estimate, np.array(["a", "b"]))
    np.testing.assert_array_equal(counts, [[29, 1], [2, 8]])
    assert aligned_counts(np.eye(2), np.array(["a", "b"])) is None
    frame = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"])
    assert aligned_counts(frame, np.array(["a", "b"])) is None


def test_labels_that_do_not_fit_the_matrix_are_warned_of():
    # Under C a third of all labels would be "c" even if no row were; none is.
    matrix = [[0.6, 0.0, 0.4], [0.0, 0.6, 0.4], [0.0, 0.0, 1.0]]
    with pytest.warns(ConfusionWarning, match=r"do not fit each other.*class 'c'.*transposed"):
        fit(matrix, y=("a", "b") * 200, classes=["a", "b", "c"])


def test_a_plain_array_follows_the_classes_as_given():
    given = ["c", "a", "b"]
    shuffled = C[np.ix_([2, 0, 1], [2, 0, 1])]
    clf = fit(shuffled, classes=given)
    np.testing.assert_array_equal(clf.confusion_, C)
    assert clf.classes_.tolist() == ["a", "b", "c"]


def test_a_frame_is_aligned_by_its_labels():
    frame = pd.DataFrame(C, index=CLASSES, columns=CLASSES)
    turned = frame.loc[["c", "a", "b"], ["b", "c", "a"]]
    np.testing.assert_array_equal(align_confusion(turned, CLASSES), C)
    np.testing.assert_array_equal(fit(turned).confusion_, C)
    np.testing.assert_array_equal(fit(turned, y=("a", "b") * 10).confusion_, C)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(np.eye(3), index=[*"abd"], columns=[*"abd"]), "outside the classes.*'c'"),
        (pd.DataFrame(np.eye(3), index=[*"abc"], columns=[*"abd"]), "columns.*do not match"),
        (pd.DataFrame(np.eye(3), index=[*"aac"], columns=[*"abc"]), "repeat a class"),
        (pd.DataFrame(np.eye(3), index=[0, 1, 2], columns=[0, 1, 2]), "different types"),
        (pl.DataFrame(np.eye(3), schema=[*"abc"]), "no row labels"),
    ],
)
def test_labels_that_do_not_match_are_refused(frame, message):
    with pytest.raises(ValueError, match=message):
        fit(frame)


def test_one_and_its_string_are_different_labels():
    frame = pd.DataFrame(np.eye(2), index=["0", "1"], columns=["0", "1"])
    with pytest.raises(ValueError, match="different types"):
        fit(frame, y=(0, 1) * 10)


def test_classes_and_a_frame_must_name_the_same():
    frame = pd.DataFrame(C, index=CLASSES, columns=CLASSES)
    with pytest.raises(ValueError, match="do not match the classes"):
        fit(frame, classes=["a", "b", "c", "d"])


def test_the_orientation_is_rows_true():
    # All rows are truly 0 or 1; 0 keeps its label, 1 is called 0 three times in ten.
    matrix = [[1.0, 0.0], [0.3, 0.7]]
    y = np.array([0] * 65 + [1] * 35)
    clf = UMAClassifier(matrix).fit(np.random.RandomState(0).randn(100, 2), y)
    np.testing.assert_allclose(clf.class_prior_, [0.5, 0.5], atol=1e-12)
