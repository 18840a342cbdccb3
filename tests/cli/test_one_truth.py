"""Every output says the same about the labels, and how good the model is."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from pets import SETTINGS, pets, succeed, succeed_json

from unconfused._report.accuracy import accuracy_words
from unconfused._report.data import CheckedAccuracy

pytestmark = pytest.mark.usefixtures("folder")


def page_text(path):
    return re.sub(r"<[^>]*>", "", Path(path).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("known", [["--truth", "checked"], ["--ignore", "checked"]])
def test_fit_report_audit_and_estimate_agree(known):
    given = ("pets.csv", "--label", "kind", *known)
    fitted = succeed_json("fit", *given, *SETTINGS, "--report", "r.html")
    claim = fitted["verdict"]["sentence"].removeprefix("About ").rstrip(".")
    estimated = succeed_json("estimate", *given)
    assert estimated["verdict"]["sentence"] == fitted["verdict"]["sentence"]
    audited = succeed_json("audit", *given, *SETTINGS, "-o", "rows.csv")
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
