"""Rows decided on by their outlines are where the rows themselves would be: a law."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem
from test_row_skipping import by_rival, dtypes, exact_regions, make_rows, seeds
from unconfused.engines.cut import RowCut
from unconfused.engines.outline import Outline

from unconfused import UMAClassifier
from unconfused.engines import LocalEngine, cut, outline, rivals, room


@pytest.fixture(autouse=True)
def short_rows(monkeypatch):
    """Let columns be left out one by one, and room be counted in rows."""
    monkeypatch.setattr(outline, "TOGETHER", 1)
    monkeypatch.setattr(outline, "rows_that_fit", lambda n_rows, _, room: min(n_rows, room))


def cut_with_outline(engine, Q, n_outlined, entries=10**9, skip=True):
    """Return a cut whose outline, of so many rows, is drawn after the first move."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rivals, "ENTRIES_PER_DISTANCE", entries)
        patch.setattr(cut, "room_for_outline", lambda *_: n_outlined)
        return RowCut(engine, Q, 0.0, skip=skip)


@given(
    seed=seeds,
    dtype=dtypes,
    intercept=st.booleans(),
    Q=st.integers(2, 6),
    entries=by_rival,
    scale=st.sampled_from([1.0, 1e-18, 1e-10, 1e10]),
    n_outlined=st.sampled_from([80, 37]),
    doubts=st.sampled_from([0.0, 2.0]),
    unkept=st.sampled_from([0.0, 0.01, 0.5]),
    skip=st.booleans(),
    falling=st.booleans(),
)
@settings(max_examples=200)
def test_regions_are_those_of_the_rows(
    seed, dtype, intercept, Q, entries, scale, n_outlined, doubts, unkept, skip, falling
):
    rng = np.random.RandomState(seed)
    X = make_rows(rng, 80, 5, dtype) * dtype(scale)
    X[:, 4] *= dtype(1e-12 if seed % 2 else 1.0)  # a column of another size than the others
    if falling:  # as principal components do, so that rows in doubt are read in two parts
        X *= (0.4 ** np.arange(5)).astype(dtype)
    engine = LocalEngine(X, np.zeros(80, dtype=np.intp), 1, intercept=intercept)
    own = cut_with_outline(engine, Q, n_outlined, entries, skip)
    full = np.hstack([X, np.ones((80, 1), dtype)]) if intercept else X
    W = np.round(rng.randn(Q, engine.n_features), 1)
    W[-1] = W[0]  # equal until one of them moves
    own.restart(W)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "OUTLINE_AFTER", 0)
        patch.setattr(cut, "TOO_MANY_DOUBTS", doubts)
        patch.setattr(outline, "UNKEPT", unkept)
        for t, (steps, direction) in enumerate(make_moves(rng, 60, Q, engine.n_features)):
            before = own.region.copy()
            moved, origin = own.move(steps, direction)
            W = W + np.outer(steps, direction)
            np.testing.assert_array_equal(own.region, exact_regions(full, W, 0.0))
            np.testing.assert_array_equal(moved, np.flatnonzero(before != own.region))
            np.testing.assert_array_equal(origin, before[moved])
            if t == 30:
                W = np.round(rng.randn(Q, engine.n_features), 1)
                own.restart(W)
                np.testing.assert_array_equal(own.region, exact_regions(full, W, 0.0))


def clouds(n_rows=2000, n_columns=30, dtype=np.float32):
    rng = np.random.RandomState(0)
    means = rng.randn(5, n_columns)
    true = rng.randint(5, size=n_rows)
    X = (means[true] + rng.randn(n_rows, n_columns)).astype(dtype)
    return LocalEngine(X, true, 5), np.hstack([means, np.zeros((5, 1))]), rng


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_are_read(monkeypatch, dtype):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 1)
    engine, W, rng = clouds(dtype=dtype)
    own = cut_with_outline(engine, 5, 2000, skip=False)
    own.restart(W)
    for _ in range(3):
        own.move(np.array([0.1, -0.1, 0.0, 0.0, 0.0]), rng.randn(31))
    assert own._outline is not None
    own._read_so_far = 0
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 10**9)
    own.move(np.array([0.1, -0.1, 0.0, 0.0, 0.0]), rng.randn(31))
    assert own.looked_at == 2000
    assert 0 < own._read_so_far < 0.1 * 2000


