"""`audit --stream` and `estimate --stream`: a file in parts gives what the whole file gives."""

import re

import numpy as np
import pandas as pd
import pytest
from pets import SETTINGS, pets, refused, succeed_json

from unconfused import noise
from unconfused._files.write import write_table
from unconfused._report import case, judge
from unconfused.cli.input import stream as file_stream

pytestmark = pytest.mark.slow

WAYS = ("--no-stream", "--stream")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Make many parts of small files."""
    monkeypatch.setattr(file_stream, "CELLS", 8 * 60)
    monkeypatch.setattr(file_stream, "FEWEST_ROWS", 1)
    monkeypatch.setattr(file_stream, "SAMPLE", 100)


def audited(data, tmp_path, *options):
    """Audit in memory and in parts; return both lists and what was said."""
    said, lists = [], []
    for way in WAYS:
        path = tmp_path / f"{way}.csv"
        found = succeed_json("audit", data, *options, way, "-o", path)
        said.append({key: found[key] for key in ("labels", "rows", "notes")})
        lists.append(pd.read_csv(path))
    left = {file.name for file in tmp_path.iterdir()} - {f"{way}.csv" for way in WAYS}
    assert left == {data.name}, "nothing else stays"
    return lists, said


# Beside known truths nearly no penalty is chosen: then coefficients are large, and the rounds of a
# fold end earlier or later by the slightest difference in scale.
@pytest.mark.parametrize(
    "known",
    [
        ["--truth", "checked", "--ignore", "remark", "--l2", "0.001"],
        ["--ignore", "remark,checked"],
    ],
)
def test_audit(known, tmp_path):
    frame = pets(400)
    frame.loc[::11, "kind"] = None
    data = write_table(frame.drop(columns="truth"), tmp_path / "pets.csv")
    options = ["--label", "kind", *known, "--id", "name"]
    (whole, parts), (left, right) = audited(data, tmp_path, *options)
    assert left == right
    assert list(whole.columns) == list(parts.columns)
    # Scales are those of all rows, not of each fold's, so probabilities differ a little.
    both = whole.merge(parts, on=["row", "name", "label"], suffixes=("", "_parts"))
    assert len(both) == len(whole) == len(parts)
    np.testing.assert_allclose(both["probability_wrong"], both["probability_wrong_parts"], atol=0.1)
    assert (both["name"] == "p" + both["row"].astype(str)).all()


def test_the_list_of_a_file_in_parts_has_an_end(tmp_path):
    data = write_table(pets(200).drop(columns="truth"), tmp_path / "pets.csv")
    options = ["--label", "kind", "--ignore", "checked", "--stream", *SETTINGS]
    found = succeed_json("audit", data, *options, "--top", 80, "-o", tmp_path / "more.csv")
    assert found["rows"] == 80


def test_names_that_some_lines_lack(tmp_path):
    frame = pets(150).drop(columns=["truth", "checked"])
    lines = [row.dropna().to_json() for _, row in frame.iterrows()]
    lines[60:] = [row.drop("name").dropna().to_json() for _, row in frame[60:].iterrows()]
    data = tmp_path / "pets.jsonl"
    data.write_text("\n".join(lines), encoding="utf-8")
    output = tmp_path / "rows.csv"
    given = ("--label", "kind", "--id", "name", "--stream", *SETTINGS)
    succeed_json("audit", data, *given, "-o", output)
    rows = pd.read_csv(output)
    named = rows["row"] < 60
    assert (rows["name"][named] == "p" + rows["row"][named].astype(str)).all()
    assert rows["name"][~named].isna().all() and len(rows) == 150
    other = tmp_path / "other.csv"
    assert "no column 'gone'" in refused("audit", data, *given, "--keep", "gone", "-o", other)


def test_rows_listed_from_parts_without_their_name_and_no_rows_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(file_stream, "FEWEST_ROWS", 256)
    frame = pets(520).drop(columns=["coat", "remark"])
    frame.loc[:255, "kind"] = frame.loc[:255, "truth"]
    lines = [row.dropna().to_json() for _, row in frame.drop(columns="truth").iterrows()]
    lines[256:] = [re.sub('"name":"[^"]*",', "", line) for line in lines[256:]]
    data, output = tmp_path / "pets.jsonl", tmp_path / "rows.csv"
    data.write_text("\n".join(lines), encoding="utf-8")
    given = ("--label", "kind", "--id", "name", "--stream", *SETTINGS, "-o", output, "--force")
    succeed_json("audit", data, *given, "--truth", "checked", "--top", 3)
    rows = pd.read_csv(output)
    assert rows["name"].isna().all() and (rows["row"] >= 256).all()
    frame.to_csv(tmp_path / "pets.csv", index=False)
    assert succeed_json("audit", tmp_path / "pets.csv", *given, "--truth", "truth")["rows"] == 0


def test_audit_of_annotators(tmp_path):
    frame = pets(200)
    people = [f"ann{k}" for k in range(3)]
    for seed, name in enumerate(people):
        frame[name] = noise.corrupt_labels(frame["truth"].to_numpy(), noise.symmetric(3, 0.3), seed)
    wanted = frame.drop(columns=["kind", "truth", "checked"])
    data = write_table(wanted, tmp_path / "pets.parquet")
    (whole, parts), (left, right) = audited(
        data, tmp_path, "--annotators", ",".join(people), *SETTINGS
    )
    assert left == right
    assert set(whole["row"]) == set(parts["row"])


@pytest.mark.parametrize("known", [["--truth", "checked"], ["--ignore", "checked"]])
def test_estimate(known, tmp_path, monkeypatch):
    data = write_table(pets(400).drop(columns="truth"), tmp_path / "pets.csv")
    whole = succeed_json("estimate", data, "--label", "kind", *known, "--no-stream")
    if known[0] == "--truth":  # labels are all that is read
        monkeypatch.setattr(file_stream, "open_stream", lambda one: 1 / 0)
    output = tmp_path / "C.csv"
    parts = succeed_json(
        "estimate", data, "--label", "kind", *known, "--stream", "--scratch", tmp_path, "-o", output
    )
    assert parts.pop("output") == str(output)
    assert whole.pop("output") is None
    for key in ("matrix", "low", "high", "counts"):
        np.testing.assert_allclose(parts[key], whole[key], atol=1e-6)
    assert parts["notes"] == whole["notes"] and parts["verdict"] == whole["verdict"]


def test_models_of_folds_need_not_see_all_rows(tmp_path, monkeypatch):
    data = write_table(pets(400).drop(columns="truth"), tmp_path / "pets.csv")
    options = ["--label", "kind", "--truth", "checked", "--no-stream", *SETTINGS]
    succeed_json("audit", data, *options, "-o", tmp_path / "all.csv")
    monkeypatch.setattr(case, "MOST_TRAINED", 150)
    monkeypatch.setattr(judge, "JUDGED_ROWS", 17)
    succeed_json("audit", data, *options, "-o", tmp_path / "some.csv")
    whole, some = (pd.read_csv(tmp_path / name) for name in ("all.csv", "some.csv"))
    both = whole.merge(some, on=["row", "label"])
    assert len(both) == len(whole) == len(some)
    seen = np.corrcoef(both["probability_wrong_x"], both["probability_wrong_y"])[0, 1]
    assert 0.8 < seen < 1 - 1e-9
