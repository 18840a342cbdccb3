"""`unconfused apply`: labels written back, and where each comes from."""

import numpy as np
import pandas as pd
import pytest
from pets import SETTINGS, pets, pets_csv, refused, succeed, succeed_json

from unconfused._columns.row_hash import row_hashes
from unconfused.review import Verdict, append_verdicts, match_verdicts, read_verdicts


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Check the first ten rows; two verdicts on row 10 differ, row 11 is skipped, 12 changes."""
    monkeypatch.chdir(tmp_path)
    pets_csv("pets.csv")
    frame = pd.read_csv("pets.csv")
    seen, truth = row_hashes(frame, ["kind"]), pets()["truth"]

    def line(row, action="label", verdict=None):
        answer = truth[row] if verdict is None else verdict
        return Verdict(str(row), seen[row], frame["kind"][row], action, answer)

    append_verdicts("v.csv", [line(row) for row in range(10)])
    append_verdicts("v.csv", [line(10, verdict="cat"), line(10, verdict="hen")])
    append_verdicts("v.csv", [line(11, "skip", ""), Verdict("12", "00", "cat", "label", "hen")])
    return frame, truth


def test_labels_and_where_they_come_from(checked):
    frame, truth = checked
    wrong = (truth[:10] != frame["kind"][:10]).sum()
    told = succeed_json("apply", "pets.csv", "v.csv", "--label", "kind", "-o", "out.csv")
    found = pd.read_csv("out.csv")
    assert (found["kind"][:10] == truth[:10]).all()
    assert (found["kind"][10:] == frame["kind"][10:]).all()
    source = found["label_source"]
    assert source[10:13].tolist() == ["conflict", "skipped", "given"]
    assert (source[:10] == np.where(truth[:10] == frame["kind"][:10], "confirmed",
                                    "corrected")).all()  # fmt: skip
    assert told["corrected"] == wrong and told["confirmed"] == 10 - wrong
    assert any("changed" in note for note in told["notes"])
    others = [name for name in frame.columns if name != "kind"]
    pd.testing.assert_frame_equal(found[others], frame[others])


def test_where_labels_come_from_is_no_feature(checked):
    succeed("apply", "pets.csv", "v.csv", "--label", "kind", "-o", "out.csv")
    told = succeed_json("fit", "out.csv", "--label", "kind", "--ignore", "checked", *SETTINGS)
    assert "coat" in told["columns"]["categories"]
    assert "`apply` wrote it" in told["columns"]["left_out"]["label_source"]


def test_applying_twice_and_reviewing_what_was_applied(checked):
    succeed("apply", "pets.csv", "v.csv", "--label", "kind", "-o", "out.csv")
    succeed("apply", "out.csv", "v.csv", "--label", "kind", "-o", "again.csv")
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), pd.read_csv("again.csv"))


def test_what_was_applied_is_no_sample_any_more(checked):
    frame, truth = checked
    seen = row_hashes(frame, ["kind"])
    append_verdicts("random.csv", [
        Verdict(str(row), seen[row], frame["kind"][row], "label", truth[row], "random", 0.25)
        for row in range(60)
    ])  # fmt: skip
    given = ("random.csv", "--label", "kind", "-o", "out.csv")
    succeed("apply", "pets.csv", *given)
    rows = pd.read_csv("out.csv")
    found = match_verdicts(read_verdicts("random.csv"), rows, rows["kind"], leave_out=["kind"])
    assert found.known.sum() == 60  # in spite of the new columns
    # Their labels are all right now, and those of the other rows are not.
    assert not found.representative.any() and found.sample_counts(rows["kind"]) is None
    assert any("no longer tell" in note for note in found.notes)


def test_refusals(checked):
    given = ["apply", "pets.csv", "v.csv", "--label", "kind"]
    assert "There is no column" in refused(*given[:-1], "sort", "-o", "out.csv")
    assert "not a file of verdicts" in refused(
        "apply", "pets.csv", "pets.csv", "--label", "kind", "-o", "out.csv"
    )
    assert "no file gone.csv" in refused(
        "apply", "pets.csv", "gone.csv", "--label", "kind", "-o", "out.csv"
    )


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_audit_keeps_columns_and_writes_a_report(checked, stream):
    frame, _ = checked
    given = ["audit", "pets.csv", "-l", "kind", "--l2", "0.001", "--relabel", "0", *stream]
    told = [*given, "-o", "check.csv", "--keep", "size,remark", "--report", "check.html"]
    succeed(*told, "--id", "name", "--top", "20")
    found = pd.read_csv("check.csv")
    assert found.columns.tolist()[:4] == ["row", "name", "size", "remark"]
    assert found["remark"].tolist() == frame["remark"][found["row"]].tolist()
    with open("check.html", encoding="utf-8") as file:
        text = file.read()
    first = found["row"][0]
    seen = row_hashes(frame, ["kind"])[first]
    assert f'data-k="p{first}" data-h="{seen}"' in text
    assert f"<bdi>{frame['remark'][first]}</bdi>" in text
    assert "--keep" in refused(*given, "-o", "other.csv", "--keep", "label")
    assert "There is no column" in refused(*given, "-o", "other.csv", "--keep", "gone")