def assert_budgets_hold(own, X, W):
    """Rows that were just looked at lead by no less than their budgets say, but for rounding."""
    now = np.flatnonzero(own._slot == own._movement.slot)
    scores, norms, rows = X[now] @ W.T, np.linalg.norm(X[now], axis=1), np.arange(len(now))
    leads = (scores[rows, own._best[now]][:, None] - scores) / norms[:, None]
    assert np.all(leads[rows, own._rival[now]] >= own._budget[now] * (1 - 1e-7))
    leads[rows, own._best[now]] = leads[rows, own._rival[now]] = np.inf
    assert np.all(leads.min(axis=1) >= own._spare[now] * (1 - 1e-7))


@pytest.mark.parametrize("size", [0.002, 0.01, 0.05])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_passed_over_stay_where_they_are(monkeypatch, dtype, size):
    """Third classes come closer little by little, while best class and rival stay."""
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 0)
    monkeypatch.setattr(cut, "TOO_MANY_DOUBTS", 2.0)
    engine, W, rng = clouds(n_rows=1500, n_columns=12, dtype=dtype)
    own = cut_with_outline(engine, 5, 1500, entries=1)
    own.restart(W)
    full = np.hstack([engine.rows.dense, np.ones((1500, 1))])
    goal = W[rng.permutation(5)]
    looked_at = []
    for _ in range(150):
        first, second = rng.permutation(5)[:2]
        steps = np.zeros(5)
        steps[first], steps[second] = size, -size * rng.rand()
        direction = 5 * (goal[first] - W[first]) + rng.randn(13)
        own.move(steps, direction)
        W = W + np.outer(steps, direction)
        np.testing.assert_array_equal(own.region, exact_regions(full, W, 0.0))
        looked_at.append(own.looked_at)
        assert_budgets_hold(own, full, W)
    assert own._outline is not None and 0 < np.mean(looked_at) < 1500


def test_rows_passed_over_are_not_tied_by_weights_that_grow(monkeypatch):
    """What is a tie depends on the longest weights: a lead that was clear can become one."""
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 0)
    monkeypatch.setattr(cut, "TOO_MANY_DOUBTS", 2.0)
    X = np.random.RandomState(0).randn(300, 6)
    X[:8] = np.eye(6)[0]
    engine = LocalEngine(X, np.zeros(300, dtype=np.intp), 1, intercept=False)
    own = cut_with_outline(engine, 3, 300, entries=1)
    W = np.array([np.eye(6)[0], (1 + 6e-12) * np.eye(6)[0], np.eye(6)[1]])
    own.restart(W)
    for grown in (0.01, 0.01, 20.0):
        steps, direction = np.array([0.0, 0.0, grown]), np.eye(6)[1]
        own.move(steps, direction)
        W = W + np.outer(steps, direction)
        assert own._outline is not None
        np.testing.assert_array_equal(own.region, exact_regions(X, W, 0.0))


@pytest.mark.parametrize("faint", [1e-18, 1e-60])
def test_columns_that_only_rows_beyond_the_sample_hold(monkeypatch, faint):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 0)
    monkeypatch.setattr(cut, "TOO_MANY_DOUBTS", 2.0)
    monkeypatch.setattr(outline, "TOGETHER", 4)
    rng = np.random.RandomState(0)
    X = 1e-13 * rng.randn(8192, 4)  # every second row is measured
    X[0::2, 1:] *= faint
    X[1::2, 0] = 0.0
    engine = LocalEngine(X, np.zeros(8192, dtype=np.intp), 1, intercept=False)
    own = cut_with_outline(engine, 3, 8192, entries=1)
    W = 1e-13 * rng.randn(3, 4)
    own.restart(W)
    for _ in range(4):
        steps, direction = 0.3 * np.eye(3)[rng.randint(3)], 1e-13 * rng.randn(4)
        own.move(steps, direction)
        W = W + np.outer(steps, direction)
        assert own._outline is not None and np.isfinite(own._outline._left).all()
        np.testing.assert_array_equal(own.region, exact_regions(X, W, 0.0))


def test_an_outline_that_leaves_much_in_doubt_is_dropped(monkeypatch):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 1)
    engine, W, rng = clouds()
    own = cut_with_outline(engine, 5, 2000, skip=False)
    own.restart(1e-3 * W + 100 * rng.randn(31))  # classes nearly alike: rounding hides the leads
    outlined = []
    for _ in range(8):
        own.move(np.array([1e-3, -1e-3, 0.0, 0.0, 0.0]), rng.randn(31))
        outlined.append(own._outline is not None)
    assert outlined[0] and not outlined[-1]
    full = np.hstack([engine.rows.dense, np.ones((2000, 1), np.float32)])
    weights = np.hstack([own._weights, own._constants[:, None]])
    np.testing.assert_array_equal(own.region, exact_regions(full, weights, 0.0))


