"""Update vectors that are kept beside the products of sums, and pairs struck out by them."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem
from scipy import sparse
from unconfused.engines.products import KeptProducts
from unconfused.engines.rows import DenseRows, SparseRows
from unconfused.engines.sums import SumsOnDemand

from unconfused import UMAClassifier, noise
from unconfused._matrix import Unmixing
from unconfused.engines import BoundedPartition, products, room
from unconfused.engines.local import LocalEngine
from unconfused.solvers import contest, uma
from unconfused.steps import snap_ties

ONLY_PRODUCTS = 600
"""Room for the products of four classes' sums, but not for sums of five features or more."""

storages = st.sampled_from([np.asarray, sparse.csr_array])


def partition_of(engine, C, n_vectors, alpha=0.0):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "KEPT_BYTES", ONLY_PRODUCTS)
        patch.setattr(products, "VECTOR_BYTES", n_vectors * 8 * engine.n_features)
        partition = engine.partition(Unmixing(C), alpha)
    assert isinstance(partition._sums, KeptProducts)
    return partition


def ask_for_all(partition):
    pairs = [(p, q) for p in range(4) for q in range(4) if p != q]
    return {pair: partition.update_vector(*pair) for pair in pairs}


@given(st.integers(0, 2**31 - 1), storages, st.sampled_from([0.0, 0.05]), st.sampled_from([2, 16]))
def test_kept_vectors_follow_the_rows(seed, storage, alpha, n_vectors):
    problem = make_problem(seed, n=90)
    rng = np.random.RandomState(seed)
    engine = LocalEngine(storage(problem.X), problem.y, 4, rng.rand(90))
    moved, fresh = (partition_of(engine, problem.C, n, alpha) for n in (n_vectors, 0))
    W = rng.randn(4, 5)
    moved.restart(W)
    for steps, direction in make_moves(rng, 25, 4, 5):
        ask_for_all(moved)
        moved.move(steps, direction)
        W = W + np.outer(steps, direction)
        fresh.restart(W)
        expected = ask_for_all(fresh)
        for pair, vector in ask_for_all(moved).items():
            np.testing.assert_allclose(vector, expected[pair], atol=1e-12)
            # Rows that have all left leave nothing behind.
            assert vector.any() == expected[pair].any()


@pytest.mark.parametrize("gain", [8, 1e-6], ids=["starts again", "follows"])
@pytest.mark.parametrize("together", [2**15, 7], ids=["at once", "in parts"])
@given(
    seed=st.integers(0, 2**31 - 1),
    storage=storages,
    alpha=st.sampled_from([0.0, 0.05]),
    n_vectors=st.sampled_from([0, 6]),
)
@settings(max_examples=25)
def test_bounds_hold_the_norms(seed, storage, alpha, n_vectors, gain, together):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "BLAS_GAIN", gain)
        patch.setattr("unconfused.engines.partition.MOVED_TOGETHER", together)
        _bounds_hold_the_norms(seed, storage, alpha, n_vectors)


def _bounds_hold_the_norms(seed, storage, alpha, n_vectors):
    problem = make_problem(seed, n=90)
    rng = np.random.RandomState(seed)
    engine = LocalEngine(storage(problem.X), problem.y, 4, rng.rand(90), n_threads=2)
    moved, fresh = (partition_of(engine, problem.C, n, alpha) for n in (n_vectors, 0))
    assert isinstance(moved, BoundedPartition)
    W = rng.randn(4, 5)
    moved.restart(W)
    for steps, direction in make_moves(rng, 25, 4, 5):
        moved.move(steps, direction)
        W = W + np.outer(steps, direction)
        fresh.restart(W)
        norms = fresh.pair_norms()
        lower, upper = moved.norm_bounds()
        assert np.all((lower <= norms + 1e-12) & (norms <= upper + 1e-12))
        some = [tuple(pair) for pair in rng.randint(0, 4, (2, 2))]
        moved.update_vector(*some[0])  # one that is kept, and one that may be
        moved.measure(some)
        lower, upper = moved.norm_bounds()
        for pair in some:
            assert lower[pair] == upper[pair] == pytest.approx(norms[pair], abs=1e-12)
    np.testing.assert_allclose(moved.pair_norms(), fresh.pair_norms(), atol=1e-12)


