"""Looking at few rows gives the regions of looking at all: a law, for any rows and any moves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_moves, make_problem
from scipy import sparse
from unconfused.engines.cut import RowCut

from unconfused import UMAClassifier, noise
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine, movement, partition, rivals, row_threads
from unconfused.steps import STEPS

seeds = st.integers(0, 2**16)
alphas = st.sampled_from([0.0, 1e-13, 0.05, 0.5])
storages = st.sampled_from([np.asarray, sparse.csr_matrix])
dtypes = st.sampled_from([np.float32, np.float64])
scales = st.sampled_from([1.0, 1e-18, 1e15])
by_rival = st.sampled_from([0, 10**9])
"""Rows' entries for each distance between two classes: with 0, these are always kept."""

scored = st.sampled_from([0, 37, 10**9])
"""Rows whose scores are kept, at most."""


def keep_scores_of(patch, n_scored):
    """Let the scores of so many rows be kept."""
    patch.setattr(
        "unconfused.engines.cut.rows_with_scores",
        lambda engine, _: min(n_scored, len(engine.codes)),
    )


def make_rows(rng, n, d, dtype):
    """Rows of all lengths, some of them zero, some of them twice, some with few entries."""
    X = rng.randn(n, d) * 10.0 ** rng.randint(-2, 2, (n, 1))
    X[rng.rand(n, d) < 0.4] = 0.0
    X[::7] = 0.0
    X[1::7] = X[2::7][: len(X[1::7])]
    X[3::7] = np.round(X[3::7])
    return X.astype(dtype)


def exact_regions(X, W, alpha):
    """Regions as the paper has them, with the library's meaning of a tie, row by row."""
    scores = X.astype(np.float64) @ W.T
    norms = np.linalg.norm(X.astype(np.float64), axis=1)
    near = 1e-12 * norms * np.sqrt((W**2).sum(axis=1).max())
    best = (scores >= scores.max(axis=1, keepdims=True) - near[:, None]).argmax(axis=1)
    own = np.take_along_axis(scores, best[:, None], axis=1)[:, 0]
    np.put_along_axis(scores, best[:, None], -np.inf, axis=1)
    inside = own - scores.max(axis=1) >= alpha - near
    return np.where(inside | (alpha == 0.0), best, -1)


@given(seeds, alphas, storages, dtypes, st.booleans(), st.integers(2, 6), by_rival, scales, scored)
def test_regions_are_those_of_all_rows_looked_at(
    seed, alpha, storage, dtype, intercept, Q, entries, scale, n_scored
):
    rng, alpha = np.random.RandomState(seed), alpha * scale**2
    X = make_rows(rng, 80, 3, dtype) * dtype(scale)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_threads, "WORTH_A_THREAD", 1)
        patch.setattr(rivals, "ENTRIES_PER_DISTANCE", entries)
        keep_scores_of(patch, n_scored)
        codes, threads = np.zeros(80, dtype=np.intp), 1 + 2 * (seed % 2)
        engine = LocalEngine(storage(X), codes, 1, intercept=intercept, n_threads=threads)
        cuts = [RowCut(engine, Q, alpha, skip=skip) for skip in (True, False)]
    full = np.hstack([X, np.ones((80, 1), dtype)]) if intercept else X
    W = np.round(rng.randn(Q, engine.n_features), 1) * scale
    W[-1] = W[0]  # equal until one of them moves
    if seed % 3 == 0:
        W[1:] = 0.0
    with pytest.MonkeyPatch.context() as patch:  # a few rows at a time, in all threads there are
        patch.setattr(row_threads, "WORTH_ANOTHER", 1)
        patch.setattr("unconfused.engines.cut.MANY_ROWS", 7)
        for cut in cuts:
            cut.restart(W)
        for steps, direction in make_moves(rng, 80, Q, engine.n_features):
            before, direction = cuts[0].region.copy(), direction * scale
            (moved, origin), _ = (cut.move(steps, direction) for cut in cuts)
            W = W + np.outer(steps, direction)
            np.testing.assert_array_equal(cuts[0].region, cuts[1].region)
            np.testing.assert_array_equal(cuts[0].region, exact_regions(full, W, alpha))
            np.testing.assert_array_equal(moved, np.flatnonzero(before != cuts[0].region))
            np.testing.assert_array_equal(origin, before[moved])
    assert cuts[0].looked_at <= cuts[1].looked_at == 80


