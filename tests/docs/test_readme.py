"""The Python on the project's pages runs as it is, and what they point at exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md")


def run_python_blocks(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_links_within_the_repository_lead_somewhere(page):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    missing = [one for one in targets if "://" not in one and not (REPOSITORY / one).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page):
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    named = re.findall(r"^(?:\| `)?make (\w+)", text, flags=re.MULTILINE)
    assert named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_the_contributors_examples_run():
    run_python_blocks("CONTRIBUTING.md")


def test_ten_lines_learn_something(capsys):
    run_python_blocks("README.md")
    accuracy = re.search(r"clean labels: ([\d.]+)", capsys.readouterr().out)
    assert accuracy is not None and float(accuracy.group(1)) > 0.8