@given(st.integers(0, 2**31 - 1), storages)
def test_pairs_that_are_learnt_have_no_error_set(seed, storage):
    problem = make_problem(seed, n=90)
    rng = np.random.RandomState(seed)
    engine = LocalEngine(storage(problem.X), problem.y, 4, rng.rand(90))
    partition = partition_of(engine, problem.C, 16)
    with_sums = engine.partition(Unmixing(problem.C), 0.0)
    W = rng.randn(4, 5)
    for cut in (partition, with_sums):
        cut.restart(W)
        cut.tables()
    for steps, direction in make_moves(rng, 10, 4, 5):
        vectors = ask_for_all(partition)
        clear = {
            (p, q)
            for (p, q), z in vectors.items()
            if W[q] @ z - np.delete(W @ z, q).max() > 1e-6 * np.linalg.norm(z)
        }
        learnt = set(partition.learnt_pairs(W))
        assert clear <= learnt
        for p, q in learnt:
            assert W[q] @ vectors[p, q] > np.delete(W @ vectors[p, q], q).max()
        some = [pair for pair in sorted(vectors)[::2] if np.linalg.norm(vectors[pair]) > 1e-9]
        if some:
            assert set(with_sums.learnt_among(some, W)) == learnt & set(some)
        for cut in (partition, with_sums):
            cut.move(steps, direction)
            cut.tables()
        W = W + np.outer(steps, direction)


@pytest.mark.parametrize("selection", ["error", "confusion"])
def test_pairs_tried_in_vain_are_told_together(monkeypatch, selection):
    # The same updates in the same order, and far fewer pairs tried.
    problem = make_problem(5, n=400, Q=10, d=12)
    tried, histories = [], []
    for together in (0, 16):
        tries = []
        monkeypatch.setattr(contest, "NEXT", together)
        monkeypatch.setattr(
            uma, "snap_ties", lambda *args, t=tries: t.append(1) or snap_ties(*args)
        )
        clf = UMAClassifier(problem.C, selection=selection, max_iter=150, tol=1e-9)
        histories.append(clf.fit(problem.X, problem.y).history_)
        tried.append(len(tries))
    for name in ("predicted", "true", "norm"):
        np.testing.assert_array_equal(histories[0][name], histories[1][name])
    in_vain = np.array(tried) - len(histories[0]["norm"])
    assert 0 < in_vain[1] < 0.9 * in_vain[0]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_vectors", [0, 2, 16])
@pytest.mark.parametrize("selection", ["error", "confusion", "random"])
def test_updates_are_those_of_the_paper(monkeypatch, storage, n_vectors, selection):
    monkeypatch.setattr(room, "KEPT_BYTES", ONLY_PRODUCTS)
    monkeypatch.setattr(products, "VECTOR_BYTES", n_vectors * 8 * 6)
    problem = make_problem(4, n=100, d=6)
    settings = {"max_iter": 60, "tol": 1e-9}
    asked = []
    monkeypatch.setattr(
        KeptProducts, "unmixed",
        lambda self, *args, real=KeptProducts.unmixed: asked.append(args[:2]) or real(self, *args),
    )  # fmt: skip
    clf = UMAClassifier(
        problem.C, selection=selection, fit_intercept=False, random_state=0, **settings
    ).fit(storage(problem.X), problem.y)
    assert len(asked) >= clf.n_iter_
    monkeypatch.setattr(room, "KEPT_BYTES", 2**30)
    kept = UMAClassifier(
        problem.C, selection=selection, fit_intercept=False, random_state=0, **settings
    ).fit(storage(problem.X), problem.y)
    assert clf.n_iter_ == kept.n_iter_
    np.testing.assert_allclose(clf.coef_, kept.coef_, atol=1e-9)
    if selection != "random":
        weights, _ = naive.uma(problem.X, problem.y, problem.C, selection=selection, **settings)
        np.testing.assert_allclose(clf.coef_, weights, atol=1e-9)


def test_learnt_pairs_are_not_summed_again_and_again(monkeypatch):
    monkeypatch.setattr(room, "KEPT_BYTES", ONLY_PRODUCTS)
    problem = make_problem(4, n=200, d=6)

    def times_asked(n_vectors):
        asked = []
        monkeypatch.setattr(products, "VECTOR_BYTES", n_vectors * 8 * 6)
        with pytest.MonkeyPatch.context() as patch:
            real = SumsOnDemand.unmixed
            patch.setattr(
                SumsOnDemand, "unmixed", lambda self, *args: asked.append(1) or real(self, *args)
            )
            clf = UMAClassifier(problem.C, fit_intercept=False, max_iter=150, tol=1e-9)
            clf.fit(problem.X, problem.y)
        return len(asked) / clf.n_iter_

    assert times_asked(16) < 1.3 < times_asked(0)


