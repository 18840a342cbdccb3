"""The cut of distant rows: bounds that hold, few vectors, and nothing lost but time."""

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from problems import make_problem, plain_uma

from unconfused import UMAClassifier
from unconfused._matrix import Unmixing
from unconfused.engines import LocalEngine
from unconfused.engines.base import exact_norms
from unconfused.engines.dask.engine import DaskEngine
from unconfused.engines.dask.parts import across, build_part, carry_out
from unconfused.engines.dask.pool import PartPool

pytest.importorskip("dask", reason="needs the extra `dask`")


class PoolInMemory:
    """Parts of rows in this process; counts what a network would have to carry."""

    kept = True

    def __init__(self, problem, n_parts, n_classes):
        rows = np.array_split(np.arange(len(problem.X)), n_parts)
        self.parts = [
            build_part(
                [(problem.X[some], problem.y[some], np.ones(len(some)))],
                n_columns=problem.X.shape[1],
                make_engine=partial(LocalEngine, n_codes=n_classes),
            )
            for some in rows
        ]
        self.vectors = self.homes_sought = 0
        self.before_asking = lambda: None

    def __len__(self):
        return len(self.parts)

    def ask(self, function, arguments):
        self.before_asking()
        # Through pickle, as over a network: no part may change what another is told.
        arguments = [pickle.loads(pickle.dumps(one)) for one in arguments]
        if function is carry_out:
            self.vectors += len(arguments[0].pairs)
        return [function(part, one) for part, one in zip(self.parts, arguments, strict=True)]

    def find_homes(self):
        self.homes_sought += 1


def engines(seed, n_classes, n_parts=3, n=400):
    problem = make_problem(seed, n=n, d=6, Q=n_classes)
    pool = PoolInMemory(problem, n_parts, n_classes)
    local = LocalEngine(problem.X, problem.y, n_classes)
    return problem, pool, DaskEngine(pool, 7, True), local


def walk(ours, local, n_classes, n_steps, seed=0):
    """Move both cuts along vectors of random pairs; yield after every step."""
    rng = np.random.RandomState(seed)
    for _ in range(n_steps):
        p, q = rng.choice(n_classes, 2, replace=False)
        z = local.update_vector(p, q)
        np.testing.assert_allclose(ours.update_vector(p, q), z, atol=1e-13)
        steps = np.zeros(n_classes)
        steps[p], steps[q] = -1, 1
        ours.move(steps, z)
        local.move(steps, z)
        yield


@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_tables_and_norms_are_those_of_all_rows(alpha):
    problem, _, engine, local_engine = engines(0, 4)
    ours = engine.partition(Unmixing(problem.C), alpha)
    local = local_engine.partition(Unmixing(problem.C), alpha)
    np.testing.assert_allclose(exact_norms(ours), exact_norms(local), atol=1e-13)
    for _ in walk(ours, local, 4, 12):
        np.testing.assert_array_equal(ours.tables().counts, local.tables().counts)
        np.testing.assert_allclose(ours.tables().squares, local.tables().squares)
        np.testing.assert_allclose(ours.update_vectors(2), local.update_vectors(2), atol=1e-13)
        np.testing.assert_allclose(exact_norms(ours), exact_norms(local), atol=1e-13)


@pytest.mark.parametrize("n_parts", [1, 3, 20])
def test_bounds_hold_the_norms(n_parts):
    problem, _, engine, local_engine = engines(1, 5, n_parts)
    ours = engine.partition(Unmixing(problem.C), 0.0)
    local = local_engine.partition(Unmixing(problem.C), 0.0)
    for _ in walk(ours, local, 5, 40):
        lower, upper = ours.norm_bounds()
        norms = exact_norms(local)
        assert np.all(lower <= norms + 1e-15)
        assert np.all(norms <= upper + 1e-15)
        ours.measure([(0, 1), (2, 3)])
        lower, upper = ours.norm_bounds()
        for pair in [(0, 1), (2, 3)]:
            assert lower[pair] == upper[pair] == pytest.approx(norms[pair], abs=1e-14)


