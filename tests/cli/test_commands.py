"""The command line, through its runner and once as a process."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unconfused import __version__, cli, noise
from unconfused._text import pip_install
from unconfused.cli import digits_demo
from unconfused.cli.app import app
from unconfused.cli.commands import demo as demo_command

runner = CliRunner()


@pytest.fixture
def outcome() -> digits_demo.Outcome:
    """Pretend that a demo has been run."""
    errors = {
        one.name: np.array([0.1, 0.11, 0.12]) * place
        for place, one in enumerate(digits_demo.LEARNERS)
    }
    shape = (3, len(digits_demo.RATES))
    curves = {name: np.full(shape, 0.5) for name in digits_demo.CURVES}
    return digits_demo.Outcome("pairwise", errors, noise.pairwise(10, 0.4), curves)


@pytest.fixture
def ready(outcome, monkeypatch, tmp_path):
    """Give the commands an empty folder, and the demo's work already done."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(digits_demo, "run_demo", lambda *args, **options: outcome)


@pytest.fixture
def idle(monkeypatch, tmp_path):
    """Give the commands an empty folder; to start working fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        digits_demo, "run_demo", lambda *args, **options: pytest.fail("work started")
    )


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.strip() == f"unconfused {__version__}"


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["info", "-h"]])
def test_help_shows_how_to_begin(arguments):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0
    assert "unconfused" in result.stdout


def test_info_names_versions_and_cores():
    plain = runner.invoke(app, ["info"]).stdout
    found = json.loads(runner.invoke(app, ["info", "--json"]).stdout)
    assert found["numpy"] == np.__version__ and found["cores"] >= 1
    assert all(name in plain for name in found)


def test_info_on_missing_package(monkeypatch):
    from unconfused.cli.commands import info

    monkeypatch.setattr(info, "PACKAGES", ("no-such-package",))
    assert "not installed" in runner.invoke(app, ["info"]).stdout


def test_demo_prints_table_and_writes_figure(ready):
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    assert "UMAClassifier(C)" in result.stdout and "of 3 runs" in result.stdout
    assert "\x1b[" not in result.stdout
    assert [path.name for path in Path().iterdir()] == ["unconfused-demo.png"]
    assert Path("unconfused-demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "magic"), [("a.pdf", b"%PDF"), ("a.SVG", b"<?xml")])
def test_demo_writes_other_formats(ready, name, magic):
    result = runner.invoke(app, ["demo", "--output", name])
    assert result.exit_code == 0, result.output
    assert Path(name).read_bytes().startswith(magic)


def test_demo_without_matplotlib(ready, monkeypatch):
    monkeypatch.setattr(demo_command, "find_spec", lambda name: None)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 0
    assert "UMAClassifier(C)" in result.stdout
    assert pip_install("plot") in result.stderr
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("output", "word"),
    [("no/such/folder.png", "no folder"), ("demo.txt", ".png"), ("full.png", "--force")],
)
def test_bad_output_is_refused_before_the_work(idle, output, word):
    Path("full.png").write_text("mine")
    result = runner.invoke(app, ["demo", "--output", output])
    assert result.exit_code == 2
    assert word in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert Path("full.png").read_text() == "mine"


def test_folder_as_output_is_refused(idle):
    Path("figures.png").mkdir()
    result = runner.invoke(app, ["demo", "--output", "figures.png", "--force"])
    assert result.exit_code == 2
    assert "is a folder" in result.stderr


def test_unwritable_folder_is_refused(idle, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 2
    assert "Permission denied" in result.stderr and "choose another" in result.stderr


def test_what_may_be_replaced(ready):
    for name in ("unconfused-demo.png", "mine.png"):
        Path(name).write_text("old")
    assert runner.invoke(app, ["demo"]).exit_code == 0
    assert runner.invoke(app, ["demo", "-o", "mine.png", "--force"]).exit_code == 0
    assert Path("unconfused-demo.png").stat().st_size > 1000
    assert Path("mine.png").stat().st_size > 1000


def test_failed_drawing_leaves_no_trace(tmp_path, outcome, monkeypatch):
    def savefig(self, path, **options):
        path.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)
    (tmp_path / "a.png").write_text("old")
    with pytest.raises(OSError, match="disk full"):
        digits_demo.save_figure(outcome, tmp_path / "a.png")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_text() == "old"


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["fit", "--seed", "x"], ["demo", "--noise", "loud"], ["fit", "--seed", "-1"]],
)
def test_usage_errors_exit_with_two(arguments):
    assert runner.invoke(app, arguments).exit_code == 2


def _raising(error):
    def run(*args, **options):
        raise error

    return run


def test_interrupt_is_quiet(idle, monkeypatch):
    monkeypatch.setattr(digits_demo, "run_demo", _raising(KeyboardInterrupt()))
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 130
    assert result.output.strip() == ""


def test_fault_of_ours_says_so_in_one_line(idle, monkeypatch):
    monkeypatch.setattr(digits_demo, "run_demo", _raising(TypeError("two\nlines")))
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: TypeError: two lines.")
    assert "--debug" in result.stderr and len(result.stderr.splitlines()) == 1


def test_debug_shows_the_error_itself(idle, monkeypatch):
    monkeypatch.setattr(digits_demo, "run_demo", _raising(TypeError("inside")))
    result = runner.invoke(app, ["--debug", "demo"])
    assert isinstance(result.exception, TypeError)


def test_main_without_typer(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert pip_install("cli") in capsys.readouterr().err


def test_verdict_follows_the_numbers(outcome):
    assert "the noise can be ignored" in outcome.in_words()
    for learner in digits_demo.LEARNERS:
        if learner.given == digits_demo.TOLD:
            outcome.errors[learner.name] = np.array([0.01])
    assert "it helps to model the noise" in outcome.in_words()


@pytest.mark.slow
def test_console_script():
    script = shutil.which("unconfused", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("the package is not installed with its console script")
    shown = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"unconfused {__version__}"
    wrong = subprocess.run(
        [script, "demo", "-o", "no/such/a.png"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2 and "Traceback" not in wrong.stderr


@pytest.mark.slow
def test_demo_for_real():
    """One run: with C, given or estimated, errors are fewer, and no two learners are the same."""
    found = digits_demo.run_demo("pairwise", [0])
    recommended, (_, believed) = digits_demo.CURVES[1], found.best(digits_demo.BELIEVED)
    assert recommended == "UnconfusedLogisticRegression(C)"
    assert found.errors[recommended].mean() < believed
    assert found.best(digits_demo.ESTIMATED)[1] < believed
    assert len(found.errors) == len(digits_demo.LEARNERS)
    assert np.abs(found.estimate - noise.pairwise(10, 0.4)).max() < 0.2
    assert list(found.curves) == list(digits_demo.CURVES)
    for name, errors in found.curves.items():
        assert errors.shape == (1, len(digits_demo.RATES))
        assert errors[0, -1] == found.errors[name].mean()
