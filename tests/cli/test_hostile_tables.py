"""Tables made to mislead: quotes that take in rows, formulas, numbers beyond all measure."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pets import (
    AUDIT,
    FIT,
    KNOWN,
    SETTINGS,
    invoke,
    pets,
    refused,
    succeed,
    succeed_json,
    write_fitted,
)
from scipy import sparse

from unconfused import UnconfusedLogisticRegression
from unconfused._columns.steps import build_pipeline, prepare_frame
from unconfused._files import DataFileError
from unconfused._files.read import iter_tables, read_table
from unconfused._files.write import open_table, write_table
from unconfused.cli.commands.predict import finite_scores

pytestmark = pytest.mark.usefixtures("folder")

# Quotes.

PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
UNCLOSED = [
    ('a,b\n1,x\n2,"y\n3,z\n4,w\n', "line 3 is never closed"),  # takes in two rows
    ('a,b\n1,x\n2,"y\n3,z\n4,w', "line 3 is never closed"),
    ('a,b\n1,x\n2,"y', "line 3 is never closed"),  # a file that was cut off
    ('a,b\r\n1,x\r\n2,"y\r\n3,z\r\n', "line 3 is never closed"),
    ('a,b\r1,x\r2,"y\r3,z\r', "line 3 is never closed"),
    ('a,b\n\n\n1,5" wide\n2,"y\n3,z\n', "line 5 is never closed"),
    ('a,b\n"1\n2,y\n3,z\n', "line 2 is never closed"),
    ('a,"b\n1,x\n2,y\n', "line 1 is never closed"),
    ('"a,b\n1,x\n2,y\n', "line 1 is never closed"),
    ('"a;b\n1;x\n2;y\n', "line 1 is never closed"),
    ('a,b\n"one\ntwo",x\n2,"y\n3,z\n', "line 4 is never closed"),
    ('a,b\n1,"x\n2,y\n3,"z"\n4,w\n', "line 2 is closed in line 4, where more text"),
    ('a,b\n1,"x ""so""\n2,y\n3,z\n', "line 2 is never closed"),
    ('a,b\n1,"x"y\n2,z\n', "line 2 is closed in line 2, where more text"),
    ('a,b\n1,"two\nlines" \n2,y\n', "line 2 is closed in line 3, where more text"),
]
CLOSED = [
    ('a,b\n1,"two\nlines"\n2,y\n', [["1", "two\nlines"], ["2", "y"]]),
    ('a,b\n1,"two\n""quoted""\nlines"\n2,y\n', [["1", 'two\n"quoted"\nlines'], ["2", "y"]]),
    ('a,b\n1,5" wide\n\n2,y\n', [["1", '5" wide'], ["2", "y"]]),
    ('a,b\n1,x\n2,"two\nlines"', [["1", "x"], ["2", "two\nlines"]]),
    ('a,b\n1,"x\n"\n2,""""\n', [["1", "x\n"], ["2", '"']]),
    ('a,b\n1,"two\r\nlines"\r\n2,y\r\n', [["1", "two\r\nlines"], ["2", "y"]]),
]


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize(("content", "match"), UNCLOSED)
@pytest.mark.parametrize("mark", [",", "\t"])
def test_a_quote_takes_in_no_rows(content, match, packing, mark):
    path = Path({",": "t.csv", "\t": "t.tsv"}[mark] + packing)
    path.write_bytes(PACKED[packing](content.replace(",", mark).encode()))
    with pytest.raises(DataFileError, match=match):
        read_table(path)
    for rows in (1, 2, 1000):
        with pytest.raises(DataFileError, match=match):
            list(iter_tables(path, rows=rows))


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize(("content", "cells"), CLOSED)
def test_cells_may_have_several_lines(content, cells, packing):
    path = Path(f"t.csv{packing}")
    path.write_bytes(PACKED[packing](content.encode()))
    assert read_table(path, as_text=["a", "b"]).to_numpy().tolist() == cells
    parts = list(iter_tables(path, rows=1, as_text=["a", "b"]))
    assert pd.concat(parts).to_numpy().tolist() == cells


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_quotes_in_other_encodings(encoding):
    Path("t.csv").write_bytes('a,b\nä,"x\nö,y\n'.encode(encoding))
    with pytest.raises(DataFileError, match="line 2 is never closed"):
        read_table("t.csv", encoding=encoding)


