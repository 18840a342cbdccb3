"""`unconfused fit` and `predict`: from a file to labels for another."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pets import (
    FIT,
    KINDS,
    KNOWN,
    NOISE,
    SETTINGS,
    invoke,
    pets,
    pets_csv,
    refused,
    succeed,
    succeed_json,
    write_fitted,
)
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.preprocessing import normalize

import unconfused
from unconfused import noise, persistence
from unconfused._files.read import read_table
from unconfused._files.write import write_table

pytestmark = pytest.mark.slow

MATRIX = (
    "true,cat,dog,hen\n" + "\n".join(
        f"{name},{','.join(map(str, row))}" for name, row in zip(KINDS, NOISE, strict=True)
    )
)  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Give every test a folder with the pets in it."""
    monkeypatch.chdir(tmp_path)
    pets_csv("pets.csv")
    Path("C.csv").write_text(MATRIX)


def accuracy(*options, fit=(), data="new.csv"):
    """Fit and predict; return how many of new pets are named right."""
    new = pets(seed=9)
    new.drop(columns=["kind", "checked", "truth"]).to_csv("new.csv", index=False)
    succeed("fit", "pets.csv", "--label", "kind", *fit, "--force")
    succeed("predict", "model.skops", data, "-o", "out.csv", "--force", *options)
    return float(np.mean(pd.read_csv("out.csv")["label"].to_numpy() == new["truth"].to_numpy()))


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["--confusion", "C.csv", "--ignore", "checked"], "given"),
        (["--truth", "checked"], "trusted"),
        (["--ignore", "checked"], "nothing"),
        (["--ignore", "checked", "--trust-labels"], "assumed"),
        (["--confusion", "C.csv", "--truth", "checked"], "given"),
    ],
)
def test_every_source_gives_a_model(options, kind):
    given = (*options, "--text", "remark", *SETTINGS)
    found = succeed_json("fit", "pets.csv", "--label", "kind", *given)
    assert found["verdict"]["kind"] == kind
    assert found["classes"] == ["cat", "dog", "hen"] and found["rows"] == 240
    assert found["columns"]["numbers"] == ["size", "legs"]
    assert found["columns"]["categories"] == ["coat"] and found["columns"]["text"] == ["remark"]
    assert found["columns"]["left_out"].keys() == {"name"}
    header = persistence.read_header("model.skops")
    assert header.metadata["verdict"] == found["verdict"]
    if kind in ("given", "trusted"):
        assert 0.1 < found["verdict"]["wrong_share"] < 0.3
        assert found["verdict"]["label"] in ("dog", None)  # named only if it stands out


def test_mixed_columns_with_gaps_are_learnt_and_predicted():
    assert accuracy(fit=["--truth", "checked"]) > 0.85
    assert accuracy(fit=["--confusion", "C.csv", "--text", "remark", "--ignore", "checked"]) > 0.9
    assert accuracy(fit=["--truth", "checked", "--learner", "uma"]) > 0.8


def test_the_verdict_comes_first():
    printed = succeed("fit", "pets.csv", "--label", "kind", "--truth", "checked").splitlines()
    frame = pets()[lambda pet: pet["checked"].notna()]
    wrong = (frame["kind"] != frame["checked"]).sum()
    assert re.match(rf"On {len(frame)} checked rows the model is right \d+ %", printed[0])
    assert re.search(r"About \d+ % of the labels are probably wrong \(95 % int", "\n".join(printed))
    text = " ".join(printed)
    assert f"{len(frame)} checked rows, of which {wrong} carry a wrong label" in text
    assert "column 'checked'" in text
    assert printed[-1] == "Model: model.skops" and Path("model.skops").exists()
    assert "\x1b[" not in "".join(printed)


def test_a_guess_is_called_one():
    printed = succeed("fit", "pets.csv", "--label", "kind", "--ignore", "checked")
    assert "may be wrong" in printed and "Estimated from features and labels alone" in printed


def test_a_truth_that_repeats_the_labels_is_noticed():
    frame = pd.read_csv("pets.csv")
    frame.assign(checked=frame["kind"]).to_csv("pets.csv", index=False)
    for command in ("fit", "estimate"):
        settings = SETTINGS if command == "fit" else ()
        notes = succeed_json(command, "pets.csv", *KNOWN[1:], *settings)["notes"]
        assert any("a copy of the labels?" in one for one in notes), notes


def test_a_truth_that_is_not_named_is_noticed():
    pets().drop(columns="checked").to_csv("open.csv", index=False)
    result = invoke("fit", "open.csv", "--label", "kind")
    assert "'truth' holds class names" in result.stderr and "--ignore" in result.stderr
    numbered = pets().drop(columns=["checked", "coat", "remark"])
    digits = {"cat": 0, "dog": 1, "hen": 2}
    for column in ("kind", "truth"):
        numbered[column] = numbered[column].map(digits)
    numbered["toys"] = numbered["truth"] % 2  # a count, not all of the classes
    numbered.to_csv("numbered.csv", index=False)
    result = invoke("fit", "numbered.csv", "--label", "kind", *SETTINGS, "--force")
    assert "'truth' holds class names" in result.stderr and "'toys'" not in result.stderr


