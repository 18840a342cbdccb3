"""Labels that are not classes, such as "unsure", on the command line."""

import numpy as np
import pandas as pd
import pytest
from pets import refused, succeed_json
from sklearn.datasets import make_blobs

import unconfused

C = pd.DataFrame(
    [[0.6, 0.1, 0.3], [0.0, 0.7, 0.3]], index=["cat", "dog"], columns=["cat", "dog", "unsure"]
)


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """Write the files, and return the classes behind the labels."""
    monkeypatch.chdir(tmp_path)
    X, code = make_blobs(300, centers=2, cluster_std=1.5, random_state=0)
    rng = np.random.RandomState(0)
    labels = [rng.choice(C.columns, p=C.to_numpy()[q]) for q in code]
    pd.DataFrame(X, columns=["a", "b"]).assign(label=labels).to_csv("pets.csv", index=False)
    C.to_csv("C.csv")
    return C.index.to_numpy()[code]


@pytest.mark.parametrize("learner", ["auto", pytest.param("uma", marks=pytest.mark.slow)])
def test_a_model_is_fitted_and_saved(truth, learner):
    found = succeed_json(
        "fit",
        "pets.csv",
        "--label",
        "label",
        "--confusion",
        "C.csv",
        "--learner",
        learner,
        "--json",
    )
    assert found["classes"] == ["cat", "dog"]
    assert "not classes" in found["verdict"]["sentence"]
    assert "Labels that are not classes, by C.csv: unsure." in found["notes"]
    model = unconfused.load("model.skops")
    rows = pd.read_csv("pets.csv")[["a", "b"]]
    assert np.mean(model.predict(rows) == truth) > 0.85


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["audit", "--output", "wrong.csv"], "Only `fit`"),
        (["fit", "--report", "report.html"], "Only `fit`"),
        (["fit", "--learner", "trees"], "Use --learner logistic."),
    ],
)
def test_what_is_about_wrong_labels_is_refused(truth, command, words):
    name, *options = command
    said = refused(name, "pets.csv", "--label", "label", "--confusion", "C.csv", *options)
    assert words in " ".join(said.split())


def test_names_that_match_in_part_are_still_a_mistake(truth):
    C.iloc[:, :2].rename(columns={"dog": "Dog"}).to_csv("C.csv")
    said = refused("fit", "pets.csv", "--label", "label", "--confusion", "C.csv")
    assert "both must name the same classes" in " ".join(said.split())
