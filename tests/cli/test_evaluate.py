"""`unconfused evaluate`: scores of a model file on noisy labels."""

import numpy as np
import pandas as pd
import pytest
from pets import KINDS, NOISE, SETTINGS, invoke, pets, refused, succeed, succeed_json

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
    assert "by --label" in refused(*given[:3], "--truth", "chosen.csv"), "no rows have changed"
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


def test_clean_labels_need_no_label_option(given, folder):
    told = succeed_json(*given[:3], "--truth", "truth")
    assert told["accuracy"]["value"] == pytest.approx(right(folder))
    assert "--truth if they are right" in refused(*given[:3])


def test_what_it_prints(given):
    told = succeed(*given, "--confusion", "C.csv", "--truth", "checked")
    assert "balanced accuracy" in told
    assert "hen" in told
    assert "matrix of C.csv" in told


def test_clean_labels_passed_as_noisy_are_refused(given):
    told = refused(*given[:-1], "truth", "--confusion", "C.csv")
    assert "add --truth truth" in told and "more often than the confusion matrix allows" in told
    # The matrix of the fit is one of other labels.
    assert "fitted to the labels in 'kind'" in refused(*given[:-1], "truth")


def fitted(folder, name, *options):
    succeed("fit", folder / "pets.csv", "--label", "kind", *SETTINGS, *options, "-o",
            folder / name, "--force")  # fmt: skip
    return name


def test_a_matrix_counted_by_the_fit_comes_with_its_sampling_error(given, folder):
    model = fitted(folder, "own.skops", "--truth", "checked", "--ignore", "name,remark")
    counted = succeed_json("evaluate", model, *given[2:])
    assert "counted on the trusted rows" in counted["source"]
    exact = succeed_json(*given)["accuracy"]
    width = counted["accuracy"]["high"] - counted["accuracy"]["low"]
    assert width > exact["high"] - exact["low"]
    assert counted["accuracy"]["low"] - 0.02 <= right(folder) <= counted["accuracy"]["high"] + 0.02


def test_a_guessed_matrix_is_not_trusted(given, folder):
    model = fitted(folder, "guess.skops", "--ignore", "name,remark,checked")
    assert "is not known" in refused("evaluate", model, *given[2:])


def test_rows_the_model_was_fitted_to_are_noticed(given, folder):
    model = fitted(folder, "own.skops", "--truth", "checked", "--ignore", "name,remark")
    known = ("--label", "kind", "--truth", "checked")
    for options in (known, known[:2], known[2:]):  # whichever column counts now
        assert "was fitted to these rows" in invoke("evaluate", model, "pets.csv", *options).stderr
    assert "was fitted to these rows" not in invoke("evaluate", model, *given[2:]).stderr


def test_a_class_without_truths_leaves_values_inside_their_intervals(given):
    frame = pd.read_csv("test.csv")
    known = frame["truth"].where((frame["truth"] != "hen") & (frame.index % 10 == 0))
    frame.assign(some=known).to_csv("some.csv", index=False)
    found = succeed_json(given[0], given[1], "some.csv", *given[3:], "--truth", "some")
    for name in ("accuracy", "balanced_accuracy", "macro_precision", "macro_f1"):
        score = found[name]
        assert score["low"] <= score["value"] <= score["high"]
        assert score["low"] > 0.6  # the class that does not occur is no part of the mean


def test_advice_names_options_that_exist(given):
    frame = pd.read_csv("test.csv")
    frame.loc[3, "truth"] = "newt"
    frame.to_csv("other.csv", index=False)
    other = (given[0], given[1], "other.csv", *given[3:])
    told = refused(*other, "--truth", "truth")
    assert "newt" in told and "--classes" not in told
    pd.DataFrame(np.eye(2)).to_csv("two.csv", index=False, header=False)
    assert "--classes" not in refused(*given, "--confusion", "two.csv")
    assert "is not a verdict file" in refused(*given, "--truth", "test.csv")


def test_clean_labels_of_classes_the_model_does_not_know_are_named(given):
    frame = pd.read_csv("test.csv")
    frame["truth"] = frame["truth"].mask(frame.index < 100, "newt")
    frame.to_csv("other.csv", index=False)
    assert "newt" in refused("evaluate", "model.skops", "other.csv", "--truth", "truth")


def test_refusals(given):
    assert "sort" in refused(*given[:-1], "sort")
    assert "gone.csv" in refused(*given, "--confusion", "gone.csv")
