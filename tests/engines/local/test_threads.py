"""Loops over rows in threads: every row once, whatever happens."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unconfused.engines import LocalEngine
from unconfused.engines.local import engine
from unconfused.engines.local.assignment import RowAssignment
from unconfused.engines.local.engine import RowThreads
from unconfused.engines.local.rows import wrap_rows


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 1)
    return RowThreads(3, wrap_rows(np.zeros((30, 2))))


@given(st.integers(1, 200), st.integers(1, 20), st.sampled_from([1, 7, 64]))
def test_pieces_hold_every_row_once(n_rows, n_pieces, multiple_of):
    pieces = RowThreads(1, wrap_rows(np.zeros((n_rows, 1)))).pieces(n_pieces, multiple_of)
    assert [i for start, stop in pieces for i in range(start, stop)] == list(range(n_rows))
    assert all(start % multiple_of == 0 for start, _ in pieces)
    assert len(pieces) <= n_pieces


def test_few_entries_are_not_worth_a_thread():
    assert RowThreads(4, wrap_rows(np.zeros((100, 10)))).n_threads == 1
    rows = wrap_rows(sparse.csr_array((10**6, 10)))
    assert RowThreads(4, rows).n_threads == 1


def test_every_item_is_worked_on_once(three):
    done = []
    three.each(lambda item: done.append(item), [(k,) for k in range(50)])
    assert sorted(done) == list(range(50))
    three(lambda start, stop: done.extend(range(100 + start, 100 + stop)))
    assert sorted(done[50:]) == list(range(100, 130))


@pytest.mark.parametrize("place", [0, 7])
def test_an_error_in_any_thread_is_raised(three, place):
    def work(item):
        if item == place:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        three.each(work, [(k,) for k in range(8)])


def test_nobody_works_on_after_an_interrupt(three):
    main, working, begun = threading.get_ident(), [], threading.Event()

    def work(item):
        if threading.get_ident() == main:
            begun.wait(5)
            raise KeyboardInterrupt
        begun.set()
        working.append(item)
        time.sleep(0.05)
        working.remove(item)

    with pytest.raises(KeyboardInterrupt):
        three.each(work, [(k,) for k in range(100)])
    assert not working
    three.each(lambda item: working.append(item), [(1,), (2,)])  # and it can be used again
    assert sorted(working) == [1, 2]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rows_are_listed_alike_whatever_the_number_of_threads(monkeypatch, storage):
    monkeypatch.setattr(engine, "WORTH_A_THREAD", 1)
    rng = np.random.RandomState(0)
    X = storage(np.round(rng.randn(9000, 3), 1))  # several batches, and ties
    engines = [LocalEngine(X, np.zeros(9000, int), 1, n_threads=n) for n in (1, 2, 5)]
    assignments = [RowAssignment(engine, 4, 0.0) for engine in engines]
    W = np.round(rng.randn(4, 4), 1)
    for one in assignments:
        one.restart(W)
    for _ in range(10):
        steps, direction = rng.permutation([1.0, -1.0, 0.0, 0.0]), np.round(rng.randn(4), 1)
        first, *others = [one.move(steps, direction) for one in assignments]
        assert len(first[0]) > 10
        for moves in others:
            np.testing.assert_array_equal(moves, first)
