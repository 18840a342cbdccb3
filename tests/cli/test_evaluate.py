"""`unconfused evaluate`: scores of a model file on noisy labels."""

import numpy as np
import pandas as pd
import pytest
from pets import KINDS, NOISE, invoke, pets, refused, succeed, succeed_json

from unconfused._columns.row_hash import row_hashes
from unconfused.review import Verdict, append_verdicts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model, a test file and the matrix of its labels."""
    path = tmp_path_factory.mktemp("evaluate")
    pets().drop(columns="truth").to_csv(path / "pets.csv", index=False)
    pets(2000, seed=1).to_csv(path / "test.csv", index=False)
    pd.DataFrame(NOISE, index=KINDS, columns=KINDS).to_csv(path / "C.csv")
    pd.DataFrame(NOISE).to_csv(path / "plain.csv", index=False, header=False)
    succeed("fit", path / "pets.csv", "--label", "kind", "-o", path / "model.skops",
            "--ignore", "name,remark,checked", "--confusion", path / "C.csv")  # fmt: skip
    return path


@pytest.fixture
def given(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return ("evaluate", "model.skops", "test.csv", "--label", "kind")


def test_verdicts_on_random_rows_are_truths(given):
    frame = pd.read_csv("test.csv")
    seen, label = row_hashes(frame, ["kind"]), frame["kind"]

    def lines(rows, **how):
        truth = frame["truth"]
        return [Verdict(str(i), seen[i], label[i], "label", truth[i], **how) for i in rows]

    wrong = np.flatnonzero(label != frame["truth"])[:50]
    append_verdicts("chosen.csv", lines(wrong, drawn_by="suspicion"))
    assert "no verdict on a row" in refused(*given, "--truth", "chosen.csv")
    drawn = np.setdiff1d(np.arange(0, 2000, 5), wrong)
    append_verdicts("chosen.csv", lines(drawn, drawn_by="random", probability=0.2))
    told = succeed_json(*given, "--truth", "chosen.csv")
    column = frame["truth"].where(frame.index.isin(drawn))
    frame.assign(some=column).to_csv("some.csv", index=False)
    same = succeed_json(given[0], given[1], "some.csv", *given[3:], "--truth", "some")
    assert told["trusted_rows"] == len(drawn) and told["accuracy"] == same["accuracy"]


def right(folder):
    """Return the share of right predictions."""
    succeed("predict", folder / "model.skops", folder / "test.csv", "-o", folder / "out.csv",
            "--force")  # fmt: skip
    predicted = pd.read_csv(folder / "out.csv")["label"]
    return np.mean(predicted == pd.read_csv(folder / "test.csv")["truth"])


@pytest.mark.parametrize(
    "options",
    [
        ("--confusion", "C.csv"),
        ("--confusion", "plain.csv"),
        (),
        ("--truth", "checked"),
        ("--confusion", "C.csv", "--truth", "checked"),
    ],
)
def test_every_source_finds_the_accuracy(given, folder, options):
    found = succeed_json(*given, *options)
    accuracy = found["accuracy"]
    assert accuracy["low"] <= right(folder) + 0.01
    assert accuracy["high"] >= right(folder) - 0.01
    assert accuracy["high"] - accuracy["low"] < 0.12
    assert found["classes"] == KINDS.tolist()
    assert np.shape(found["confusion_matrix"]["value"]) == (3, 3)
    if "--truth" not in options:
        assert (found["noisy_rows"], found["trusted_rows"]) == (2000, 0)
    elif "--confusion" in options:
        assert found["noisy_rows"] + found["trusted_rows"] == 2000
    else:
        assert found["noisy_rows"] == 0


def test_all_rows_trusted_is_the_plain_accuracy(given, folder):
    found = succeed_json(*given, "--truth", "truth", "--rows", "300")
    assert found["accuracy"]["value"] == pytest.approx(right(folder))


def test_what_it_prints(given):
    told = succeed(*given, "--confusion", "C.csv", "--truth", "checked")
    assert "balanced accuracy" in told
    assert "hen" in told
    assert "matrix of C.csv" in told


def test_clean_labels_passed_as_noisy_are_noticed(given):
    assert "add --truth" not in invoke(*given).stderr
    assert "add --truth truth" in invoke(*given[:-1], "truth").stderr


def test_a_matrix_estimated_by_the_fit_is_not_trusted(given, folder):
    assert "estimated by the fit itself" not in invoke(*given).stderr  # C.csv was given to it
    succeed("fit", folder / "pets.csv", "--label", "kind", "--truth", "checked", "--l2", "0.001",
            "--relabel", "0", "-o", folder / "own.skops", "--ignore", "name,remark")  # fmt: skip
    assert "estimated by the fit itself" in invoke("evaluate", "own.skops", *given[2:]).stderr


def test_refusals(given):
    assert "sort" in refused(*given[:-1], "sort")
    assert "gone.csv" in refused(*given, "--confusion", "gone.csv")
