"""The package as a whole: what importing costs, what it offers, what it does without extras."""

import subprocess
import sys

import pytest

import unconfused

EXTRAS = ["pandas", "polars", "pyarrow", "matplotlib", "typer", "skops", "skl2onnx", "onnx", "dask"]


def run(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_everything_promised_is_there():
    for name in unconfused.__all__:
        assert getattr(unconfused, name) is not None
    assert set(unconfused.__all__) <= set(dir(unconfused))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = unconfused.Nothing


def test_importing_loads_nothing_heavy():
    loaded = run("import sys, unconfused; print(sorted(sys.modules))")
    assert "'numba'" not in loaded and "'sklearn'" not in loaded
    loaded = run("import sys; from unconfused import UMAClassifier; print(sorted(sys.modules))")
    assert "'sklearn'" in loaded and "'numba'" not in loaded


@pytest.mark.slow
def test_the_library_works_without_any_extra():
    code = (
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] in {EXTRAS!r}:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        "import numpy as np\n"
        "from unconfused import *\n"
        "X, y = datasets.make_circle(200, n_classes=4, random_state=0)\n"
        "C = noise.symmetric(4, 0.2)\n"
        "clf = UMAClassifier(C).fit(X, noise.corrupt_labels(y, C, random_state=0))\n"
        "print(clf.score(X, y) > 0.6)"
    )
    assert run(code).strip() == "True"
