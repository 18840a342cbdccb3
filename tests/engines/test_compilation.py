"""Compiled loops whose cache is damaged, full or cannot be written to; and nothing compiled at all.

Faults tried: `FILES` x `DAMAGES`, and the folders and disks below.
"""

import errno
import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import caching

from unconfused import _compilation as _compile

FILES = ("nbi", "nbc")
DAMAGES = {
    "empty": lambda data: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "cut by one byte": lambda data: data[:-1],
    "other text": lambda data: b"not a cache\n" * 50,
    "zeros": lambda data: bytes(len(data)),
    "another pickle": lambda data: pickle.dumps(numba.__version__) + pickle.dumps(1),
}


def add_up(numbers):
    total = 0.0
    for number in numbers:
        total += number
    return total


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Keep compiled loops in a folder of our own, and forget that the user was warned."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_compile, "_told", False)
    return tmp_path


def call():
    """Compile as a new process would; return whether the cache was of use."""
    loop = _compile.compiled(add_up)
    assert loop(np.arange(4.0)) == 6.0
    return sum(loop.stats.cache_hits.values()) == 1


def files(folder, ending):
    found = list(folder.rglob(f"*.{ending}"))
    assert found
    return found


def test_what_was_compiled_is_found_again(folder):
    assert not call()
    assert call()


@pytest.mark.parametrize("ending", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_replaced(folder, ending, damage):
    call()
    for file in files(folder, ending):
        file.write_bytes(DAMAGES[damage](file.read_bytes()))
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        assert not call()
    assert call(), "it has been replaced"


def test_the_user_is_told_once(folder):
    call()
    for _ in range(2):
        for file in files(folder, "nbc"):
            file.write_bytes(b"")
        if not _compile._told:
            with pytest.warns(RuntimeWarning, match="results are the same"):
                call()
        else:
            call()  # warnings are errors here


@pytest.mark.parametrize("ending", FILES)
def test_a_folder_in_the_place_of_a_file(folder, ending):
    call()
    for file in files(folder, ending):
        file.unlink()
        file.mkdir()
    if ending == "nbi":
        with pytest.warns(RuntimeWarning, match="cannot be used"):
            assert not call()
    else:  # numba takes it for one that was removed
        with pytest.warns(RuntimeWarning, match="cannot be written to"):
            assert not call()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("at", ["the folder", "a file", "its name"])
def test_a_cache_that_takes_nothing_more(folder, monkeypatch, number, at):
    loop = _compile.compiled(add_up)

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    if at == "the folder":
        monkeypatch.setattr(loop._cache._impl.locator, "ensure_cache_path", refuse)
    elif at == "a file":
        monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", refuse)
    else:
        monkeypatch.setattr(caching.os, "replace", refuse)
    with pytest.warns(RuntimeWarning, match="cannot be written to"):
        assert loop(np.arange(4.0)) == 6.0
    assert not list(folder.rglob("*.tmp.*")), "nothing is left behind"


def test_no_folder_at_all(folder, monkeypatch):
    def nowhere(self, function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(caching.FunctionCache, "__init__", nowhere)
    with pytest.warns(RuntimeWarning, match="no folder to write to"):
        assert not call()


def test_a_loop_under_anothers_name_is_not_taken_for_it(folder):
    """As two processes can leave behind that compile for two types at the same moment."""
    loop = _compile.compiled(add_up)
    loop(np.arange(4.0))
    loop(np.arange(4))
    first, second = sorted(files(folder, "nbc"))
    first.write_bytes(second.read_bytes())
    loop = _compile.compiled(add_up)
    assert loop(np.arange(4.0)) == 6.0
    assert not loop.stats.cache_hits


FIT = """
import numpy as np
from scipy import sparse
from unconfused import UMAClassifier, UltraconservativeClassifier, noise
rng = np.random.RandomState(0)
X = np.vstack([rng.randn(8, 4) + 3 * np.eye(4)[k] for k in range(3)])
y = noise.corrupt_labels(np.repeat(np.arange(3), 8), noise.symmetric(3, 0.2), random_state=0)
uma = UMAClassifier(noise.symmetric(3, 0.2), max_iter=4, random_state=0)
found = [
    float(np.abs(model.fit(rows, y).coef_).sum())
    for rows in (X, sparse.csr_matrix(X), X.astype(np.float32))
    for model in (uma, UltraconservativeClassifier(max_iter=2, random_state=0))
]
"""


@pytest.mark.slow
def test_nothing_is_compiled_under_numba_disable_jit():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{FIT}\nprint(*found)"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    compiled = {}
    exec(FIT, compiled)
    np.testing.assert_allclose(np.array(done.stdout.split(), float), compiled["found"], rtol=1e-5)
