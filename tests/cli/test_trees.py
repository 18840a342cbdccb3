"""`fit` and `audit` with boosted trees, and the choice between them and a linear model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from pets import refused, succeed, succeed_json
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_blobs

import unconfused
from unconfused import noise
from unconfused.cli import model as modelling
from unconfused.cli.comparison import better_plan
from unconfused.cli.input.task import Task

pytestmark = pytest.mark.slow


def people(n=600, seed=0):
    """Return a table with a category, a date, gaps and a curved effect, and the truth."""
    rng = np.random.RandomState(seed)
    town, age = rng.choice(["Oslo", "Bergen", "Narvik"], n), rng.uniform(18, 80, n)
    truth = np.where((np.abs(age - 45) < 15) ^ (town == "Oslo"), "buys", "rents")
    kind = noise.corrupt_labels(truth, noise.symmetric(2, 0.25), random_state=seed)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(0, 900, n), unit="D")
    frame = pd.DataFrame({"town": town, "age": age.round(1), "since": since, "kind": kind})
    frame.loc[rng.random_sample(n) < 0.05, "age"] = np.nan
    frame["checked"] = np.where(np.arange(n) < 80, truth, None)
    return frame, truth


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people()[0].to_csv("people.csv", index=False)


def test_trees_are_chosen_fitted_saved_and_reported_where_effects_are_curved():
    found = succeed_json(
        "fit", "people.csv", "--label", "kind", "--truth", "checked", "--report", "r.html"
    )
    assert found["learner"] == "UnconfusedClassifier"
    assert any("Boosted trees were chosen" in note for note in found["notes"])
    assert "--learner logistic" in refused("export", "model.skops")
    new, truth = people(seed=1)
    new.drop(columns=["kind", "checked"]).to_csv("new.csv", index=False)
    succeed("predict", "model.skops", "new.csv", "-o", "out.csv")
    assert np.mean(pd.read_csv("out.csv")["label"] == truth) > 0.85


def test_audit_finds_wrong_labels_with_trees():
    options = ("--label", "kind", "--truth", "checked", "--learner", "trees", "-o", "rows.csv")
    succeed("audit", "people.csv", *options)
    rows, truth = pd.read_csv("rows.csv").head(60), people()[1]
    assert np.mean(rows["label"].to_numpy() != truth[rows["row"]]) > 0.85


def test_trees_take_arrays_with_gaps_but_neither_sparse_rows_nor_text():
    X, truth = make_blobs(300, centers=2, random_state=0)
    X[::7, 0] = np.nan
    pd.DataFrame(X).assign(kind=truth, remark="so so").to_csv("a.csv", index=False)
    found = succeed_json("fit", "a.csv", "--label", "kind", "--learner", "trees", "--trust-labels")
    assert found["learner"] == "UnconfusedClassifier"
    said = refused(
        "fit", "a.csv", "--label", "kind", "--text", "remark", "--learner", "trees", "--force"
    )
    assert "'remark' is text" in said and "--learner logistic" in said
    dump_svmlight_file(sparse.csr_matrix(np.nan_to_num(X)), truth, "rows.svm")
    assert "sparse" in refused("fit", "rows.svm", "--learner", "trees", "--force")
    assert "--stream" in refused(
        "fit", "people.csv", "--label", "kind", "--learner", "trees", "--stream", "--force"
    )


def test_a_linear_model_stays_where_trees_are_not_clearly_better():
    X, truth = make_blobs(600, centers=3, n_features=5, cluster_std=4.0, random_state=0)
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.3), random_state=0)
    task = Task("nothing", X, np.arange(600), y)
    settings = modelling.Settings(learner="auto")
    linear = modelling.make_plan(task, settings)
    trees = modelling.trees_to_compare(task, settings, linear)
    assert isinstance(linear.learner, unconfused.UnconfusedLogisticRegression)
    assert trees is not None and better_plan(task, linear, trees, 0) is linear
    assert modelling._enough_rows(task)
    assert not modelling._enough_rows(Task("nothing", X[:99], np.arange(99), y[:99]))