def test_weights_that_could_overflow_are_scored_with_rows(monkeypatch):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 0)
    engine, W, rng = clouds()
    own = cut_with_outline(engine, 5, 2000)
    own.restart(W)
    own.move(np.array([0.1, -0.1, 0.0, 0.0, 0.0]), rng.randn(31))
    assert own._outline is not None
    direction = rng.randn(31)
    own.move(np.array([1e16, -1e16, 0.0, 0.0, 0.0]), direction)
    assert own._outline is None
    scores = engine.rows.dense @ direction[:-1] + direction[-1]
    np.testing.assert_array_equal(own.region, np.where(scores > 0, 0, 1))


@pytest.mark.parametrize("size", [1e38, 1e-46])
def test_a_start_at_extreme_weights_is_scored_with_rows(monkeypatch, size):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 0)
    engine, W, rng = clouds()
    own = cut_with_outline(engine, 5, 2000)
    own.restart(W)
    own.move(np.array([0.1, -0.1, 0.0, 0.0, 0.0]), rng.randn(31))
    assert own._outline is not None
    own.restart(W * size)
    assert own._outline is None
    full = np.hstack([engine.rows.dense, np.ones((2000, 1), np.float32)])
    np.testing.assert_array_equal(own.region, exact_regions(full, W, 0.0))


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_outlined", [6001, 2500])
def test_many_rows_in_many_threads(monkeypatch, n_threads, n_outlined):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 0)
    monkeypatch.setattr("unconfused.engines.row_threads.WORTH_A_THREAD", 1)
    engine, W, rng = clouds(6001)
    X = np.round(engine.rows.dense, 1)
    X[::9], X[1::9] = 0.0, X[2::9][: len(X[1::9])]
    engine = LocalEngine(X, engine.codes, 5, n_threads=n_threads)
    W = np.round(W, 1)
    own = cut_with_outline(engine, 5, n_outlined)
    own.restart(W)
    full = np.hstack([X, np.ones((6001, 1), np.float32)])
    for steps, direction in make_moves(rng, 30, 5, 31):
        before = own.region.copy()
        moved, origin = own.move(steps, np.round(direction, 2))
        W = W + np.outer(steps, np.round(direction, 2))
        np.testing.assert_array_equal(own.region, exact_regions(full, W, 0.0))
        np.testing.assert_array_equal(moved, np.flatnonzero(before != own.region))
        np.testing.assert_array_equal(origin, before[moved])
    assert own._outline is not None  # few of its rows are in doubt, however many have none


@pytest.mark.parametrize("largest", [1e-16, 1e16])
def test_rows_that_could_overflow_have_no_outline(largest):
    engine, _, _ = clouds()
    X = engine.rows.dense * np.float32(largest)
    assert Outline.of(LocalEngine(X, engine.codes, 5), 2000) is None


@pytest.mark.parametrize("unkept", [0.0, 0.01])
def test_what_an_outline_leaves_out_is_measured(monkeypatch, unkept):
    monkeypatch.setattr(outline, "UNKEPT", unkept)
    rng = np.random.RandomState(0)
    X = rng.randn(50, 20).astype(np.float32) * 10.0 ** rng.randint(-3, 3, 20).astype(np.float32)
    X[7] = 0.0
    X[8, :19] = 1e-30
    drawn = Outline.of(LocalEngine(X, np.zeros(50, dtype=np.intp), 1), 40)
    kept = drawn._kept
    assert len(kept) == 20 if unkept == 0.0 else 1 <= len(kept) < 10
    lines = drawn._lines * drawn._scales[:, None].astype(float) * drawn._ranges
    rest = np.linalg.norm(X[:40, kept] - lines, axis=1)
    assert np.all(rest <= drawn._left)
    np.testing.assert_allclose(drawn._left, rest, rtol=1e-5, atol=1e-40)
    assert np.median(rest / np.linalg.norm(X[:40], axis=1)[rest > 0].mean()) < 0.02
    beyond = np.linalg.norm(np.delete(X[:40].astype(float), kept, axis=1), axis=1)
    assert np.all(beyond <= drawn._beyond)
    # What rounding could hide of a row is added.
    np.testing.assert_allclose(drawn._beyond, beyond, rtol=1e-5, atol=1e-7 * np.abs(X).max())