def make_text(seed, n_classes=12, n_rows=150, n_columns=300):
    """Rows of few of many words, so that few rows that move are followed one by one."""
    rng = np.random.RandomState(seed)
    true = rng.randint(0, n_classes, n_rows)
    true[:n_classes] = np.arange(n_classes)
    words = rng.dirichlet(np.full(n_columns, 0.05), n_classes)
    counts = np.vstack([rng.multinomial(12, words[t]) for t in true]).astype(float)
    C = noise.random_confusion(n_classes, strength=0.3, random_state=seed)
    X = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return X, noise.corrupt_labels(true, C, random_state=seed), C


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("alpha", [0.0, 0.03])
@pytest.mark.parametrize("few_movers", [0, 16])
def test_many_columns_and_classes_beside_sums_that_are_kept(
    monkeypatch, storage, alpha, few_movers
):
    monkeypatch.setattr("unconfused.engines.rows.FEW_MOVERS", few_movers)
    moved = []
    for rows in (DenseRows, SparseRows):
        monkeypatch.setattr(
            rows, "move_gram",
            lambda self, *args, real=rows.move_gram: moved.append(1) or real(self, *args),
        )  # fmt: skip
    for seed in range(6):
        X, y, C = make_text(seed)
        clf = UMAClassifier(C, alpha=alpha, max_iter=60, tol=1e-9)
        monkeypatch.setattr(room, "KEPT_BYTES", 2**30)
        expected = clf.fit(storage(X), y).coef_.copy()
        monkeypatch.setattr(room, "KEPT_BYTES", 8 * len(C) ** 3)
        np.testing.assert_allclose(clf.fit(storage(X), y).coef_, expected, atol=1e-9)
    assert moved


def test_most_regions_that_changed_are_left_alone(monkeypatch):
    monkeypatch.setattr(room, "KEPT_BYTES", 8 * 12**3)
    X, y, C = make_text(3, n_rows=2000)
    changed, caught_up = [], []
    shift, catch_up = KeptProducts.shift, KeptProducts._catch_up

    def shifting(self, transfer, coefficients):
        changed.append(len(transfer.regions(12)))
        shift(self, transfer, coefficients)

    def catching_up(self, regions):
        caught_up.append(np.count_nonzero(self.arrears.n_moved[regions]))
        catch_up(self, regions)

    monkeypatch.setattr(KeptProducts, "shift", shifting)
    monkeypatch.setattr(KeptProducts, "_catch_up", catching_up)
    UMAClassifier(C, max_iter=150, tol=1e-9).fit(sparse.csr_array(X), y)
    assert sum(caught_up) < 0.7 * sum(changed)


def test_rows_of_less_than_an_entry_each():
    rng = np.random.RandomState(0)
    X = sparse.random_array((90, 5), density=0.1, rng=rng, format="csr")
    y = np.arange(90) % 4
    partition = partition_of(LocalEngine(X, y, 4), np.eye(4) * 0.6 + 0.1, 2)
    W = rng.randn(4, 6)
    partition.restart(W)
    expected = LocalEngine(X.toarray(), y, 4).partition(Unmixing(np.eye(4) * 0.6 + 0.1), 0.0)
    expected.restart(W)
    np.testing.assert_allclose(partition.pair_norms(), expected.pair_norms(), atol=1e-12)


def test_regions_that_change_places_and_nothing_else():
    X, y = np.random.RandomState(0).rand(5000, 100) + 1, np.arange(5000) % 3
    engine = LocalEngine(X, y, 3, intercept=False, n_threads=2)
    partition = engine.partition(Unmixing(np.eye(3) * 0.7 + 0.1), 0.0)
    weights = np.zeros((3, 100))
    weights[0] = 1
    partition.restart(weights)
    before = partition.tables().counts
    partition.move(np.array([-2.0, 0.0, 2.0]), np.ones(100))
    np.testing.assert_array_equal(partition.tables().counts, before[[2, 1, 0]])
