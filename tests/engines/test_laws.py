"""Laws that hold whatever the data: stated once, tried on many problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem, plain_uma
from scipy import sparse

from unconfused import UltraconservativeClassifier
from unconfused._matrix import Unmixing
from unconfused.engines import ArrayEngine, ArraySpace, LocalEngine
from unconfused.engines.base import exact_norms
from unconfused.steps import STEPS

seeds = st.integers(0, 2**16)
step_names = st.sampled_from(sorted(STEPS))
storages = st.sampled_from([np.asarray, sparse.csr_matrix])
SETTINGS = {"tol": 1e-4, "max_iter": 20}


def weights_of(clf):
    return clf._state.weights


def array_engine(X, y, n_codes):
    return ArrayEngine(X, y, n_codes, space=ArraySpace(np, "cpu", np.asarray))


@given(seeds, step_names, storages)
def test_the_order_of_rows_does_not_matter(seed, step, storage):
    problem = make_problem(seed)
    order = np.random.RandomState(seed).permutation(len(problem.y))
    first = plain_uma(problem.C, step=step, **SETTINGS).fit(storage(problem.X), problem.y)
    again = plain_uma(problem.C, step=step, **SETTINGS)
    again.fit(storage(problem.X[order]), problem.y[order])
    np.testing.assert_allclose(weights_of(again), weights_of(first), atol=1e-9)


@given(seeds, storages)
def test_permuted_classes_give_permuted_weights(seed, storage):
    # With the uniform step the first pair's tie (any p, at W = 0) makes no difference.
    problem = make_problem(seed)
    permutation = np.random.RandomState(seed).permutation(4)  # class c is renamed permutation[c]
    renamed = np.empty_like(problem.C)
    renamed[np.ix_(permutation, permutation)] = problem.C
    X = storage(problem.X)
    first = plain_uma(problem.C, step="uniform", **SETTINGS).fit(X, problem.y)
    again = plain_uma(renamed, step="uniform", **SETTINGS).fit(X, permutation[problem.y])
    np.testing.assert_allclose(weights_of(again)[permutation], weights_of(first), atol=1e-9)


@given(seeds, st.integers(1, 59), storages, st.sampled_from([0.0, 0.05]), st.booleans())
def test_row_blocks_add_up(seed, cut, storage, alpha, start_at_zero):
    problem = make_problem(seed)
    rng = np.random.RandomState(seed)
    weight = rng.randint(1, 5, len(problem.y)).astype(float)
    unmixing = Unmixing(problem.C)
    start = np.zeros((4, 5)) if start_at_zero else rng.randn(4, 5)
    steps, direction = np.array([1.0, -0.5, 0.0, -0.5]), rng.randn(5)

    def cells(rows):
        engine = LocalEngine(storage(problem.X[rows]), problem.y[rows], 4, weight[rows])
        partition = engine.partition(unmixing, alpha)
        partition.restart(start)
        partition.move(steps, direction)
        vector = partition.update_vector(1, 2) * weight[rows].sum()
        return partition.tables(), vector, engine.code_sums(), engine.code_counts

    whole, (head, tail) = cells(slice(None)), (cells(slice(0, cut)), cells(slice(cut, None)))
    joined = head[0] + tail[0]
    np.testing.assert_allclose(joined.counts, whole[0].counts, atol=1e-9)
    np.testing.assert_allclose(joined.squares, whole[0].squares, atol=1e-9)
    for part in (1, 2, 3):
        np.testing.assert_allclose(head[part] + tail[part], whole[part], atol=1e-9)


@given(seeds, st.sampled_from([LocalEngine, array_engine]), st.sampled_from([0.0, 0.05]))
def test_other_coefficients_unmix_the_same_cells(seed, make_engine, alpha):
    problem, rng = make_problem(seed), np.random.RandomState(seed)
    engine, others = make_engine(problem.X, problem.y, 4), Unmixing(problem.C)
    partition, fresh = (engine.partition(one, alpha) for one in (Unmixing(np.eye(4)), others))
    for weights in (np.zeros((4, 5)), rng.randn(4, 5)):
        partition.set_unmixing(Unmixing(np.eye(4)))
        for one in (partition, fresh):
            one.restart(weights)
            exact_norms(one)
        partition.set_unmixing(others)
        np.testing.assert_allclose(exact_norms(partition), exact_norms(fresh))
        np.testing.assert_array_equal(partition.tables().counts, fresh.tables().counts)
        for p in range(4):
            vectors = [fresh.update_vector(p, q) for q in range(4)]
            np.testing.assert_allclose(partition.update_vectors(p), vectors, atol=1e-12)


@given(seeds, step_names, st.sampled_from(["zero", "means"]), st.booleans())
def test_weights_sum_to_zero(seed, step, init, average):
    problem = make_problem(seed)
    clf = plain_uma(problem.C, step=step, init=init, average=average, **SETTINGS)
    clf.fit(problem.X, problem.y)
    np.testing.assert_allclose(weights_of(clf).sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(clf.coef_.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(clf.intercept_.sum(), 0, atol=1e-9)


@given(seeds, step_names)
def test_online_weights_sum_to_zero(seed, step):
    problem = make_problem(seed)
    clf = UltraconservativeClassifier(step=step, max_iter=3, random_state=seed)
    clf.fit(problem.X, problem.true)
    np.testing.assert_allclose(clf.coef_.sum(axis=0), 0, atol=1e-9)


@given(seeds, step_names)
def test_the_identity_is_the_noise_free_algorithm(seed, step):
    # Each update of the noise-free batch algorithm adds the mean of the rows of one class that
    # are predicted as another: written out here with no confusion matrix anywhere.
    problem = make_problem(seed)
    X, y, Q = problem.X, problem.true, 4
    W = np.zeros((Q, X.shape[1]))
    for _ in range(10):
        predicted = (X @ W.T).argmax(axis=1)
        inside = [(predicted == p) | (not W.any()) for p in range(Q)]
        z = {(p, q): X[inside[p] & (y == q)].sum(axis=0) / len(X)
             for p in range(Q) for q in range(Q) if p != q}  # fmt: skip
        lengths = {pair: np.linalg.norm(v) for pair, v in z.items()}
        scores = {pair: W @ v for pair, v in z.items()}
        pairs = [(p, q) for p, q in z if lengths[p, q] > 1e-4 and
                 np.delete(scores[p, q], q).max() >= scores[p, q][q] - 1e-12]  # fmt: skip
        if not pairs:
            break
        longest = max(lengths[pair] for pair in pairs)
        p, q = min(pair for pair in pairs if lengths[pair] >= longest * (1 - 1e-12))
        v = z[p, q]
        W = W + np.outer(STEPS[step](W @ v, q, p, float(v @ v)), v)
    for confusion in (np.eye(Q), None):
        clf = plain_uma(confusion, step=step, fit_intercept=False, tol=1e-4, max_iter=10)
        np.testing.assert_allclose(weights_of(clf.fit(X, y)), W, atol=1e-8)


@given(seeds)
def test_the_same_seed_gives_the_same_model(seed):
    problem = make_problem(seed)
    models = [
        plain_uma(problem.C, selection="random", random_state=seed, **SETTINGS)
        .fit(problem.X, problem.y)
        .coef_
        for _ in range(2)
    ]
    assert np.array_equal(*models)
    online = [
        UltraconservativeClassifier(random_state=seed, max_iter=5).fit(problem.X, problem.y).coef_
        for _ in range(2)
    ]
    assert np.array_equal(*online)


@given(seeds, storages, st.booleans(), st.sampled_from(["auto", 1e-4]))
def test_a_weight_is_a_number_of_rows(seed, storage, some_trusted, tol):
    problem = make_problem(seed)
    weight = np.random.RandomState(seed).randint(0, 4, len(problem.y))
    weight[:4] = 1
    truth = np.where(np.arange(len(problem.y)) % 3 == 0, problem.true, np.nan)
    truth = truth if some_trusted else np.full(len(problem.y), np.nan)
    settings = {"tol": tol, "max_iter": 20, "selection": "confusion"}
    repeated = plain_uma(problem.C, **settings).fit(
        storage(np.repeat(problem.X, weight, axis=0)),
        np.repeat(problem.y, weight),
        y_true=np.repeat(truth, weight),
    )
    weighted = plain_uma(problem.C, **settings).fit(
        storage(problem.X), problem.y, y_true=truth, sample_weight=weight
    )
    np.testing.assert_allclose(weights_of(weighted), weights_of(repeated), atol=1e-9)
    np.testing.assert_allclose(weighted.class_prior_, repeated.class_prior_, atol=1e-9)
    for name in ("norm", "noise", "significance"):
        np.testing.assert_allclose(
            weighted.history_[name], repeated.history_[name], rtol=1e-6, atol=1e-9
        )


@given(seeds, step_names)
def test_rows_all_trusted_are_rows_without_noise(seed, step):
    problem = make_problem(seed)
    clean = plain_uma(step=step, **SETTINGS).fit(problem.X, problem.true)
    trusted = plain_uma(problem.C, step=step, **SETTINGS)
    trusted.fit(problem.X, problem.y, y_true=problem.true)
    np.testing.assert_allclose(weights_of(trusted), weights_of(clean), atol=1e-9)


@given(seeds, st.integers(2, 6))
def test_the_update_vector_is_unbiased(seed, n_classes):
    # Averaged over all labels C could give them, the rows of a cell unmix to its true content.
    rng = np.random.RandomState(seed)
    C = np.eye(n_classes) + rng.rand(n_classes, n_classes)
    C /= C.sum(axis=1, keepdims=True)
    X, true = rng.randn(7, 3), rng.randint(n_classes, size=7)
    expected = np.zeros(4)
    for label in range(n_classes):
        # Linear in the rows, so each row may be given each label with its probability as weight.
        engine = LocalEngine(X, np.full(7, label), n_classes, C[true, label])
        partition = engine.partition(Unmixing(C), 0.0)
        expected += partition.update_vector(0, 1) * C[true, label].sum() / 7
    rows = np.hstack([X, np.ones((7, 1))])[true == 1]
    np.testing.assert_allclose(expected, rows.sum(axis=0) / 7, atol=1e-9)


@pytest.mark.parametrize("step", sorted(STEPS))
def test_interrupting_leaves_a_usable_model(step, monkeypatch):
    problem = make_problem(1)
    rule = STEPS[step]
    calls = []

    def interrupted(scores, target, predicted, squared_norm):
        calls.append(target)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return rule(scores, target, predicted, squared_norm)

    clf = plain_uma(problem.C, step=interrupted, warm_start=True, **SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(problem.X, problem.y)
    assert clf.n_iter_ == 5 and clf.stopped_ == "interrupted"
    assert clf.predict(problem.X).shape == problem.y.shape
    clf.set_params(max_iter=15).fit(problem.X, problem.y)
    straight = plain_uma(problem.C, step=step, **SETTINGS).fit(problem.X, problem.y)
    np.testing.assert_allclose(weights_of(clf), weights_of(straight), atol=1e-9)
