"""Who imports whom: no cycles, short chains, and no more than a command needs."""

import json
import subprocess
import sys
from collections import Counter
from functools import cache

import grimp
import pytest
from pets import pets_csv

CORE = ("engines", "solvers", "estimators", "confusion", "_compilation")
LONGEST, MOST_IN_A_FOLDER = 12, 15


def longest_chain(graph):
    """Return the longest chain of imports, imports inside functions included."""

    @cache
    def below(module):
        imported = sorted(graph.find_modules_directly_imported_by(module) - {module})
        return [module, *max((below(one) for one in imported), key=len, default=[])]

    return max((below(module) for module in sorted(graph.modules)), key=len)


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("unconfused", exclude_type_checking_imports=True, cache_dir=None)


def test_chains_of_imports_are_short(graph):
    chain = longest_chain(graph)  # a cycle ends in a RecursionError
    assert len(chain) <= LONGEST, " > ".join(chain)


def test_no_folder_is_full(graph):
    folders = Counter(module.rpartition(".")[0] for module in graph.modules)
    for module in graph.modules:  # a subfolder is no module of its folder
        folders[module.rpartition(".")[0]] -= bool(graph.find_children(module))
    assert max(folders.values()) <= MOST_IN_A_FOLDER, folders.most_common(3)


@pytest.mark.slow
def test_a_fit_loads_neither_report_nor_other_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pets_csv("pets.csv")
    code = (
        "import json, sys\n"
        "from unconfused.cli.app import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('unconfused.')]))"
    )
    fit = [sys.executable, "-c", code, "fit", "pets.csv", "--label", "kind", "--json"]
    done = subprocess.run(fit, capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    others = [name for name in loaded if name.startswith("unconfused.cli.commands.")]
    assert others == ["unconfused.cli.commands.fit"]
    # What measures the model on checked rows serves the terminal and the report alike.
    shared = {"", ".accuracy", ".case", ".data", ".source"}
    report = {name for name in loaded if name.startswith("unconfused._report")}
    assert report <= {f"unconfused._report{part}" for part in shared}
    assert not [name for name in loaded if name.startswith("unconfused.plot")]
    outer = [name for name in loaded if name.split(".")[1] not in CORE]
    assert len(outer) <= 50, sorted(outer)
