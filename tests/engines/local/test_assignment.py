"""Rescoring few rows gives the regions of rescoring all: a law, for any rows and any moves."""

import numpy as np
import pytest
from engine_cases import exact_regions, full_rows, make_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem, plain_uma
from scipy import sparse

from unconfused import noise
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.engines.local import assignment, rows
from unconfused.engines.local import engine as local
from unconfused.engines.local.assignment import WINDOW, RowAssignment
from unconfused.engines.local.engine import RowThreads
from unconfused.steps import STEPS

seeds = st.integers(0, 2**16)
alphas = st.sampled_from([0.0, 0.0, 1e-13, 0.05, 0.5])
storages = st.sampled_from([np.asarray, sparse.csr_matrix])
dtypes = st.sampled_from([np.float32, np.float64])
n_classes = st.sampled_from([2, 3, 5, 8, 40])
scales = st.sampled_from([1.0, 1e-25, 1e-18, 1e15, 1e18])
N_ROWS = 80


def follow(assignments, engine, X, W, moves, alpha):
    """Move all alike, and hold them to regions found from scratch after every move."""
    for one in assignments:
        one.restart(W)
        np.testing.assert_array_equal(one.region, exact_regions(X, W, alpha))
    for steps, direction in moves:
        before = assignments[0].region.copy()
        moved = [one.move(steps, direction) for one in assignments]
        W = W + np.outer(steps, direction)
        expected = exact_regions(X, W, alpha)
        for one, (places, origin) in zip(assignments, moved, strict=True):
            np.testing.assert_array_equal(one.region, expected)
            np.testing.assert_array_equal(np.sort(places), np.flatnonzero(before != expected))
            np.testing.assert_array_equal(origin, before[places])


def make_assignments(X, Q, alpha, intercept):
    """One that skips rows in one thread, one in three, one that does not, one by quantized rows."""
    codes = np.zeros(X.shape[0], dtype=np.intp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "WORTH_A_THREAD", 1)
        engines = [LocalEngine(X, codes, 1, intercept=intercept, n_threads=n) for n in (1, 3)]
        made = [RowAssignment(engine, Q, alpha) for engine in engines]
        patch.setattr(assignment, "SKIP_ROWS", False)
        made.append(RowAssignment(engines[0], Q, alpha))
        patch.setattr(assignment, "SKIP_ROWS", True)
        patch.setattr(rows, "SHORT_ROW_BYTES", 0)
        made.append(RowAssignment(engines[0], Q, alpha))
        made[-1]._quantize()
    return made, engines[0]


@pytest.mark.slow
@given(seeds, alphas, storages, dtypes, st.booleans(), n_classes, scales)
@settings(max_examples=60)
def test_regions_are_those_of_all_rows_scored(seed, alpha, storage, dtype, intercept, Q, scale):
    rng, alpha = np.random.RandomState(seed), alpha * scale**2
    X = make_rows(rng, N_ROWS, 3, dtype) * dtype(scale)
    assignments, engine = make_assignments(storage(X), Q, alpha, intercept)
    W = np.round(rng.randn(Q, engine.n_features), 1) * scale
    W[-1] = W[0]  # equal until one of them moves
    if seed % 3 == 0:
        W[1 + seed % Q :] = 0.0
    moves = [(s, d * scale) for s, d in make_moves(rng, 70, Q, engine.n_features)]
    with pytest.MonkeyPatch.context() as patch:
        pieces = RowThreads.pieces
        patch.setattr(RowThreads, "pieces", lambda self, n=None, multiple_of=1: pieces(self, n, 7))
        follow(assignments, engine, full_rows(X, intercept), W, moves, alpha)
    assert assignments[0].n_rescored <= assignments[2].n_rescored == N_ROWS


