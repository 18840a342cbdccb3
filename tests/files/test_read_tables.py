"""Tables from files: what is read, and what is said when it cannot be."""

import gzip
import os
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from unconfused._files import DataFileError, delimited
from unconfused._files.read import iter_tables, read_table
from unconfused._files.write import write_table
from unconfused._text import pip_install

FRAME = pd.DataFrame(
    {
        "size": [1.5, np.nan, -3e10],
        "count": [1, 2, 3],
        "seen": pd.to_datetime(["2024-02-29", "1999-12-31 23:59:01", None], format="ISO8601"),
        "text": ['a "quoted", word', "two\nlines", None],
        "good": [True, False, True],
    }
)
ENDINGS = ["csv", "tsv", "csv.gz", "tsv.bz2", "jsonl", "ndjson.gz", "parquet", "arrow", "feather"]


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path, match, **options):
    with pytest.raises(DataFileError, match=match) as caught:
        read_table(path, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_can_be_read(ending, tmp_path):
    path = write_table(FRAME, tmp_path / f"table.{ending}")
    found = read_table(path)
    assert found.columns.tolist() == FRAME.columns.tolist()
    for name in FRAME:
        assert found[name].isna().tolist() == FRAME[name].isna().tolist()
        assert found[name].dropna().tolist() == FRAME[name].dropna().tolist(), name
    assert [found[name].dtype.kind for name in FRAME] == ["f", "i", "M", "O", "b"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("rows", [1, 7, 1000, 10**6])
def test_parts_add_up(ending, rows, tmp_path):
    frame = pd.DataFrame({"a": np.arange(2500), "b": [f"w{i % 7}" for i in range(2500)]})
    path = write_table(frame.head(50 * min(rows, 50)), tmp_path / f"t.{ending}")
    parts = list(iter_tables(path, rows=rows))
    assert [len(part) for part in parts[:-1]] == [rows] * (len(parts) - 1)
    together = pd.concat(parts)
    pd.testing.assert_frame_equal(together, read_table(path), check_index_type=False)


def test_types_are_found_from_all_cells(tmp_path):
    path = put(
        tmp_path / "t.csv",
        "whole,real,gap,truth,day,zone,word,mixed,none\n"
        "1,1.5,7,true,2024-01-02,2024-01-02T03:04:05Z,x,1,\n"
        " 2 ,2,NA,FALSE,2024-01-03,2024-01-02T03:04:05+02:00,NULL,two,nan\n",
    )
    found = read_table(path)
    assert [found[name].dtype.kind for name in found] == list("iffbMMOOf")
    assert found["gap"].isna().tolist() == [False, True]
    assert found["zone"][0] - found["zone"][1] == pd.Timedelta(hours=2)
    assert found["word"].isna().tolist() == [False, True]
    assert found["mixed"].tolist() == ["1", "two"]
    kept = read_table(path, as_text=["whole", "truth"])
    assert kept["whole"].tolist() == ["1", " 2 "] and kept["truth"].tolist() == ["true", "FALSE"]


def test_ways_of_writing_text(tmp_path):
    for content in (
        b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n",
        "a,b\n1,x\n2,y".encode("utf-16"),
        b"a,b\r1,x\r2,y\r",
        b"\n\n a ,b\n\n1,x\n2,y\n\n",
    ):
        found = read_table(put(tmp_path / "t.csv", content))
        assert found.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}
    latin = put(tmp_path / "t.csv", "a\nä\n".encode("latin-1"))
    assert read_table(latin, encoding="latin-1")["a"][0] == "ä"
    semicolons = put(tmp_path / "t.csv", "a;b\n1;2,5\n")
    assert read_table(semicolons, delimiter=";")["b"][0] == "2,5"
    tabs = put(tmp_path / "t.csv", "a\tb\n1\t2\n")
    for typed in ("\t", r"\t", "tab"):
        assert read_table(tabs, delimiter=typed)["b"][0] == 2
    assert read_table(put(tmp_path / "data", "a,b\n1,2\n"), format="csv")["b"][0] == 2
    assert read_table(put(tmp_path / "U.CSV", ",b\n1,2\n")).columns.tolist() == ["unnamed_1", "b"]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "is empty"),
        ("\n \n\n", "no rows|empty lines"),
        ("a,b\n", "a header but no rows"),
        ("a,b,a\n1,2,3\n", "the column 'a' occurs more than once"),
        ("a, a\n1,2\n", "the column 'a' occurs more than once"),
        ("a,b\n1,2\n3\n", "row 3 has 1 cell and the header, row 1, has 2: '3'"),
        ("a,b\n1,2,3\n", "row 2 has 3 cells and the header, row 1, has 2"),
        ('a,b\n"1,2\n3,4\n', "quote that opens in the row of line 2 is never closed"),
        ("a,b\n1,1e999\n", "'b' holds 1e999, which is beyond"),
        ("a;b\n1;2\n", "looks divided by ';'. Say so with the delimiter"),
        ("a,b\nx\0y,1\n", "NUL bytes"),
        (b"a,b\n" + b"x,1\n" * 2000 + b"ab\0c,1\n", r"'a' holds NUL .*'ab\\x00c'. Remove"),
        (b"a,b\n\xe4,1\n", "not UTF-8.*latin-1"),
        (b"\xe4,b\n1,1\n", "not UTF-8"),
        (b"PK\x03\x04 and more", "looks like a zip file"),
        (b"PAR1 and more", "looks like a Parquet file"),
    ],
)
def test_bad_csv(content, match, tmp_path):
    refused(put(tmp_path / "bad.csv", content), match)
    with pytest.raises(DataFileError):
        list(iter_tables(tmp_path / "bad.csv", rows=10))


