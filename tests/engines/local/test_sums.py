"""However rows are summed, bounds hold the norms, and sums are those of plain loops."""

import naive
import numpy as np
import pytest
from engine_cases import STRATEGIES, exact_regions, force, full_rows, make_rows, plain_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem, plain_uma
from scipy import sparse

from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.engines.base import exact_norms
from unconfused.engines.local import gram
from unconfused.engines.local.gram import GramSums
from unconfused.engines.local.partition import KeptSums, LazySums

PAIRS = [(p, q) for p in range(4) for q in range(4)]
storages = st.sampled_from([np.asarray, sparse.csr_array])


def make_engine(rng, storage, trusted, intercept, n_rows=50, dtype=np.float64, n_threads=1):
    """Rows, weights and codes that are hard on an engine; four classes."""
    X, n_codes = make_rows(rng, n_rows, 5, dtype), 8 if trusted else 4
    weights = rng.rand(n_rows) * (rng.rand(n_rows) < 0.8)
    weights[-1] = 1.0
    codes = rng.randint(n_codes - 1, size=n_rows)  # one code has no row
    engine = LocalEngine(
        storage(X), codes, n_codes, weights, intercept=intercept, n_threads=n_threads
    )
    return engine, full_rows(X, intercept)


def make_unmixing(rng, trusted):
    C = np.eye(4) * 2 + rng.rand(4, 4)
    return Unmixing(C / C.sum(axis=1, keepdims=True), trusted=trusted)


