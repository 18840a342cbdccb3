"""The loaders of Reuters and of Music genre."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from dataset_files import write, write_bz2
from scipy import sparse
from sklearn.utils import Bunch

from unconfused.datasets import (
    _crowds,
    _reuters,
    fetch_music_genre,
    fetch_reuters,
)

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


SONGS = {"a": "jazz", "b": "rock", "c": "pop"}


def songs_text(songs: dict[str, str]) -> str:
    lines = [",".join(_crowds.MUSIC.columns)]
    lines += [f"{song}," + "0.5," * 124 + genre for song, genre in songs.items()]
    return "\n".join(lines) + "\n"


@pytest.fixture
def small_music(tmp_path, monkeypatch):
    folder = tmp_path / "music_genre"
    train = write(folder / "train.csv", songs_text(SONGS))
    test = write(folder / "test.csv", songs_text({"d": "rock"}))
    answers = write(folder / "answers.csv", "annotator,song,label\n7,b,pop\n2,a,jazz\n7,a,rock\n")
    for name, checksum in (("train.csv", train), ("test.csv", test), ("answers.csv", answers)):
        monkeypatch.setitem(_crowds.MUSIC.checksums, name, checksum)
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
    for part in ("train.csv", "answers.csv", "feature123", "``annotator``, ``song``"):
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
        ("train.csv", songs_text(SONGS).replace("0.5", "loud"), "numbers were expected"),
        ("train.csv", songs_text(SONGS) + songs_text({"a": "pop"}).split("\n")[1], "twice"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is not the copy:UserWarning")
def test_music_refuses_damaged_files(small_music, name, text, complaint):
    write(small_music / "music_genre" / name, text)
    with pytest.raises(ValueError, match=complaint):
        fetch_music_genre(data_home=small_music)
