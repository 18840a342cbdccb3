"""`fit --stream`: a file in parts gives the model that the whole file gives."""

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
from unconfused._columns.steps import prepare_frame
from unconfused._files.write import write_table
from unconfused.cli.input import source as file_source
from unconfused.cli.input import stream as file_stream
from unconfused.cli.model import plain_steps

pytestmark = pytest.mark.slow

ROWS = 60
"""Of a part, in these tests."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Make many parts of small files."""
    monkeypatch.setattr(file_stream, "CELLS", 8 * ROWS)
    monkeypatch.setattr(file_stream, "FEWEST_ROWS", 1)
    monkeypatch.setattr(file_stream, "SAMPLE", 100)


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


def test_rows_of_one_length_are_not_scaled(tmp_path):
    rng = np.random.RandomState(0)
    X, y = rng.rand(200, 9) * (rng.rand(200, 9) < 0.4), rng.randint(3, size=200)
    X[:, 0] += y
    X = normalize(X)
    X[7] = 0.0  # an empty row has no length to compare
    data = tmp_path / "rows.svm"
    dump_svmlight_file(X, y, str(data))
    succeed("fit", data, *SETTINGS, "-o", tmp_path / "m.skops")
    assert np.array_equal(unconfused.load(tmp_path / "m.skops")[:-1].transform(X), X)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.float32])
def test_small_integers_have_lengths_too(kind):
    rows = sparse.csr_matrix(np.array([[16, 0, 0], [16, 16, 0], [0, 0, 100]], dtype=kind))
    assert isinstance(plain_steps(rows, False)["scale"], MaxAbsScaler)
    assert isinstance(plain_steps(rows[:1], False)["scale"], FunctionTransformer)


def test_what_columns_are_is_learnt_from_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(file_stream, "SAMPLE", 3)  # 180 of 600 rows
    data = write_table(mixed(600), tmp_path / "pets.csv")
    options = ["--label", "kind", "--truth", "checked", "--text", "remark", "--id", "name"]
    models, (whole, parts) = both(data, tmp_path, *options, *SETTINGS)
    assert parts["columns"] == whole["columns"]
    scales = [model[0].named_transformers_["numbers"][-1].mean_ for model in models]
    assert 0 < np.abs(scales[0] - scales[1]).max() < 0.3
    rows = prepare_frame(models[1], mixed())
    assert np.mean(models[0].predict(rows) == models[1].predict(rows)) > 0.95


@pytest.mark.parametrize("odd", ["unknown", "2024-02-30"])
def test_what_is_odd_in_one_row_is_seen(odd, tmp_path, monkeypatch):
    monkeypatch.setattr(file_stream, "SAMPLE", 1)
    frame = mixed(600).astype({"size": object})
    frame.loc[431, "size"] = odd
    data = write_table(frame, tmp_path / "pets.csv")
    said = refused("fit", data, "--label", "kind", "--stream", "-o", tmp_path / "m.skops")
    assert "'size' holds numbers, except for 1 of" in said and f"'{odd}' in row 431" in said


def test_the_report(tmp_path):
    data = write_table(mixed(), tmp_path / "pets.csv")
    page = tmp_path / "page.html"
    options = ["--label", "kind", "--ignore", "checked", "--text", "remark", "--id", "name"]
    options += ["--stream", *SETTINGS, "-o", tmp_path / "m.skops"]
    succeed("fit", data, *options, "--report", page)
    text = page.read_text(encoding="utf-8")
    assert "<dd>272</dd>" in text and "it says" in text


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
    dump_svmlight_file(np.eye(20), np.arange(20) % 2, str(tmp_path / "rows.svm"))
    for name, kind in (("rows.npz", "NPZ"), ("rows.svm", "svmlight")):
        said = refused("fit", tmp_path / name, "--stream", "-o", tmp_path / "m.skops")
        assert f"{kind} cannot be read in parts" in said
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
