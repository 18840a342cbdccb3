"""The loaders: from files, from the network, and from neither."""

from __future__ import annotations

import bz2
import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from unconfused.datasets import (
    _download,
    _home,
    _letter,
    _music_genre,
    _optdigits,
    _reuters,
    fetch_letter,
    fetch_music_genre,
    fetch_optdigits,
    fetch_reuters,
)


def local_data(folder: str) -> Path:
    """Find the real files, for the tests that check real shapes."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    home = Path(os.environ.get("UNCONFUSED_DATA") or beside)
    if not (home / folder).is_dir():
        pytest.skip(f"no local copy of {folder}: set UNCONFUSED_DATA to the folder that has it")
    return home


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def write_bz2(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress(text.encode()))


def no_network(*args, **kwargs):
    raise URLError("nobody answers")


# The folder ---------------------------------------------------------------------------------------


def test_argument_comes_before_variable_before_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("UNCONFUSED_DATA", raising=False)
    assert _home.find_data_home() == tmp_path / "cache" / "unconfused"
    monkeypatch.setenv("UNCONFUSED_DATA", str(tmp_path / "variable"))
    assert _home.find_data_home() == tmp_path / "variable"
    assert _home.find_data_home(tmp_path / "argument") == tmp_path / "argument"


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "local")],
)
def test_cache_follows_the_platform(monkeypatch, tmp_path, platform, expected):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", platform)
    assert _home._user_cache() == tmp_path / expected


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
    files = {}
    for part, name, n_rows in (("train", "optdigits.tra", 4), ("test", "optdigits.tes", 2)):
        text = "".join(digits_row(row, row) for row in range(n_rows))
        checksum = write(tmp_path / "optdigits" / name, text)
        files[part] = _home.TableFile(name, 65, n_rows, checksum)
    monkeypatch.setattr(_optdigits, "FILES", files)
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
    with pytest.raises(ImportError, match=r'pip install "unconfused\[data\]"'):
        fetch_optdigits(data_home=small_digits, as_frame=True)
    assert fetch_optdigits(data_home=small_digits).data.shape == (4, 64)


def test_line_endings_do_not_matter(small_digits):
    path = small_digits / "optdigits" / "optdigits.tra"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert fetch_optdigits(data_home=small_digits).data.shape == (4, 64)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("".join(digits_row(row, row) for row in range(3)), "it has 3 rows, expected 4"),
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
    table = _home.TableFile("optdigits.tra", 65, 1, checksum)
    monkeypatch.setattr(_optdigits, "FILES", {"train": table})
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

    monkeypatch.setattr(_download, "fetch_openml", fake)
    monkeypatch.setattr(_optdigits, "OPENML_SHAPE", data.shape)
    return calls


def test_optdigits_downloads_once_and_removes_the_test_rows(openml_digits, tmp_path):
    X, y = fetch_optdigits(data_home=tmp_path, return_X_y=True)
    assert X.shape == (3, 64)
    np.testing.assert_array_equal(y, [0, 1, 2])
    again, _ = fetch_optdigits(data_home=tmp_path, return_X_y=True, download_if_missing=False)
    np.testing.assert_array_equal(again, X)
    [(name, options)] = openml_digits
    assert name == "optdigits"
    assert options["version"] == 1
    assert options["n_retries"] > 1
    assert Path(options["data_home"]) == tmp_path / "optdigits"


def test_optdigits_test_rows_need_no_download(monkeypatch, tmp_path):
    monkeypatch.setattr(_download, "fetch_openml", no_network)
    X, y = fetch_optdigits(data_home=tmp_path, subset="test", return_X_y=True)
    expected, labels = load_digits(return_X_y=True)
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(y, labels)


def test_optdigits_refuses_a_table_without_the_test_rows(monkeypatch, tmp_path):
    table = Bunch(data=np.zeros((5, 64)), target=np.array(list("01234"), dtype=object))
    monkeypatch.setattr(_download, "fetch_openml", lambda *args, **options: table)
    monkeypatch.setattr(_optdigits, "OPENML_SHAPE", (5, 64))
    with pytest.raises(ValueError, match="0 of the 1797 test rows"):
        fetch_optdigits(data_home=tmp_path)


def test_unexpected_shape_from_openml_is_an_error(openml_digits, monkeypatch, tmp_path):
    monkeypatch.setattr(_optdigits, "OPENML_SHAPE", (5620, 64))
    with pytest.raises(ValueError, match=r"OpenML's copy of 'optdigits'.*expected shape"):
        fetch_optdigits(data_home=tmp_path)
    assert not (tmp_path / "optdigits" / _download.CACHED_NAME).exists()


def test_damaged_copy_of_a_download_is_an_error(tmp_path):
    write(tmp_path / "optdigits" / _download.CACHED_NAME, "not an archive")
    with pytest.raises(ValueError, match=r"openml\.npz is damaged"):
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
    monkeypatch.setattr(_download, "fetch_openml", no_network)
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
    table = replace(_letter.FILE, n_rows=4, sha256=checksum)
    monkeypatch.setattr(_letter, "FILE", table)
    monkeypatch.setattr(_letter, "N_TRAIN", 3)
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
    monkeypatch.setattr(_download, "fetch_openml", lambda *args, **options: table)
    monkeypatch.setattr(_letter, "OPENML_SHAPE", (2, 16))
    for _ in range(2):  # the second time from our copy
        X, y = fetch_letter(data_home=tmp_path, return_X_y=True)
        np.testing.assert_array_equal(X, table.data)
        assert y.tolist() == ["Z", "A"]


def test_letter_refuses_other_classes(small_letter, monkeypatch):
    checksum = write(small_letter / "letter" / "letter-recognition.data", letter_text("TI1N"))
    monkeypatch.setattr(_letter, "FILE", replace(_letter.FILE, sha256=checksum))
    with pytest.raises(ValueError, match="no letters"):
        fetch_letter(data_home=small_letter)


# Reuters ------------------------------------------------------------------------------------------


def test_one_topic_per_document():
    names = ["C15", "C151", "C1511", "C17", "CCAT", "G15", "G154", "GCAT", "GSPO", "M14", "MCAT"]
    documents = [
        {"CCAT", "C15", "C151", "C1511"},  # one branch: C15
        {"CCAT", "C15", "C17"},  # two topics of one root: left out
        {"CCAT"},  # a root alone: left out
        {"GCAT", "G15", "G154"},  # G15
        {"GCAT", "GSPO"},  # GSPO
        {"CCAT", "C17", "MCAT", "M14"},  # two roots: left out
        {"G154"},  # an ancestor that was not written down: G15
        set(),  # no topic: left out
    ]
    topics = np.array([[name in document for name in names] for document in documents], dtype=int)
    for indicator in (topics, sparse.csr_matrix(topics), sparse.csc_array(topics.astype(np.uint8))):
        rows, labels = _reuters.one_topic_per_document(indicator, names)
        np.testing.assert_array_equal(rows, [0, 3, 4, 6])
        assert labels.tolist() == ["C15", "G15", "GSPO", "G15"]


def test_largest_classes_break_ties_by_name():
    labels = np.array(["b", "a", "c", "c", "d", "d", "d"])
    assert _reuters.largest_classes(labels, 2).tolist() == ["c", "d"]
    assert _reuters.largest_classes(labels, 3).tolist() == ["a", "c", "d"]
    for wrong in (0, 5, -1):
        with pytest.raises(ValueError, match="n_largest must be from 1 to 4"):
            _reuters.largest_classes(labels, wrong)
    with pytest.raises(TypeError):
        _reuters.largest_classes(labels, 2.5)


@pytest.fixture
def small_reuters(tmp_path):
    folder = tmp_path / "rcv1"
    write_bz2(folder / "rcv1_train.multiclass.bz2", "0 1:1\n1 2:0.6 9:0.8\n1 47236:1\n2 3:1\n")
    write_bz2(folder / "rcv1_test.multiclass.bz2", "1 5:1\n2 2:1\n0 7:1\n")
    write(folder / "classes.json", json.dumps(["C15", "E21", "M14"]))
    return tmp_path


def test_reuters_reads_files(small_reuters):
    news = fetch_reuters(data_home=small_reuters)
    assert sparse.issparse(news.data)
    assert news.data.format == "csr"
    assert news.data.shape == (4, 47236)
    assert news.data[0, 0] == 1.0  # numbered from 1 in the file
    assert news.target.tolist() == ["C15", "E21", "E21", "M14"]
    assert news.target_names.tolist() == ["C15", "E21", "M14"]
    X, y = fetch_reuters(data_home=small_reuters, subset="all", return_X_y=True)
    assert X.shape == (7, 47236)
    assert y.tolist()[4:] == ["E21", "M14", "C15"]


def test_reuters_largest_classes_are_those_of_the_training_rows(small_reuters):
    news = fetch_reuters(data_home=small_reuters, subset="test", n_largest=2)
    assert news.target_names.tolist() == ["C15", "E21"]
    assert news.target.tolist() == ["E21", "C15"]


def test_reuters_without_a_list_of_topics(small_reuters):
    (small_reuters / "rcv1" / "classes.json").unlink()
    assert fetch_reuters(data_home=small_reuters).target.tolist() == ["0", "1", "1", "2"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("0 47237:1\n", "at most 47236 features"),
        ("0 0:1\n", "numbered from 1"),
        ("0 words\n", "svmlight"),
        ("3 1:1\n", r"classes from 3 to 3, but classes\.json"),
    ],
)
def test_reuters_refuses_damaged_files(small_reuters, text, complaint):
    write_bz2(small_reuters / "rcv1" / "rcv1_train.multiclass.bz2", text)
    with pytest.raises(ValueError, match=complaint) as caught:
        fetch_reuters(data_home=small_reuters)
    assert "rcv1_train.multiclass.bz2" in str(caught.value)


def test_reuters_refuses_a_file_cut_short(small_reuters):
    path = small_reuters / "rcv1" / "rcv1_train.multiclass.bz2"
    for content in (path.read_bytes()[:-20], b"not bzip2"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"rcv1_train.*damaged"):
            fetch_reuters(data_home=small_reuters)


@pytest.mark.parametrize("text", ["[", '{"a": 1}', "[1, 2]"])
def test_reuters_refuses_a_damaged_list_of_topics(small_reuters, text):
    write(small_reuters / "rcv1" / "classes.json", text)
    with pytest.raises(ValueError, match=r"classes\.json is damaged"):
        fetch_reuters(data_home=small_reuters)


def test_reuters_downloads(monkeypatch, tmp_path):
    names = np.array(["C15", "CCAT", "GSPO"], dtype=object)
    topics = {
        "train": sparse.csr_matrix([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 1]], dtype=np.uint8),
        "test": sparse.csr_matrix([[0, 0, 1], [1, 1, 0]], dtype=np.uint8),
    }

    def fake(*, subset, data_home, **options):
        assert Path(data_home) == tmp_path / "rcv1"
        assert options["n_retries"] > 1
        target = topics[subset]
        data = sparse.identity(target.shape[0], format="csr")
        return Bunch(data=data, target=target, target_names=names)

    monkeypatch.setattr(_reuters, "fetch_rcv1", fake)
    news = fetch_reuters(data_home=tmp_path)
    assert news.target.tolist() == ["C15", "GSPO", "GSPO"]
    np.testing.assert_array_equal(news.data.toarray().argmax(axis=1), [0, 2, 3])
    largest = fetch_reuters(data_home=tmp_path, subset="test", n_largest=1)
    assert largest.target.tolist() == ["GSPO"]


# Music genre --------------------------------------------------------------------------------------


def songs_text(songs: dict[str, str]) -> str:
    lines = [",".join(_music_genre.SONG_COLUMNS)]
    lines += [f"{song}," + "0.5," * 124 + genre for song, genre in songs.items()]
    return "\n".join(lines) + "\n"


@pytest.fixture
def small_music(tmp_path, monkeypatch):
    folder = tmp_path / "music_genre"
    train = write(folder / "train.csv", songs_text({"a": "jazz", "b": "rock", "c": "pop"}))
    test = write(folder / "test.csv", songs_text({"d": "rock"}))
    answers = write(folder / "answers.csv", "annotator,song,label\n7,b,pop\n2,a,jazz\n7,a,rock\n")
    for part, checksum in (("train", train), ("test", test)):
        table = replace(_music_genre.FILES[part], sha256=checksum)
        monkeypatch.setitem(_music_genre.FILES, part, table)
    monkeypatch.setattr(_music_genre, "ANSWERS", replace(_music_genre.ANSWERS, sha256=answers))
    return tmp_path


def test_music_reads_songs_and_votes(small_music):
    music = fetch_music_genre(data_home=small_music)
    assert music.data.shape == (3, 124)
    assert music.target.tolist() == ["jazz", "rock", "pop"]
    assert music.songs.tolist() == ["a", "b", "c"]
    assert music.annotators.tolist() == [2, 7]
    assert music.votes.tolist() == [["jazz", "rock"], [None, "pop"], [None, None]]
    assert music.answers.item.tolist() == [1, 0, 0]
    assert music.answers.annotator.tolist() == [7, 2, 7]
    assert music.answers.label.tolist() == ["pop", "jazz", "rock"]


def test_music_subsets(small_music):
    test = fetch_music_genre(data_home=small_music, subset="test")
    assert test.target.tolist() == ["rock"]
    assert "votes" not in test
    everything = fetch_music_genre(data_home=small_music, subset="all")
    assert everything.songs.tolist() == ["a", "b", "c", "d"]
    assert everything.votes[3].tolist() == [None, None]
    X, y = fetch_music_genre(data_home=small_music, subset="all", return_X_y=True)
    assert X.shape == (4, 124)
    assert y.shape == (4,)


def test_music_as_frame(small_music):
    music = fetch_music_genre(data_home=small_music, as_frame=True)
    assert music.frame.shape == (3, 125)
    assert list(music.answers.columns) == ["item", "annotator", "label"]
    assert list(music.votes.columns) == [2, 7]
    assert music.votes.loc[1, 2] is None


def test_music_keeps_names_of_annotators(small_music):
    path = small_music / "music_genre" / "answers.csv"
    write(path, "annotator,song,label\nzoe,b,pop\nadam,a,jazz\n")
    with pytest.warns(UserWarning, match=r"answers\.csv is not the copy"):
        music = fetch_music_genre(data_home=small_music)
    assert music.annotators.tolist() == ["adam", "zoe"]


@pytest.mark.parametrize("name", ["train.csv", "answers.csv"])
def test_music_says_which_files_and_columns_are_expected(small_music, name):
    (small_music / "music_genre" / name).unlink()
    with pytest.raises(FileNotFoundError, match="cannot be downloaded") as caught:
        fetch_music_genre(data_home=small_music)
    for part in ("train.csv", "answers.csv", "feature123", "annotator, song, label"):
        assert part in str(caught.value)
    assert fetch_music_genre(data_home=small_music, subset="test").target.tolist() == ["rock"]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("answers.csv", "song,annotator,label\nb,7,pop\n", "has the columns song"),
        ("answers.csv", "annotator,song,label\n", "empty below its header"),
        ("answers.csv", "annotator,song,label\n7,z,pop\n", "songs that train.csv lacks"),
        ("answers.csv", "annotator,song,label\n7,b,pop\n7,b,rock\n", "two answers"),
        ("train.csv", "id,class\na,jazz\n", "row 1 has 2 fields, expected 126"),
        ("train.csv", songs_text({"a": "jazz"}).replace("0.5", "loud"), "numbers were expected"),
        ("train.csv", songs_text({"a": "jazz"}) + songs_text({"a": "pop"}).split("\n")[1], "twice"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is not the copy:UserWarning")
def test_music_refuses_damaged_files(small_music, name, text, complaint):
    write(small_music / "music_genre" / name, text)
    with pytest.raises(ValueError, match=complaint):
        fetch_music_genre(data_home=small_music)


# The real files -----------------------------------------------------------------------------------


def test_real_optdigits():
    home = local_data("optdigits")
    shapes = [fetch_optdigits(data_home=home, subset=s).data.shape for s in ("train", "test")]
    assert shapes == [(3823, 64), (1797, 64)]
    test = fetch_optdigits(data_home=home, subset="test")
    np.testing.assert_array_equal(test.data, load_digits().data)
    np.testing.assert_array_equal(test.target, load_digits().target)


def test_real_training_digits_are_found_in_openmls_order():
    home = local_data("optdigits")
    X, y = fetch_optdigits(data_home=home, subset="all", return_X_y=True)
    shuffled = np.random.RandomState(0).permutation(X.shape[0])
    data, _ = _optdigits._without_test_rows(X[shuffled], y[shuffled])
    assert data.shape == (3823, 64)
    in_order, _ = _optdigits._without_test_rows(X, y)
    np.testing.assert_array_equal(in_order, X[:3823])


def test_real_letter():
    letter = fetch_letter(data_home=local_data("letter"))
    assert letter.data.shape == (20_000, 16)
    assert letter.target[:3].tolist() == ["T", "I", "D"]
    assert np.unique(letter.target).size == 26


def test_real_reuters():
    home = local_data("rcv1")
    news = fetch_reuters(data_home=home, subset="all")
    assert news.data.shape == (9_555 + 9_010, 47_236)
    assert news.target_names.size == 52
    # The list of topics agrees with the rule that the download path uses.
    assert all(_reuters.second_level_topic(name) == name for name in news.target_names)
    for subset, n_rows in (("train", 7_305), ("test", 6_864)):
        X, y = fetch_reuters(data_home=home, subset=subset, n_largest=9, return_X_y=True)
        assert X.shape == (n_rows, 47_236)
        assert np.unique(y).size == 9


def test_real_music():
    home = local_data("music_genre")
    music = fetch_music_genre(data_home=home)
    assert music.data.shape == (700, 124)
    assert music.votes.shape == (700, 44)
    assert music.answers.item.shape == (2945,)
    assert (music.answers.label != music.target[music.answers.item]).mean() == pytest.approx(
        0.44, abs=0.01
    )
    assert fetch_music_genre(data_home=home, subset="test").data.shape == (300, 124)
