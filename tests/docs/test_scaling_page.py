"""The tables of the pages on Dask are those that the benchmark measured."""

import json
import re
from copy import deepcopy
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    import dask_page

    return dask_page


@pytest.fixture
def found():
    return json.loads((REPOSITORY / "benchmarks" / "dask_scaling.json").read_text())


def timed():
    """Return times that follow a cost model exactly: 100 ns and 1 ns per column, passes twice."""
    runs = [
        {"rows": rows, "columns": columns, "update_work": work, "pass_work": 2 * work}
        | {"update": work, "pass": 2 * work}
        for rows, columns in ((1000, 50), (1_000_000, 50), (10_000_000, 50), (100_000, 512))
        for work in [rows * (1e-7 + 1e-9 * columns)]
    ]
    half = [{key: value / 2 for key, value in run.items()} for run in runs]
    return {
        "machine": {"cores": 4, "load": 0.1},
        "workers": 2,
        "one_process": runs,
        "cluster": half,
        "threads": {"update": 0.005},
        "seconds_per_byte": 1e-9,
        "seconds_per_task": 1e-3,
    }


def test_the_pages_show_what_was_measured(page, found):
    text = "".join(one.read_text(encoding="utf-8") for one in page.PAGES)
    names = re.findall(r"<!-- measured: (\w+) -->", text)
    assert sorted(names) == sorted(page.BLOCKS)
    assert page.fill_page(text, found) == text
    other = deepcopy(found)
    other["bytes"][0]["rounds"] += 1
    assert page.fill_page(text, other) != text
    assert page.fill_page(text, {}) == text, "what was not measured is left alone"


def test_the_prediction_follows_from_the_times(page, found):
    told = page.prediction(found | {"times": timed()})
    assert "update: rows per worker × (100 ns + 1.00 ns × d)" in told
    assert "pass: rows per worker × (200 ns + 2.00 ns × d)" in told
    assert "largest error 0 %" in told
    assert "| 6.1 s |" in told  # 1e7 rows x 612 ns
    assert "a factor of 2.0 to 2.0" in page.times({"times": timed()})
