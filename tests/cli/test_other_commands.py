"""`unconfused estimate`, `audit`, `corrupt` and `export`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pets import AUDIT, FIT, KINDS, NOISE, SETTINGS, invoke, pets, refused, succeed, succeed_json
from sklearn.datasets import dump_svmlight_file, load_iris

from unconfused import load, noise
from unconfused._columns.row_hash import row_hashes
from unconfused._columns.steps import prepare_frame
from unconfused._files.read import read_table
from unconfused.review import Verdict, append_verdicts

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("folder")]


def test_estimate_shows_intervals_and_writes_what_fit_reads():
    printed = succeed("estimate", "pets.csv", "-l", "kind", "-t", "checked", "-o", "C.csv")
    assert "are probably wrong" in printed.splitlines()[0]
    assert "Below each share: its 95 % interval." in printed and "Matrix: C.csv" in printed
    found = succeed_json("estimate", "pets.csv", "-l", "kind", "-t", "checked", "--level", "0.99")
    inside = (np.array(found["low"]) <= NOISE) & (np.array(found["high"]) >= NOISE)
    assert found["level"] == 0.99 and inside[NOISE > 0].all()
    given = ("-l", "kind", "-c", "C.csv", "--ignore", "checked", *SETTINGS)
    fitted = succeed_json("fit", "pets.csv", *given)
    written = pd.read_csv("C.csv", index_col=0)
    np.testing.assert_allclose(fitted["confusion"], written.to_numpy(), atol=1e-5)
    assert written.index.tolist() == fitted["classes"] == ["cat", "dog", "hen"]


def test_a_guess_and_its_caveat():
    found = succeed_json("estimate", "pets.csv", "-l", "kind", "--ignore", "checked")
    assert "No true labels were known" in found["verdict"]["quality"]
    assert found["verdict"]["kind"] == "nothing"


def test_many_classes_get_a_line_each():
    rng = np.random.RandomState(0)
    truth = rng.randint(26, size=2000)
    frame = pd.DataFrame(
        {"truth": truth, "label": noise.corrupt_labels(truth, noise.pairwise(26, 0.3), 0)}
    )
    frame.to_csv("many.csv", index=False)
    printed = succeed("estimate", "many.csv", "-l", "label", "-t", "truth")
    assert "main error" in printed and "6 classes that are right more often" in printed
    assert max(len(line) for line in printed.splitlines() if line.startswith("│")) <= 80


def test_a_class_nobody_checked_is_named_with_the_way_out():
    frame = pets().drop(columns="truth")
    frame.loc[frame["checked"] == "hen", "checked"] = None
    frame.to_csv("few.csv", index=False)
    found = succeed_json("estimate", "few.csv", "-l", "kind", "-t", "checked")
    assert "'hen'" in found["notes"][-1] and "equally likely" in found["notes"][-1]
    assert np.allclose(found["matrix"][2], 1 / 3) and found["matrix"][0][0] > 0.6
    assert found["low"][2][0] < 0.05 and found["high"][2][0] > 0.9


def test_audit_finds_wrong_labels():
    printed = succeed(*AUDIT, "--id", "name", "--text", "remark", "-o", "check.csv")
    assert "are probably wrong" in printed.splitlines()[0] and "most suspicious" in printed
    rows, truth = pd.read_csv("check.csv"), pets()
    assert len(rows) == truth["checked"].isna().sum()
    assert rows["probability_wrong"].is_monotonic_decreasing
    assert rows["name"].tolist() == [f"p{row}" for row in rows["row"]]
    assert rows["label"].tolist() == truth["kind"].iloc[rows["row"]].tolist()
    first = rows.head(20)
    assert (first["suggested"] == truth["truth"].iloc[first["row"]].to_numpy()).mean() > 0.7


def test_corrupt_and_learn_again():
    pets()[["size", "legs", "coat", "truth"]].to_csv("clean.csv", index=False)
    arguments = ("corrupt", "clean.csv", "-l", "truth", "--pairwise", "0.3", "--reveal", "0.25")
    found = succeed_json(*arguments, "-o", "noisy.csv", "--seed", "3")
    noisy, clean = pd.read_csv("noisy.csv"), pd.read_csv("clean.csv")
    assert found["columns"] == ["noisy_truth"] and 0.2 < found["wrong_share"] < 0.4
    assert np.mean(noisy["noisy_truth"] != clean["truth"]) == pytest.approx(found["wrong_share"])
    known = noisy["truth"].notna()
    assert known.sum() == found["rows_with_truth"] and 0.15 < known.mean() < 0.35
    assert (noisy["truth"][known] == clean["truth"][known]).all()
    pd.testing.assert_frame_equal(noisy[["size", "coat"]], clean[["size", "coat"]])
    succeed(*arguments, "-o", "again.csv", "--seed", "3")
    assert Path("again.csv").read_bytes() == Path("noisy.csv").read_bytes()
    succeed("fit", "noisy.csv", "--label", "noisy_truth", "--truth", "truth", *SETTINGS)


def test_corrupt_says_what_to_do_next_and_hides_the_truth():
    pets()[["size", "truth"]].to_csv("clean.csv", index=False)
    printed = succeed(
        "corrupt", "clean.csv", "-l", "truth", "--symmetric", "0.2", "--annotators", "3",
        "-o", "crowd.csv",
    )  # fmt: skip
    names = ["noisy_truth_1", "noisy_truth_2", "noisy_truth_3"]
    assert pd.read_csv("crowd.csv").columns.tolist() == ["size", *names]
    following = printed.splitlines()[-1].removeprefix("Next: unconfused ").split()
    assert following[:3] == ["fit", "crowd.csv", "--annotators"]
    succeed(*following, *SETTINGS)


def test_corrupt_by_a_matrix_with_names_in_any_order():
    pets()[["size", "truth"]].to_csv("clean.csv", index=False)
    order = [2, 0, 1]
    rows = [f"{KINDS[t]},{','.join(str(float(t == k)) for k in (1, 2, 0))}" for t in order]
    Path("C.csv").write_text("\n".join([",dog,hen,cat", *rows]))
    succeed("corrupt", "clean.csv", "-l", "truth", "-c", "C.csv", "--reveal", "1", "-o", "same.csv")
    found = pd.read_csv("same.csv")
    # Rows t, columns in the order dog, hen, cat: class t gets the label of place t there.
    assert (found["noisy_truth"] == found["truth"].map(dict(zip(KINDS, KINDS, strict=True)))).all()


def test_corrupt_refuses():
    np.savez("rows.npz", X=np.eye(3), y=[0, 1, 2])
    out = ("-o", "out.csv")
    assert "no column names" in refused(
        "corrupt", "rows.npz", "-l", "y", "--symmetric", "0.2", *out
    )
    both = invoke("corrupt", "pets.csv", "-l", "kind", "--symmetric", "1", "--pairwise", "1", *out)
    assert both.exit_code == 2 and "one of --symmetric" in both.stderr
    assert "measurements" in refused(
        "corrupt", "pets.csv", "-l", "size", "--symmetric", "0.1", *out
    )


def test_export_needs_the_model_alone():
    ort = pytest.importorskip("onnxruntime")
    succeed(*FIT, "--text", "remark")
    found = succeed_json("export", "model.skops")
    assert found["inputs"] == ["size", "legs", "coat", "remark"]
    model, rows = load("model.skops"), pets().head(30)
    ready = prepare_frame(model, rows)
    session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    inputs = {name: ready[[name]].to_numpy(dtype=np.float32) for name in ("size", "legs")} | {
        name: ready[[name]].fillna("nan").to_numpy(dtype=str) for name in ("coat", "remark")
    }
    labels, shares = session.run(["label", "probabilities"], inputs)
    assert labels.tolist() == model.predict(ready).tolist()
    np.testing.assert_allclose(shares, model.predict_proba(ready), atol=1e-4)
    assert "--force" in refused("export", "model.skops")


def test_exported_dates_agree_with_the_model():
    ort = pytest.importorskip("onnxruntime")
    frame, rng = pets().drop(columns=["remark", "truth"]), np.random.RandomState(1)
    hours, days = rng.randint(0, 17_000, len(frame)), rng.randint(0, 700, len(frame))
    frame["seen"] = pd.Timestamp("2021-03-01") + pd.to_timedelta(hours, unit="h")
    frame["born"] = pd.Timestamp("2015-03-01") + pd.to_timedelta(days, unit="D")
    frame.loc[3, "seen"] = pd.NaT
    frame.to_csv("dated.csv", index=False)
    succeed("fit", "dated.csv", *FIT[2:])
    found = succeed_json("export", "model.skops")
    assert set(found["inputs"]) == {"size", "legs", "seen", "born", "coat"}
    model = load("model.skops")
    ready = prepare_frame(model, frame)
    inputs = {name: ready[[name]].to_numpy(dtype=np.float32) for name in ("size", "legs")}
    inputs["coat"] = ready[["coat"]].fillna("nan").to_numpy(dtype=str)
    for name in ("seen", "born"):
        since = ready[[name]] - pd.Timestamp("1970-01-01")
        inputs[name] = (since / pd.Timedelta(1, "D")).to_numpy()
    session = ort.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    labels, shares = session.run(["label", "probabilities"], inputs)
    np.testing.assert_allclose(shares, model.predict_proba(ready), atol=1e-4)
    assert labels.tolist() == model.predict(ready).tolist()


def write_noisy_iris():
    X, y = load_iris(return_X_y=True)
    X[:, 0] = 0.0  # svmlight writes no zeros, and says nowhere what feature it counts from
    seen = noise.corrupt_labels(y, noise.symmetric(3, 0.2), random_state=0)
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    dump_svmlight_file(X, seen, "noisy.svm", zero_based=False)
    np.savez("noisy.npz", X=X, y=seen)
    return y, seen


def test_rows_without_names_are_fitted_and_predicted():
    truth, seen = write_noisy_iris()
    succeed("fit", "noisy.svm", "--trust-labels", *SETTINGS)
    succeed("predict", "model.skops", "noisy.svm", "--keep", "y", "-o", "out.csv")
    assert succeed_json("evaluate", "model.skops", "iris.svm", "--truth", "y")["accuracy"]
    assert "are called y" in refused("evaluate", "model.skops", "iris.svm")
    predicted = pd.read_csv("out.csv")
    assert (predicted["y"] == seen).all() and (predicted["label"] == truth).mean() > 0.8
    assert "--keep y" in refused(
        "predict", "model.skops", "noisy.svm", "--keep", "id", "-o", "p.csv"
    )


@pytest.mark.parametrize("name", ["noisy.svm", "noisy.npz"])
def test_truths_of_rows_without_column_names(name):
    truth, seen = write_noisy_iris()
    hashes, drawn = row_hashes(read_table(name).X), range(0, 150, 4)
    append_verdicts(
        "truths.csv",
        [
            Verdict(str(i), hashes[i], str(seen[i]), "label", str(truth[i]), "random", 0.25)
            for i in drawn
        ],
    )
    fitted = succeed_json("fit", name, "--truth", "truths.csv", *SETTINGS)
    assert f"{len(drawn)} checked rows" in str(fitted)
    assert "takes a file of verdicts" in refused("fit", name, "--label", "y", "--force")
    assert "does not exist" in refused("fit", name, "--truth", "no.csv", "--force")
    said = refused("predict", "model.skops", name, "--keep", "label", "-o", "p.csv")
    assert "are called y" in said
