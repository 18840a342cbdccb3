"""Sums of sets of rows that were regions once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem
from scipy import sparse
from unconfused.engines.snapshots import Snapshots

from unconfused import UMAClassifier
from unconfused._matrix import Unmixing
from unconfused.engines import room, row_threads, snapshots
from unconfused.engines.local import LocalEngine


def make_snapshots(n, n_kept=3, seed=0, intercept=True):
    rng = np.random.RandomState(seed)
    codes, weights = rng.randint(0, 4, n), rng.rand(n)
    engine = LocalEngine(rng.randn(n, 6), codes, 4, weights, intercept=intercept)
    return Snapshots(engine, np.zeros((n_kept + 1, 4, 6 + intercept))), engine


def hold(held, region, wanted, engine):
    """Do what a region's sums take; return where they are, and the distance they were made over."""
    rows = held.rows_in(region, wanted)
    base, distance, n_rows = held.nearest(rows, wanted % held.none)
    assert n_rows == np.count_nonzero(region == wanted)
    if distance == 0:
        held.hold(base)
        return base, 0
    old = held.place_for(base, distance, n_rows)
    codes = engine.codes[region == wanted]
    held.replace(old, rows, base, distance, np.bincount(codes, minlength=4) == 0)
    return old, distance


@given(
    n=st.integers(1, 300),
    seed=st.integers(0, 2**31 - 1),
    together=st.sampled_from([64, 128, 2**15]),
    intercept=st.booleans(),
)
@settings(max_examples=60)
def test_sums_are_those_of_the_rows(n, seed, together, intercept):
    held, engine = make_snapshots(n, seed=seed, intercept=intercept)
    rng = np.random.RandomState(seed)
    region, seen = rng.randint(-1, 3, n), [set()]
    X = np.column_stack([engine.rows.dense, np.ones(n)]) if intercept else engine.rows.dense
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "LISTED_TOGETHER", together)
        for _ in range(8):
            some = rng.rand(n) < rng.choice([0.02, 0.5])
            region[some] = rng.randint(-1, 3, some.sum())
            wanted = rng.randint(0, 3)
            held.ask(np.zeros(0, dtype=int))
            place, distance = hold(held, region, wanted, engine)
            rows = set(np.flatnonzero(region == wanted))
            assert distance >= min(len(rows ^ other) for other in seen)
            seen.append(rows)
            expected = np.zeros((4, X.shape[1]))
            np.add.at(expected, engine.codes[list(rows)], (X * engine.weights[:, None])[list(rows)])
            np.testing.assert_allclose(held._sums[place], expected, atol=1e-12)
            without = np.bincount(engine.codes[list(rows)], minlength=4) == 0
            assert not held._sums[place][without].any()
    assert not held._sums[held.none].any()


def test_the_nearest_set_is_found_whatever_it_was_called():
    held, engine = make_snapshots(200)
    region = np.arange(200) % 3
    held.ask(np.zeros(0, dtype=int))
    places = [hold(held, region, wanted, engine)[0] for wanted in range(3)]
    assert sorted(places) == [0, 1, 2]
    renamed = (region + 1) % 3
    held.ask(np.zeros(0, dtype=int))
    assert [hold(held, renamed, (k + 1) % 3, engine) for k in range(3)] == [(p, 0) for p in places]
    renamed[:5] = 0
    found, distance, _ = held.nearest(held.rows_in(renamed, 0), 1)
    assert found == places[2]
    assert distance == len(set(np.flatnonzero(renamed == 0)) ^ set(range(2, 200, 3)))


def test_the_set_not_asked_for_the_longest_is_replaced():
    held, engine = make_snapshots(90)
    region = np.arange(90) % 6
    for wanted in (0, 1, 2):
        held.ask(np.zeros(0, dtype=int))
        assert hold(held, region, wanted, engine)[0] == wanted
    held.ask(np.array([0]))
    assert hold(held, region, 3, engine)[0] == 1
    held.ask(np.array([1, 2]))
    # All that is left is the set that it is made from.
    region[0] = 5
    assert hold(held, region, 0, engine) == (0, 1)


def test_of_two_sets_much_alike_the_newer_is_held():
    held, engine = make_snapshots(90)
    region = np.arange(90) % 2
    assert hold(held, region, 0, engine) == (0, 45)
    held.ask(np.zeros(0, dtype=int))
    region[::10] = 1
    assert hold(held, region, 0, engine) == (1, 9)
    held.ask(np.zeros(0, dtype=int))
    region[0] = 0
    assert hold(held, region, 0, engine) == (1, 1)


def test_sums_are_made_from_their_rows_now_and_then(monkeypatch):
    held, engine = make_snapshots(120)
    region = np.zeros(120, dtype=int)
    monkeypatch.setattr(snapshots, "ADDED_PER_ROW", 2)
    distances = []
    for k in range(140):
        region[k % 30] ^= 1
        held.ask(np.zeros(0, dtype=int))
        distances.append(hold(held, region, 0, engine)[1])
    from_rows = [k for k, distance in enumerate(distances) if distance > 1]
    assert len(from_rows) == 2 and min(distances[k] for k in from_rows) >= 90


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_sums_round_alike_on_any_number_of_threads(monkeypatch, storage):
    monkeypatch.setattr(row_threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(room, "WORTH_NOTING", 0)
    problem = make_problem(3, n=400)
    one, three = (
        UMAClassifier(problem.C, n_jobs=n_jobs, tol=1e-9, max_iter=60).fit(
            storage(problem.X), problem.y
        )
        for n_jobs in (1, 3)
    )
    assert np.array_equal(one.coef_, three.coef_)


def test_rows_that_come_back_are_not_summed_again(monkeypatch):
    monkeypatch.setattr(room, "WORTH_NOTING", 0)
    problem, rng = make_problem(5, n=300), np.random.RandomState(5)
    partition = LocalEngine(problem.X, problem.y, 4).partition(Unmixing(problem.C), 0.0)
    partition.restart(rng.randn(4, 5))
    norms = partition.pair_norms()
    added, add = [], Snapshots._add

    def adding(self, sums, rows, codes, weights):
        added.append(len(rows))
        add(self, sums, rows, codes, weights)

    monkeypatch.setattr(Snapshots, "_add", adding)
    ((steps, direction),) = make_moves(rng, 1, 4, 5)
    partition.move(steps, direction)
    assert (partition.norm_bounds()[0] != norms).any()
    partition.move(-steps, direction)
    lower, upper = partition.norm_bounds()
    assert (lower < upper).any()
    assert partition.narrow(np.arange(4))
    lower, upper = partition.norm_bounds()
    assert np.array_equal(lower, upper)
    np.testing.assert_array_equal(lower, norms)
    assert np.array_equal(partition.pair_norms(), norms)
    assert not added
