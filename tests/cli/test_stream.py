"""`fit --stream`: a file in parts gives the model that the whole file gives."""

import bz2
import gzip
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from pets import SETTINGS, pets, refused, succeed, succeed_json
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, normalize

import unconfused
from unconfused import noise
from unconfused._columns import steps
from unconfused._columns.kinds import ColumnRoles
from unconfused._columns.steps import build_pipeline, prepare_frame
from unconfused._columns.streamed import ColumnsInBlocks
from unconfused._files.write import write_table
from unconfused.cli import fitting
from unconfused.cli.input import source as file_source
from unconfused.cli.input import stream as file_stream
from unconfused.cli.model import scaler_for

pytestmark = pytest.mark.slow

ROWS = 60
"""Of a part, in these tests."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Make many parts of small files."""
    monkeypatch.setattr(file_stream, "CELLS", 8 * ROWS)
    monkeypatch.setattr(file_stream, "FEWEST_ROWS", 1)


def mixed(n_rows=300):
    """Return the pets with dates, truth values, gaps in labels, and columns that change midway."""
    frame = pets(n_rows)
    rng = np.random.RandomState(1)
    frame["born"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(900, size=n_rows), "D")
    frame.loc[::7, "born"] = pd.NaT
    frame["tame"] = rng.rand(n_rows) < 0.5
    frame["late"] = np.where(np.arange(n_rows) < n_rows - 90, np.nan, rng.rand(n_rows))
    # Numbers in the first parts, words in the last: categories from the first row on.
    frame["code"] = [
        f"{k:03d}" if i < 200 else "xyz"[k % 3] for i, k in enumerate(rng.randint(9, size=n_rows))
    ]
    frame["customer_id"] = range(n_rows)
    frame.loc[::11, "kind"] = None
    frame.loc[::13, "checked"] = None
    return frame.drop(columns="truth")


def both(data, tmp_path, *options):
    """Fit in memory and in parts; return both models and what was said."""
    said, models = [], []
    for way in ("--no-stream", "--stream"):
        path = tmp_path / f"{way}.skops"
        found = succeed_json("fit", data, *options, way, "-o", path)
        del found["model"], found["seconds"]
        said.append(found)
        models.append(unconfused.load(path))
    assert sorted(file.name for file in tmp_path.iterdir() if file.suffix != ".skops") == [
        data.name
    ]
    return models, said


def same(models, said):
    """Hold both fits against each other."""
    whole, parts = (model.steps[-1][1] for model in models)
    assert (whole.classes_ == parts.classes_).all()
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parts.confusion_, whole.confusion_, rtol=1e-4, atol=1e-6)
    left, right = said
    for key in ("rows", "classes", "columns", "notes", "learner"):
        assert left[key] == right[key], key
    assert left["verdict"]["sentence"] == right["verdict"]["sentence"]


FORMATS = [
    ("csv", ("--truth", "checked")),
    ("csv", ("--ignore", "checked")),
    *((one, ("--ignore", "checked", *SETTINGS)) for one in ("jsonl", "tsv", "arrow", "csv.gz")),
    ("parquet", ("--truth", "checked", *SETTINGS)),
]


@pytest.mark.parametrize(("ending", "known"), FORMATS)
def test_every_format(ending, known, tmp_path):
    data = write_table(mixed(), tmp_path / f"pets.{ending}")
    options = ["--label", "kind", *known, "--text", "remark", "--id", "name"]
    models, said = both(data, tmp_path, *options)
    same(models, said)
    columns = said[1]["columns"]
    assert columns["numbers"] == ["size", "legs", "tame", "late"]
    assert columns["categories"] == ["coat", "code"] and columns["dates"] == ["born"]
    assert "customer_id" in columns["left_out"]


@pytest.mark.parametrize("options", [["--learner", "uma"], ["--trust-labels"]])
def test_dense_rows_and_other_learners(options, tmp_path):
    data = write_table(mixed()[["size", "legs", "tame", "coat", "kind"]], tmp_path / "pets.csv")
    same(*both(data, tmp_path, "--label", "kind", *options))