def test_a_quote_far_into_a_long_file():
    """The rows that it takes in are more than the parser reads at a time."""
    lines = ["a,b", *(f"{i},word" for i in range(200_000))]
    lines[150_001] = '150000,"word'
    Path("t.csv").write_text("\n".join(lines))
    for read in (read_table, lambda path: list(iter_tables(path))):
        with pytest.raises(DataFileError, match="line 150002 is never closed"):
            read("t.csv")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "cut.csv", "-l", "kind"),
        ("fit", "cut.csv", "-l", "kind", "--stream"),
        ("audit", "cut.csv", "-l", "kind", "-o", "out.csv"),
        ("estimate", "cut.csv", "-l", "kind"),
        ("estimate", "cut.csv", "-l", "kind", "-t", "checked", "--stream"),
        ("predict", "pets.skops", "cut.csv", "-o", "out.csv"),
        ("predict", "pets.skops", "cut.csv", "-o", "out.csv", "--rows", "7"),
        ("corrupt", "cut.csv", "-l", "kind", "--symmetric", "0.1", "-o", "out.csv"),
        ("fit", "pets.csv", "-l", "kind", "-c", "C.csv"),
        ("fit", "pets.csv", "--votes", "votes.csv", "--item", "i", "--annotator", "w", "-l", "a"),
    ],
)
def test_no_command_loses_rows_to_a_quote(arguments):
    write_fitted("pets.skops")
    lines = Path("pets.csv").read_text().splitlines()
    # The rest of the file is one cell, the last of its row.
    lines[140] = lines[140].rsplit(",", 1)[0] + ',"'
    Path("cut.csv").write_text("\n".join(lines))
    Path("C.csv").write_text(',cat,dog,hen\ncat,1,0,0\ndog,0,1,0\nhen,0,0,"1\n')
    Path("votes.csv").write_text('i,w,a\n0,ann,cat\n1,ann,"dog\n2,ann,cat\n')
    before = sorted(Path().iterdir())
    said = refused(*arguments)
    assert "quote" in said or "end of data" in said
    assert sorted(Path().iterdir()) == before


# Formulas.

FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1",
    "'=1", "''@x", "=", "-", "+49 30 1234", "-cat",
]  # fmt: skip
HARMLESS = ["cat", "it's", "'tis", "'", "a=1", " =1", "1-1", "-1", "-1.5", "+3", "-2e-5", "-.5"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "jsonl", "parquet", "arrow"])
def test_formulas_come_back_as_they_were(ending):
    cells = [*FORMULAS, *HARMLESS]
    frame = pd.DataFrame({"=name": cells, "text": cells[::-1], "n": np.arange(len(cells)) - 9.5})
    written = write_table(frame, f"t.{ending}", escape=True)
    with open_table(f"u.{ending}", escape=True) as append:
        append(frame[:5])
        append(frame[5:])
    for path in (written, f"u.{ending}"):
        parts = iter_tables(path, rows=3, as_text=["=name", "text"])
        for found in (read_table(path), pd.concat(parts)):
            assert found.columns.tolist() == frame.columns.tolist()
            assert found["=name"].tolist() == cells and found["text"].tolist() == cells[::-1]
            assert found["n"].tolist() == frame["n"].tolist()


def test_only_formulas_are_escaped():
    cells = [*FORMULAS, *HARMLESS]
    frame = pd.DataFrame({"=name": cells, "n": -np.arange(1.0, len(cells) + 1)})
    raw = pd.read_csv(write_table(frame, "t.csv", escape=True), keep_default_na=False)
    assert raw.columns.tolist() == ["'=name", "n"]
    assert raw["'=name"].tolist() == [f"'{one}" for one in FORMULAS] + HARMLESS
    assert raw["n"].tolist() == frame["n"].tolist(), "numbers stay numbers"
    raw = pd.read_csv(write_table(frame, "u.csv"), keep_default_na=False)
    assert raw["=name"].tolist() == cells


def hostile_pets():
    """Write the table with names and labels that are formulas."""
    frame = pets().drop(columns="truth").replace({"cat": "=cat()", "dog": "-1"})
    frame["name"] = "@" + frame["name"]
    frame.to_csv("pets.csv", index=False)


