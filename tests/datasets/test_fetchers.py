"""The loaders of Optdigits and Letter, and what all loaders share."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from dataset_files import no_network, write
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from unconfused.datasets import (
    _home,
    _reuters,
    _uci,
    fetch_letter,
    fetch_music_genre,
    fetch_optdigits,
    fetch_reuters,
)

# The folder ---------------------------------------------------------------------------------------


def test_argument_comes_before_variable_before_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNCONFUSED_DATA", raising=False)
    assert _home.find_data_home() == tmp_path / "cache" / "unconfused"
    monkeypatch.setenv("UNCONFUSED_DATA", str(tmp_path / "variable"))
    assert _home.find_data_home() == tmp_path / "variable"
    assert _home.find_data_home(tmp_path / "argument") == tmp_path / "argument"


@pytest.mark.parametrize("fetch", [fetch_optdigits, fetch_letter, fetch_reuters, fetch_music_genre])
def test_unknown_subset_is_refused(fetch, tmp_path):
    with pytest.raises(ValueError, match=r'"train", "test" or "all", got .valid'):
        fetch(data_home=tmp_path, subset="valid")


# Optdigits ----------------------------------------------------------------------------------------


def digits_row(seed: int, label: object) -> str:
    pixels = np.random.RandomState(seed).randint(0, 17, 64)
    return ",".join(map(str, [*pixels, label])) + "\n"


@pytest.fixture
def small_digits(tmp_path, monkeypatch):
    for name, n_rows in (("optdigits.tra", 4), ("optdigits.tes", 2)):
        text = "".join(digits_row(row, row) for row in range(n_rows))
        monkeypatch.setitem(_uci.DIGITS.checksums, name, write(tmp_path / "optdigits" / name, text))
    return tmp_path


def test_optdigits_reads_files(small_digits):
    digits = fetch_optdigits(data_home=small_digits)
    assert digits.data.shape == (4, 64)
    assert digits.data.dtype == np.float64
    np.testing.assert_array_equal(digits.target, [0, 1, 2, 3])
    np.testing.assert_array_equal(digits.target_names, np.arange(10))
    assert len(digits.feature_names) == 64
    assert "digits" in digits.DESCR
    X, y = fetch_optdigits(data_home=small_digits, subset="all", return_X_y=True)
    assert X.shape == (6, 64)
    np.testing.assert_array_equal(y, [0, 1, 2, 3, 0, 1])


def test_as_frame_gives_pandas(small_digits):
    digits = fetch_optdigits(data_home=small_digits, as_frame=True)
    assert isinstance(digits.data, pd.DataFrame)
    assert isinstance(digits.target, pd.Series)
    assert list(digits.data.columns) == digits.feature_names
    assert digits.frame.shape == (4, 65)


def test_as_frame_without_pandas_says_how_to_get_it(small_digits, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r'pip install .*\[data\]"'):
        fetch_optdigits(data_home=small_digits, as_frame=True)
    assert fetch_optdigits(data_home=small_digits).data.shape == (4, 64)


def test_line_endings_do_not_matter(small_digits):
    path = small_digits / "optdigits" / "optdigits.tra"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert fetch_optdigits(data_home=small_digits).data.shape == (4, 64)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "cut short"),
        ("".join(digits_row(row, row) for row in range(3)), "cut short"),
        ("".join(digits_row(row, row) for row in range(3)) + "1,2\n", "row 4 has 2 fields"),
        ("".join(digits_row(row, 9) for row in range(4)), "SHA-256"),
    ],
)
def test_damaged_file_is_an_error_that_names_it(small_digits, text, complaint):
    write(small_digits / "optdigits" / "optdigits.tra", text)
    with pytest.raises(ValueError, match=complaint) as caught:
        fetch_optdigits(data_home=small_digits)
    assert "optdigits.tra" in str(caught.value)


def test_binary_file_is_an_error(small_digits):
    (small_digits / "optdigits" / "optdigits.tra").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ValueError, match="not a comma-separated text file"):
        fetch_optdigits(data_home=small_digits)


@pytest.mark.parametrize("label", ["zero", "nan", "inf"])
def test_words_for_numbers_are_an_error(small_digits, monkeypatch, label):
    text = digits_row(0, label)
    checksum = write(small_digits / "optdigits" / "optdigits.tra", text)
    monkeypatch.setitem(_uci.DIGITS.checksums, "optdigits.tra", checksum)
    with pytest.raises(ValueError, match=r"optdigits\.tra is damaged"):
        fetch_optdigits(data_home=small_digits)


@pytest.fixture
def openml_digits(monkeypatch):
    """OpenML's table in miniature: the test rows are scattered among the training rows."""
    test_data, test_target = load_digits(return_X_y=True)
    train_data = np.full((3, 64), 16.0)
    data = np.vstack([train_data[:2], test_data, train_data[2:]])
    target = np.concatenate([[0, 1], test_target, [2]]).astype(str).astype(object)
    calls = []

    def fake(name, **options):
        calls.append((name, options))
        return Bunch(data=data, target=target)

    monkeypatch.setattr(_uci, "fetch_openml", fake)
    return calls


