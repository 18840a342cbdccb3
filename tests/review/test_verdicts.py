"""Verdict files: append, read, undo, conflicts, merged files, changed rows, hostile cells."""

import numpy as np
import pandas as pd
import pytest
from pets import SETTINGS, pets, pets_csv, refused, succeed, succeed_json
from scipy import sparse

from unconfused import UnconfusedLogisticRegression, noise
from unconfused._columns.row_hash import row_hashes
from unconfused.review import (
    CheckedRows,
    Verdict,
    Verdicts,
    append_verdicts,
    fit_checked,
    match_verdicts,
    read_verdicts,
)
from unconfused.review.verdicts import COLUMNS, VerdictError, is_verdict_file


def verdict(key="1", answer="dog", **others):
    return Verdict(key, others.pop("row_hash", "00"), "cat", "label", answer, **others)


def test_every_field_comes_back(tmp_path):
    path = tmp_path / "verdicts.csv"
    given = [
        verdict("a,b", '=HYPERLINK("x")', probability=0.25, drawn_by="random", shown=False),
        Verdict("2", "ff", "-1", "skip", reviewer="ann", suggested="dog"),
        verdict("3", "<script>\u202e", replaces=("x", "y")),
    ]
    append_verdicts(path, given[:1])
    append_verdicts(path, given[1:])
    assert read_verdicts(path).records == given
    assert is_verdict_file(path)
    text = path.read_text()
    assert text.count("\n") == 4 and text.startswith(",".join(COLUMNS))
    assert "'=HYPERLINK" in text, "no formula for a spreadsheet"


def test_line_breaks_are_refused(tmp_path):
    with pytest.raises(VerdictError, match="line break"):
        append_verdicts(tmp_path / "v.csv", [verdict("1", "do\ng")])
    assert not (tmp_path / "v.csv").exists()


def test_undo_and_undo_of_undo():
    first = verdict("1", "dog")
    undo = Verdict("1", "00", "cat", "undo", replaces=(first.id,))
    again = Verdict("1", "00", "cat", "undo", replaces=(undo.id,))
    assert Verdicts([first]).settled["1"].verdict == "dog"
    assert not Verdicts([first, undo]).by_key
    assert Verdicts([again, undo, first]).settled["1"].verdict == "dog"


def test_conflicts_are_kept_and_unused_until_settled():
    one, other = verdict("1", "dog", reviewer="ann"), verdict("1", "hen", reviewer="bob")
    both = Verdicts([one, other])
    assert both.conflicts == {"1": [one, other]} and not both.settled
    end = verdict("1", "hen", replaces=(one.id, other.id))
    assert Verdicts([end, one, other]).settled["1"] == end
    assert not Verdicts([end, one, other]).conflicts


def test_agreeing_verdicts_keep_the_known_probability():
    one, other = verdict("1"), verdict("1", probability=0.1, drawn_by="random")
    assert Verdicts([one, other]).settled["1"] == other


def test_merging_is_putting_one_file_after_the_other(tmp_path):
    one, other, both = (tmp_path / name for name in ("a.csv", "b.csv", "ab.csv"))
    append_verdicts(one, [verdict("1"), verdict("2", "hen")])
    append_verdicts(other, [verdict("2", "cat"), verdict("3", "hen")])
    both.write_bytes(one.read_bytes() + other.read_bytes() + one.read_bytes())
    merged = read_verdicts(both)
    assert set(merged.settled) == {"1", "3"} and set(merged.conflicts) == {"2"}
    assert {one.id for one in merged.live} == {one.id for one in read_verdicts(one, other).live}