def test_a_row_that_never_ends(tmp_path, monkeypatch):
    path = put(tmp_path / "bad.csv", 'a,b\n"' + "x\n" * 5 * 2**20)
    refused(path, "line 2 is never closed")
    monkeypatch.setattr(delimited, "LONGEST_CELL", 2**20)
    refused(path, "line 2 is never closed")
    refused(put(tmp_path / "bad.csv", "a,b\n" + "x" * 2**21), "line is longer than 1 MB")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        ("[1, 2]\n", "line 1 holds '\\[1, 2\\]'; it must be an object"),
        ('{"a": {"b": 1}}\n', "line 1: 'a' is not a single value"),
        ('{"a": 1, "a": 2}\n', "occurs twice"),
        ('{"a": 1e999}\n', "beyond the largest"),
        ('{"a": 1%s}\n' % ("0" * 400), "beyond the largest"),
        ('{"a": Infinity}\n', "line 1 is not JSON"),
        ("{}\n{}\n", "all empty"),
        ("\n\n", "no rows"),
        (b'{"a": "\xe4"}\n', "not UTF-8"),
    ],
)
def test_bad_json_lines(content, match, tmp_path):
    refused(put(tmp_path / "bad.jsonl", content), match)


def test_json_lines_of_several_types(tmp_path):
    path = put(
        tmp_path / "t.jsonl",
        '{"a": 1, "b": true, "c": "x"}\n\n{"a": null, "b": false, "c": 2, "d": 1%s}\n' % ("0" * 30),
    )
    found = read_table(path)
    assert found["a"].tolist()[0] == 1.0 and np.isnan(found["a"][1])
    assert found["b"].tolist() == [True, False]
    assert found["c"].tolist() == ["x", "2"]
    assert found["d"].tolist()[1] == 1e30
    path = put(tmp_path / "t.jsonl", '{"day": "2024-01-02", "n": "1"}\n{"day": null, "n": "2"}\n')
    assert read_table(path)["day"][0] == pd.Timestamp("2024-01-02")
    assert read_table(path, as_text=["day"])["day"][0] == "2024-01-02"
    assert read_table(path)["n"].tolist() == ["1", "2"], "what JSON calls text is text"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("cat 1:2\n", "line 1 is 'cat 1:2'.*Labels that are words"),
        ("1 1:2\n1 2:x\n", "line 2 is '1 2:x'"),
        ("1 3:1 2:1\n", "line 1 is .*should be sorted"),
        ("1 99999999999999:1\n", "line 1 is"),
        ("inf 1:1\n", "not finite"),
        ("# only a comment\n", "no rows"),
    ],
)
def test_bad_svmlight(content, match, tmp_path):
    refused(put(tmp_path / "bad.svm", content), match)


