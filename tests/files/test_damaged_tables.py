"""Files of data changed at random: a table or a DataFileError, never anything else."""

import bz2
import gzip
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unconfused._files import DataFileError, LabelledRows
from unconfused._files.read import iter_tables, read_table
from unconfused._files.write import write_table

pytestmark = pytest.mark.slow

N_MUTATIONS = int(os.environ.get("UNCONFUSED_FUZZ", "250"))
"""Damaged files of each kind; `make fuzz` tries more than ten thousand in all."""

FRAME = pd.DataFrame(
    {
        "size": [1.5, np.nan, -3e10, 4.0] * 5,
        "count": range(20),
        "seen": pd.to_datetime(["2024-02-29", "1999-12-31", None, "2024-01-01"] * 5),
        "text": ['a "quoted" word', "two\nlines", "naïve, with comma", None] * 5,
        "good": [True, False] * 10,
    }
)
SVMLIGHT = b"# a comment\n" + b"".join(b"%d 1:0.5 %d:-2e3\n" % (i % 3, i + 2) for i in range(20))
ENDINGS = ["csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "csv.bz2", "jsonl.gz"]
ALL = [*ENDINGS, "svm", "svm.gz", "npz", "sparse.npz", "stream.arrow"]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return the bytes of a good file of every kind."""
    folder = tmp_path_factory.mktemp("good")
    files = {end: write_table(FRAME, folder / f"good.{end}").read_bytes() for end in ENDINGS}
    files |= {"svm": SVMLIGHT, "svm.gz": gzip.compress(SVMLIGHT)}
    np.savez(folder / "good.npz", X=np.eye(20), y=np.array(["a", "b"] * 10))
    sparse.save_npz(folder / "sparse.npz", sparse.csr_matrix(np.eye(20)))
    import pyarrow as pa

    table = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(str(folder / "stream.arrow"), table.schema) as stream:
        stream.write_table(table)
    for name in ("good.npz", "sparse.npz", "stream.arrow"):
        files[name.removeprefix("good.")] = (folder / name).read_bytes()
    return files


def read_both_ways(path):
    """Read a file whole and in parts; say whether it could be read."""
    whole, said = None, str(path)
    try:
        whole = read_table(path)
    except DataFileError as error:
        said = str(error)
    assert str(path) in said and "\n" not in said
    assert whole is None or isinstance(whole, (pd.DataFrame, LabelledRows))
    if path.suffix == ".npz" or ".svm" in path.name:
        return whole is not None
    try:
        parts = list(iter_tables(path, rows=7))
        assert whole is None or sum(map(len, parts)) == len(whole)
    except DataFileError:
        pass
    return whole is not None


def damaged(content, rng):
    """Change, drop, repeat or insert some bytes."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randint(max(1, len(changed)))
        match rng.randint(5):
            case 0:
                changed[place : place + 1] = bytes([rng.randint(256)])
            case 1:
                del changed[place : place + rng.randint(1, 9)]
            case 2:
                changed[place:place] = changed[place : place + rng.randint(1, 60)]
            case 3:
                changed[place:place] = rng.choice(
                    [b"\0", b'"', b"\r", b"\n", b",", b"1e999", b"\xff", b"9" * 40, b"{[", b":"]
                )
            case 4:
                del changed[place:]
    return bytes(changed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ALL)
def test_damaged_files(ending, good, tmp_path):
    rng = np.random.RandomState(0)
    path = tmp_path / f"file.{ending}"
    path.write_bytes(good[ending])
    assert read_both_ways(path), "the file is good before it is damaged"
    for _ in range(N_MUTATIONS):
        path.write_bytes(damaged(good[ending], rng))
        read_both_ways(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_damage_below_the_packing(pack, good, tmp_path):
    rng = np.random.RandomState(1)
    ending = {gzip.compress: "gz", bz2.compress: "bz2"}[pack]
    path = tmp_path / f"file.tsv.{ending}"
    for _ in range(N_MUTATIONS // 3):
        path.write_bytes(pack(damaged(good["tsv"], rng)))
        read_both_ways(path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "svm", "arrow", "parquet", "npz"])
@given(content=st.binary(max_size=200))
def test_any_bytes(ending, content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"bytes.{ending}"
    path.write_bytes(content)
    read_both_ways(path)


@pytest.mark.filterwarnings("ignore")
@given(
    text=st.text(alphabet=st.sampled_from('ab1.,;\t\n\r" -e9é\0'), max_size=60),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "latin-1"]),
)
def test_any_cells(text, encoding, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    path.write_bytes(text.encode(encoding))
    read_both_ways(path)
