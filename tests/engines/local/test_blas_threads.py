"""BLAS threads are kept off small rows."""

import numpy as np
import pytest
from scipy import sparse

from unconfused.estimators._arrays import blas_threads_for, thread_pools


def blas_threads():
    return {pool["num_threads"] for pool in thread_pools().info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("rows", [np.zeros((100, 5)), sparse.csr_matrix((10**6, 10**6))])
def test_small_rows_get_one_thread(rows):
    before = blas_threads()
    with blas_threads_for(rows):
        assert blas_threads() <= {1}
    assert blas_threads() == before


def test_large_or_unknown_rows_get_what_there_is():
    class Lazy:
        shape = (float("nan"), 5)

    before = blas_threads()
    for rows in (np.broadcast_to(0.0, (10**6, 100)), Lazy(), [[1.0, 2.0]]):
        with blas_threads_for(rows):
            assert blas_threads() == before