def test_rows_without_names(tmp_path):
    for name, content in {"t.svm": b"2 1:5 3:7\n-1 2:1\n", "t.svm.gz": None}.items():
        content = content or gzip.compress(b"2 1:5 3:7\n-1 2:1\n")
        found = read_table(put(tmp_path / name, content))
        assert found.X.toarray().tolist() == [[5, 0, 7], [0, 1, 0]]
        assert found.y.tolist() == [2, -1] and found.y.dtype.kind == "i"
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=np.array(["a", "b", "a"]))
    assert read_table(tmp_path / "t.npz").y.tolist() == ["a", "b", "a"]
    sparse.save_npz(tmp_path / "s.npz", sparse.csc_matrix(np.eye(3)))
    found = read_table(tmp_path / "s.npz")
    assert found.X.format == "csr" and found.y is None
    with pytest.raises(DataFileError, match="cannot be read in parts"):
        list(iter_tables(tmp_path / "t.npz"))


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"a": np.eye(2)}, "it holds a; it must hold X"),
        ({"X": np.ones(3)}, "X must be a table of numbers"),
        ({"X": np.array([["a"]])}, "X must be a table of numbers"),
        ({"X": np.eye(2), "y": np.ones(3)}, r"y has shape \(3,\), but X has 2 rows"),
        ({"X": np.array([[None]])}, "Object arrays cannot be loaded|pickle"),
        ({"X": np.ones((0, 3))}, "no rows"),
    ],
)
def test_bad_npz(arrays, match, tmp_path):
    np.savez(tmp_path / "t.npz", **arrays)
    refused(tmp_path / "t.npz", match)


def test_indices_that_point_outside(tmp_path):
    parts = {"data": np.ones(2), "indices": np.array([0, 10**6]), "indptr": np.array([0, 1, 2])}
    np.savez(tmp_path / "t.npz", format=b"csr", shape=np.array([2, 3]), **parts)
    refused(tmp_path / "t.npz", "cannot be read as NPZ")


def test_types_of_arrow(tmp_path):
    import decimal

    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["a", "b"]),
            "price": [decimal.Decimal("1.50"), None],
            "half": np.array([1, 2], dtype=np.float16),
        },
        index=[7, 8],
    )
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert found.columns.tolist() == ["kind", "price", "half"]
    assert found["kind"].tolist() == ["a", "b"] and found["price"].tolist()[0] == 1.5
    pd.DataFrame({"many": [[1, 2]]}).to_parquet(tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "'many' is of type list.*Split it")
    pd.DataFrame({"a": []}).to_parquet(tmp_path / "t.parquet")
    refused(tmp_path / "t.parquet", "no rows")
    with pytest.raises(DataFileError, match="no rows"):
        list(iter_tables(tmp_path / "t.parquet"))


def test_names_that_are_no_files(tmp_path):
    refused(tmp_path / "none.csv", "There is no file")
    refused(tmp_path, "is a folder")
    refused("a\0.csv", "cannot be read|There is no file")
    refused("/dev/null", "not an ordinary file")
    refused(put(tmp_path / "t.xlsx", "x"), r"extension is not known.*\.parquet.*as CSV")
    refused(put(tmp_path / "t.json", "{}"), "one object per line")
    refused(put(tmp_path / "t.parquet.gz", "x"), "unpack")
    path = put(tmp_path / "t.csv", "a\n1\n")
    refused(path, "There is no format 'xls'", format="xls")
    refused(path, "There is no encoding 'klingon'", encoding="klingon")
    refused(path, "must be one character", delimiter="::")
    with pytest.raises(DataFileError, match="at least one row"):
        list(iter_tables(path, rows=0))
    for name, content in {"t.csv.gz": b"no", "t.csv.bz2": b"no", "t.arrow": b"no"}.items():
        refused(put(tmp_path / name, content), "cannot be read as|cut|is not")


