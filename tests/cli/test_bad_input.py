"""Whatever is wrong ends in one clear line and exit code 2, before the work where possible."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from pets import AUDIT, FIT, KNOWN, invoke, pets, pets_csv, refused, succeed, write_fitted

from unconfused._files import read
from unconfused._text import pip_install
from unconfused.cli import fitting, model

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def idle(monkeypatch):
    """Fail the test if data are read."""
    monkeypatch.setattr(read, "read_table", lambda *args, **options: pytest.fail("work started"))


OUTPUTS = [
    (*FIT, "-o", "there.skops"),
    (*FIT, "--report", "there.html"),
    ("estimate", *KNOWN, "-o", "there.csv"),
    (*AUDIT, "-o", "there.csv"),
    ("corrupt", "pets.csv", "-l", "kind", "--symmetric", "0.1", "-o", "there.csv"),
]


@pytest.mark.parametrize("arguments", OUTPUTS)
def test_nothing_is_replaced_unasked_and_nothing_worked_for(arguments, idle):
    target = Path(arguments[-1])
    target.write_text("mine")
    assert "exists already; --force replaces it" in refused(*arguments)
    assert target.read_text() == "mine"


@pytest.mark.parametrize("arguments", OUTPUTS)
def test_places_that_cannot_be_written(arguments, idle, monkeypatch):
    *front, target = arguments
    assert "no folder" in refused(*front, f"none/{target}")
    said = refused(*front, "target.xyz")
    assert "the extension is not known" in said or "the name must end in" in said

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    assert "Permission denied" in refused(*arguments)


def test_force_replaces():
    Path("model.skops").write_text("old")
    succeed(*FIT, "--force")
    assert Path("model.skops").stat().st_size > 1000


def test_input_is_never_the_output(idle):
    corrupt = ("corrupt", "pets.csv", "-l", "kind", "--symmetric", "0.1", "--force")
    assert "named twice" in refused(*corrupt, "-o", "./pets.csv")


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("empty.csv", b"", "empty"),
        ("header.csv", b"a,kind\n", "no rows"),
        ("ragged.csv", b"a,kind\n1,x\n1,2,3\n", "3 cells"),
        ("twice.csv", b"kind,kind\nx,y\n", "more than once"),
        ("semicolon.csv", b"a;kind\n1;x\n", "--delimiter"),
        ("latin.csv", "a,kind\n1,caf\xe9\n".encode("latin-1"), "--encoding"),
        ("book.csv", b"PK\x03\x04 and so on", "zip"),
        ("table.parquet", b"PAR1 but damaged", "Parquet"),
        ("table.xlsx", b"PK\x03\x04", "extension"),
        ("lines.jsonl", b'{"kind": "a"}\n{oops\n', "line 2"),
        ("rows.svm", b"cat 1:2\n", "line 1"),
        ("rows.npz", b"PK\x03\x04", "NPZ"),
    ],
)
def test_malformed_files(name, content, word):
    Path(name).write_bytes(content)
    options = () if name.startswith("rows") else ("-l", "kind")
    assert word in refused("fit", name, *options)
    assert not Path("model.skops").exists()


def test_marks_line_ends_and_quotes_of_other_programs():
    frame = pets()
    frame["remark"] = ['said "hm",\nthen left' if i % 2 else "nothing" for i in range(len(frame))]
    text = frame.drop(columns="truth").to_csv(index=False, lineterminator="\r\n")
    Path("office.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    succeed("fit", "office.csv", *FIT[2:], "--text", "remark")
    succeed("predict", "model.skops", "office.csv", "-o", "out.csv", "--keep", "name,remark")
    assert pd.read_csv("out.csv")["remark"].tolist() == frame["remark"].tolist()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("fit", "none.csv", "-l", "kind"), "no file"),
        (("fit", "https://example.org/pets.csv", "-l", "kind"), "Download it first"),
        (("fit", "pets.csv", "-l", "kid"), "Did you mean 'kind'"),
        (("fit", "pets.csv", "-l", "kind", "-t", "cheked"), "Did you mean 'checked'"),
        (("fit", "pets.csv", "-l", "KIND"), "Did you mean 'kind'"),
        ((*FIT, "--learner", "trees", "--l2", "1"), "--l2 is the penalty"),
        (("fit", "pets.csv", "-l", "size"), "measurements"),
        (("fit", "pets.csv", "-l", "kind", "--text", "remarks"), "Did you mean 'remark'"),
        (("fit", "pets.csv", "-l", "kind", "--confusion", "none.csv"), "no file"),
        (("predict", "none.skops", "pets.csv", "-o", "o.csv"), "no file"),
        (("predict", "pets.csv", "pets.csv", "-o", "o.csv"), "named twice"),
        (("export", "pets.csv"), "cannot be loaded"),
        (("corrupt", "one.csv", "-l", "kind", "--symmetric", "0.2", "-o", "o.csv"), "at least two"),
        (("review", "one.csv", "-l", "kind", "--no-browser"), "show class 'x'"),
        (("fit", "one.csv", "-l", "kind", "--ignore", "size"), "besides its labels"),
    ],
)
def test_names_that_lead_nowhere(arguments, word):
    Path("one.csv").write_text("size,kind\n" + "1,x\n2,x\n" * 20)
    assert word in refused(*arguments)


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        (".8,.1,.1\n.1,.8,.1\n", "square"),
        ("0.9,0.1\n0.2,0.8\n", "3 classes"),
        ("0.9,0.3,0\n0.1,0.6,0\n0,0.1,1\n", "transpose"),
        (",cat,dog,cow\ncat,1,0,0\ndog,0,1,0\ncow,0,0,1\n", "'hen'"),
        (",cat,dog,hen\ncat,1,0,0\ndog,0,1,0\ncow,0,0,1\n", "same classes"),
        ("8,1,1\n0,9,1\n0,0,10\n", "counts"),
        ("cat,dog\n1,0\n", "above the row names"),
        ("0,1,2\n1,0,0\n0,1,0\n0,0,1\n", "begin every other line"),
        (",cat,dog,hen\ncat,1,0,0\ndog,0,x,0\nhen,0,0,1\n", "'x' in row 2"),
        ("1,0\n1\n", "cells"),
        ("", "empty"),
        (",c\u00e4t\n", "not UTF-8; convert"),
    ],
)
def test_matrices_that_are_none(matrix, word):
    Path("C.csv").write_text(matrix, encoding="latin-1")
    assert word in refused("fit", "pets.csv", "-l", "kind", "-c", "C.csv", "--ignore", "checked")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("fit", "pets.csv"), "--label"),
        (("fit", "pets.csv", "-l", "kind", "--trust-labels", "-c", "C.csv"), "contradict"),
        (("fit", "pets.csv", "-l", "kind", "-a", "coat,legs"), "both name columns of labels"),
        (("fit", "pets.csv", "--votes", "v.csv", "-l", "kind"), "--item"),
        (("fit", "pets.csv", "-l", "kind", "--item", "x"), "--votes"),
        (("fit", "pets.csv", "--annotators", "kind"), "two columns"),
        (("fit", "pets.csv", "-l", "kind", "-t", "kind"), "both the label column"),
        (("fit", "pets.csv", "-l", "kind", "--learner", "forest"), "forest"),
    ],
)
def test_contradictions(arguments, word):
    result = invoke(*arguments)
    assert result.exit_code == 2 and word in result.stderr.replace("\n", " ")


def test_columns_that_tell_nothing_are_suspected():
    pets()[["name", "kind"]].assign(coin=[0, 1, 1] * 80).to_csv("coin.csv", index=False)
    result = invoke("fit", "coin.csv", "-l", "kind")
    assert result.exit_code == 0
    assert "say little about the classes" in result.stderr and "--text" in result.stderr


def test_labels_that_differ_in_case_only():
    frame = pets().drop(columns="truth")
    frame["kind"] = frame["kind"].where(frame.index % 5 > 0, frame["kind"].str.upper())
    frame.to_csv("pets.csv", index=False)
    assert "'CAT' and 'cat' differ only in case" in refused("estimate", *KNOWN)
    succeed("estimate", *KNOWN, "--classes", "cat,CAT,dog,DOG,hen,HEN")
    assert "'CAT' and 'cat' differ only in case" in refused(
        "estimate", "pets.csv", "--annotators", "kind,checked"
    )


def test_truth_and_labels_without_a_common_value():
    frame = pets().drop(columns="truth")
    frame["checked"] = frame["checked"].map({"cat": "c", "dog": "d", "hen": "h"})
    frame.to_csv("pets.csv", index=False)
    assert "the true classes ('c', 'd', 'h') have no value in common" in refused("estimate", *KNOWN)


def test_true_classes_without_labels_are_pointed_out():
    frame = pets().drop(columns="truth")
    frame.loc[frame["checked"].notna() & (frame.index % 3 == 0), "checked"] = "cow"
    frame.to_csv("pets.csv", index=False)
    assert "never occur as a label: 'cow'" in invoke("estimate", *KNOWN).output
    frame.fillna({"checked": "?"}).to_csv("pets.csv", index=False)
    assert "pass --missing '?'" in refused("estimate", *KNOWN)
    assert "checked rows" in invoke("estimate", *KNOWN, "--missing", "?").output


def test_help_is_quick_and_needs_little():
    code = "import sys, unconfused.cli.app; print({'numpy', 'pandas', 'skops'} & {*sys.modules})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


@pytest.mark.parametrize("module", ["pandas", "skops.io"])
def test_an_extra_that_is_missing_is_named_before_the_work(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(fitting, "fit_plan", lambda *args: pytest.fail("work started"))
    assert pip_install("cli") in refused(*FIT)


def test_a_fault_of_ours_is_told_apart(monkeypatch):
    def fail(*args, **options):
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(model, "make_plan", fail)
    result = invoke(*FIT)
    assert result.exit_code == 1 and "--debug" in result.stderr


def test_interrupt_leaves_no_file(monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    write_fitted()
    before = sorted(Path().iterdir())
    monkeypatch.setattr("unconfused.cli.commands.predict.Prediction.label", interrupt)
    result = invoke("predict", "model.skops", "pets.csv", "-o", "out.csv")
    assert result.exit_code == 130 and result.output.strip() == ""
    assert sorted(Path().iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_no_file(sent, code):
    """As a process: while it writes, row by row, it is told to stop."""
    write_fitted()
    pets_csv("large.csv", n_rows=100_000)
    before = {path.name for path in Path().iterdir()}
    arguments = ["predict", "model.skops", "large.csv", "-o", "out.csv", "--rows", "100"]
    process = subprocess.Popen(
        [sys.executable, "-m", "unconfused", *arguments], stderr=subprocess.PIPE, env=os.environ
    )
    deadline = time.monotonic() + 120
    while not any(path.suffix == ".tmp" and path.stat().st_size for path in Path().iterdir()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(sent)
    assert process.wait(60) == code
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    assert {path.name for path in Path().iterdir()} == before
