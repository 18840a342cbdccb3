"""Files that are written whole or not at all: permissions, full disks, what killed runs leave."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from unittest.mock import Mock

import pytest
from pets import AUDIT, FIT, KNOWN, pets_csv, refused, succeed, write_fitted

from unconfused._atomic import whole_file

pytestmark = pytest.mark.usefixtures("folder")
posix = pytest.mark.skipif(os.name != "posix", reason="permissions and processes of POSIX")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664])
def test_a_replaced_file_hands_its_permissions_on(kept):
    target = Path("a.txt")
    target.write_text("old")
    target.chmod(kept)
    with whole_file(target, force=True) as scratch:
        assert mode(scratch) == kept, "private from the beginning"
        scratch.write_text("new")
    assert target.read_text() == "new" and mode(target) == kept


@posix
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (FIT, "model.skops"),
        ((*FIT, "--report", "page.html"), "page.html"),
        ((*AUDIT, "-o", "rows.csv"), "rows.csv"),
        (("estimate", *KNOWN, "-o", "C.csv"), "C.csv"),
        (("corrupt", "pets.csv", "-l", "kind", "--symmetric", "0.1", "-o", "n.csv"), "n.csv"),
    ],
)
def test_a_read_only_file_is_not_replaced(arguments, name):
    Path(name).write_text("mine")
    Path(name).chmod(0o444)
    assert f"{name} is read-only" in refused(*arguments, "--force")
    assert Path(name).read_text() == "mine"
    assert sorted(os.listdir()) == sorted({name, "pets.csv"})


@posix
def test_commands_keep_permissions():
    Path("model.skops").write_text("old")
    Path("model.skops").chmod(0o600)
    succeed(*FIT, "--force")
    Path("labels.csv").write_text("old")
    Path("labels.csv").chmod(0o640)
    succeed("predict", "model.skops", "pets.csv", "-o", "labels.csv", "--force")
    assert mode(Path("model.skops")) == 0o600 and mode(Path("labels.csv")) == 0o640


@posix
def test_a_killed_run_leaves_no_half_file():
    code = (
        "import os, signal\n"
        "from unconfused._atomic import whole_file\n"
        "with whole_file('a.txt') as scratch:\n"
        "    scratch.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -9
    assert not Path("a.txt").exists()


def test_a_full_disk_is_told_with_the_name_of_the_file(monkeypatch):
    write_fitted()
    before = sorted(os.listdir())
    commands = (
        (*FIT, "-o", "m.skops"),
        ("estimate", *KNOWN, "-o", "C.csv"),
        (*AUDIT, "-o", "rows.csv"),
        ("predict", "model.skops", "pets.csv", "-o", "labels.csv"),
        ("predict", "model.skops", "pets.csv", "-o", "labels.parquet"),
        ("corrupt", "pets.csv", "-l", "kind", "--symmetric", "0.1", "-o", "n.jsonl"),
    )
    for arguments, number in zip(commands, cycle([errno.ENOSPC, errno.EDQUOT]), strict=False):
        full = OSError(number, os.strerror(number))
        monkeypatch.setattr(os, "fsync", Mock(side_effect=full))
        said = refused(*arguments)
        assert arguments[-1] in said and os.strerror(number) in said and "make room" in said
    assert sorted(os.listdir()) == before


@pytest.mark.slow
@posix
def test_a_file_that_may_grow_no_further():
    """For real: the system itself cuts the file off."""
    names = ["out.csv", "out.csv.gz", "out.parquet", "out.arrow", "out.jsonl"]
    write_fitted()
    pets_csv("many.csv", n_rows=2_000)
    before = sorted(os.listdir())
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from unconfused.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        f"for name in {names}:\n"
        "    predict = ['predict', 'model.skops', 'many.csv', '--proba', '-o', name]\n"
        "    sys.argv = ['unconfused', *predict]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        print(end.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2"] * len(names), done.stderr
    for name, line in zip(names, done.stderr.splitlines(), strict=True):
        assert f"{name} cannot be written" in line
    assert sorted(os.listdir()) == before