def test_places_that_cannot_be_written(tmp_path):
    path = write_table(FRAME, tmp_path / "t.csv")
    before = path.read_bytes()
    with pytest.raises(DataFileError, match="exists already"):
        write_table(FRAME, path)
    with pytest.raises(DataFileError, match="There is no folder"):
        write_table(FRAME, tmp_path / "none" / "t.csv")
    with pytest.raises(DataFileError, match="svmlight is not written"):
        write_table(FRAME, tmp_path / "t.svm")
    mixed = pd.DataFrame({"a": [1, "x", object()]})
    with pytest.raises(DataFileError, match="cannot be written as Parquet"):
        write_table(mixed, tmp_path / "t.parquet")
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        write_table(FRAME, tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def without_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def test_packages_that_are_missing_are_named(tmp_path, without_pyarrow, monkeypatch):
    for path in (tmp_path / "t.parquet", tmp_path / "t.arrow"):
        put(path, "PAR1")
        with pytest.raises(ImportError, match="needs pyarrow") as caught:
            read_table(path)
        assert pip_install("files") in str(caught.value)
        with pytest.raises(ImportError, match="needs pyarrow"):
            write_table(FRAME, path, force=True)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        read_table(put(tmp_path / "t.csv", "a\n1\n"))


CELLS = {
    "i": ["1", "-1", "007", "-9223372036854775808", " 7 "],
    "f": ["99999999999999999999", "1.", ".5", "1e5", "1E+5", "inf", "-Infinity", "NAN", "", " "],
    "b": ["true", "tRuE", "FALSE"],
    "M": ["2024-05-31", "2024-05-31 12", "2024-05-31T12:30:15.1", "2024-05-31 12:30+0200"],
    "O": ["1_0", "１", "1,5", "0x1A", "yes", "2024-05", "2024-5-3", "2024-02-30", "'=1", "'tis"],
}


@pytest.mark.parametrize(("kind", "cell"), [(k, c) for k, cells in CELLS.items() for c in cells])
def test_what_a_cell_is_taken_for(kind, cell, tmp_path):
    path = put(tmp_path / "t.csv", f'a\n"{cell}"\n')
    assert read_table(path)["a"].dtype.kind == kind


def test_a_column_that_changes_from_block_to_block_is_typed_as_a_whole(tmp_path, monkeypatch):
    cells = {
        "truth": ["true", "0", "1", "", "false"],
        "number": ["1", "2", "", "2.5", "3"],
        "day": ["", "", "2024-05-31", "", ""],
        "word": ["", "7", "007", "x", "2024-05-31"],
        "self": ["true", "true", "yes", "no", ""],  # pandas has arguments of this name
    }
    lines = [",".join(cells), *map(",".join, zip(*cells.values(), strict=True))]
    path = put(tmp_path / "t.csv", "\n".join(lines))
    expected = read_table(path)
    monkeypatch.setattr(delimited, "BLOCK_ROWS", 2)
    pd.testing.assert_frame_equal(read_table(path), expected)
    assert [expected[name].dtype.kind for name in cells] == list("OfMOO")


def test_a_name_that_is_broken_into_lines_is_one_name(tmp_path):
    path = put(tmp_path / "broken.csv", '"kind of\r\ntree",b\r\noak,1\r\n')
    assert read_table(path).columns.tolist() == ["kind of tree", "b"]
    assert next(iter_tables(path)).columns.tolist() == ["kind of tree", "b"]


def test_time_stamps_as_pandas_writes_them_are_dates(tmp_path):
    path = put(tmp_path / "t.csv", "seen,size\n2024-01-01 05:23:09.336069957,1\n2024-01-02,2\n")
    assert read_table(path)["seen"].dt.day.tolist() == [1, 2]
