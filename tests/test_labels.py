"""Which labels are missing, which are classes, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unconfused import ConfusionWarning, UMAClassifier
from unconfused._labels import encode_labels


def encoded(y, y_true=None, **settings):
    labels = encode_labels(y, y_true, **settings)
    return labels.classes.tolist(), labels.observed.tolist(), labels.truth.tolist()


@pytest.mark.parametrize(
    "truth",
    [
        ["a", None, "b"],
        ["a", float("nan"), "b"],
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pl.Series(["a", None, "b"]),
        np.array(["a", None, "b"], dtype=object),
    ],
)
def test_none_nan_and_na_are_always_missing(truth):
    assert encoded(["a", "b", "b"], truth) == (["a", "b"], [0, 1, 1], [0, -1, 1])


@pytest.mark.parametrize(
    "truth",
    [
        [1, None, 2],
        [1.0, np.nan, 2.0],
        pd.Series([1, pd.NA, 2], dtype="Int64"),
        pl.Series([1, None, 2]),
        [1, -1, 2],
        [1.0, -1.0, 2.0],
    ],
)
def test_integers_with_gaps(truth):
    assert encoded([1, 2, 2], truth) == ([1, 2], [0, 1, 1], [0, -1, 1])
    assert encode_labels([1, 2, 2], truth).classes.dtype.kind == "i"


def test_minus_one_and_another_label_are_two_classes():
    assert encoded([-1, 1, 1, -1]) == ([-1, 1], [0, 1, 1, 0], [-1] * 4)


def test_minus_one_among_three_integers_is_missing():
    assert encoded([-1, 0, 1], [0, -1, 1]) == ([0, 1], [-1, 0, 1], [0, -1, 1])


def test_minus_one_is_a_class_where_it_is_named():
    assert encoded([-1, 0, 1], classes=[-1, 0, 1]) == ([-1, 0, 1], [0, 1, 2], [-1] * 3)
    assert encoded([-1, 0, 1], missing_label=None)[0] == [-1, 0, 1]


def test_minus_one_in_the_truth_that_could_be_both_is_an_error():
    for truth in ([-1, 1, -1, -1], [-1.0, 1.0, -1.0, -1.0]):
        with pytest.raises(ValueError, match=r"-1 in y_true could be.*NaN.*missing_label=None"):
            encode_labels([-1, 1, 1, -1], truth)
    # Each way out that the message names works.
    assert encoded([-1, 1, 1], [np.nan, 1, -1])[2] == [-1, 1, 0]
    assert encoded([-1, 1, 1], [-1, 1, 1], classes=[-1, 1])[2] == [0, 1, 1]
    assert encoded([-1, 1, 1], [-1, 1, 1], missing_label=None)[2] == [0, 1, 1]


def test_a_missing_label_of_ones_own():
    assert encoded(["a", "?", "b"], ["?", "a", "?"], missing_label="?") == (
        ["a", "b"], [0, -1, 1], [-1, 0, -1],
    )  # fmt: skip


def test_a_gap_on_one_side_does_not_change_the_type_of_the_classes():
    assert encode_labels([True, False], [np.nan, 1.0]).classes.dtype == bool
    assert encode_labels([0.0, np.nan, 1.0], [0, 2, 1]).classes.dtype == np.int64


def test_a_missing_label_of_another_type():
    X = np.random.RandomState(0).randn(4, 2)
    y = np.array([0, "?", 1, 1], dtype=object)
    clf = UMAClassifier(np.eye(2), missing_label="?").fit(X, y, y_true=[0, 1, "?", "?"])
    assert clf.classes_.tolist() == [0, 1]


def test_scoring_needs_the_truth_alone():
    X = np.random.RandomState(0).randn(40, 2)
    clf = UMAClassifier().fit(X, ["a", "b"] * 20)
    score = clf.score(X, ["never seen"] * 40, y_true=["a"] * 20 + ["new"] * 19 + [None])
    assert 0 <= score <= 20 / 39
    with pytest.raises(ValueError, match="inconsistent numbers"):
        clf.score(X, ["a"] * 40, y_true=["a"] * 40, sample_weight=[1.0])


def test_scoring_takes_lists():
    X = np.eye(3)
    clf = UMAClassifier(whiten=False).fit(X, [0, 1, 2])
    assert clf.score(X, [0, 1, 1]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="missing labels"):
        clf.score(X, [0, 1, None])


def test_a_class_only_the_truth_shows_is_a_class():
    assert encoded([0, 0, 1], [2, None, 1])[0] == [0, 1, 2]


@pytest.mark.parametrize("labels", [["b", "a"], [True, False], [3, 1], [2.0, 1.0]])
def test_kinds_of_labels_survive(labels):
    classes = encode_labels(labels).classes
    assert classes.tolist() == sorted(labels)
    assert classes.dtype == np.array(labels).dtype


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((["a", 1],), {}, "mixes labels of different types"),
        ((np.array(["a", 1], dtype=object),), {}, "mixes labels of different types"),
        ((["a", "b"], [0, 1]), {}, "different types"),
        ((["a", "b"], ["a"]), {}, "y has 2 rows but y_true has 1"),
        ((["a", "b"],), {"classes": ["a", "c"]}, "outside the classes: 'b'"),
        ((["a", "b"],), {"classes": [0, 1]}, "different types"),
        ((["a", "b"],), {"classes": ["a", "a", "b"]}, "repeat a class"),
        ((["a", "b"],), {"classes": ["a", None, "b"]}, "missing value"),
        (([["a", "b"]],), {}, "one-dimensional"),
        ((["a", "b"], np.array(["a", float("nan")])), {}, "'nan', which y does not"),
        ((["a", "b"], ["a", ""]), {}, "missing_label=''"),
        ((["a", "b"], ["A", "b"]), {}, "'A' and y holds 'a', which differ only in case or spaces"),
        ((["a", "b"], ["a", "b "]), {}, "'b ' and y holds 'b'"),
    ],
)
def test_refusals(arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(*arguments, **settings)


def test_named_classes_may_differ_in_case_only():
    assert encoded(["a", "b"], ["A", "b"], classes=["A", "a", "b"])[0] == ["A", "a", "b"]


def test_truths_in_the_order_of_another_index_are_refused():
    y = pd.Series(["a", "b", "b"], index=[3, 5, 4])
    checked = pd.Series(["a", None, "b"], index=[3, 4, 5])
    model, X = UMAClassifier(), np.eye(3)
    for learn in (encode_labels, lambda *labels: model.fit(X, labels[0], y_true=labels[1])):
        with pytest.raises(ValueError, match="same index in different orders"):
            learn(y, checked)
    for other in (checked.to_numpy(), checked.reset_index(drop=True), checked.set_axis(y.index)):
        assert encode_labels(y, other).truth.tolist() == [0, -1, 1]
    assert encode_labels(y, checked.loc[y.index]).truth.tolist() == [0, 1, -1]


@pytest.mark.filterwarnings("ignore:UMA made no update")
def test_minus_one_for_no_label_is_warned_of_with_a_way_out():
    X = np.random.RandomState(0).randn(6, 2)
    with pytest.warns(ConfusionWarning, match=r"2 rows labelled -1 .*missing_label=None"):
        clf = UMAClassifier().fit(X, [-1, 0, 1, 2, -1, 0])
    assert clf.classes_.tolist() == [0, 1, 2]
    clf = UMAClassifier(missing_label=None).fit(X, [-1, 0, 1, 2, -1, 0])
    assert clf.classes_.tolist() == [-1, 0, 1, 2]


def test_one_class_is_refused():
    with pytest.raises(ValueError, match=r"at least two classes.*`classes`"):
        UMAClassifier().fit(np.zeros((3, 1)), ["a"] * 3)


def test_a_class_y_does_not_show_can_be_named():
    X = np.random.RandomState(0).randn(40, 3)
    clf = UMAClassifier(np.eye(3), classes=["a", "b", "c"]).fit(X, ["a", "b"] * 20)
    assert clf.classes_.tolist() == ["a", "b", "c"]
    assert clf.coef_.shape == (3, 3)
    assert clf.class_prior_[2] < 0.03


def test_several_columns_are_refused_in_words():
    with pytest.raises(ValueError, match="several annotators"):
        UMAClassifier().fit(np.zeros((3, 1)), [["a", "b"], ["b", "b"], ["a", "a"]])