@pytest.mark.filterwarnings("ignore:UMA stopped")
@given(
    seeds, st.sampled_from(sorted(STEPS)), st.sampled_from([0.0, 0.05]), storages, dtypes, by_rival,
    scored,
)  # fmt: skip
@pytest.mark.slow
def test_the_weights_are_those_of_all_rows_looked_at(
    seed, step, alpha, storage, dtype, entries, n_scored
):
    problem = make_problem(seed, n=120)
    X = storage(problem.X.astype(dtype))
    weights = []
    for skip in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(partition, "SKIP_ROWS", skip)
            patch.setattr(rivals, "ENTRIES_PER_DISTANCE", entries)
            keep_scores_of(patch, n_scored if skip else 10**9)
            clf = UMAClassifier(problem.C, step=step, alpha=alpha, tol=1e-4, max_iter=60)
            weights.append(clf.fit(X, problem.y)._state.weights)
    np.testing.assert_array_equal(*weights)


def test_a_third_class_can_overtake():
    # Neither the row's best class nor its runner-up moves, and still its region changes.
    engine = LocalEngine(np.array([[1.0, 0.0]]), np.zeros(1, dtype=np.intp), 1, intercept=False)
    cut = RowCut(engine, 4, 0.0)
    cut.restart(np.array([[1.0, 0.0], [0.8, 0.0], [0.1, 0.0], [0.0, 0.0]]))
    for _ in range(3):
        cut.move(np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.4, 0.0]))
    assert cut.region.tolist() == [2]


def test_scores_too_large_to_be_kept_are_not_taken_for_safe():
    # In single precision the third class scores -inf, and says nothing of its lead.
    engine = LocalEngine(np.array([[1e21, 0.0]]), np.zeros(1, dtype=np.intp), 1, intercept=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rivals, "ENTRIES_PER_DISTANCE", 0)
        cut = RowCut(engine, 3, 0.0)
    cut.restart(np.array([[1e17, 0.0], [0.0, 0.0], [-5e17, 0.0]]))
    cut.move(np.array([0.0, 0.0, 1.0]), np.array([1e18, 0.0]))
    assert cut.region.tolist() == [2]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("sizes", [range(62, 68), range(-78, -70)], ids=["huge", "tiny"])
@pytest.mark.slow
def test_features_at_the_ends_of_single_precision(storage, sizes):
    # Scores, or parts of their sums, overflow or vanish; only the scale of the rows is another.
    for seed in range(4):
        rng = np.random.RandomState(seed)
        means, true = rng.randn(8, 100), rng.randint(8, size=1500)
        X = (0.3 * means[true] + rng.randn(1500, 100)).astype(np.float32)
        C = 3 * np.eye(8) + rng.rand(8, 8)
        C /= C.sum(axis=1, keepdims=True)
        y = noise.corrupt_labels(true, C, random_state=0)
        settings = {"step": "uniform", "tol": 0.0, "max_iter": 40, "fit_intercept": False}
        for size in sizes:
            rows, weights = X * np.float32(2.0**size), []
            for dtype in (np.float32, np.float64):
                clf = UMAClassifier(C, init="means" if seed % 2 else "zero", **settings)
                clf.fit(storage(rows.astype(dtype)), y)
                weights.append(clf._state.weights * 2.0**-size)
            np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("outlined", [False, True])
def test_a_tie_at_its_very_edge_leaves_no_row_without_a_region(monkeypatch, outlined):
    # By 1e-12 of it the lower score is level with the higher one, and by a rounding it is not.
    high = next(h for h in 1.0 + np.arange(1, 10**5) * 2.0**-30 if (h - 1e-12 * h) - h < -1e-12 * h)
    monkeypatch.setattr("unconfused.engines.cut.OUTLINE_AFTER", 0)
    monkeypatch.setattr("unconfused.engines.cut.TOO_MANY_DOUBTS", 2.0)
    monkeypatch.setattr("unconfused.engines.cut.room_for_outline", lambda *_: 10**9 * outlined)
    X = np.array([[1.0]] * 3 + [[-1.0]] * 5)
    engine = LocalEngine(X, np.zeros(8, dtype=np.intp), 4, intercept=False)
    own = engine.partition(Unmixing(np.eye(4)), 0.0)
    own.restart(np.array([[high - 1e-12 * high], [high], [-0.3], [-0.1]]))
    for _ in range(3):
        assert own.tables().counts[:, 0].tolist() == [3.0, 0.0, 5.0, 0.0]
        own.move(np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.01]))
        assert (own._cut._outline is not None) == outlined