@pytest.mark.slow
def test_commands_escape_formulas_unless_told_otherwise():
    hostile_pets()
    audit = (*AUDIT, "--id", "name", "-o")
    succeed(*audit, "check.csv")
    raw = pd.read_csv("check.csv")
    assert raw["name"].str.startswith("'@").all()
    assert set(raw["label"]) == {"'=cat()", "-1", "hen"}
    assert set(read_table("check.csv")["label"]) == {"=cat()", "-1", "hen"}
    succeed(*audit, "raw.csv", "--no-escape")
    assert set(pd.read_csv("raw.csv")["label"]) == {"=cat()", "-1", "hen"}
    succeed(*FIT)
    predict = ("predict", "model.skops", "pets.csv", "--keep", "name", "-o")
    succeed(*predict, "labels.csv")
    raw = pd.read_csv("labels.csv")
    assert raw["name"].str.startswith("'@").all() and "'=cat()" in set(raw["label"])
    assert read_table("labels.csv")["name"].tolist() == read_table("pets.csv")["name"].tolist()
    succeed(*predict, "raw_labels.csv", "--no-escape")
    assert "=cat()" in set(pd.read_csv("raw_labels.csv")["label"])


def test_a_matrix_with_formulas_for_names_can_be_used():
    hostile_pets()
    estimate = ("estimate", *KNOWN, "-o")
    succeed(*estimate, "C.csv")
    assert pd.read_csv("C.csv").columns.tolist()[1:] == ["-1", "'=cat()", "hen"]
    known = ("-l", "kind", "-c", "C.csv", "--ignore", "checked")
    found = succeed_json("fit", "pets.csv", *known, *SETTINGS)
    assert found["classes"] == ["-1", "=cat()", "hen"]
    succeed(*estimate, "raw.csv", "--no-escape")
    assert pd.read_csv("raw.csv").columns.tolist()[1:] == ["-1", "=cat()", "hen"]


def test_a_return_in_a_name_ends_no_line():
    frame = pets().drop(columns="truth").replace({"cat": "c\rat", "dog": "d\r\nog"})
    write_table(frame, "pets.csv", force=True)
    assert read_table("pets.csv")["kind"].tolist() == frame["kind"].tolist()
    succeed("estimate", *KNOWN, "-o", "C.csv")
    known = ("-l", "kind", "-c", "C.csv", "--ignore", "checked")
    found = succeed_json("fit", "pets.csv", *known, *SETTINGS)
    assert found["classes"] == ["c\rat", "d\r\nog", "hen"]
    succeed("predict", "model.skops", "pets.csv", "-o", "out.csv", "--proba")
    assert set(read_table("out.csv")["label"]) == {"c\rat", "d\r\nog", "hen"}


# Columns of the output that would have the same name.


@pytest.mark.parametrize("name", ["row", "label", "suggested", "probability_wrong"])
def test_audit_overwrites_no_column(name, monkeypatch):
    pets().drop(columns="truth").rename(columns={"name": name}).to_csv("pets.csv", index=False)
    monkeypatch.setattr(
        "unconfused._files.read.read_table", lambda *a, **k: pytest.fail("work started")
    )
    said = refused(*AUDIT, "--id", name, "-o", "check.csv")
    assert f"--id '{name}'" in said and "Rename" in said
    assert not Path("check.csv").exists()


@pytest.mark.parametrize("name", ["label", "probability", "probability_cat", "probability_hen"])
def test_predict_overwrites_no_column(name):
    write_fitted()
    pets().rename(columns={"name": name}).to_csv("new.csv", index=False)
    predict = ("predict", "model.skops", "new.csv", "-o", "out.csv", "--keep", name)
    assert f"--keep '{name}'" in refused(*predict, "--proba")
    if name.startswith("probability_"):
        succeed(*predict)
        assert pd.read_csv("out.csv")[name].tolist() == pets()["name"].tolist()


def test_corrupt_overwrites_no_column():
    pets().rename(columns={"size": "noisy_kind"}).to_csv("pets.csv", index=False)
    corrupt = ("corrupt", "pets.csv", "-l", "kind", "--symmetric", "0.1", "-o", "out.csv")
    assert "The column 'noisy_kind' exists already" in refused(*corrupt)