@pytest.mark.parametrize("known", [["--truth", "checked"], ["--ignore", "checked"]])
def test_many_rows_are_not_relabelled_unasked(known, tmp_path, monkeypatch):
    monkeypatch.setattr("unconfused.cli.model.MOST_RELABELLED", 500)
    data = write_table(mixed(600), tmp_path / "pets.csv")
    models, _ = both(data, tmp_path, "--label", "kind", *known, "--text", "remark")
    whole, parts = (model.steps[-1][1] for model in models)
    assert isinstance(whole.relabel, str) and parts.relabel == 0
    agree = parts.coef_.ravel() @ whole.coef_.ravel()
    assert agree > 0.8 * np.linalg.norm(parts.coef_) * np.linalg.norm(whole.coef_)


def test_annotators_and_votes(tmp_path):
    frame = pets(200)
    people = [f"ann{k}" for k in range(3)]
    for seed, name in enumerate(people):
        frame[name] = noise.corrupt_labels(frame["truth"].to_numpy(), noise.symmetric(3, 0.3), seed)
        frame.loc[seed::5, name] = None
    wide = write_table(frame.drop(columns=["kind", "truth"]), tmp_path / "pets.csv")
    columns = ("--annotators", ",".join(people), "--ignore", "checked")
    same(*both(wide, tmp_path, *columns, *SETTINGS))
    answers = frame.melt("name", people, "who", "what").dropna()
    votes = write_table(answers, tmp_path.parent / "answers.csv", force=True)
    options = ["--votes", votes, "--item", "name", "--annotator", "who", "--label", "what"]
    ignored = ",".join(["checked", *people])
    for file in tmp_path.glob("*.skops"):
        file.unlink()
    same(*both(wide, tmp_path, *options, "--ignore", ignored, *SETTINGS))


@pytest.mark.parametrize(
    ("pack", "zero_based"), [(None, True), (gzip.compress, False), (bz2.compress, True)]
)
def test_svmlight(pack, zero_based, tmp_path, monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.rand(200, 9) * (rng.rand(200, 9) < 0.4), rng.randint(3, size=200)
    X[:, 0] += y
    plain = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(plain), zero_based=zero_based)
    data = plain
    if pack is not None:
        data = tmp_path / {gzip.compress: "rows.svm.gz", bz2.compress: "rows.svm.bz2"}[pack]
        data.write_bytes(pack(plain.read_bytes()))
        plain.unlink()
    monkeypatch.setattr("unconfused._files.sparse.BLOCK", 300)
    same(*both(data, tmp_path, "--missing", "1", *SETTINGS))


def test_rows_of_one_length_are_not_scaled(tmp_path, monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.rand(200, 9) * (rng.rand(200, 9) < 0.4), rng.randint(3, size=200)
    X[:, 0] += y
    X = normalize(X)
    X[7] = 0.0  # an empty row has no length to compare
    data = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(data))
    monkeypatch.setattr("unconfused._files.sparse.BLOCK", 300)
    models, said = both(data, tmp_path, *SETTINGS)
    same(models, said)
    for model in models:
        assert np.array_equal(model[:-1].transform(X), X)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.float32])
def test_small_integers_have_lengths_too(kind):
    rows = sparse.csr_matrix(np.array([[16, 0, 0], [16, 16, 0], [0, 0, 100]], dtype=kind))
    assert isinstance(scaler_for(rows), MaxAbsScaler)
    assert isinstance(scaler_for(rows[:1]), FunctionTransformer)


