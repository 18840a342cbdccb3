"""What the engine takes of a machine: memory and threads."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engine_cases import STRATEGIES, force
from problems import make_problem, plain_uma
from scipy import sparse
from threadpoolctl import threadpool_limits

from unconfused import UnconfusedLogisticRegression
from unconfused import _compilation as _compile
from unconfused.estimators._arrays import thread_count


def traced_peak(fit):
    fit()  # what is compiled or imported once is not counted
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def make_rows_on_disk(path, n=20_000, d=500):
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    true = rng.integers(4, size=n)
    X[:] = rng.standard_normal(X.shape, dtype=np.float32)
    X[np.arange(n), true] += 4
    X.flush()
    return np.load(path, mmap_mode="r"), true


@pytest.mark.slow
@pytest.mark.parametrize(
    "clf",
    [
        plain_uma(max_iter=20, tol=1e-6, n_jobs=2),
        UnconfusedLogisticRegression(np.eye(4), l2=1e-3, relabel=0, refine=False, max_iter=5),
    ],
    ids=["uma", "likelihood"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_on_disk_stay_there(tmp_path, clf):
    X, true = make_rows_on_disk(tmp_path / "rows.npy")
    # 40 MB of rows; at most 40 bytes per row and class and a block of rows are ours.
    assert traced_peak(lambda: clf.fit(X, true)) < 0.5 * X.nbytes
    assert clf.score(X[:1000], true[:1000]) > 0.9


def test_sparse_rows_are_not_copied():
    rng = np.random.RandomState(0)
    X = sparse.random(4000, 500, 0.4, format="csr", random_state=rng, dtype=np.float64)
    true = rng.randint(4, size=4000)
    clf = plain_uma(max_iter=10, tol=1e-6)
    assert traced_peak(lambda: clf.fit(X, true)) < 0.3 * (X.data.nbytes + X.indices.nbytes)


def test_fits_in_several_threads_at_once(monkeypatch):
    monkeypatch.setattr("unconfused.engines.local.engine.WORTH_A_THREAD", 1)
    problem = make_problem(1, n=400)

    def fit(_):
        clf = plain_uma(problem.C, tol=1e-6, max_iter=40, n_jobs=2)
        return clf.fit(problem.X, problem.y).coef_

    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(fit, range(8)))
    for model in models:
        np.testing.assert_array_equal(model, models[0])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_any_number_of_threads_gives_the_same_weights(monkeypatch, storage, strategy):
    monkeypatch.setattr("unconfused.engines.local.engine.WORTH_A_THREAD", 1)
    force(monkeypatch, strategy)
    problem = make_problem(2, n=300)
    settings = {"tol": 1e-6, "max_iter": 60}
    models = [
        plain_uma(problem.C, n_jobs=n_jobs, **settings).fit(storage(problem.X), problem.y).coef_
        for n_jobs in (1, 2, 5)
    ]
    np.testing.assert_array_equal(models[0], models[1])
    np.testing.assert_array_equal(models[0], models[2])


def test_limits_on_threads_are_respected():
    with threadpool_limits(1):
        assert thread_count(None) == 1
        assert thread_count(3) == 3
    assert thread_count(None) >= 1


def test_cached_loops_are_those_of_the_present_sources(tmp_path, monkeypatch):
    (tmp_path / "loop_of_a_test.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = pytest.importorskip("loop_of_a_test").double

    def found_in_the_cache():
        loop = _compile.compiled(function)
        assert loop(3) == 6
        return sum(loop.stats.cache_hits.values()) > 0

    assert not found_in_the_cache()
    assert found_in_the_cache()
    monkeypatch.setattr(_compile, "sources_stamp", lambda: "other sources")
    assert not found_in_the_cache()
    assert found_in_the_cache()