@pytest.mark.slow
@given(seeds, storages, dtypes, n_classes, st.sampled_from([0.0, 1.0, 4.0]))
@settings(max_examples=40)
def test_whole_numbers_are_tied_exactly(seed, storage, dtype, Q, alpha):
    rng = np.random.RandomState(seed)
    X = rng.randint(-2, 3, (N_ROWS, 3)).astype(dtype)
    assignments, engine = make_assignments(storage(X), Q, alpha, False)
    W = np.zeros((Q, 3))
    W[rng.randint(Q)] = rng.randint(1, 3, 3)
    moves = []
    for _ in range(70):  # classes leave 0 one by one, and some never do
        steps = np.zeros(Q)
        steps[rng.choice(Q, 2, replace=False)] = 1.0, -1.0
        moves.append((steps, rng.randint(-1, 2, 3).astype(float)))
    follow(assignments, engine, X.astype(float), W, moves, alpha)


@given(seeds, storages, dtypes, st.sampled_from([300, 2000]))
@settings(max_examples=10)
def test_weights_that_shrink_after_rows_were_scored(seed, storage, dtype, d):
    # What single precision rounded away of long weights is much beside short ones.
    rng, Q = np.random.RandomState(seed), 3
    X = (rng.randn(N_ROWS, d) * (rng.rand(N_ROWS, d) < 0.2)).astype(dtype)
    assignments, engine = make_assignments(storage(X), Q, 0.0, False)
    long, short = 1e4 * rng.randn(d), 1e-3 * rng.randn(Q, d)
    W = short + long
    moves = [(np.ones(Q) * f, long) for f in (-0.9, -0.09, -0.009, -0.001)]
    moves += [(rng.permutation([1.0, -1.0, 0.0]), 1e-4 * rng.randn(d)) for _ in range(10)]
    follow(assignments, engine, X.astype(float), W, moves, 0.0)


@given(seeds, dtypes, st.sampled_from([1.0, 1e-18, 1e18]))
@settings(max_examples=20)
def test_quantized_columns_of_any_size(seed, dtype, scale):
    # A column of zeros, one that rounding leaves nothing of in most rows, and rows of zeros.
    rng, Q, d = np.random.RandomState(seed), 4, 6
    X = rng.randn(N_ROWS, d) * 10.0 ** rng.randint(-4, 5, d)
    X[0, 1] *= 1e6
    X[:, 2] = X[1] = 0.0
    X = (X * scale).astype(dtype)
    assignments, engine = make_assignments(X, Q, 0.0, True)
    moves = [(s, z / scale) for s, z in make_moves(rng, 20, Q, engine.n_features)]
    follow(assignments, engine, full_rows(X, True), rng.randn(Q, d + 1) / scale, moves, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_quantized_once_they_were_read_often(dtype, tmp_path):
    X = np.random.RandomState(0).randn(4000, 100).astype(dtype)
    on_disk = np.memmap(tmp_path / "rows", dtype=dtype, mode="w+", shape=X.shape)
    on_disk[:] = X
    codes, W = np.zeros(len(X), dtype=np.intp), np.random.RandomState(1).randn(12, 101)
    for rows_used, expected in ((X, np.int16), (X[:, :20].copy(), dtype), (on_disk, dtype)):
        engine = LocalEngine(rows_used, codes, 1)
        own = RowAssignment(engine, 12, 0.0)
        own.restart(W[:, : engine.n_features])
        for _ in range(20):
            steps = np.random.RandomState(2).randn(12)
            own.move(steps, np.ones(engine.n_features))
        assert own._rows[0].dtype == expected


@pytest.mark.filterwarnings("ignore:UMA stopped")
@given(seeds, st.sampled_from(sorted(STEPS)), st.sampled_from([0.0, 0.05]), storages, dtypes)
@pytest.mark.slow
def test_the_weights_are_those_of_all_rows_scored(seed, step, alpha, storage, dtype):
    problem = make_problem(seed, n=120)
    X = storage(problem.X.astype(dtype))
    weights = []
    for skip in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(assignment, "SKIP_ROWS", skip)
            clf = plain_uma(problem.C, step=step, alpha=alpha, tol=1e-4, max_iter=60)
            weights.append(clf.fit(X, problem.y)._state.weights)
    np.testing.assert_array_equal(*weights)


def test_a_third_class_can_overtake():
    # Neither the row's best class nor its runner-up moves, and still its region changes.
    engine = LocalEngine(np.array([[1.0, 0.0]]), np.zeros(1, dtype=np.intp), 1, intercept=False)
    assignment = RowAssignment(engine, 4, 0.0)
    assignment.restart(np.array([[1.0, 0.0], [0.8, 0.0], [0.1, 0.0], [0.0, 0.0]]))
    for _ in range(3):
        assignment.move(np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.4, 0.0]))
    assert assignment.region.tolist() == [2]


