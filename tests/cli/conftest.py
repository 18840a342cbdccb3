"""Set-up shared by the tests of the commands."""

import pytest
from pets import pets_csv


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder with the pets in it."""
    monkeypatch.chdir(tmp_path)
    pets_csv("pets.csv")
