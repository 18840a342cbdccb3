"""Input that cannot be used is refused in words that say what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from unconfused import (
    ConfusionWarning,
    KernelUMAClassifier,
    UMAClassifier,
    UnconfusedClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
    confusion,
    noise,
    write_report,
)
from unconfused.review import fit_checked

LABELS = ["a", "b"] * 10
COLUMNS = {"age": np.arange(20.0), "job": ["nurse", "pilot"] * 10}


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame(COLUMNS), "not numbers: 'job'"),
        (pd.DataFrame(COLUMNS).astype({"job": "category"}), "not numbers: 'job'"),
        (pd.DataFrame({"age": np.arange(20.0), "seen": pd.Timestamp("2024-05-31")}), "'seen'"),
        (pl.DataFrame(COLUMNS), "make_column_transformer"),
        (["a text"] * 20, "TfidfVectorizer"),
        (pd.Series(["a text"] * 20), "TfidfVectorizer"),
    ],
)
@pytest.mark.parametrize("learner", [UMAClassifier(), UnconfusedLogisticRegression()])
def test_rows_that_are_not_numbers(learner, X, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(X, LABELS)


def test_numbers_of_other_types_are_taken():
    frame = pd.DataFrame({"a": np.arange(20, dtype=object), "b": [True, False] * 10})
    clf = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(frame, LABELS)
    assert clf.predict(frame).tolist() == LABELS


def test_weights_passed_for_the_truth():
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="sample_weight="):
        UnconfusedLogisticRegression().fit(X, [0, 1] * 10, np.ones(20))


def test_fractions_passed_for_the_truth():
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"y_true holds 0.5, .* sample_weight="):
        UnconfusedLogisticRegression().fit(X, [0, 1] * 10, np.linspace(0.5, 2, 20))


@pytest.mark.parametrize(
    "y",
    [
        ["cat", "CAT", "dog", "dog"] * 5,
        ["cat", "cat ", "dog", "dog"] * 5,
        [["cat", "CAT"], ["dog", "dog"]] * 10,
    ],
)
def test_labels_that_differ_only_in_case_or_spaces(y):
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="differ only in case or spaces"):
        UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, y)


def test_letters_may_differ_in_case():
    X = np.arange(20.0)[:, np.newaxis]
    clf = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, ["a"] * 10 + ["A"] * 10)
    assert clf.classes_.tolist() == ["A", "a"]
    clf.fit(X, ["a"] * 10 + ["A"] * 10, y_true=["a", None] * 5 + ["A", None] * 5)
    with pytest.raises(ValueError, match="y_true holds 'B' and y holds 'b'"):
        clf.fit(X, ["a", "b"] * 10, y_true=["a", "B"] + [None] * 18)


def test_a_missing_label_that_is_a_word_is_not_taken_for_minus_one():
    X = np.arange(20.0)[:, np.newaxis]
    clf = UnconfusedLogisticRegression(l2=1e-3, relabel=0, missing_label="none")
    clf.fit(X, ["a"] * 8 + ["none"] * 2 + ["b"] * 10)  # a warning would be an error
    assert clf.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("learner", [UMAClassifier, UnconfusedDiscriminantAnalysis])
def test_a_guess_where_there_is_none(learner):
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="from_noisy"):
        learner("auto").fit(X, LABELS)
    learner("auto").fit(X, LABELS, y_true=["a", "b"] * 4 + [None] * 12)


@pytest.mark.parametrize(
    "learner",
    [UnconfusedLogisticRegression(), UnconfusedClassifier(UnconfusedLogisticRegression())],
)
def test_rows_and_labels_in_different_orders(learner):
    X = pd.DataFrame({"a": np.arange(20.0)})
    with pytest.raises(ValueError, match=r"Pass y.loc\[X.index\]"):
        learner.fit(X, pd.Series(LABELS)[::-1])


def test_a_matrix_whose_rows_are_not_named(tmp_path):
    X = np.arange(20.0)[:, np.newaxis]
    frame = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], columns=["a", "b"])
    with pytest.raises(ValueError, match="rows of this frame are not named"):
        UnconfusedLogisticRegression(frame).fit(X, LABELS)
    frame.set_axis(["a", "b"]).to_csv(tmp_path / "C.csv")
    with pytest.raises(ValueError, match="index_col=0"):
        UnconfusedLogisticRegression(pd.read_csv(tmp_path / "C.csv")).fit(X, LABELS)
    named = pd.read_csv(tmp_path / "C.csv", index_col=0)
    UnconfusedLogisticRegression(named, l2=1e-3, relabel=0).fit(X, LABELS)


LEARNERS = [
    UMAClassifier(max_iter=5),
    KernelUMAClassifier(max_iter=5),
    UnconfusedLogisticRegression(l2=1e-2, relabel=0),
    UnconfusedDiscriminantAnalysis(),
    UnconfusedClassifier(GaussianNB(), max_rounds=0),
]


@pytest.mark.filterwarnings("ignore:UMA made no update")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_truths_of_which_there_are_none(learner):
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=60)
    X = rng.randn(60, 2) + y[:, np.newaxis]
    nothing = np.full(60, np.nan)
    with pytest.raises(ValueError, match=r"holds no truth: .* Pass the truth of some rows"):
        clone(learner).fit(X, y, y_true=nothing)
    C = noise.symmetric(2, 0.1)
    with_matrix = clone(learner).set_params(confusion=C)
    params = {"y_true": nothing}
    with config_context(enable_metadata_routing=False):
        scores = cross_val_score(with_matrix, X, y, cv=3, params=params, error_score="raise")
    assert len(scores) == 3
    if hasattr(learner, "partial_fit"):  # a chunk need not have any
        stream = clone(learner).partial_fit(X, y, classes=[0, 1], y_true=nothing)
        stream.partial_fit(X, y, y_true=np.where(np.arange(60) % 3, np.nan, y))
    if learner.__class__ in (UnconfusedLogisticRegression, UnconfusedClassifier):
        votes = np.column_stack([y, y, np.where(np.arange(60) % 5, y, 1 - y)])
        clone(learner).fit(X, votes, y_true=nothing)
    if isinstance(learner, UnconfusedLogisticRegression):
        clone(learner).set_params(confusion="auto").fit(X, y, y_true=nothing)


def test_arguments_the_wrong_way_round():
    truth = ["a"] * 4 + [None] * 16
    with pytest.raises(ValueError, match="look swapped"):
        confusion.from_trusted(LABELS, truth)
    with pytest.warns(ConfusionWarning, match="transpose it"):
        confusion.from_annotators(np.array([[*LABELS, "a"], ["b", *LABELS]]))


@pytest.mark.parametrize("stranger", [np.arange(60), np.arange(60) * 17 % 101])
def test_measurements_among_votes(stranger):
    answers = np.arange(60) % 2
    votes = np.column_stack([answers, answers, stranger])
    with pytest.raises(ValueError, match="The column 2 has 58 different values in 60 rows, which"):
        confusion.from_annotators(votes)
    X = np.arange(60.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="these are measurements"):
        UnconfusedLogisticRegression().fit(X, votes)


def test_arguments_of_the_wrong_kind():
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match=r"noise.symmetric\(2, 0.2\)"):
        UnconfusedLogisticRegression(0.2).fit(X, LABELS)
    with pytest.raises(ValueError, match="no label to rank"):
        confusion.rank_label_errors(UnconfusedLogisticRegression(), X, LABELS, y_true=LABELS)
    with pytest.raises(TypeError, match="y_true="):
        fit_checked(UnconfusedLogisticRegression(), X, LABELS, np.array(LABELS))


def test_votes_of_nobody():
    X = np.arange(20.0)[:, np.newaxis]
    with pytest.raises(ValueError, match="the votes show none"):
        UnconfusedLogisticRegression().fit(X, np.full((20, 3), np.nan))


def test_a_report_on_columns_without_names(tmp_path):
    X = np.random.RandomState(0).randn(60, 2)
    y = noise.corrupt_labels((X[:, 0] > 0).astype(int), noise.symmetric(2, 0.2), random_state=0)
    model = UnconfusedLogisticRegression(noise.symmetric(2, 0.2), l2=1e-2, relabel=0).fit(X, y)
    page = write_report(model, pd.DataFrame(X), y, tmp_path / "r.html", sensitivity=False)
    assert f"{X[0, 0]:.6g}" in page.read_text(encoding="utf-8")
