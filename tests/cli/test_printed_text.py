"""What is printed: nothing in a file commands the terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pandas as pd
import pytest
from pets import AUDIT, FIT, KNOWN, invoke, pets
from rich.table import Table
from rich.text import Text

from unconfused.cli import _print_traceback
from unconfused.cli.console import SafeConsole, print_json

HOSTILE = "cat\x1b]0;mine\x07\x9b2J\x7f\u202e\u2066"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pets().drop(columns="truth").replace({"cat": HOSTILE})
    frame.rename(columns={"coat": f"coat{HOSTILE}"}).to_csv("pets.csv", index=False)


def test_commands_print_no_control_characters():
    for arguments in (
        FIT,
        (*FIT, "--json", "-o", "json.skops"),
        ("estimate", *KNOWN),
        (*AUDIT, "--id", "name", "-o", "check.csv"),
        ("predict", "model.skops", "pets.csv", "-o", "labels.csv", "--proba"),
        ("corrupt", "pets.csv", "-l", "kind", "--symmetric", "0.1", "-o", f"n{HOSTILE}.csv"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output
        assert not CONTROL.search(result.output), arguments
        assert arguments[0] in ("audit",) or "cat" in result.output
    # In files, labels are what they are.
    assert HOSTILE in set(pd.read_csv("labels.csv")["label"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", f"none{HOSTILE}.csv", "-l", "kind"),
        ("fit", "pets.csv", "-l", HOSTILE),
        ("fit", "pets.csv", "-l", "kind", "--text", f"{HOSTILE}*"),
        ("fit", "pets.csv", "-l", "kind", HOSTILE),
        ("fit", "pets.csv", "-l", "kind", f"--{HOSTILE}"),
        ("fit", "pets.csv", "-l", "kind", "--learner", HOSTILE),
        ("fit", "pets.csv"),
        (HOSTILE,),
    ],
)
def test_errors_print_no_control_characters(arguments):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr and not CONTROL.search(result.stderr)


def test_a_console_escapes_all_that_passes_it():
    """Cells of tables and titles too, on a terminal, where its own commands go through."""
    shown = io.StringIO()
    out = SafeConsole(file=shown, force_terminal=True, width=100)
    table = Table(title=Text(HOSTILE))
    table.add_column(HOSTILE)
    table.add_row(Text(HOSTILE), style="bold")
    out.print(table)
    out.print(HOSTILE, style="red")
    own = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue())
    assert "\x1b[" in shown.getvalue() and not CONTROL.search(own)


def test_json_and_tracebacks_too(capsys):
    print_json({"label": HOSTILE})
    _print_traceback(ValueError, ValueError(HOSTILE), None)
    shown = capsys.readouterr()
    assert not CONTROL.search(shown.out + shown.err)
    assert "ValueError: cat\\x1b" in shown.err


def test_a_file_name_is_no_markup():
    Path("[bold]a.csv").write_text(Path("pets.csv").read_text())
    result = invoke("fit", "[bold]a.csv", *FIT[2:], "-o", "[red]m.skops")
    assert result.exit_code == 0 and "[red]m.skops" in result.stdout
