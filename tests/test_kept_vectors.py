"""Update vectors that are kept beside the products of sums, and pairs struck out by them."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_moves, make_problem
from scipy import sparse

from unconfused import UMAClassifier
from unconfused._matrix import Unmixing
from unconfused.engines import sums
from unconfused.engines.local import LocalEngine
from unconfused.engines.sums import KeptProducts

ONLY_PRODUCTS = 600
"""Room for the products of four classes' sums, but not for sums of five features or more."""

storages = st.sampled_from([np.asarray, sparse.csr_array])


def partition_of(engine, C, n_vectors, alpha=0.0):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "KEPT_BYTES", ONLY_PRODUCTS)
        patch.setattr(sums, "VECTOR_BYTES", n_vectors * 8 * engine.n_features)
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


@given(st.integers(0, 2**31 - 1), storages)
def test_pairs_that_are_learnt_have_no_error_set(seed, storage):
    problem = make_problem(seed, n=90)
    rng = np.random.RandomState(seed)
    engine = LocalEngine(storage(problem.X), problem.y, 4, rng.rand(90))
    partition = partition_of(engine, problem.C, 16)
    W = rng.randn(4, 5)
    partition.restart(W)
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
        partition.move(steps, direction)
        W = W + np.outer(steps, direction)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_vectors", [0, 2, 16])
@pytest.mark.parametrize("selection", ["error", "confusion", "random"])
def test_updates_are_those_of_the_paper(monkeypatch, storage, n_vectors, selection):
    monkeypatch.setattr(sums, "KEPT_BYTES", ONLY_PRODUCTS)
    monkeypatch.setattr(sums, "VECTOR_BYTES", n_vectors * 8 * 6)
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
    monkeypatch.setattr(sums, "KEPT_BYTES", 2**30)
    kept = UMAClassifier(
        problem.C, selection=selection, fit_intercept=False, random_state=0, **settings
    ).fit(storage(problem.X), problem.y)
    assert clf.n_iter_ == kept.n_iter_
    np.testing.assert_allclose(clf.coef_, kept.coef_, atol=1e-9)
    if selection != "random":
        weights, _ = naive.uma(problem.X, problem.y, problem.C, selection=selection, **settings)
        np.testing.assert_allclose(clf.coef_, weights, atol=1e-9)


def test_learnt_pairs_are_not_summed_again_and_again(monkeypatch):
    monkeypatch.setattr(sums, "KEPT_BYTES", ONLY_PRODUCTS)
    problem = make_problem(4, n=200, d=6)

    def times_asked(n_vectors):
        asked = []
        monkeypatch.setattr(sums, "VECTOR_BYTES", n_vectors * 8 * 6)
        with pytest.MonkeyPatch.context() as patch:
            real = KeptProducts.unmixed
            patch.setattr(
                KeptProducts, "unmixed", lambda self, *args: asked.append(1) or real(self, *args)
            )
            clf = UMAClassifier(problem.C, fit_intercept=False, max_iter=150, tol=1e-9)
            clf.fit(problem.X, problem.y)
        return len(asked) / clf.n_iter_

    assert times_asked(16) < 1.3 < times_asked(0)