def test_a_row_is_safe_from_rivals_that_did_not_come_near():
    # The rows lie between classes 0 and 1; classes 2 and 3, far behind, move a lot.
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randn(500, 1), np.full((500, 1), 5.0), rng.randn(500, 8)])
    W = np.zeros((4, 10))
    W[0, 0], W[1, 0], W[2, 1], W[3, 1] = 0.01, -0.01, -20.0, -21.0
    engine, looked_at = LocalEngine(X, np.zeros(500, dtype=np.intp), 1, intercept=False), []
    with pytest.MonkeyPatch.context() as patch:
        for entries in (0, 10**9):
            patch.setattr(rivals, "ENTRIES_PER_DISTANCE", entries)
            cut = RowCut(engine, 4, 0.0)
            cut.restart(W)
            for _ in range(10):
                cut.move(np.array([0.0, 0.0, 1.0, -1.0]), np.eye(10)[3] * rng.choice([-1, 1]))
                looked_at.append(cut.looked_at)
    assert max(looked_at[:10]) < 10
    assert min(looked_at[10:]) > 400


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_most_rows_are_passed_over(storage):
    rng = np.random.RandomState(0)
    means = 5 * np.eye(4, 6)
    true = rng.randint(4, size=2000)
    X = storage(means[true] + rng.randn(2000, 6))
    engine = LocalEngine(X, true, 4)
    cut = RowCut(engine, 4, 0.0)
    cut.restart(np.hstack([means, np.zeros((4, 1))]))
    looked_at = []
    for _ in range(2 * movement.WINDOW):
        cut.move(np.array([0.01, -0.01, 0.0, 0.0]), rng.randn(7))
        looked_at.append(cut.looked_at)
    assert np.mean(looked_at) < 0.1 * 2000
    assert np.min(looked_at) < 0.02 * 2000


@pytest.mark.parametrize("small", [False, True], ids=["at once", "in parts and by BLAS"])
@given(
    seed=seeds,
    storage=storages,
    alpha=st.sampled_from([0.0, 0.05]),
    room=st.sampled_from([0, 600, 2**30]),
)
def test_tables_and_norms_follow_the_rows(seed, storage, alpha, room, small):
    # However much of the sums is kept, many moves leave what a fresh cut finds.
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr("unconfused.engines.partition.MOVED_TOGETHER", 7)
            patch.setattr("unconfused.engines.unmixed_sums.WORTH_BLAS", 0)
        _tables_and_norms_follow_the_rows(seed, storage, alpha, room)


def _tables_and_norms_follow_the_rows(seed, storage, alpha, room):
    problem = make_problem(seed, n=90)
    rng = np.random.RandomState(seed)
    engine = LocalEngine(storage(problem.X), problem.y, 4, rng.rand(90))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unconfused.engines.room.KEPT_BYTES", room)
        unmixing = Unmixing(problem.C)
        moved, fresh = (engine.partition(unmixing, alpha) for _ in range(2))
    W = rng.randn(4, 5)
    moved.restart(W)
    moved.pair_norms()
    for steps, direction in make_moves(rng, 25, 4, 5):
        moved.move(steps, direction)
        W = W + np.outer(steps, direction)
        fresh.restart(W)
        np.testing.assert_allclose(moved.tables().counts, fresh.tables().counts, atol=1e-9)
        np.testing.assert_allclose(moved.tables().squares, fresh.tables().squares, atol=1e-9)
        np.testing.assert_allclose(moved.pair_norms(), fresh.pair_norms(), atol=1e-7)
        vectors = [cut.update_vector(1, 2) for cut in (moved, fresh)]
        np.testing.assert_allclose(*vectors, atol=1e-9)
