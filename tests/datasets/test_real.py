"""The loaders on the real files, where they are to be had."""

from __future__ import annotations

import numpy as np
import pytest
from dataset_files import local_data
from sklearn.datasets import load_digits

from unconfused.datasets import (
    _reuters,
    _uci,
    fetch_letter,
    fetch_medical_relations,
    fetch_music_genre,
    fetch_optdigits,
    fetch_reuters,
    fetch_sentiment_polarity,
    fetch_youtube_spam,
)

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
    data, _ = _uci._without_test_rows(X[shuffled], y[shuffled])
    assert data.shape == (3823, 64)
    in_order, _ = _uci._without_test_rows(X, y)
    np.testing.assert_array_equal(in_order, X[:3823])


def test_real_letter():
    letter = fetch_letter(data_home=local_data("letter"))
    assert letter.data.shape == (20_000, 16)
    assert letter.target[:3].tolist() == ["T", "I", "D"]
    assert np.unique(letter.target).size == 26


@pytest.mark.slow
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


def test_real_sentiment():
    home = local_data("sentiment_polarity")
    reviews = fetch_sentiment_polarity(data_home=home)
    assert reviews.data.shape == (4999,)
    assert reviews.votes.shape == (4999, 203)
    assert reviews.answers.item.shape == (27_746,)
    wrong = reviews.answers.label != reviews.target[reviews.answers.item]
    assert wrong.mean() == pytest.approx(0.21, abs=0.01)
    assert fetch_sentiment_polarity(data_home=home, subset="test").data.shape == (3999,)


def test_real_youtube():
    home = local_data("youtube_spam")
    comments = fetch_youtube_spam(data_home=home)
    assert comments.votes.shape == (1586, 10)
    silent = (comments.votes == None).all(axis=1)  # noqa: E711 (elementwise)
    assert silent.mean() == pytest.approx(0.12, abs=0.005)
    assert comments.target_names.tolist() == ["ham", "spam"]
    assert fetch_youtube_spam(data_home=home, subset="test").data.shape == (250,)


def test_real_medical():
    medical = fetch_medical_relations(data_home=local_data("medical_relations"))
    assert medical.data.shape == (3984,)
    known = medical.target != None  # noqa: E711 (elementwise)
    assert known.sum() == 929
    assert (medical.distant_labels != medical.target)[known].mean() == pytest.approx(0.22, abs=0.01)
    assert (medical.crowd_labels != medical.target)[known].mean() == pytest.approx(0.10, abs=0.01)