def test_optdigits_downloads_and_removes_the_test_rows(openml_digits, tmp_path):
    X, y = fetch_optdigits(data_home=tmp_path, return_X_y=True)
    assert X.shape == (3, 64)
    np.testing.assert_array_equal(y, [0, 1, 2])
    [(name, options)] = openml_digits
    assert name == "optdigits"
    assert options["version"] == 1
    assert options["n_retries"] > 1
    assert Path(options["data_home"]) == tmp_path / "optdigits"
    (tmp_path / "optdigits" / "openml").mkdir(parents=True)  # scikit-learn's copy
    again, _ = fetch_optdigits(data_home=tmp_path, return_X_y=True, download_if_missing=False)
    np.testing.assert_array_equal(again, X)


def test_optdigits_test_rows_need_no_download(monkeypatch, tmp_path):
    monkeypatch.setattr(_uci, "fetch_openml", no_network)
    X, y = fetch_optdigits(data_home=tmp_path, subset="test", return_X_y=True)
    expected, labels = load_digits(return_X_y=True)
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(y, labels)


def test_optdigits_refuses_a_table_without_the_test_rows(monkeypatch, tmp_path):
    table = Bunch(data=np.zeros((5, 64)), target=np.array(list("01234"), dtype=object))
    monkeypatch.setattr(_uci, "fetch_openml", lambda *args, **options: table)
    with pytest.raises(ValueError, match="0 of the 1797 test rows"):
        fetch_optdigits(data_home=tmp_path)


# Without files and without a network --------------------------------------------------------------


@pytest.mark.parametrize(
    ("fetch", "folder", "file"),
    [
        (fetch_optdigits, "optdigits", "optdigits.tra"),
        (fetch_letter, "letter", "letter-recognition.data"),
        (fetch_reuters, "rcv1", "rcv1_train.multiclass.bz2"),
    ],
)
def test_no_network_is_explained(fetch, folder, file, monkeypatch, tmp_path):
    monkeypatch.setattr(_uci, "fetch_openml", no_network)
    monkeypatch.setattr(_reuters, "fetch_rcv1", no_network)
    with pytest.raises(ConnectionError, match="nobody answers") as caught:
        fetch(data_home=tmp_path)
    for part in (str(tmp_path / folder), file, "UNCONFUSED_DATA"):
        assert part in str(caught.value)


@pytest.mark.parametrize("fetch", [fetch_optdigits, fetch_letter, fetch_reuters])
def test_nothing_is_downloaded_against_the_callers_will(fetch, tmp_path):
    # scikit-learn's own fetch_rcv1 runs here: it must refuse without asking the network.
    with pytest.raises(FileNotFoundError, match="UNCONFUSED_DATA"):
        fetch(data_home=tmp_path, download_if_missing=False)


# Letter -------------------------------------------------------------------------------------------


def letter_text(letters: str) -> str:
    return "".join(
        f"{letter}," + ",".join(["3"] * 15 + [str(i)]) + "\n" for i, letter in enumerate(letters)
    )


@pytest.fixture
def small_letter(tmp_path, monkeypatch):
    checksum = write(tmp_path / "letter" / "letter-recognition.data", letter_text("TIDN"))
    monkeypatch.setitem(_uci.LETTER.checksums, _uci.LETTER_FILE, checksum)
    monkeypatch.setattr(_uci, "N_TRAINING_LETTERS", 3)
    return tmp_path


@pytest.mark.parametrize(("subset", "letters"), [("all", "TIDN"), ("train", "TID"), ("test", "N")])
def test_letter_reads_its_file(small_letter, subset, letters):
    found = fetch_letter(data_home=small_letter, subset=subset)
    assert found.target.tolist() == list(letters)
    assert found.data.shape == (len(letters), 16)
    assert found.data[-1, 0] == 3.0
    assert len(found.feature_names) == 16
    assert len(found.target_names) == 26


def test_letter_downloads(monkeypatch, tmp_path):
    table = Bunch(data=np.arange(32.0).reshape(2, 16), target=np.array(["Z", "A"], dtype=object))
    monkeypatch.setattr(_uci, "fetch_openml", lambda *args, **options: table)
    X, y = fetch_letter(data_home=tmp_path, return_X_y=True)
    np.testing.assert_array_equal(X, table.data)
    assert y.tolist() == ["Z", "A"]


def test_letter_refuses_other_classes(small_letter, monkeypatch):
    checksum = write(small_letter / "letter" / "letter-recognition.data", letter_text("TI1N"))
    monkeypatch.setitem(_uci.LETTER.checksums, _uci.LETTER_FILE, checksum)
    with pytest.raises(ValueError, match="no letters"):
        fetch_letter(data_home=small_letter)