def test_a_line_cut_off_loses_only_itself(tmp_path):
    path = tmp_path / "v.csv"
    append_verdicts(path, [verdict("1"), verdict("2")])
    path.write_bytes(path.read_bytes()[:-20])
    append_verdicts(path, [verdict("3")])
    found = read_verdicts(path)
    assert set(found.settled) == {"1", "3"}
    assert any("line 3" in note for note in found.notes)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,1,00,cat,shout,dog,,,,yes,,,", "action is 'shout'"),
        ("x,1,00,cat,label,,,,,yes,,,", "needs a class"),
        (",1,00,cat,label,dog,,,,yes,,,", "'id' is empty"),
        ("x,1,00,cat,label,dog,,1.5,,yes,,,", "from 0 to 1"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    path = tmp_path / "v.csv"
    path.write_text(",".join(COLUMNS) + "\n" + line + "\n")
    with pytest.raises(VerdictError, match=message) as caught:
        read_verdicts(path)
    assert "line 2" in str(caught.value)


def test_lines_that_replace_each_other():
    one, other = verdict("1", id="a", replaces=("b",)), verdict("1", id="b", replaces=("a",))
    with pytest.raises(VerdictError, match="replace each other"):
        _ = Verdicts([one, other]).live


def test_hashes_depend_on_content_alone(tmp_path):
    frame = pd.DataFrame({"n": [1, 2], "t": ["x", None], "d": pd.to_datetime(["2024-01-05"] * 2)})
    frame.to_csv(tmp_path / "x.csv", index=False)
    again = pd.read_csv(tmp_path / "x.csv")[["t", "d", "n"]]
    assert row_hashes(frame) == row_hashes(again)
    assert row_hashes(frame.assign(n=[1, 3]))[0] == row_hashes(frame)[0]
    assert row_hashes(frame.assign(n=[1, 3]))[1] != row_hashes(frame)[1]
    bar_codes = pd.DataFrame({"n": [4006381333931, "4006381333931.0", 4006381333932]})
    same, written, other = row_hashes(bar_codes)
    assert same == written != other
    dense = np.array([[0.0, 1.5], [2.0, 0.0]])
    assert row_hashes(dense) == row_hashes(np.where(dense == 0, -0.0, dense))
    assert row_hashes(sparse.csr_array(dense)) == row_hashes(sparse.csc_array(dense))


def given_on(frame, rows, answers, **others):
    seen = row_hashes(frame, ["kind"])
    return [
        Verdict(str(row), seen[row], frame["kind"][row], "label", answer, **others)
        for row, answer in zip(rows, answers, strict=True)
    ]


def test_a_changed_row_is_refused_and_a_changed_label_is_not_counted():
    frame = pets(20)
    lines = given_on(frame, range(4), ["cat"] * 4, drawn_by="random", probability=0.2)
    frame.loc[1, "size"] = 99.0
    frame.loc[2, "kind"] = "hen" if frame["kind"][2] != "hen" else "dog"
    found = match_verdicts(Verdicts(lines), frame, frame["kind"], leave_out=["kind"])
    assert np.flatnonzero(found.known).tolist() == [0, 2, 3]
    assert not found.representative.any()  # what is left of the sample is no sample
    assert any("changed" in note and "row 1" in note for note in found.notes)


def test_keys_must_be_unique():
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        match_verdicts(Verdicts([]), np.zeros((2, 1)), [0, 1], keys=["a", "a"])


def test_integer_labels_keep_their_type():
    X = np.eye(3)
    line = Verdict("0", row_hashes(X)[0], "1", "label", "2")
    found = match_verdicts(Verdicts([line]), X, np.array([1, 2, 1]))
    assert found.y_true.tolist() == [2, None, None]


def noisy_problem(n_rows=1200, seed=0):
    rng = np.random.RandomState(seed)
    truth = rng.randint(3, size=n_rows)
    X = np.eye(3)[truth] * 2.0 + rng.randn(n_rows, 3)
    return X, truth, noise.corrupt_labels(truth, noise.symmetric(3, 0.2), random_state=seed)


def checked_rows(truth, y, drawn, others):
    y_true = np.full(len(y), None, dtype=object)
    probability, how = np.full(len(y), np.nan), np.full(len(y), "", dtype=object)
    y_true[drawn], probability[drawn], how[drawn] = truth[drawn], len(drawn) / len(y), "random"
    y_true[others], how[others] = truth[others], "suspicion"
    return CheckedRows(y_true, probability, how)


def test_rows_checked_for_looking_wrong_bias_neither_matrix_nor_settings():
    X, truth, y = noisy_problem()
    rng = np.random.RandomState(1)
    drawn = rng.choice(len(y), 150, replace=False)
    wrong = np.setdiff1d(np.flatnonzero(truth != y), drawn)[:120]
    model = UnconfusedLogisticRegression(relabel=0, random_state=0)
    alone = fit_checked(model, X, y, checked_rows(truth, y, drawn, drawn[:0]))
    both = fit_checked(model, X, y, checked_rows(truth, y, drawn, wrong))
    # They stand for themselves: 10 % of all rows, and the matrix hardly moves.
    np.testing.assert_allclose(alone.confusion_, both.confusion_, atol=0.01)
    # They do not judge settings; as they are fitted to, a neighbour on the grid may be chosen.
    assert abs(np.log10(alone.l2_ / both.l2_)) < 0.51
    assert alone.noisy_weight_ == both.noisy_weight_
    assert not np.array_equal(alone.coef_, both.coef_), "their truths are learnt from"
    share = 1 - np.diag(both.confusion_).mean()
    assert abs(share - 0.2) < 0.06
    # Counted as a sample, they would have made the labels look far worse.
    y_true = checked_rows(truth, y, drawn, wrong).y_true
    naive = model.fit(X, y, y_true=y_true)
    assert 1 - np.diag(naive.confusion_).mean() > share + 0.05


def test_many_verdicts_on_chosen_rows_do_not_make_a_model_worse():
    """A few random truths must not choose that noisy rows count for next to nothing."""
    rng = np.random.RandomState(0)
    truth = rng.randint(2, size=500)
    X = np.eye(2)[truth] + rng.randn(500, 2) / 2
    y = noise.corrupt_labels(truth, [[1.0, 0.0], [0.4, 0.6]], random_state=0)
    drawn = np.flatnonzero(truth == 1)[:8]
    chosen = np.setdiff1d(np.flatnonzero(X[:, 1] > X[:, 0] + 0.5), drawn)[:100]
    model = UnconfusedLogisticRegression(relabel=0, random_state=0)
    fitted = fit_checked(model, X, y, checked_rows(truth, y, drawn, chosen))
    assert fitted.noisy_weight_ == 1.0
    before = fit_checked(model, X, y, checked_rows(truth, y, drawn[:0], chosen[:0]))
    assert fitted.score(X, truth) > max(0.85, before.score(X, truth) - 0.02)
    # With more random rows than chosen ones these choose, and a chosen one counts no more than
    # a noisy row.
    more = checked_rows(truth, y, np.arange(0, 500, 4), np.arange(1, 500, 10))
    weighted = fit_checked(model, X, y, more)
    given = {"l2": weighted.l2_, "noisy_weight": weighted.noisy_weight_, "refine": False}
    weight = np.where(more.drawn_by == "suspicion", weighted.noisy_weight_, 1.0)
    again = UnconfusedLogisticRegression(weighted.confusion, relabel=0, **given)
    again.fit(X, y, y_true=more.y_true, sample_weight=weight)
    np.testing.assert_allclose(weighted.coef_, again.coef_)


@pytest.fixture
def checked_pets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pets_csv("pets.csv")
    frame = pd.read_csv("pets.csv")
    truth = pets()["truth"]
    drawn = np.random.RandomState(0).choice(240, 90, replace=False)
    wrong = np.setdiff1d(np.flatnonzero(truth != frame["kind"]), drawn)[:20]
    append_verdicts("verdicts.csv", given_on(frame, drawn, truth[drawn], drawn_by="random",
                                             probability=90 / 240))  # fmt: skip
    append_verdicts("verdicts.csv", given_on(frame, wrong, truth[wrong], drawn_by="suspicion"))
    return drawn, wrong


@pytest.mark.slow
@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_fit_estimate_and_audit_take_verdicts(checked_pets, stream):
    drawn, wrong = checked_pets
    known = ["pets.csv", "--label", "kind", "--truth", "verdicts.csv", "--ignore", "checked,name"]
    found = succeed_json("estimate", *known, *stream)
    assert np.sum(found["counts"]) == 90
    source = found["verdict"]["source"]
    assert "The model also learns from the other 20, which are not counted." in source
    fitted = succeed_json("fit", *known, *stream, *SETTINGS)
    assert 0.05 < fitted["verdict"]["wrong_share"] < 0.35
    succeed("audit", *known, *stream, *SETTINGS, "-o", "check.csv")
    listed = pd.read_csv("check.csv")["row"]
    assert len(listed) == 240 - 90 - len(wrong) and not set(listed) & {*drawn, *wrong}


def test_verdicts_by_id_and_a_file_without_names(checked_pets):
    frame = pd.read_csv("pets.csv")
    lines = read_verdicts("verdicts.csv").records
    named = [Verdict(**{**one.__dict__, "key": frame["name"][int(one.key)]}) for one in lines]
    append_verdicts("named.csv", named)
    known = ["pets.csv", "--label", "kind", "--id", "name", "--truth", "named.csv"]
    for stream in ([], ["--stream"]):
        assert np.sum(succeed_json("estimate", *known, *stream)["counts"]) == 90
    X, truth, y = noisy_problem(300)
    np.savez("rows.npz", X=X, y=y)
    seen = row_hashes(X)
    append_verdicts(
        "rows.csv",
        [Verdict(str(i), seen[i], str(y[i]), "label", str(truth[i]), "random", 1 / 3)
         for i in range(0, 300, 3)],
    )  # fmt: skip
    assert np.sum(succeed_json("estimate", "rows.npz", "--truth", "rows.csv")["counts"]) == 100


def test_verdicts_on_other_data_are_told(checked_pets):
    frame = pd.read_csv("pets.csv")
    frame["legs"] += 1
    frame.to_csv("other.csv", index=False)
    for stream in ([], ["--stream"]):
        said = refused("fit", "other.csv", "--label", "kind", "--truth", "verdicts.csv", *stream)
        assert "No verdict of verdicts.csv can be used" in said and "rows have changed" in said
    frame.loc[:29, "legs"] -= 1
    frame.to_csv("some.csv", index=False)
    out = succeed_json("estimate", "some.csv", "--label", "kind", "--truth", "verdicts.csv")
    assert any("rows have changed" in note for note in out["notes"])
    for wrong in (["--id", "name"], ["--label", "coat"]):
        known = ["--label", "kind", *wrong] if wrong[0] == "--id" else wrong
        said = refused("apply", "pets.csv", "verdicts.csv", *known, "-o", "corrected.csv")
        assert "--label and --id must be those of the review" in said


@pytest.mark.parametrize(("name", "why"), [("pets.csv", "is not a"), ("no.csv", "does not exist")])
def test_a_truth_that_is_neither_a_column_nor_verdicts(checked_pets, name, why):
    said = refused("fit", "pets.csv", "--label", "kind", "--truth", name)
    assert f"'{name}' is no column" in said and why in said
