"""BLAS on one thread while ours are at work, and as it was afterwards."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from unconfused import UMAClassifier, noise
from unconfused.engines.local import LocalEngine
from unconfused.engines.local.blas_threads import quiet_blas


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS does not take a number of threads")
        yield


def test_one_thread_until_it_ends():
    with quiet_blas():
        assert blas_threads() == {1}
        with quiet_blas():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_an_error_ends_it_too():
    with pytest.raises(ZeroDivisionError), quiet_blas():
        raise ZeroDivisionError
    assert blas_threads() == {2}


def test_two_that_overlap_leave_things_as_they_were():
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def second():
        with quiet_blas():
            second_is_in.set()
            first_is_out.wait(10)

    other = threading.Thread(target=second)
    with quiet_blas():
        other.start()
        assert second_is_in.wait(10)
    assert blas_threads() == {2}  # the other goes on, less quietly
    first_is_out.set()
    other.join()
    assert blas_threads() == {2}


def test_a_fit_is_quiet_only_where_it_has_threads(monkeypatch):
    seen = []
    step = LocalEngine.partition
    monkeypatch.setattr(
        LocalEngine, "partition", lambda *args: seen.append(blas_threads()) or step(*args)
    )
    rng = np.random.RandomState(0)
    for n_rows in (40, 20_000):
        X, y = rng.standard_normal((n_rows, 30)), np.arange(n_rows) % 3
        X[np.arange(n_rows), y] += 3
        UMAClassifier(noise.symmetric(3, 0.1), max_iter=3, n_jobs=2).fit(X, y)
    assert seen[0] == {2}
    assert seen[-1] == {1}
    assert blas_threads() == {2}