# Numbers beyond all measure.


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["1e308", "-1e200", "inf", "-Infinity"])
def test_numbers_that_no_model_can_take(cell):
    write_fitted("pets.skops")
    succeed("fit", *KNOWN, "-o", "uma.skops", "--learner", "uma")
    frame = pets().drop(columns="truth").astype({"size": object})
    frame.loc[17, "size"] = cell
    frame.to_csv("far.csv", index=False)
    before = sorted(Path().iterdir())
    for arguments in (
        ("predict", "pets.skops", "far.csv", "-o", "out.csv"),
        ("predict", "pets.skops", "far.csv", "-o", "out.csv", "--rows", "7"),
        ("predict", "uma.skops", "far.csv", "-o", "out.csv"),
        ("fit", "far.csv", "-l", "kind", "-t", "checked"),
        ("fit", "far.csv", "-l", "kind", "-t", "checked", "--stream"),
        ("audit", "far.csv", "-l", "kind", "-o", "out.csv"),
        ("estimate", "far.csv", "-l", "kind"),
    ):
        said = refused(*arguments)
        assert "'size'" in said and "row 17" in said and "Correct it" in said
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("value", [1e308, -1e200, np.inf, np.nan])
def test_entries_that_no_model_can_take(value):
    rng = np.random.RandomState(0)
    X, y = rng.randn(90, 4), np.arange(90) % 3
    np.savez("good.npz", X=X, y=y)
    succeed("fit", "good.npz", *SETTINGS)
    X[7, 2] = value
    np.savez("far.npz", X=X, y=y)
    sparse.save_npz("sparse.npz", sparse.csr_matrix(X))
    cells = [" ".join(f"{j}:{v}" for j, v in enumerate(row, start=1)) for row in X]
    Path("far.svm").write_text("".join(f"{k} {c}\n" for k, c in zip(y, cells, strict=True)))
    files = ["far.svm", "sparse.npz"] + ["far.npz"] * (not np.isnan(value))
    for name in files:
        assert "row 7 (from 0) holds" in refused("predict", "model.skops", name, "-o", "out.csv")
        assert not Path("out.csv").exists()
        if name != "sparse.npz":  # which has no labels
            assert "row 7 (from 0) holds" in refused("fit", name, "-o", "far.skops")


class Overflowing:
    """A model with weights so large that some rows have no score."""

    classes_ = np.array(["a", "b"])

    def predict_proba(self, rows):
        with np.errstate(all="ignore"):
            scores = np.asarray(rows, dtype=float) @ np.full((rows.shape[1], 2), 1e200)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            return shares / shares.sum(axis=1, keepdims=True)


def test_rows_without_a_score_are_named():
    frame = pd.DataFrame({"small": [1.0, 2.0, 3.0], "large": [1.0, 1e140, 2.0]}, index=[5, 6, 7])
    message = r"Row 6 \(from 0\) has no finite score"
    with pytest.raises(ValueError, match=message):
        finite_scores(Overflowing(), frame, "predict_proba")
    with pytest.raises(ValueError, match=r"Row 1 \(from 0\) has no finite score"):
        finite_scores(Overflowing(), frame.to_numpy(), "predict_proba")
    assert finite_scores(Overflowing(), frame[:1], "predict_proba").tolist() == [[0.5, 0.5]]


def test_a_row_without_a_score_is_not_written(monkeypatch):
    write_fitted()
    from unconfused import UnconfusedLogisticRegression

    def none(self, X):
        shares = np.full((X.shape[0], 3), 1 / 3)
        shares[11] = np.nan
        return shares

    monkeypatch.setattr(UnconfusedLogisticRegression, "predict_proba", none)
    for rows in ("10000", "12"):
        result = invoke("predict", "model.skops", "pets.csv", "-o", "out.csv", "--rows", rows)
        assert result.exit_code == 2 and "Row 11 (from 0)" in result.stderr
        assert not Path("out.csv").exists()


# Very many columns.


@pytest.mark.slow
def test_a_header_longer_than_any_line():
    """Cut short, it would leave the last columns to other rules: a code would be a number."""
    names = [f"a_rather_long_name_{place}" for place in range(9_000)]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join(["007"] * 9_000) + "\n")
    assert len(",".join(names)) > 2**17
    found = read_table("wide.csv", as_text=names)
    assert found.columns.tolist() == names
    assert found[names[-1]].tolist() == found[names[0]].tolist() == ["007"]


def test_columns_are_not_searched_for_one_by_one():
    """Scikit-learn looks through all names for each that it is given, but not for places."""
    frame = pd.DataFrame(np.random.RandomState(0).randn(30, 6), columns=list("abcdef"))
    frame["f"] = ["x", "y"] * 15
    model, _ = build_pipeline(frame, UnconfusedLogisticRegression())
    fitted = model[:-1].fit(prepare_frame(model, frame))
    places = {name: columns for name, _, columns in fitted[0].transformers_}
    assert places == {"numbers": [0, 1, 2, 3, 4], "categories": [5]}