def test_scores_too_large_to_be_kept_are_not_taken_for_safe():
    # In single precision the third class scores -inf, and says nothing of its lead.
    engine = LocalEngine(np.array([[1e21, 0.0]]), np.zeros(1, dtype=np.intp), 1, intercept=False)
    assignment = RowAssignment(engine, 3, 0.0)
    assignment.restart(np.array([[1e17, 0.0], [0.0, 0.0], [-5e17, 0.0]]))
    assignment.move(np.array([0.0, 0.0, 1.0]), np.array([1e18, 0.0]))
    assert assignment.region.tolist() == [2]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("sizes", [range(62, 68), range(-78, -70)], ids=["huge", "tiny"])
@pytest.mark.slow
def test_features_at_the_ends_of_single_precision(storage, sizes):
    # Scores, or parts of their sums, overflow or vanish; only the scale of the rows is another.
    for seed in range(2):
        rng = np.random.RandomState(seed)
        means, true = rng.randn(8, 60), rng.randint(8, size=600)
        X = (0.3 * means[true] + rng.randn(600, 60)).astype(np.float32)
        C = 3 * np.eye(8) + rng.rand(8, 8)
        C /= C.sum(axis=1, keepdims=True)
        y = noise.corrupt_labels(true, C, random_state=0)
        settings = {"step": "uniform", "tol": 0.0, "max_iter": 30, "fit_intercept": False}
        for size in sizes:
            rows, weights = X * np.float32(2.0**size), []
            for dtype in (np.float32, np.float64):
                clf = plain_uma(C, init="means" if seed % 2 else "zero", **settings)
                clf.fit(storage(rows.astype(dtype)), y)
                weights.append(clf._state.weights * 2.0**-size)
            np.testing.assert_array_equal(*weights)


def test_a_tie_at_its_very_edge_leaves_no_row_without_a_region():
    # By 1e-12 of it the lower score is level with the higher one, and by a rounding it is not.
    high = next(h for h in 1.0 + np.arange(1, 10**5) * 2.0**-30 if (h - 1e-12 * h) - h < -1e-12 * h)
    X = np.array([[1.0]] * 3 + [[-1.0]] * 5)
    engine = LocalEngine(X, np.zeros(8, dtype=np.intp), 4, intercept=False)
    own = engine.partition(Unmixing(np.eye(4)), 0.0)
    own.restart(np.array([[high - 1e-12 * high], [high], [-0.3], [-0.1]]))
    for _ in range(3):
        assert own.tables().counts[:, 0].tolist() == [3.0, 0.0, 5.0, 0.0]
        own.move(np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.01]))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_most_rows_are_passed_over(storage):
    rng = np.random.RandomState(0)
    means = 5 * np.eye(4, 6)
    true = rng.randint(4, size=2000)
    engine = LocalEngine(storage(means[true] + rng.randn(2000, 6)), true, 4)
    assignment = RowAssignment(engine, 4, 0.0)
    assignment.restart(np.hstack([means, np.zeros((4, 1))]))
    n_rescored = []
    for _ in range(2 * WINDOW):
        assignment.move(np.array([0.01, -0.01, 0.0, 0.0]), rng.randn(7))
        n_rescored.append(assignment.n_rescored)
    assert np.mean(n_rescored) < 0.1 * 2000
    assert np.min(n_rescored) < 0.02 * 2000


def test_regions_that_change_places_and_nothing_else():
    X, y = np.random.RandomState(0).rand(5000, 100) + 1, np.arange(5000) % 3
    engine = LocalEngine(X, y, 3, intercept=False, n_threads=2)
    own = engine.partition(Unmixing(np.eye(3) * 0.7 + 0.1), 0.0)
    weights = np.zeros((3, 100))
    weights[0] = 1
    own.restart(weights)
    before = own.tables().counts
    own.move(np.array([-2.0, 0.0, 2.0]), np.ones(100))
    np.testing.assert_array_equal(own.tables().counts, before[[2, 1, 0]])