def fit_through(pool, problem, monkeypatch, **settings):
    """Fit with an engine over this pool."""
    engine = DaskEngine(pool, problem.X.shape[1] + 1, True)
    monkeypatch.setattr(UMAClassifier, "_engine", lambda self, *data: engine)
    model = plain_uma(problem.C, **settings).fit(problem.X, problem.y)
    monkeypatch.undo()
    return model


@pytest.mark.parametrize("n_parts", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_few_vectors_are_asked_for(monkeypatch, n_parts):
    problem, pool, *_ = engines(2, 8, n_parts, n=3000)
    settings = {"max_iter": 150, "tol": 1e-9}
    local = plain_uma(problem.C, **settings).fit(problem.X, problem.y)
    ours = fit_through(pool, problem, monkeypatch, **settings)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)
    # All pairs of every update would be 64 each.
    assert pool.vectors / ours.n_iter_ < 20


def lose_a_partition(pool, rng):
    rng.choice(pool.parts).forget()


def move_a_part(pool, rng):
    """Let a copy answer, which remembers what it was asked the last time it was here."""
    place = rng.randint(len(pool.parts))
    copies = pool.__dict__.setdefault("copies", {})
    other = copies.get(place) or pickle.loads(pickle.dumps(pool.parts[place]))
    copies[place], pool.parts[place] = pool.parts[place], other


def read_again(pool, rng):
    """Make every part anew for every pass, as for rows larger than memory."""
    pool.kept = False
    pool.parts = pickle.loads(pickle.dumps(pool.parts))


@pytest.mark.parametrize("mishap", [lose_a_partition, move_a_part, read_again])
@pytest.mark.parametrize("selection", ["error", "random"])
def test_what_workers_remember_may_be_lost(mishap, selection, monkeypatch):
    settings = {"selection": selection, "max_iter": 60, "tol": 1e-9, "random_state": 3}
    problem, pool, *_ = engines(3, 4)
    local = plain_uma(problem.C, **settings).fit(problem.X, problem.y)
    rng = np.random.RandomState(0)

    def before_asking():
        if mishap is read_again or rng.rand() < 0.4:
            mishap(pool, rng)

    pool.before_asking = before_asking
    ours = fit_through(pool, problem, monkeypatch, **settings)
    assert ours.history_["predicted"].tolist() == local.history_["predicted"].tolist()
    assert ours.history_["true"].tolist() == local.history_["true"].tolist()
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)
    if mishap is not read_again:
        assert pool.homes_sought > 5


def test_references_may_outgrow_their_place(monkeypatch):
    from unconfused.engines.dask import partition

    problem, pool, *_ = engines(4, 4)
    local = plain_uma(problem.C, max_iter=40, tol=0.0).fit(problem.X, problem.y)
    monkeypatch.setattr(partition, "REFERENCE_BYTES", 3 * 7 * 8)
    engine = DaskEngine(pool, 7, True)
    monkeypatch.setattr(UMAClassifier, "_engine", lambda self, *data: engine)
    ours = plain_uma(problem.C, max_iter=40, tol=0.0).fit(problem.X, problem.y)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)


def test_references_asked_for_again_take_no_more_place(monkeypatch):
    from unconfused.engines.dask import partition

    monkeypatch.setattr(partition, "REFERENCE_BYTES", 16 * 7 * 8)  # of all pairs
    problem, _, engine, local_engine = engines(4, 4)
    ours = engine.partition(Unmixing(problem.C), 0.0)
    local = local_engine.partition(Unmixing(problem.C), 0.0)
    forgotten, forget, counts = [], ours._forget, []
    monkeypatch.setattr(ours, "_forget", lambda: (forgotten.append(True), forget()))
    for _ in walk(ours, local, 4, 20):
        exact_norms(ours)
        counts.append(len(forgotten))
    assert counts[-1] == counts[0]


def test_an_interrupted_fit_goes_on(monkeypatch):
    problem, pool, *_ = engines(5, 4)
    local = plain_uma(problem.C, max_iter=30, tol=0.0).fit(problem.X, problem.y)
    engine = DaskEngine(pool, 7, True)
    monkeypatch.setattr(UMAClassifier, "_engine", lambda self, *data: engine)
    ours = plain_uma(problem.C, max_iter=30, tol=0.0, warm_start=True)
    calls = iter(range(10**6))

    def interrupt():
        if next(calls) == 25:
            raise KeyboardInterrupt

    pool.before_asking = interrupt
    with pytest.raises(KeyboardInterrupt):
        ours.fit(problem.X, problem.y)
    done = ours.n_iter_
    assert 0 < done < 30
    ours.set_params(max_iter=30 - done).fit(problem.X, problem.y)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)


