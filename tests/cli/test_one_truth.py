"""Every output says the same about the labels, and how good the model is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pets import SETTINGS, pets, succeed, succeed_json

from unconfused import noise
from unconfused._columns.row_hash import row_hashes
from unconfused._text.checked_accuracy import CheckedAccuracy, accuracy_words
from unconfused.review import Verdict, append_verdicts, match_verdicts, read_verdicts, wrong_left

pytestmark = pytest.mark.usefixtures("folder")


def page_text(path):
    return re.sub(r"<[^>]*>", "", Path(path).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("known", [["--truth", "checked"], ["--ignore", "checked"]])
def test_fit_report_audit_and_estimate_agree(known):
    given = ("pets.csv", "--label", "kind", *known)
    # With nothing known C is guessed by way of a fit: by default settings here, as `estimate` does.
    settings = SETTINGS if "--truth" in known else ()
    fitted = succeed_json("fit", *given, *settings, "--report", "r.html")
    claim = fitted["verdict"]["sentence"].removeprefix("About ").rstrip(".")
    estimated = succeed_json("estimate", *given)
    assert estimated["verdict"]["sentence"] == fitted["verdict"]["sentence"]
    audited = succeed_json("audit", *given, *settings, "-o", "rows.csv")
    assert audited["verdict"] == claim
    number, rest = re.match(r"(.*? %) (.*)", claim).groups()
    shown = page_text("r.html")
    assert number in shown and rest in shown
    if "--truth" in known:
        assert audited["accuracy"] == fitted["accuracy"]
        share = fitted["accuracy"]["model"][0]
        assert f"the model is right {100 * share:.0f} %" in shown
    else:
        assert fitted["accuracy"] is None
        assert "you gave" not in str(audited) and "Too few rows are checked" in shown


def verdicts_on_pets(path):
    """Write verdicts on 60 rows drawn at random, of which 12 have wrong labels, and 40 others."""
    table = pets()
    hashes = row_hashes(table.drop(columns="truth"), ["kind"])
    wrong = table["kind"] != table["truth"]
    random = [*table.index[wrong][:12], *table.index[~wrong][:48]]
    chosen = table.index[wrong][12:52]
    given = [(row, "random", 0.25) for row in random] + [(row, "suspicion", None) for row in chosen]
    kind, truth = table["kind"], table["truth"]
    append_verdicts(path, [
        Verdict(str(row), hashes[row], kind[row], "label", truth[row], how, chance)
        for row, how, chance in given
    ])  # fmt: skip
    return table, chosen


@pytest.mark.slow
def test_verdicts_tell_the_same_everywhere():
    table, chosen = verdicts_on_pets("verdicts.csv")
    given = ("pets.csv", "--label", "kind", "--truth", "verdicts.csv", "--ignore", "checked")
    fitted = succeed_json("fit", *given, *SETTINGS, "--report", "r.html")["verdict"]
    assert fitted["wrong_share"] == pytest.approx(0.2)
    assert "12 carry a wrong label" in fitted["source"]
    estimated = succeed_json("estimate", *given)["verdict"]
    audited = succeed_json("audit", *given, *SETTINGS, "-o", "rows.csv")
    assert estimated["sentence"] == fitted["sentence"]
    assert audited["verdict"] == fitted["sentence"].removeprefix("About ").rstrip(".")
    assert fitted["source"] in audited["detail"][0]
    assert fitted["source"] in " ".join(page_text("r.html").split())
    checked = match_verdicts(read_verdicts("verdicts.csv"), table.drop(columns="truth"),
                             table["kind"], leave_out=["kind"])  # fmt: skip
    left = wrong_left(checked, table["kind"])
    mended = (len(chosen) + 12) / len(table)
    assert left.share == pytest.approx(max(0.0, fitted["wrong_share"] - mended))


@pytest.mark.slow
def test_when_to_stop_names_the_count_that_fit_shows():
    verdicts_on_pets("verdicts.csv")
    given = ("pets.csv", "--label", "kind", "--ignore", "checked")
    known = ("--truth", "verdicts.csv")
    fitted = succeed_json("fit", *given, *known, *SETTINGS)["verdict"]
    stop = ("--verdicts", "verdicts.csv", "--when-to-stop", "50", "--l2", "1e-3")
    told = " ".join(succeed("review", *given, *stop).split())
    number = f"{100 * fitted['wrong_share']:.0f} %"
    assert "review --when-to-stop` also uses the model" in fitted["source"]
    assert "corrected on 60 rows drawn at random" in told
    assert f"rows alone: {number} before any was corrected" in told


@pytest.mark.slow
def test_a_crowd_is_as_wrong_by_every_command():
    table = pets()
    rng = np.random.RandomState(1)
    for name, error in (("ann", 0.1), ("bob", 0.3), ("eve", 0.4)):
        table[name] = table["truth"].where(rng.rand(len(table)) > error, "dog")
    table.drop(columns=["kind", "checked", "truth"]).to_csv("crowd.csv", index=False)
    given = ("crowd.csv", "--annotators", "ann,bob,eve")
    fitted = succeed_json("fit", *given, "--report", "r.html")["verdict"]
    estimated = succeed_json("estimate", *given)
    assert estimated["verdict"]["sentence"] == fitted["sentence"]
    # Without features there is nothing to fit, and votes alone tell.
    table[["ann", "bob", "eve"]].to_csv("votes.csv", index=False)
    assert succeed_json("estimate", "votes.csv", *given[1:])["verdict"]["wrong_share"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("known", [["--truth", "checked"], ["--ignore", "checked"]])
def test_headline_and_table_of_a_report_agree(known):
    fitted = succeed_json(
        "fit", "pets.csv", "--label", "kind", *known, *SETTINGS, "--report", "r.html"
    )
    data = re.search(r'id="report-data">(.*?)</script>', Path("r.html").read_text(encoding="utf-8"))
    page = json.loads(data[1])
    mix_ups = page["confusion"]["mix_ups"]
    named, verdict = page["classes"], fitted["verdict"]
    if verdict["true"] is not None:
        first = mix_ups[0]
        assert (named[first["true"]], named[first["label"]]) == (verdict["true"], verdict["label"])
    assert sum(one["rows"] for one in mix_ups) == pytest.approx(page["n_wrong"], rel=0.02)
    for one in mix_ups:
        assert one["low"] <= one["chance"] <= one["high"]


@pytest.mark.slow
def test_rows_of_a_report_have_one_number():
    table = pets().drop(columns="truth")
    table.loc[:19, "kind"] = None  # skipped, and counted nevertheless
    table["name"] = [f"p{row}" for row in range(len(table))]
    table.to_csv("gaps.csv", index=False)
    given = ("gaps.csv", "--label", "kind", "--id", "name", "--ignore", "checked", *SETTINGS)
    succeed("fit", *given, "--report", "r.html")
    succeed("audit", *given, "-o", "rows.csv", "--report", "a.html")
    for page in ("r.html", "a.html"):
        rows = re.findall(r'<th scope="row" class="num">(\d+)</th><td><bdi>p(\d+)</bdi>',
                          Path(page).read_text(encoding="utf-8"))  # fmt: skip
        assert rows and all(number == name for number, name in rows)
    rows = pd.read_csv("rows.csv")
    assert [f"p{row}" for row in rows["row"]] == rows["name"].tolist()


@pytest.mark.slow
def test_a_model_worse_than_its_labels_is_called_so():
    table = pets()
    table["size"] = range(len(table))  # tells nothing
    table[["size", "kind", "truth"]].sample(frac=1, random_state=0).to_csv("poor.csv", index=False)
    text = succeed("fit", "poor.csv", "--label", "kind", "--truth", "truth", "--categories", "size")
    assert "The labels are better than the model" in " ".join(text.split())


@pytest.mark.slow
def test_ties_of_a_crowd_are_counted_and_drawn():
    table = pets()
    others = {"cat": "dog", "dog": "hen", "hen": "cat"}
    table["ann"], table["bob"] = table["truth"], table["truth"].map(others)
    table.loc[table.index % 2 == 0, "bob"] = table["truth"]
    table.drop(columns=["kind", "checked", "truth"]).to_csv("crowd.csv", index=False)
    found = succeed_json("audit", "crowd.csv", "--annotators", "ann,bob", "-o", "rows.csv")
    assert f"On {len(table) // 2:,} of {len(table):,} rows several answers" in str(found["detail"])
    labels = pd.read_csv("rows.csv").sort_values("row")["label"]
    assert set(labels) == {"cat", "dog", "hen"}


def test_words_of_a_model_as_good_as_its_labels():
    same = CheckedAccuracy(100, (0.8, 0.71, 0.87), (0.79, 0.7, 0.86), 0.01, 0.04)
    assert "Neither is clearly better" in accuracy_words(same)
    assert "the labels" not in accuracy_words(CheckedAccuracy(50, (0.8, 0.7, 0.9), None))
    some = CheckedAccuracy(100, (0.9, 0.8, 0.95), (0.8, 0.7, 0.9), 0.1, 0.04, labelled=60)
    assert "the labels of the 60 that have one 80 %" in accuracy_words(some)


@pytest.mark.slow
def test_a_ranking_without_probabilities_does_not_name_them_so():
    rng = np.random.RandomState(0)
    rows = pd.DataFrame(rng.standard_normal((300, 3)), columns=["a", "b", "c"])
    # Mistakes follow the features, so a matrix explains nothing.
    rows["y"] = np.where(rows["a"] - 0.3 * rows["b"] + 0.2 * rng.standard_normal(300) > 0, "u", "v")
    rows.to_csv("rows.csv", index=False)
    given = ("-o", "check.csv", "--report", "r.html", "--learner", "logistic", *SETTINGS)
    printed = succeed("audit", "rows.csv", "--label", "y", *given)
    assert "probability_wrong" not in printed and "Report: r.html" in printed
    assert pd.read_csv("check.csv").columns.tolist() == ["row", "label", "suggested", "suspicion"]


@pytest.mark.slow
@pytest.mark.parametrize("linear", [True, False])
def test_a_guess_that_the_fit_uses_is_the_same_everywhere(linear):
    rng = np.random.RandomState(0)
    truth = rng.randint(2, size=900)
    rows = pd.DataFrame({"a": 5 * rng.choice([-1, 1], 900), "b": rng.standard_normal(900)})
    rows["c"] = 5 * truth if linear else rows["a"] * (2 * truth - 1)
    rows[["a", "c"]] += rng.standard_normal((900, 2))
    rows["y"] = noise.corrupt_labels(np.array(["u", "v"])[truth], [[0.7, 0.3], [0.05, 0.95]], 0)
    rows.to_csv("rows.csv", index=False)
    fitted = succeed_json("fit", "rows.csv", "--label", "y", "--report", "r.html")
    assert ("Logistic" in fitted["learner"]) == linear
    assert "took the labels as right" not in fitted["verdict"]["source"]
    estimated = succeed_json("estimate", "rows.csv", "--label", "y")
    assert estimated["verdict"]["sentence"] == fitted["verdict"]["sentence"]
    data = re.search(r'id="report-data">(.*?)</script>', Path("r.html").read_text(encoding="utf-8"))
    page = json.loads(data[1])["confusion"]
    for table in ("matrix", "low", "high"):
        np.testing.assert_allclose(page[table], estimated[table], atol=0.005)
