"""The loaders of texts with votes, rules and distant labels."""

from __future__ import annotations

import pytest
from dataset_files import write

from unconfused.datasets import (
    _crowds,
    fetch_medical_relations,
    fetch_sentiment_polarity,
    fetch_youtube_spam,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*is not the copy:UserWarning")


@pytest.fixture
def small_sentiment(tmp_path):
    folder = tmp_path / "sentiment_polarity"
    train = '0,"good, very good",positive\n1,"two\nlines",negative\n2,"odd\u2028end",negative\n'
    write(folder / "train.csv", f"id,text,class\n{train}")
    write(folder / "test.csv", "id,text,class\n0,bad,negative\n")
    answers = "annotator,item,label\n7,1,negative\n2,0,positive\n7,0,negative\n"
    write(folder / "answers.csv", answers)
    return tmp_path


def test_sentiment_reads_texts_and_votes(small_sentiment):
    reviews = fetch_sentiment_polarity(data_home=small_sentiment)
    assert reviews.data.tolist() == ["good, very good", "two\nlines", "odd\u2028end"]
    assert reviews.target.tolist() == ["positive", "negative", "negative"]
    assert reviews.annotators.tolist() == [2, 7]
    assert reviews.votes.tolist() == [["positive", "negative"], [None, "negative"], [None, None]]
    assert reviews.answers.item.tolist() == [1, 0, 0]


def test_sentiment_subsets(small_sentiment):
    everything = fetch_sentiment_polarity(data_home=small_sentiment, subset="all")
    assert everything.data.tolist()[3] == "bad"
    assert everything.votes.shape == (4, 2)  # of the test sentence with the same id there are none
    assert everything.votes[3].tolist() == [None, None]
    assert everything.votes[0].tolist() == ["positive", "negative"]
    test = fetch_sentiment_polarity(data_home=small_sentiment, subset="test")
    assert "votes" not in test
    X, y = fetch_sentiment_polarity(data_home=small_sentiment, return_X_y=True)
    assert (len(X), len(y)) == (3, 3)


@pytest.fixture
def small_youtube(tmp_path):
    header = ",".join(_crowds.YOUTUBE.columns)
    write(
        tmp_path / "youtube_spam" / "train.csv",
        f"{header}\n0,look here,spam,,spam,,,,,,,,ham\n1,nice,ham,,,,,,,,,,\n",
    )
    write(tmp_path / "youtube_spam" / "test.csv", f"{header}\n0,wow,ham,ham,,,,,,,,,\n")
    return tmp_path


def test_youtube_rules_abstain(small_youtube):
    comments = fetch_youtube_spam(data_home=small_youtube, subset="all")
    assert comments.data.tolist() == ["look here", "nice", "wow"]
    assert comments.target.tolist() == ["spam", "ham", "ham"]
    assert comments.votes.shape == (3, 10)
    assert comments.votes[0, [0, 1, 9]].tolist() == [None, "spam", "ham"]
    assert set(comments.votes[1]) == {None}
    assert comments.annotators.tolist()[-1] == "rule_10"
    assert fetch_youtube_spam(data_home=small_youtube, return_X_y=True)[0].shape == (2,)


@pytest.fixture
def small_medical(tmp_path):
    header = ",".join(_crowds.MEDICAL.columns)
    rows = '0,"A, B.",A,B,cause,none,0.2,\n1,C and D,C,D,none,cause,0.9,cause\n'
    write(tmp_path / "medical_relations" / "cause.csv", f"{header}\n{rows}")
    return tmp_path


def test_medical_knows_some_truths(small_medical):
    medical = fetch_medical_relations(data_home=small_medical)
    assert medical.target.tolist() == [None, "cause"]
    assert medical.distant_labels.tolist() == ["cause", "none"]
    assert medical.crowd_labels.tolist() == ["none", "cause"]
    assert medical.crowd_scores.tolist() == [0.2, 0.9]
    assert medical.terms.tolist() == [["A", "B"], ["C", "D"]]
    assert medical.target_names.tolist() == ["cause", "none"]
    X, _ = fetch_medical_relations(data_home=small_medical, return_X_y=True)
    assert X.tolist() == ["A, B.", "C and D"]


@pytest.mark.parametrize(
    ("fetch", "words"),
    [
        (fetch_sentiment_polarity, ["Rodrigues", "answers.csv", "``annotator``, ``item``"]),
        (fetch_youtube_spam, ["UCI", "WRENCH", "train.csv"]),
        (fetch_medical_relations, ["CrowdTruth", "cause.csv", "distant_label"]),
    ],
)
def test_missing_files_say_where_a_set_comes_from(tmp_path, fetch, words):
    with pytest.raises(FileNotFoundError, match="cannot be downloaded") as caught:
        fetch(data_home=tmp_path)
    for word in [*words, "UNCONFUSED_DATA"]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("fetch", "name", "text", "complaint"),
    [
        (fetch_sentiment_polarity, "sentiment_polarity/train.csv", "id,words,class\n", "columns"),
        (fetch_sentiment_polarity, "sentiment_polarity/train.csv", "id,text,class\n", "is empty"),
        (
            fetch_sentiment_polarity,
            "sentiment_polarity/answers.csv",
            "annotator,item,label\n1,9,positive\n",
            "items that train.csv lacks",
        ),
        (
            fetch_sentiment_polarity,
            "sentiment_polarity/answers.csv",
            "annotator,item,label\n1,0,positive\n1,0,negative\n",
            "two answers of one annotator on one item",
        ),
    ],
)
def test_damaged_files(small_sentiment, fetch, name, text, complaint):
    write(small_sentiment / name, text)
    with pytest.raises(ValueError, match=complaint):
        fetch(data_home=small_sentiment)


def test_a_score_that_is_no_number(small_medical):
    path = small_medical / "medical_relations" / "cause.csv"
    write(path, path.read_text().replace("0.9", "high"))
    with pytest.raises(ValueError, match="numbers were expected"):
        fetch_medical_relations(data_home=small_medical)


def test_other_copies_are_warned_of(small_youtube, monkeypatch):
    with pytest.warns(UserWarning, match=r"train\.csv is not the copy"):
        fetch_youtube_spam(data_home=small_youtube)
    checksum = write(
        small_youtube / "youtube_spam" / "train.csv",
        ",".join(_crowds.YOUTUBE.columns) + "\n0,a,ham,,,,,,,,,,\n",
    )
    monkeypatch.setitem(_crowds.YOUTUBE.checksums, "train.csv", checksum)
    assert fetch_youtube_spam(data_home=small_youtube).data.tolist() == ["a"]