def test_the_fewest_columns_that_hold_nearly_all_are_kept(monkeypatch):
    squares = np.array([0.001, 8.0, 0.004, 2.0])
    np.testing.assert_array_equal(outline.columns_worth_keeping(squares), [1, 3])
    monkeypatch.setattr(outline, "TOGETHER", 3)
    np.testing.assert_array_equal(outline.columns_worth_keeping(squares), [1, 2, 3])
    np.testing.assert_array_equal(outline.columns_worth_keeping(np.ones(4)), [0, 1, 2, 3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows_are_read_though_most_columns_are_left_out(monkeypatch, dtype):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 1)
    engine, W, rng = clouds(n_columns=300, dtype=dtype)
    fading = 0.95 ** np.arange(301)
    X = engine.rows.dense * fading[:300].astype(dtype)
    own = cut_with_outline(LocalEngine(X, engine.codes, 5), 5, 2000, skip=False)
    own.restart(W * fading)
    for _ in range(3):
        own.move(np.array([0.1, -0.1, 0.0, 0.0, 0.0]), rng.randn(301) * fading)
    assert own._outline is not None and len(own._outline._kept) < 60
    assert own.looked_at == 2000
    assert 0 < own.read < 0.1 * 2000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", ["perceptron", "uniform", "mira"])
def test_fits_are_the_same(monkeypatch, dtype, step):
    monkeypatch.setattr(cut, "OUTLINE_AFTER", 1)
    drawn = []
    monkeypatch.setattr(
        cut, "Outline", SimpleNamespace(of=lambda *args: drawn.append(1) or Outline.of(*args))
    )
    for seed in range(3):
        problem, weights = make_problem(seed, n=200, d=12), []
        for n_outlined in (0, 200, 77):
            monkeypatch.setattr(cut, "room_for_outline", lambda *_, n=n_outlined: n)
            clf = UMAClassifier(problem.C, step=step, tol=1e-4, max_iter=80)
            weights.append(clf.fit(problem.X.astype(dtype), problem.y)._state.weights)
        np.testing.assert_array_equal(weights[1], weights[0])
        np.testing.assert_array_equal(weights[2], weights[0])
    assert len(drawn) == 6


def test_where_there_is_room_for_an_outline(tmp_path):
    def asked(n_rows, n_columns, n_classes, dtype=np.float32, X=None):
        X = np.broadcast_to(np.zeros((), dtype), (n_rows, n_columns)) if X is None else X
        rows = SimpleNamespace(
            dense=X, n_rows=n_rows, n_columns=n_columns, n_entries=X.size, dtype=X.dtype
        )
        engine = SimpleNamespace(rows=rows, n_codes=n_classes, n_features=n_columns + 1)
        return room.room_for_outline(engine, n_classes) / (n_columns + outline.PER_ROW)

    assert asked(100_000, 1600, 26) > 100_000
    assert 4_000 < asked(15_000, 1600, 26) < 10_000  # what fits
    assert asked(15_000, 1600, 26, np.float64) > 15_000
    assert asked(200_000, 200, 10) == 0  # short rows
    assert asked(100, 1600, 26) == 0
    disk = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(20_000, 1600))
    assert asked(20_000, 1600, 2) > 10_000
    assert asked(20_000, 1600, 2, np.float32, disk) == 0
    assert asked(20_000, 1600, 2, np.float32, np.asarray(disk)[:]) == 0  # as checks leave it
    rows = SimpleNamespace(dense=None, n_entries=10**9)
    assert room.room_for_outline(SimpleNamespace(rows=rows), 3) == 0


def test_an_outline_of_few_rows_is_not_drawn():
    engine, _, _ = clouds()
    assert Outline.of(engine, 499) is None
    assert Outline.of(engine, 500).n_rows == 500


def test_what_is_kept_stays_within_what_is_allowed():
    n_rows, n_columns, Q = 80_000, 520, 10
    X = np.broadcast_to(np.zeros((), np.float32), (n_rows, n_columns))
    rows = SimpleNamespace(
        dense=X, n_rows=n_rows, n_columns=n_columns, n_entries=X.size, dtype=X.dtype
    )
    engine = SimpleNamespace(rows=rows, n_codes=Q, n_features=n_columns + 1)
    outlined = room.room_for_outline(engine, Q)
    kept = outlined + room.PER_ROW * n_rows + 8 * Q * Q * (n_columns + 1)
    assert outlined > 0
    assert kept <= 0.3 * 4 * n_rows * n_columns + 64 * Q * n_columns
    assert outline.EXTREME**2 * n_columns < np.finfo(np.float32).max


def test_many_sums_of_few_rows_are_not_kept():
    def kept(n_rows, n_columns, n_classes):
        rows = SimpleNamespace(
            n_rows=n_rows, n_columns=n_columns, n_entries=n_rows * n_columns, dtype=np.float32
        )
        return room.kept_bytes(SimpleNamespace(rows=rows), n_classes)

    assert kept(30_000, 100, 250) == room.SMALL
    assert kept(10**6, 1000, 250) == room.KEPT_BYTES
    assert room.SMALL < kept(15_000, 1600, 26) < room.KEPT_BYTES
