"""`unconfused audit --probabilities`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from unconfused import noise
from unconfused.cli.app import app


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=400)
    C = noise.pairwise(3, 0.3)
    names = np.array(["ant", "bee", "cow"])
    y = noise.corrupt_labels(truth, C, random_state=1)
    pred_probs = np.clip(C[truth] + 0.03 * rng.normal(size=(400, 3)), 0.001, None)
    pred_probs /= pred_probs.sum(axis=1, keepdims=True)
    kind = pd.Series(names[y], dtype=object)
    kind[5] = None
    pd.DataFrame({"kind": kind, "name": [f"n{k}" for k in range(400)]}).to_csv(
        tmp_path / "pets.csv", index=False
    )
    frame = pd.DataFrame(pred_probs[:, [2, 0, 1]], columns=["cow", "ant", "bee"])
    frame.to_csv(tmp_path / "probs.csv", index=False)
    frame.to_parquet(tmp_path / "probs.parquet")
    np.save(tmp_path / "probs.npy", pred_probs)
    frame.iloc[:300].to_csv(tmp_path / "short.csv", index=False)
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "long.csv", index=False)
    frame.assign(name="x").to_csv(tmp_path / "text.csv", index=False)
    return tmp_path, names[truth], names[y]


def run(folder, probabilities, *more):
    arguments = ["audit", str(folder / "pets.csv"), "--label", "kind", "-o"]
    arguments += [str(folder / "check.csv"), "--force", "--probabilities"]
    return CliRunner().invoke(app, [*arguments, str(folder / probabilities), *more])


@pytest.mark.parametrize("file", ["probs.csv", "probs.parquet", "probs.npy"])
def test_every_format_ranks_the_wrong_labels(files, file):
    folder, truth, y = files
    result = run(folder, file, "--json", "--id", "name")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    rows = pd.read_csv(folder / "check.csv")
    assert list(rows.columns) == ["row", "name", "label", "suggested", "suspicion"]
    assert told["criterion"] == "self_confidence"
    assert len(rows) == told["rows"] == 399  # one row has no label
    wrong = truth != y
    first = rows["row"][: wrong.sum()].to_numpy()
    assert wrong[first].mean() > 0.95
    assert (rows["name"] == [f"n{k}" for k in rows["row"]]).all()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("short.csv", "300 rows, but"),
        ("long.csv", "401 rows, but"),
        ("text.csv", "hold no numbers"),
        ("none.npy", "cannot be read"),
    ],
)
def test_files_that_do_not_fit_are_refused(files, file, message):
    result = run(files[0], file)
    assert result.exit_code == 2
    assert message in result.stderr


def test_several_annotators_are_refused(files):
    result = run(files[0], "probs.csv", "--annotators", "kind,name")
    assert result.exit_code == 2
