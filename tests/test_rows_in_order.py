"""Many rows that change cells at once, moved in the order they come in; threads that share rows."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem
from scipy import sparse
from unconfused.engines.row_threads import RowThreads
from unconfused.engines.rows import DenseRows

from unconfused import UMAClassifier
from unconfused._matrix import Unmixing
from unconfused.engines import late_sums, room, row_threads, sums
from unconfused.engines.local import LocalEngine


@given(
    seed=st.integers(0, 2**31 - 1),
    storage=st.sampled_from([np.asarray, sparse.csr_array]),
    dtype=st.sampled_from([np.float32, np.float64]),
    alpha=st.sampled_from([0.0, 0.05]),
    intercept=st.booleans(),
    together=st.sampled_from([2**17, 17]),
    parts=st.sampled_from([0, 2**60]),
    weighted=st.booleans(),
)
@settings(max_examples=60)
def test_rows_in_order_change_cells_as_sorted_ones_do(
    seed, storage, dtype, alpha, intercept, together, parts, weighted
):
    problem, rng = make_problem(seed, n=90), np.random.RandomState(seed)
    weights = np.where(rng.rand(90) < 0.2, 0.0, rng.rand(90)) if weighted else None
    rows = storage(problem.X.astype(dtype))
    engine = LocalEngine(rows, problem.y, 4, weights, intercept=intercept, n_threads=2)
    n_features = problem.X.shape[1] + intercept
    in_order, by_cell = (engine.partition(Unmixing(problem.C), alpha) for _ in range(2))
    W = rng.randn(4, n_features)
    in_order.restart(W)
    by_cell.restart(W)
    with pytest.MonkeyPatch.context() as patch:
        in_order._together = by_cell._together = together
        patch.setattr(sums, "WORTH_PARTS", parts)
        for steps, direction in make_moves(rng, 12, 4, n_features):
            versions, regions = in_order.region_versions(), in_order._cut.region.copy()
            for cut, small in ((in_order, 2**60), (by_cell, 0)):
                patch.setattr(sums, "IN_FAST_MEMORY", small)
                cut.move(steps, direction)
                cut.tables()  # what is out of date is made anew, once
            changed = in_order._cut.region != regions
            for region in np.union1d(regions[changed], in_order._cut.region[changed]):
                assert region < 0 or in_order.region_versions()[region] != versions[region]
            found, expected = in_order.tables(), by_cell.tables()
            np.testing.assert_allclose(found.counts, expected.counts, atol=1e-12)
            np.testing.assert_allclose(found.squares, expected.squares, atol=1e-12)
            assert np.array_equal(found.counts == 0.0, expected.counts == 0.0)
            np.testing.assert_allclose(in_order.pair_norms(), by_cell.pair_norms(), atol=1e-12)
            for region in range(4):
                np.testing.assert_allclose(
                    in_order.region_sums(region), by_cell.region_sums(region), atol=1e-10
                )


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("parts", [0, 500, 2**60])
def test_fits_are_the_same_whatever_the_number_of_threads(monkeypatch, storage, parts):
    monkeypatch.setattr(sums, "WORTH_PARTS", parts)
    monkeypatch.setattr(row_threads, "WORTH_A_THREAD", 1)
    problem = make_problem(3, n=400)
    settings = {"tol": 1e-9, "max_iter": 60}
    one, three = (
        UMAClassifier(problem.C, n_jobs=n_jobs, **settings).fit(storage(problem.X), problem.y)
        for n_jobs in (1, 3)
    )
    assert np.array_equal(one.coef_, three.coef_)


def test_sums_that_follow_late_weigh_what_moved(monkeypatch):
    """However small they are: norms are bounded by what was noted."""
    problem, rng = make_problem(4, n=300), np.random.RandomState(4)
    engine = LocalEngine(problem.X, problem.y, 4)
    eager = engine.partition(Unmixing(problem.C), 0.0)
    monkeypatch.setattr(room, "WORTH_NOTING", 0)
    late = engine.partition(Unmixing(problem.C), 0.0)
    assert isinstance(late._sums, late_sums.LateSums)
    W = rng.randn(4, 5)
    late.restart(W)
    eager.restart(W)
    for steps, direction in make_moves(rng, 12, 4, 5):
        for cut in (late, eager):
            cut.move(steps, direction)
        vectors = [cut.update_vector(1, 2) for cut in (late, eager)]
        np.testing.assert_allclose(*vectors, atol=1e-12)
        late.measure([(1, 2)])
        (lower, upper), norms = late.norm_bounds(), eager.pair_norms()
        assert np.all((lower <= norms + 1e-12) & (norms <= upper + 1e-12))


def make_threads(n_threads):
    return RowThreads(n_threads, DenseRows(np.zeros((1000, 1000))))


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_every_row_is_covered_once(n_threads, uneven):
    covered = np.zeros(1000, dtype=int)

    def run(start, stop):
        covered[start:stop] += 1

    make_threads(n_threads)(run, uneven=uneven)
    assert np.all(covered == 1)


@pytest.mark.parametrize(("n_entries", "most"), [(0, 2), (1_600_000, 3), (10**9, 5)])
def test_no_more_threads_than_the_work_is_worth(n_entries, most):
    running, seen = threading.Barrier(most), []

    def run():
        seen.append(threading.get_ident())
        running.wait(timeout=10)  # all of them are at work, and no others come

    make_threads(5).together(run, n_entries)
    assert len(seen) == len(set(seen)) == most


def test_an_interrupt_while_helpers_are_at_work_waits_for_them(monkeypatch):
    begun, ended, main = threading.Event(), threading.Event(), threading.get_ident()

    def work():
        if threading.get_ident() == main:
            assert begun.wait(10)
            return
        begun.set()
        sleep(0.2)
        ended.set()

    interrupts, sleep = [KeyboardInterrupt], time.sleep

    def interrupted(seconds):
        if interrupts:
            raise interrupts.pop()
        sleep(seconds)

    monkeypatch.setattr(row_threads, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_threads(2).together(work, 10**9)
    assert ended.is_set()


def test_helpers_that_come_late_are_not_waited_for_and_do_nothing():
    threads, busy, begun = make_threads(2), threading.Event(), []
    threads._pool.submit(busy.wait)  # the only helper has something else to do
    threads.together(lambda: begun.append(threading.get_ident()), 10**9)
    busy.set()
    threads._pool.submit(int).result()  # it has come and gone
    assert begun == [threading.get_ident()]


@pytest.mark.parametrize("failing", [0, 3])
def test_a_failure_in_any_thread_is_told_and_nobody_goes_on(failing):
    threads, running = make_threads(2), threading.Semaphore(0)
    begun = []

    def work(item):
        begun.append(item)
        running.release()
        if item == failing:
            raise MemoryError("no room for rows")

    with pytest.raises(MemoryError, match="no room"):
        threads.each(work, range(4), 10**9)
    n_begun = len(begun)
    threads.each(lambda item: None, range(4), 10**9)  # and it can be used again
    assert len(begun) == n_begun


def test_an_exchange_that_was_interrupted_is_healed():
    problem = make_problem(5, n=100)
    engine, W = LocalEngine(problem.X, problem.y, 4), np.random.RandomState(5).randn(4, 5)
    cut, fresh = (engine.partition(Unmixing(problem.C), 0.0) for _ in range(2))
    cut.restart(W)
    cut.pair_norms()
    cut._sums._places[:4] = cut._sums._places[4:8]  # one half of it
    cut._outdated = True
    fresh.restart(W)
    np.testing.assert_allclose(cut.pair_norms(), fresh.pair_norms(), atol=1e-12)