def test_rows_without_a_label_are_left_out_and_counted():
    frame = pets()
    frame.loc[:9, ["kind", "checked"]] = None
    frame.loc[10:12, "kind"] = "?"
    frame.loc[10:12, "checked"] = None
    frame.drop(columns="truth").to_csv("gaps.csv", index=False)
    found = succeed_json("fit", "gaps.csv", *FIT[2:], "--missing", "?")
    assert found["rows"] == 227
    assert any("13 of 240 rows have no label" in note for note in found["notes"])


def test_numbers_as_labels_with_a_truth_that_pandas_turned_into_floats():
    frame = pets()
    frame["kind"] = frame["kind"].map({"cat": 3, "dog": 10, "hen": 2})
    frame["checked"] = frame["checked"].map({"cat": 3, "dog": 10, "hen": 2})
    frame.drop(columns="truth").to_csv("codes.csv", index=False)
    assert "1.0" not in Path("codes.csv").read_text()[:200] and frame["checked"].dtype.kind == "f"
    found = succeed_json("fit", "codes.csv", *FIT[2:])
    assert found["classes"] == [2, 3, 10]


def test_gaps_in_the_labels_do_not_change_their_type():
    frame = pets()
    labels = frame["kind"].map({"cat": 1, "dog": 2, "hen": 3}).astype(object)
    frame["number"] = labels.where(frame.index % 10 > 0)
    frame["true"] = labels.where(frame.index % 3 == 0)
    frame.loc[0, "true"] = "unknown"  # a class of its own, as it is not named as missing
    frame[["size", "number", "true"]].to_csv("numbers.csv", index=False)
    found = succeed_json("fit", "numbers.csv", "-l", "number", "-t", "true", *SETTINGS)
    assert found["classes"] == ["1", "2", "3", "unknown"]


def test_minus_one_is_a_class_unless_it_is_said_to_be_none():
    frame = pets()
    frame["kind"] = frame["kind"].map({"cat": 0, "dog": 1, "hen": 2})
    frame.loc[:29, "kind"] = -1
    frame[["size", "coat", "kind"]].to_csv("codes.csv", index=False)
    as_class = succeed_json("fit", "codes.csv", "-l", "kind", *SETTINGS)
    assert as_class["classes"] == [-1, 0, 1, 2]
    assert any("--missing -1" in note for note in as_class["notes"])
    given = ("-l", "kind", *SETTINGS, "--missing", "-1", "--force")
    left_out = succeed_json("fit", "codes.csv", *given)
    assert left_out["classes"] == [0, 1, 2] and left_out["rows"] == 210


def test_classes_give_the_order_of_a_matrix_without_names():
    order = [2, 0, 1]
    rows = NOISE[np.ix_(order, order)]
    Path("plain.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    options = ("-l", "kind", "-c", "plain.csv", "--classes", "hen,cat,dog", "--ignore", "checked")
    found = succeed_json("fit", "pets.csv", *options)
    np.testing.assert_allclose(found["confusion"], NOISE)
    assert found["classes"] == ["cat", "dog", "hen"]


def test_report_is_written():
    succeed(*FIT, "--report", "report.html")
    assert "probably wrong" in Path("report.html").read_text(encoding="utf-8")


def test_probabilities_and_kept_columns():
    accuracy("--proba", "--keep", "name", fit=["--truth", "checked"])
    found = pd.read_csv("out.csv")
    every = [f"probability_{kind}" for kind in KINDS]
    assert found.columns.tolist() == ["name", "label", "probability", *every]
    np.testing.assert_allclose(found[every].sum(axis=1), 1)
    np.testing.assert_allclose(found[every].max(axis=1), found["probability"])
    assert found["name"].tolist() == pets(seed=9)["name"].tolist()


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "jsonl", "parquet", "arrow"])
def test_parts_are_put_together_in_every_format(ending):
    write_fitted()
    data = write_table(pets(), Path(f"new.{ending}"))
    arguments = ("predict", "model.skops", data, "--keep", "name")
    succeed(*arguments, "-o", f"parts.{ending}", "--rows", "50")
    succeed(*arguments, "-o", f"whole.{ending}")
    parts, whole = (read_table(f"{name}.{ending}") for name in ("parts", "whole"))
    pd.testing.assert_frame_equal(parts, whole)
    assert len(parts) == 240


def test_uma_gives_labels_alone():
    succeed("fit", *KNOWN, "--learner", "uma")
    succeed("predict", "model.skops", "pets.csv", "-o", "out.csv")
    assert pd.read_csv("out.csv").columns.tolist() == ["label"]
    assert "no probabilities" in refused(
        "predict", "model.skops", "pets.csv", "-o", "p.csv", "--proba"
    )


