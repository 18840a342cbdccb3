"""The guide to the command line: its commands run, and print what it shows.

``python tests/cli/test_guide.py`` runs them and puts what they print into the page.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def run(command, folder):
    """Run a command of the page with this interpreter; return what it prints."""
    python = shlex.quote(sys.executable)
    command = re.sub(r"(^|\| )unconfused ", rf"\1{python} -m unconfused ", command)
    command = re.sub(r"(^|\| )python ", rf"\1{python} ", command)
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=True, env=os.environ
    )
    return done.stdout


def run_page(text, folder):
    """Return the page with every block as its commands print it now."""

    def fresh(block):
        commands = [line for line in block.group(1).splitlines() if line.startswith("$ ")]
        shown = [f"{command}\n{run(command[2:], folder)}" for command in commands]
        lines = "".join(shown).splitlines()
        return "```console\n" + "".join(f"{line.rstrip()}\n" for line in lines) + "```"

    return BLOCK.sub(fresh, text)


def without_numbers(text):
    """Numbers may differ in their last digits from machine to machine, and tables in width."""
    return re.sub(r"[─━┄ ]+", " ", re.sub(r"\d+(\.\d+)?(e-\d+)?", "#", text))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("head") is None, reason="the page uses a shell's commands")
def test_the_guide_shows_what_the_commands_print(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    assert without_numbers(run_page(text, tmp_path)) == without_numbers(text)


def test_the_guide_names_every_command():
    from unconfused.cli.app import COMMANDS

    text = PAGE.read_text(encoding="utf-8")
    assert len(COMMANDS) >= 10 and all(f"`{name}" in text for name in COMMANDS)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(run_page(PAGE.read_text(encoding="utf-8"), folder), encoding="utf-8")
