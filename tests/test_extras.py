"""How to install what is missing: a command that works where it is printed."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from unconfused import _text
from unconfused._text import pip_install


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretend that the package lies in site-packages, installed from what is given."""

    def install(told):
        class Distribution:
            def read_text(self, name):
                return told

        place = tmp_path / "site" / "pkg" / "_text" / "__init__.py"
        monkeypatch.setattr(_text, "__file__", str(place))
        monkeypatch.setattr(metadata, "distribution", lambda name: Distribution())

    return install


def test_an_index_is_asked_by_name(installed):
    installed(None)
    assert pip_install("cli") == 'pip install "unconfused[cli]"'


def test_not_installed_at_all(installed, monkeypatch):
    installed(None)

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert pip_install("cli") == 'pip install "unconfused[cli]"'


def test_a_clone_is_asked_by_its_place(installed, tmp_path, monkeypatch):
    clone = tmp_path / "my clone"
    clone.mkdir()
    installed(json.dumps({"url": clone.as_uri(), "dir_info": {}}))
    assert pip_install("cli") == 'pip install "unconfused[cli]"'  # the clone is gone
    (clone / "pyproject.toml").touch()
    assert pip_install("cli") == f'pip install "{clone}[cli]"'
    monkeypatch.chdir(clone)
    assert pip_install("cli") == 'pip install ".[cli]"'


def test_a_wheel_is_asked_by_its_place(installed, tmp_path):
    wheel = tmp_path / "unconfused-0.1.0-py3-none-any.whl"
    installed(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert pip_install("cli") == 'pip install "unconfused[cli]"'  # it is gone
    wheel.touch()
    assert pip_install("cli") == f'pip install "{wheel}[cli]"'


def test_an_editable_installation_stays_one(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").touch()
    place = tmp_path / "src" / "unconfused" / "_text" / "__init__.py"
    monkeypatch.setattr(_text, "__file__", str(place))
    monkeypatch.chdir(tmp_path)
    assert pip_install("onnx") == 'pip install -e ".[onnx]"'
    monkeypatch.chdir(Path(tmp_path.anchor))
    assert pip_install("onnx") == f'pip install -e "{tmp_path}[onnx]"'
