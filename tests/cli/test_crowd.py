"""Several annotators on the command line: a column each, or one answer per line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pets import NOISE, SETTINGS, invoke, pets, refused, succeed, succeed_json

from unconfused import noise

pytestmark = pytest.mark.slow

LONG = ("--votes", "answers.csv", "--item", "song", "--annotator", "worker", "--label", "answer")


@pytest.fixture(autouse=True)
def crowd(tmp_path, monkeypatch):
    """Write pets labelled by five people, most rows by three of them, in both forms."""
    monkeypatch.chdir(tmp_path)
    frame, rng = pets(), np.random.RandomState(1)
    data = frame[["name", "size", "legs", "coat"]].rename(columns={"name": "song"})
    truth = frame["truth"].to_numpy()
    answers = {f"w{a}": noise.corrupt_labels(truth, NOISE, rng).astype(object) for a in range(5)}
    wide = pd.DataFrame(answers).mask(rng.rand(len(truth), 5) < 0.4)
    data.to_csv("songs.csv", index=False)
    pd.concat([data, wide, frame["checked"]], axis=1).to_csv("wide.csv", index=False)
    long = wide.assign(song=data["song"]).melt("song", var_name="worker", value_name="answer")
    long.dropna().to_csv("answers.csv", index=False)


def score():
    succeed("predict", "model.skops", "songs.csv", "-o", "out.csv", "--force")
    return float(np.mean(pd.read_csv("out.csv")["label"] == pets()["truth"]))


def test_wide_and_long_are_the_same():
    names = "w0,w1,w2,w3,w4"
    options = ("--annotators", names, "--id", "song", "--ignore", "checked")
    wide = succeed_json("fit", "wide.csv", *options, *SETTINGS)
    assert score() > 0.85
    long = succeed_json("fit", "songs.csv", *LONG, *SETTINGS, "--force")
    assert score() > 0.85
    np.testing.assert_allclose(wide["confusion"], long["confusion"], atol=1e-6)
    assert wide["verdict"]["kind"] == "votes" and 0.1 < wide["verdict"]["wrong_share"] < 0.3
    assert wide["columns"] == long["columns"]


def test_measurements_are_no_answers():
    said = refused("fit", "wide.csv", "--annotators", "w0,w1,size", *SETTINGS)
    assert "'size' has" in said and "these are measurements" in said
    answers = pd.read_csv("answers.csv")
    answers.assign(answer=np.arange(len(answers)) / 3).to_csv("answers.csv", index=False)
    assert "these are measurements" in refused("fit", "songs.csv", *LONG, *SETTINGS)


def test_indicators_are_no_answers():
    frame = pd.read_csv("wide.csv")
    classes = pd.get_dummies(pets()["truth"], dtype=int).add_prefix("is_")
    frame.join(classes).to_csv("wide.csv", index=False)
    named = ("fit", "wide.csv", "--annotators", "is_*", "--ignore", "w*,checked,song", *SETTINGS)
    told = refused(*named)
    assert "--annotators: this looks like an indicator" in told and "votes_from_wide" not in told
    succeed(*named, "--classes", "0,1")  # as the message says


def test_an_annotator_may_give_every_class_but_few_answers():
    frame = pd.read_csv("wide.csv")
    letters = np.array([chr(97 + i % 26) for i in range(len(frame))])
    crowd = {f"w{a}": letters for a in range(4)}
    frame = frame.assign(**crowd)
    frame.loc[26:, "w3"] = None
    frame.to_csv("wide.csv", index=False)
    succeed("fit", "wide.csv", "--annotators", "w0,w1,w2,w3", "--ignore", "song,checked", *SETTINGS)


def test_gold_labels_join_the_votes():
    options = ("--annotators", "w0,w1", "--annotators", "w2", "--truth", "checked")
    found = succeed_json("fit", "wide.csv", *options, "--ignore", "w3,w4", *SETTINGS)
    assert found["accuracy"]["rows"] > 0
    assert found["columns"]["categories"] == ["coat"]


def test_rows_by_number_and_by_a_column_of_another_name():
    frame = pd.read_csv("answers.csv")
    frame["song"] = frame["song"].str[1:]  # p17 is row 17
    frame.to_csv("answers.csv", index=False)
    pd.read_csv("songs.csv").drop(columns="song").to_csv("songs.csv", index=False)
    by_number = succeed_json("fit", "songs.csv", *LONG, *SETTINGS)
    data = pd.read_csv("songs.csv")
    data.insert(0, "code", np.arange(len(data)))
    data.to_csv("named.csv", index=False)
    by_name = succeed_json("fit", "named.csv", *LONG, *SETTINGS, "--id", "code", "--force")
    np.testing.assert_allclose(by_number["confusion"], by_name["confusion"])


def test_rows_without_votes_are_left_out():
    frame = pd.read_csv("answers.csv")
    frame = frame[~frame["song"].isin(["p3", "p5"])]
    frame.to_csv("answers.csv", index=False)
    found = succeed_json("fit", "songs.csv", *LONG, *SETTINGS)
    left = frame["song"].nunique()
    assert found["rows"] == left < 240
    assert f"{240 - left} of 240 rows have no label" in found["notes"][0]


def test_it_is_said_if_few_rows_have_several_answers():
    frame = pd.read_csv("answers.csv")
    once = frame.drop_duplicates("song")
    pd.concat([once, frame[frame["song"] == "p3"]]).drop_duplicates().to_csv(
        "answers.csv", index=False
    )
    found = succeed_json("fit", "songs.csv", *LONG, *SETTINGS)
    assert "rows, only 1 of them with several answers" in found["verdict"]["source"]


def test_answers_on_strangers_are_named():
    with open("answers.csv", "a") as stream:
        stream.write("q1,w0,cat\nq2,w1,dog\n")
    said = refused("fit", "songs.csv", *LONG)
    assert "'q1', 'q2' (2 in all)" in said and "'song' of songs.csv" in said


def test_items_that_cannot_be_found_ask_for_the_column():
    pd.read_csv("songs.csv").rename(columns={"song": "code"}).to_csv("songs.csv", index=False)
    assert "--id" in refused("fit", "songs.csv", *LONG)


def test_two_answers_of_one_person():
    with open("answers.csv", "a") as stream:
        stream.write("p1,w0,cat\np1,w0,hen\n")
    assert "--duplicates last" in refused("fit", "songs.csv", *LONG)
    succeed("fit", "songs.csv", *LONG, *SETTINGS, "--duplicates", "last")


def test_wrong_columns_name_the_file():
    said = refused("fit", "songs.csv", *LONG[:-1], "anser")
    assert "answers.csv" in said and "Did you mean 'answer'" in said


def test_uma_says_that_it_takes_one_label():
    assert "--learner logistic" in refused("fit", "songs.csv", *LONG, "--learner", "uma")


def test_estimate_and_audit_take_votes():
    found = succeed_json("estimate", "songs.csv", *LONG, "-o", "C.csv")
    np.testing.assert_allclose(found["matrix"], NOISE, atol=0.12)
    succeed("audit", "songs.csv", *LONG, "-o", "check.csv", "--top", "20", "--id", "song")
    rows = pd.read_csv("check.csv")
    assert rows.columns.tolist() == ["row", "song", "label", "suggested", "probability_wrong"]
    assert (rows["song"] == "p" + rows["row"].astype(str)).all() and len(rows) == 20
    wrong = rows["label"].to_numpy() != pets()["truth"].to_numpy()[rows["row"]]
    assert wrong.mean() > 0.7
    assert Path("C.csv").exists()


def test_many_columns_are_named_by_their_beginning(tmp_path):
    path = tmp_path / "pets.csv"
    frame = pets(120)
    for seed in range(3):
        labels = noise.corrupt_labels(frame["truth"].to_numpy(), NOISE, seed)
        frame[f"ann{seed}"] = labels
    frame.drop(columns=["kind", "truth", "checked"]).to_csv(path, index=False)
    found = succeed_json("estimate", path, "--annotators", "ann*")
    named = succeed_json("estimate", path, "--annotators", "ann0,ann1,ann2")
    assert found == named
    result = invoke("estimate", path, "--annotators", "bob*")
    assert result.exit_code == 2 and "No column matches 'bob*'" in result.stderr