def assert_bounds(partition, sums, counted, total, rng, strategy):
    """Bounds hold the norms of these sums; measured ones are exact, and 0 where no row counts."""
    norms, scale = np.linalg.norm(sums, axis=2) / total, np.abs(sums).sum() / total
    # Products lose half of the digits.
    near = (1e-6 if strategy is GramSums else 1e-12) * scale
    lower, upper = partition.norm_bounds()
    assert np.all((lower <= norms + near) & (norms <= upper + near))
    some = [tuple(pair) for pair in rng.randint(4, size=(2, 2)).tolist()]
    partition.measure(some)
    lower, upper = partition.norm_bounds()
    assert np.all((lower <= norms + near) & (norms <= upper + near))
    for pair in some:
        assert lower[pair] == upper[pair] == pytest.approx(norms[pair], abs=near)
        assert upper[pair] == 0.0 or counted[pair]


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(
    st.integers(0, 2**16), storages, st.sampled_from([0.0, 0.3]), st.booleans(), st.booleans(),
    st.sampled_from([np.float32, np.float64]), st.sampled_from([1e-6, 8, 1e9]),
)  # fmt: skip
@settings(max_examples=15)
def test_sums_and_bounds_follow_the_rows(
    strategy, seed, storage, alpha, trusted, intercept, dtype, gain
):
    rng = np.random.RandomState(seed)
    unmixing = make_unmixing(rng, trusted)
    with pytest.MonkeyPatch.context() as patch:
        force(patch, strategy)
        patch.setattr(gram, "BLAS_GAIN", gain)  # Gram matrices follow, or start again
        patch.setattr("unconfused.engines.local.engine.WORTH_A_THREAD", 1)
        patch.setattr("unconfused.engines.local.partition.ROWS_AT_ONCE", 17)
        engine, X = make_engine(
            rng, storage, trusted, intercept, dtype=dtype, n_threads=1 + seed % 3
        )
        partition = engine.partition(unmixing, alpha)
        W = np.zeros((4, engine.n_features))
        region = None
        for steps, direction in make_moves(rng, 12, 4, engine.n_features):
            counts, squares, sums = plain_cells(
                X, engine.codes, engine.weights, region, unmixing.coefficients
            )
            tables = partition.tables()
            np.testing.assert_allclose(tables.counts, counts, atol=1e-12)
            np.testing.assert_allclose(tables.squares, squares, atol=1e-9)
            assert np.all((tables.counts == 0) | (counts > 0))
            counted = counts @ np.abs(unmixing.coefficients) > 0
            assert_bounds(partition, sums, counted, partition.total, rng, strategy)
            p, q = rng.randint(4, size=2)
            vector = partition.update_vector(p, q) * partition.total
            np.testing.assert_allclose(vector, sums[p, q], atol=1e-10)
            np.testing.assert_allclose(partition.region_sums(p), sums[p], atol=1e-10)
            partition.move(steps, direction)
            W = W + np.outer(steps, direction)
            region = exact_regions(X, W, alpha) if W.any() else None
        norms = np.linalg.norm(
            plain_cells(X, engine.codes, engine.weights, region, unmixing.coefficients)[2], axis=2
        )
        found = exact_norms(partition) * partition.total
    np.testing.assert_allclose(found, norms, atol=1e-6 * norms.max())


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("selection", ["error", "confusion"])
def test_updates_are_those_of_the_paper(monkeypatch, storage, alpha, strategy, selection):
    problem = make_problem(4, n=80, d=6)
    truth = [int(t) if i % 5 == 0 else None for i, t in enumerate(problem.true)]
    ways = {"selection": selection, "alpha": alpha, "max_iter": 30, "tol": 1e-6}
    weights, pairs = naive.uma(problem.X, problem.y, problem.C, t=truth, **ways)
    force(monkeypatch, strategy)
    clf = plain_uma(problem.C, fit_intercept=False, **ways)
    clf.fit(storage(problem.X), problem.y, y_true=truth)
    made = list(zip(clf.history_["predicted"], clf.history_["true"], strict=True))
    assert made == pairs
    np.testing.assert_allclose(clf._state.weights, weights, atol=1e-9, rtol=0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_that_have_left_leave_nothing_behind(monkeypatch, strategy):
    # With tol=0 any trace of them would be a pair to unconfuse.
    force(monkeypatch, strategy)
    monkeypatch.setattr(gram, "BLAS_GAIN", 1e-6)
    rng, codes = np.random.RandomState(0), np.arange(40) % 2
    X = np.column_stack([1 - 2.0 * codes, rng.rand(40, 2) + 0.1])
    engine = LocalEngine(X, codes, 3, rng.rand(40), intercept=False)
    C = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    partition = engine.partition(Unmixing(C), 0.0)
    partition.restart(np.outer([0.0, 1.0, -1.0], [0.0, 1.0, 1.0]))
    for held in [1, 2] * 4:  # the region of the rows with code 0; those with code 1 stay
        norms = exact_norms(partition)
        where = np.zeros((3, 3), dtype=bool)
        where[held, :2] = where[1, 1] = True
        assert norms[where].min() > 0
        assert not norms[~where].any()
        partition.move(np.array([0.0, 0.0, 3 - 2.0 * held]), np.array([6.0, 0.0, 0.0]))


def test_an_outlier_that_left_takes_its_rounding_along(monkeypatch):
    force(monkeypatch, GramSums)
    monkeypatch.setattr(gram, "BLAS_GAIN", 1e-6)
    rng = np.random.RandomState(0)
    X = np.vstack([rng.randn(60, 9), 1e8 * rng.randn(2, 9)])
    X[:, 0], X[:, 1] = 1.0, np.arange(62) >= 60
    engine = LocalEngine(X, rng.randint(4, size=62), 4, intercept=False)
    moved, fresh = (engine.partition(Unmixing(np.eye(4) * 0.6 + 0.1), 0.0) for _ in range(2))
    W, steps = np.zeros((4, 9)), np.array([0.0, 0.0, 2.0, 0.0])
    W[1, 0] = 1.0  # all rows are of class 1, but for outliers while class 2 has their mark
    moved.restart(W)
    moved.measure(PAIRS)
    moved.move(steps, np.eye(9)[1])
    fresh.restart(W + np.outer(steps, np.eye(9)[1]))
    assert moved.tables().counts.sum(axis=1).tolist() == [0.0, 60.0, 2.0, 0.0]
    np.testing.assert_allclose(exact_norms(moved), exact_norms(fresh), rtol=1e-9)


@pytest.mark.parametrize("strategy", [LazySums, GramSums])
def test_few_regions_are_brought_up_to_date(monkeypatch, strategy):
    # Only what could be the longest is measured.
    force(monkeypatch, strategy)
    problem = make_problem(3, n=2000, Q=10, d=20)
    measured, measure = [], strategy.measure

    def noting(self, pairs, *tables):
        measured.append(len({p for p, _ in pairs}))
        measure(self, pairs, *tables)

    monkeypatch.setattr(strategy, "measure", noting)
    clf = plain_uma(problem.C, max_iter=100, tol=1e-9).fit(problem.X, problem.y)
    assert clf.n_iter_ == 100
    assert sum(measured) < 0.7 * 10 * 100


KERNELS = ["assignment.rescore", "partition.move_rows", "engine.add_rows", "gram.add_products"]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_after_an_interrupt_a_restart_is_a_fresh_start(monkeypatch, strategy, storage, n_threads):
    force(monkeypatch, strategy)
    monkeypatch.setattr("unconfused.engines.local.engine.WORTH_A_THREAD", 1)
    monkeypatch.setattr(gram, "BLAS_GAIN", 1e-6)
    unmixing, interrupted = make_unmixing(np.random.RandomState(1), False), 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        engine, _ = make_engine(rng, storage, False, True, n_threads=n_threads)
        partition = engine.partition(unmixing, 0.0)
        partition.restart(rng.randn(4, 6))
        module, name = KERNELS[seed % 4].split(".")
        module = __import__(f"unconfused.engines.local.{module}", fromlist=[name])
        real, calls = getattr(module, name), iter(range(10**6))
        last = rng.randint(12)

        def interrupting(*args, real=real, calls=calls, last=last):
            done = real(*args)
            if next(calls) == last:
                raise KeyboardInterrupt
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, interrupting)
            try:
                for steps, direction in make_moves(rng, 6, 4, 6):
                    partition.measure(PAIRS[:7])
                    partition.move(steps, direction)
            except KeyboardInterrupt:
                interrupted += 1
        W, fresh = rng.randn(4, 6), engine.partition(unmixing, 0.0)
        for one in (partition, fresh):
            one.restart(W)
            one.move(*next(make_moves(np.random.RandomState(seed), 1, 4, 6)))
        np.testing.assert_array_equal(partition.tables().counts, fresh.tables().counts)
        np.testing.assert_array_equal(exact_norms(partition), exact_norms(fresh))
        for pair in PAIRS:
            np.testing.assert_array_equal(
                partition.update_vector(*pair), fresh.update_vector(*pair)
            )
    assert interrupted > 8


def test_tables_are_made_anew_before_rounding_piles_up(monkeypatch):
    monkeypatch.setattr("unconfused.engines.local.partition.MOVES_PER_ROW", 0)
    force(monkeypatch, KeptSums)
    rng = np.random.RandomState(0)
    engine, _ = make_engine(rng, np.asarray, False, True)
    unmixing = make_unmixing(rng, False)
    partition, fresh = (engine.partition(unmixing, 0.0) for _ in range(2))
    W = rng.randn(4, 6)
    partition.restart(W)
    for steps, direction in make_moves(rng, 10, 4, 6):
        partition.move(steps, direction)
        W = W + np.outer(steps, direction)
        fresh.restart(W)
        np.testing.assert_array_equal(partition.tables().squares, fresh.tables().squares)
        np.testing.assert_array_equal(exact_norms(partition), exact_norms(fresh))
