"""The documentation's code runs as it is, examples draw something, links lead somewhere.

Sphinx itself runs in `make docs`.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
TOP = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]
EXAMPLES = sorted((REPOSITORY / "examples").rglob("plot_*.py"))

QUICK = (
    "../README.md",
    "saved_models.md",
    "theory.md",
    "guide/only_probabilities.md",
    "guide/other_labels.md",
    "extending/step_rule.md",
    "extending/selection.md",
    "extending/engine.md",
)
SLOW = (
    "scaling.md",
    "review.md",
    "guide/choosing_a_learner.md",
    "guide/any_classifier.md",
)
RUN = [*QUICK, *(pytest.param(page, marks=pytest.mark.slow) for page in SLOW)]

# Made by `make docs`, so not there in a fresh clone.
MADE = re.compile(r"auto_examples\b")


def python_blocks(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    return blocks


@pytest.mark.parametrize("page", RUN)
def test_python_on_pages_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # pages save models
    if page == "scaling.md":
        pytest.importorskip("dask.array", reason="needs the extra `dask`")
    names: dict[str, object] = {}
    for number, block in enumerate(python_blocks(page)):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    if page == "../README.md":
        text = (DOCS / page).read_text(encoding="utf-8")
        accuracy = re.search(r"clean labels: ([\d.]+)", capsys.readouterr().out)
        assert accuracy is not None and f"That prints {accuracy.group(1)}." in text


@pytest.mark.slow
def test_each_situation_of_the_quick_start_stands_alone_and_learns(capsys):
    *situations, report = python_blocks("quick_start.md")
    names: dict[str, object] = {}
    for number, block in enumerate(situations):
        names = {}
        exec(compile(block, f"situation {number}", "exec"), names)
    exec(compile(report, "and then", "exec"), names)
    found = re.findall(r"^[\w ]+: (0\.\d+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert len(found) == len(situations) == 5
    assert all(float(accuracy) > 0.85 for accuracy in found)


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_draw(script, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    with matplotlib.rc_context():
        runpy.run_path(str(script))
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        try:
            assert drawn
            for figure in drawn:
                figure.canvas.draw()
                pixels = np.asarray(figure.canvas.buffer_rgba())
                assert np.ptp(pixels[..., :3]) > 0
        finally:
            plt.close("all")


def test_every_example_is_told_of_on_a_page():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert EXAMPLES
    assert [path.stem for path in EXAMPLES if f"{path.name}>" not in pages] == []


@pytest.mark.parametrize("page", TOP, ids=lambda path: path.stem)
def test_make_targets_exist(page):
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"^(?:\| `)?make (\w+)", text, flags=re.MULTILINE)
    assert named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


@pytest.mark.parametrize("page", [*PAGES, *TOP], ids=lambda path: path.stem)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    ours = [one for one in targets if "://" not in one and not MADE.search(one)]
    assert [one for one in ours if not (page.parent / one).exists()] == []


def test_short_docstring_entries_become_descriptions_and_typed_ones_stay():
    rewrite = runpy.run_path(str(DOCS / "_ext" / "short_docstrings.py"))["describe_short_entries"]
    lines = [
        *("Sum up.", "", "Parameters", "----------"),
        *(
            "X : float",
            "    A number.",
            "y : what was seen; it may",
            "    be missing",
            "z : the rest",
        ),
        *("", "Notes", "-----", "Mind : this is prose."),
    ]
    rewrite(None, "class", "Some", None, None, lines)
    assert lines[4:] == [
        *("X : float", "    A number.", "y", "    What was seen; it may", "    be missing"),
        *("z", "    The rest", "", "Notes", "-----", "Mind : this is prose."),
    ]