def test_rounds_of_relabelling_are_for_the_logistic_learner():
    fit = ["fit", *KNOWN, "--l2", "0.001", "--relabel", "2"]
    succeed(*fit)
    learner = unconfused.load("model.skops").steps[-1][1]
    assert learner.relabel == 2 and len(learner.history_["relabelled"]) >= 1
    assert "--learner logistic" in refused(*fit, "--learner", "uma", "-o", "other.skops")


def test_settings_are_automatic_unless_given():
    succeed("fit", "pets.csv", "-l", "kind", "--ignore", "checked")
    learner = unconfused.load("model.skops").steps[-1][1]
    assert (learner.confusion, learner.l2, learner.relabel) == ("auto", "auto", "auto")
    assert "l2" in learner.choice_
    given = ["--l2", "0.01", "--relabel", "0", "--force"]
    succeed("fit", "pets.csv", "-l", "kind", "--truth", "checked", *given)
    learner = unconfused.load("model.skops").steps[-1][1]
    assert (learner.confusion, learner.l2, learner.relabel) == (None, 0.01, 0)


def test_a_guess_that_does_not_help_is_told_but_not_used():
    pets_csv("few.csv", n_rows=60)  # too few rows to support any guess
    printed = invoke("fit", "few.csv", "-l", "kind", "--ignore", "checked,coat,legs")
    assert "may be wrong" in printed.stdout
    assert "so the model took the labels as right. Estimated" in printed.stdout


def test_rounds_that_were_not_made_are_told_of(monkeypatch):
    fit = ["fit", *KNOWN, "--l2", "0.001", "--relabel", "2"]
    assert "No round" not in invoke(*fit).stderr
    monkeypatch.setattr(
        "unconfused.estimators.relabel.evidence.OutOfFold.is_less_likely_than",
        lambda *args: True,
    )
    assert "No round of relabelling was made" in invoke(*fit, "--force").stderr


def test_missing_and_extra_columns_are_named():
    write_fitted()
    pets().rename(columns={"coat": "cote"}).to_csv("new.csv", index=False)
    said = refused("predict", "model.skops", "new.csv", "-o", "out.csv")
    assert "no column 'coat'" in said and "'cote'" in said and not Path("out.csv").exists()
    result = invoke("predict", "model.skops", "pets.csv", "-o", "out.csv")
    assert "does not use: 'name', 'kind', 'checked'." in result.stderr


def test_damage_late_in_a_file_leaves_no_output():
    write_fitted()
    frame = pets()
    frame["size"] = frame["size"].astype(object)
    frame.loc[200, "size"] = "big"
    frame.to_csv("new.csv", index=False)
    said = refused("predict", "model.skops", "new.csv", "-o", "out.csv", "--rows", "50")
    assert "'big' (row 200)" in said
    assert {path.suffix for path in Path().iterdir()} == {".csv", ".skops"}
    assert not Path("out.csv").exists()


def test_svmlight_and_npz():
    X, y = load_iris(return_X_y=True)
    C = noise.symmetric(3, 0.2)
    seen = noise.corrupt_labels(y, C, 0)
    pd.DataFrame(C).to_csv("C.csv")
    with gzip.open("iris.svm.gz", "wb") as stream:
        dump_svmlight_file(X, seen, stream)
    np.savez("iris.npz", X=X, y=seen)
    np.savez("unit.npz", X=normalize(X), y=seen)
    succeed("fit", "unit.npz", *SETTINGS, "-o", "unit.skops")
    assert np.array_equal(persistence.load("unit.skops")[:-1].transform(X), X)
    sparse.save_npz("rows.npz", sparse.csr_matrix(X))
    for name in ("iris.svm.gz", "iris.npz"):
        succeed("fit", name, "-c", "C.csv", "--l2", "0.001", "--force")
        assert not np.allclose(persistence.load("model.skops")[:-1].transform(X), X)
        succeed("predict", "model.skops", name, "-o", "out.csv", "--force")
        assert np.mean(pd.read_csv("out.csv")["label"] == y) > 0.95
    assert "holds no labels" in refused("fit", "rows.npz", "--force")
    assert "no column names" in refused("fit", "iris.npz", "-l", "y", "--force")
    dump_svmlight_file(X[:, :3], seen, "narrow.svm")
    succeed("fit", "iris.svm.gz", *SETTINGS, "--force")
    succeed("predict", "model.skops", "narrow.svm", "-o", "out.csv", "--force")


def test_many_rows():
    pets_csv("large.csv", n_rows=20_000)
    found = succeed_json("fit", "large.csv", *FIT[2:], "-o", "large.skops")
    assert found["rows"] == 20_000
    succeed("predict", "large.skops", "large.csv", "-o", "large.parquet")
