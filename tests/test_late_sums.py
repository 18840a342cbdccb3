"""Sums that follow the rows of a region once they are asked for."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_moves, make_problem
from scipy import sparse
from unconfused.engines.late_sums import LateSums
from unconfused.engines.snapshots import Snapshots

from unconfused import UMAClassifier
from unconfused._matrix import Unmixing
from unconfused.engines import BoundedPartition, room, snapshots
from unconfused.engines.local import LocalEngine

storages = st.sampled_from([np.asarray, sparse.csr_array])


def two_partitions(engine, C, alpha, n_sets=None):
    """One whose sums follow late, and one whose sums always do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "WORTH_NOTING", 0)
        if n_sets is not None:
            patch.setattr(room, "sets_that_fit", lambda *_: n_sets)
        late = engine.partition(Unmixing(C), alpha)
    eager = engine.partition(Unmixing(C), alpha)
    assert isinstance(late._sums, LateSums) and not isinstance(eager._sums, LateSums)
    return late, eager


@given(
    seed=st.integers(0, 2**31 - 1),
    storage=storages,
    alpha=st.sampled_from([0.0, 0.05]),
    together=st.sampled_from([2**15, 64]),
    heavy=st.booleans(),
    n_sets=st.integers(1, 4),
)
@settings(max_examples=60)
def test_bounds_hold_and_vectors_follow(seed, storage, alpha, together, heavy, n_sets):
    problem, rng = make_problem(seed, n=90), np.random.RandomState(seed)
    weights = np.where(rng.rand(90) < 0.2, 0.0, rng.rand(90)) if heavy else None
    problem.X[rng.rand(90) < 0.1] = 0.0
    engine = LocalEngine(storage(problem.X), problem.y, 4, weights, n_threads=2)
    late, eager = two_partitions(engine, problem.C, alpha, n_sets)
    assert isinstance(late, BoundedPartition)
    W = rng.randn(4, 5)
    with pytest.MonkeyPatch.context() as patch:
        late._together = together
        patch.setattr(snapshots, "LISTED_TOGETHER", together)
        late.restart(W)
        for steps, direction in make_moves(rng, 25, 4, 5):
            late.move(steps, direction)
            W = W + np.outer(steps, direction)
            eager.restart(W)
            norms = eager.pair_norms()
            lower, upper = late.norm_bounds()
            assert np.all((lower <= norms + 1e-12) & (norms <= upper + 1e-12))
            vector, pair, other = rng.randint(0, 4, (3, 2)).tolist()
            if rng.rand() < 0.5:  # what a vector was asked for says nothing of the others' norms
                found, expected = late.update_vector(*vector), eager.update_vector(*vector)
                np.testing.assert_allclose(found, expected, atol=1e-12)
                lower, upper = late.norm_bounds()
                assert np.all((lower <= norms + 1e-12) & (norms <= upper + 1e-12))
            if rng.rand() < 0.5:
                late.narrow(np.unique([pair[0], other[0], vector[0]]))
                lower, upper = late.norm_bounds()
                assert np.all((lower <= norms + 1e-12) & (norms <= upper + 1e-12))
            pairs = [tuple(pair), tuple(other), tuple(vector)]
            vectors = [late.update_vector(*one) * late.total for one in pairs]
            unmixed = late._sums.unmixed_pairs(pairs, late._coefficients)
            np.testing.assert_allclose(unmixed, vectors, atol=1e-11)
            late.measure([tuple(pair), tuple(other)])
            lower, upper = late.norm_bounds()
            for p, q in (pair, other):
                assert lower[p, q] == upper[p, q] == pytest.approx(norms[p, q], abs=1e-12)
        np.testing.assert_allclose(late.region_sums(2), eager.region_sums(2), atol=1e-11)
        np.testing.assert_allclose(late.pair_norms(), eager.pair_norms(), atol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("selection", ["error", "confusion", "random"])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_fits_are_the_same(monkeypatch, storage, selection, alpha):
    for seed in range(4):
        problem = make_problem(seed, n=150)
        options = {"selection": selection, "alpha": alpha, "max_iter": 80, "tol": 1e-9}
        clf = UMAClassifier(problem.C, fit_intercept=False, random_state=0, **options)
        monkeypatch.setattr(room, "WORTH_NOTING", 2**60)
        expected = clf.fit(storage(problem.X), problem.y).coef_.copy()
        monkeypatch.setattr(room, "WORTH_NOTING", 0)
        clf.fit(storage(problem.X), problem.y)
        np.testing.assert_allclose(clf.coef_, expected, atol=1e-9)
        if selection != "random":
            weights, _ = naive.uma(problem.X, problem.y, problem.C, **options)
            np.testing.assert_allclose(clf.coef_, weights, atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("others", [0.0, 1e-9])
def test_cells_left_with_rows_that_hardly_count(monkeypatch, others, intercept):
    # What is left of such a cell's squares is less than the rounding of those that left it.
    monkeypatch.setattr(room, "WORTH_NOTING", 0)
    for seed in range(4):
        problem = make_problem(seed, n=300, d=12)
        problem.X[::5] *= others
        clf = UMAClassifier(problem.C, fit_intercept=intercept, max_iter=100, tol=1e-9)
        late = clf.fit(problem.X, problem.y).coef_.copy()
        with monkeypatch.context() as patch:
            patch.setattr(room, "WORTH_NOTING", 2**60)
            np.testing.assert_allclose(late, clf.fit(problem.X, problem.y).coef_, atol=1e-9)


def test_a_region_that_was_emptied_has_norms_of_nothing():
    problem, rng = make_problem(0, n=90), np.random.RandomState(0)
    engine = LocalEngine(problem.X * 1e3 + 1 / 3, problem.y, 4, rng.rand(90))
    late, _ = two_partitions(engine, problem.C, 0.0)
    W = rng.randn(4, 5)
    late.restart(W)
    late.pair_norms()
    late.move(np.array([1e6, -1e6, 0.0, 0.0]), np.eye(5)[4])
    lower, upper = late.norm_bounds()
    empty = late.tables().counts.sum(axis=1) == 0
    assert empty.any()
    assert not lower[empty].any() and not upper[empty].any()


def test_few_regions_follow(monkeypatch):
    monkeypatch.setattr(room, "WORTH_NOTING", 0)
    rng = np.random.RandomState(0)
    true = rng.randint(0, 12, 3000)
    X = rng.randn(12, 20)[true] + 2 * rng.randn(3000, 20)
    X /= np.linalg.norm(X, axis=1, keepdims=True)  # beside the intercept, rows are much alike
    changed, added = [], []
    note, add = LateSums.move, Snapshots._add

    def noting(self, rows, leaves, joins, regions):
        changed.append(np.count_nonzero(leaves >= 0) + np.count_nonzero(joins >= 0))
        note(self, rows, leaves, joins, regions)

    def adding(self, sums, rows, codes, weights):
        added.append(len(rows))
        add(self, sums, rows, codes, weights)

    monkeypatch.setattr(LateSums, "move", noting)
    monkeypatch.setattr(Snapshots, "_add", adding)
    UMAClassifier(np.eye(12) * 0.7 + 0.3 / 12, max_iter=150, tol=1e-9).fit(X, true)
    assert 0 < sum(added) < 0.7 * sum(changed)


def test_a_narrowing_minds_what_is_out_of_date(monkeypatch):
    problem, rng = make_problem(0, n=300), np.random.RandomState(0)
    engine = LocalEngine(problem.X, problem.y, 4)
    late, eager = two_partitions(engine, problem.C, 0.0)
    compare = LateSums.compare

    def interrupted(self, regions):
        compare(self, regions)
        raise KeyboardInterrupt

    for stopped in (False, True):
        for W in rng.randn(2, 4, 5):
            late.restart(W)
            late.pair_norms()
        late.restart(W[[1, 2, 3, 0]])
        eager.restart(W[[1, 2, 3, 0]])
        if stopped:
            late.tables()
            with monkeypatch.context() as patch:
                patch.setattr(LateSums, "compare", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    late.narrow(np.arange(4))
        else:
            late.narrow(np.arange(4))
        np.testing.assert_array_equal(late.tables().counts, eager.tables().counts)
        (lower, upper), norms = late.norm_bounds(), eager.pair_norms()
        assert np.all((lower <= norms + 1e-12) & (norms <= upper + 1e-12))
        np.testing.assert_allclose(late.pair_norms(), norms, atol=1e-12)


def test_sums_are_right_after_an_interruption(monkeypatch):
    problem, rng = make_problem(0, n=90), np.random.RandomState(0)
    engine = LocalEngine(problem.X, problem.y, 4)
    late, eager = two_partitions(engine, problem.C, 0.0)
    W = rng.randn(4, 5)
    late.restart(W)
    late.pair_norms()
    moves = list(make_moves(rng, 3, 4, 5))
    for steps, direction in moves:
        late.move(steps, direction)
        W = W + np.outer(steps, direction)
    add = Snapshots._add

    def interrupted(self, *arguments):
        add(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Snapshots, "_add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            late.pair_norms()
    eager.restart(W)
    np.testing.assert_allclose(late.pair_norms(), eager.pair_norms(), atol=1e-12)
