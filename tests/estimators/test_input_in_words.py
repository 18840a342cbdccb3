"""Input that cannot be used is refused in words that say what to do."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unconfused import UMAClassifier, UnconfusedLogisticRegression, noise, write_report

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