def test_rare_levels_go_together_as_in_memory(monkeypatch):
    rng = np.random.RandomState(0)
    levels = np.array([f"l{k}" for k in range(40)], dtype=object)
    frame = pd.DataFrame(
        {"a": levels[rng.geometric(0.1, 300) % 40], "b": levels[rng.randint(4, size=300)]}
    )
    frame.loc[::9, "a"] = None
    frame["text"] = [" ".join(rng.choice(levels, 5)) for _ in range(300)]
    monkeypatch.setattr(steps, "MOST_LEVELS", 10)
    monkeypatch.setattr(steps, "MOST_WORDS", 20)
    monkeypatch.setattr("unconfused._columns.streamed.MOST_WORDS", 20)
    model, _ = build_pipeline(frame, None, ColumnRoles(text=["text"]))
    expected = model[0].fit_transform(prepare_frame(model, frame))
    columns = ColumnsInBlocks(frame.head(0), ColumnRoles(text=["text"]))
    for start in range(0, 300, 70):
        columns.add(frame[start : start + 70])
    found, _ = columns.finish()
    assert found.get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()
    assert found.sparse_output_ == model[0].sparse_output_
    rows = found.transform(prepare_frame(model, frame))
    dense = [m.toarray() if hasattr(m, "toarray") else m for m in (rows, expected)]
    np.testing.assert_allclose(*dense, atol=1e-12)


def test_the_report_is_about_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLE", 100)
    data = write_table(mixed(), tmp_path / "pets.csv")
    page = tmp_path / "page.html"
    options = ["--label", "kind", "--ignore", "checked", "--text", "remark", "--id", "name"]
    options += ["--stream", *SETTINGS, "-o", tmp_path / "m.skops"]
    succeed("fit", data, *options, "--report", page)
    text = page.read_text(encoding="utf-8")
    assert "100 of 272 rows, drawn at random" in text
    assert "it says" in text


def test_large_files_are_streamed_unasked(tmp_path, monkeypatch):
    data = write_table(pets(), tmp_path / "pets.csv")
    seen = []
    monkeypatch.setattr(file_stream, "open_stream", lambda one: seen.append(one) or 1 / 0)
    monkeypatch.setattr(file_source, "STREAM_ABOVE", 100)
    succeed("fit", data, "--label", "kind", *SETTINGS, "--no-stream", "-o", tmp_path / "a.skops")
    assert not seen
    with pytest.raises(AssertionError):
        succeed("fit", data, "--label", "kind", "-o", tmp_path / "b.skops")
    assert seen


def test_what_cannot_be_streamed(tmp_path):
    np.savez(tmp_path / "rows.npz", X=np.eye(20), y=np.arange(20) % 2)
    said = refused("fit", tmp_path / "rows.npz", "--stream", "-o", tmp_path / "m.skops")
    assert "NPZ cannot be read in parts" in said
    data = write_table(pets(), tmp_path / "pets.csv")
    said = refused("fit", data, "--label", "kidn", "--stream", "-o", tmp_path / "m.skops")
    assert "no column 'kidn'" in said and "Did you mean 'kind'?" in said
    said = refused(
        "fit",
        data,
        "--label",
        "kind",
        "--stream",
        "--scratch",
        tmp_path / "no",
        "-o",
        tmp_path / "m.skops",
    )
    assert "cannot be kept in" in said and "--scratch" in said
    assert not list(tmp_path.glob("*.skops"))


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind(sign, tmp_path):
    data = write_table(pets(30_000), tmp_path / "pets.csv")
    command = [sys.executable, "-m", "unconfused", "fit", data.name, "--label", "kind", "--stream"]
    process = subprocess.Popen(
        [*command, "--text", "remark", "--l2", "0"], cwd=tmp_path, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    # The table of columns is said when all rows have been read, and before the fit.
    said = iter(process.stderr.readline, b"")
    assert any(line.startswith(b"Columns") for line in said), "it has begun"
    time.sleep(0.3)
    assert process.poll() is None, "still at work"
    process.send_signal(sign)
    process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGKILL: -9}[sign]
    assert [file.name for file in tmp_path.iterdir()] == [data.name]