def test_a_question_half_answered_is_asked_again_in_full():
    problem, pool, engine, local_engine = engines(6, 4)
    ours = engine.partition(Unmixing(problem.C), 0.0)
    local = local_engine.partition(Unmixing(problem.C), 0.0)
    whole = pool.ask

    def half(function, arguments):
        function(pool.parts[0], arguments[0])
        raise KeyboardInterrupt

    for place, _ in enumerate(walk(ours, local, 4, 9)):
        if place % 3 == 2:
            pool.ask = half
            with pytest.raises(KeyboardInterrupt):
                ours.tables() if place == 5 else ours.norm_bounds()
            pool.ask = whole
        elif place % 3 == 1:
            ours.norm_bounds()
            pool.ask = half
            with pytest.raises(KeyboardInterrupt):
                ours.measure([(0, 1), (1, 2)])
            pool.ask = whole
            ours.measure([(2, 3)])
        lower, upper = ours.norm_bounds()
        assert np.all((lower <= exact_norms(local) + 1e-15) & (exact_norms(local) <= upper + 1e-15))
        np.testing.assert_array_equal(ours.tables().counts, local.tables().counts)


class NewWorkerOnly:
    """A client whose only worker has replaced another, and already holds its part.

    The other one died before it answered, or before its answer was fetched.
    """

    def __init__(self, answered):
        self.sent_to, self.old_is_done = [], answered

    def submit(self, *_, workers, **__):
        self.sent_to += workers
        return SimpleNamespace(done=lambda: workers == ["new"] or self.old_is_done)

    def nthreads(self):
        return {"new": 1}

    def who_has(self, parts):
        return {part.key: ["new"] for part in parts}

    def cancel(self, futures):
        pass

    def gather(self, futures, asynchronous):
        return ["answer" for _ in futures]

    def sync(self, function, callback_timeout):
        if self.sent_to[-1] == "old":
            self.old_is_done = False
            raise TimeoutError
        return function()


@pytest.mark.parametrize("answered", [False, True])
def test_a_call_to_a_worker_that_was_replaced_is_sent_again(answered, monkeypatch):
    def wait(futures, timeout):
        if not all(one.done() for one in futures):
            raise TimeoutError

    distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")
    monkeypatch.setattr(distributed, "wait", wait)
    pool = object.__new__(PartPool)
    pool._client, pool._homes, pool._left_out = NewWorkerOnly(answered), ["old"], [None]
    pool._parts = [SimpleNamespace(key="part")]
    assert pool._ask_workers(len, [()]) == ["answer"]
    assert pool._client.sent_to == ["old", "new"]


@given(arrays(np.float64, 4, elements=st.floats(-1e3, 1e3)))
def test_what_is_across_is_across(vector):
    direction = np.array([1.0, -2.0, 0.5, 0.0])
    rest = across(vector, direction)
    assert abs(rest @ direction) <= 1e-9
    np.testing.assert_allclose(
        rest @ rest + (vector @ direction) ** 2 / (direction @ direction), vector @ vector
    )
    assert across(vector, np.zeros(4)) is vector


def test_other_coefficients_unmix_the_same_cells():
    problem, _, engine, local_engine = engines(0, 4)
    ours = engine.partition(Unmixing(np.eye(4)), 0.0)
    local = local_engine.partition(Unmixing(problem.C), 0.0)
    weights = np.random.RandomState(0).randn(4, 7)
    for partition in (ours, local):
        partition.restart(weights)
        exact_norms(partition)
    ours.set_unmixing(Unmixing(problem.C))
    np.testing.assert_allclose(exact_norms(ours), exact_norms(local), atol=1e-13)
    np.testing.assert_allclose(ours.update_vectors(1), local.update_vectors(1), atol=1e-13)
