"""Workers that die in mid-fit, on a real cluster of processes: nothing is lost but time.

``pytest -s`` shows how long each fit took beside the same fit without a fault.
"""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from problems import make_problem, plain_uma

from unconfused import UnconfusedLogisticRegression
from unconfused.engines.dask import pool as _dask_pool
from unconfused.engines.dask.pool import PartPool

dask = pytest.importorskip("dask", reason="needs the extra `dask`")
da = pytest.importorskip("dask.array", reason="needs the extra `dask`")
distributed = pytest.importorskip("distributed", reason="needs the extra `dask`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs POSIX signals"),
    # Connections to a worker that was killed are closed by nobody.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

SECONDS = 240
"""A fit that takes longer than this hangs."""

MODELS = {
    "UMA": lambda C: plain_uma(C, max_iter=25, tol=0.0),
    "likelihood": lambda C: UnconfusedLogisticRegression(C, l2=1e-3, relabel=0, tol=1e-7),
}
SHORT = {"UMA": {"max_iter": 1}, "likelihood": {"tol": 1.0}}


@pytest.fixture
def cluster(request):
    with (
        # On a busy machine a new worker takes its time; the cluster would give it up.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"}),
        distributed.LocalCluster(
            n_workers=getattr(request, "param", 3),
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit="1GB",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def time_limit(seconds):
    def give_up(*_):
        pytest.fail(f"not done after {seconds} s")  # fits have a use for TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def rows(problem):
    return da.from_array(problem.X, chunks=(500, -1)), da.from_array(problem.y, chunks=500)


def at_pass(number, action, monkeypatch):
    """Do something a moment after a pass over the rows has begun; return the list of passes."""
    whole, passes = PartPool.ask, []

    def ask(self, function, arguments):
        passes.append(time.perf_counter())
        if len(passes) == number:
            threading.Timer(0.01, action).start()
        return whole(self, function, arguments)

    monkeypatch.setattr(PartPool, "ask", ask)
    return passes


def fit_with_fault(name, client, action, monkeypatch, capsys, fault):
    """Fit without and with a fault; the weights must be those of the fit in memory."""
    problem = make_problem(0, n=3000, d=8, Q=4)
    local = MODELS[name](problem.C).fit(problem.X, problem.y)
    MODELS[name](problem.C).set_params(**SHORT[name]).fit(*rows(problem))  # loads the code
    started = time.perf_counter()
    MODELS[name](problem.C).fit(*rows(problem))
    undisturbed = time.perf_counter() - started
    passes = at_pass(8, action, monkeypatch)
    started = time.perf_counter()
    with time_limit(SECONDS):
        model = MODELS[name](problem.C).fit(*rows(problem))
    took = time.perf_counter() - started
    assert len(passes) > 10  # the fault did come in mid-fit
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=0, atol=1e-9)
    assert model.n_iter_ == local.n_iter_
    with capsys.disabled():
        print(
            f"\n{name}, {fault}: {lost(model, local)}, {took:.1f} s ({undisturbed:.1f} s without)"
        )


def lost(model, local):
    """Say what a fault cost besides time."""
    return f"nothing lost (weights within {np.abs(model.coef_ - local.coef_).max():.0e})"


def alive(client):
    """Return the worker processes that answer, by address.

    Dask's ``Client.run`` raises if a worker goes while it is being asked.
    """
    return client.run(os.getpid, on_error="ignore")


def all_workers(client):
    """Return the worker processes, all of which must answer."""
    return client.run(os.getpid)


def kill(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("name", MODELS)
def test_a_worker_is_killed(name, cluster, monkeypatch, capsys):
    pids = list(all_workers(cluster).values())
    fit_with_fault(name, cluster, lambda: kill(pids[:1]), monkeypatch, capsys, "one of 3 killed")
    assert pids[0] not in alive(cluster).values()


@pytest.mark.parametrize(("name", "cluster"), [("UMA", 1), ("likelihood", 3)], indirect=["cluster"])
def test_all_workers_are_killed(name, cluster, monkeypatch, capsys):
    pids = list(all_workers(cluster).values())
    fault = f"all {len(pids)} killed"
    fit_with_fault(name, cluster, lambda: kill(pids), monkeypatch, capsys, fault)
    assert not set(pids) & set(alive(cluster).values())


@pytest.mark.parametrize("number", [1, 2])
def test_all_workers_are_killed_while_rows_are_put_on_them(number, cluster, monkeypatch):
    problem = make_problem(0, n=3000, d=8, Q=4)
    local = MODELS["UMA"](problem.C).fit(problem.X, problem.y)
    pids = list(all_workers(cluster).values())
    at_pass(number, lambda: kill(pids), monkeypatch)
    X, y = rows(problem)
    with time_limit(SECONDS):
        model = MODELS["UMA"](problem.C).fit(X.map_blocks(slowly, dtype=float), y)
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=0, atol=1e-9)


def slowly(block):
    time.sleep(0.2)
    return block


def die(block):
    if block.shape[0]:  # not when Dask looks what kind of array it would return
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.parametrize("cluster", [1], indirect=True)
def test_rows_that_kill_every_worker_end_in_an_error(cluster, monkeypatch):
    problem = make_problem(0, n=300, d=8, Q=4)
    monkeypatch.setattr(_dask_pool, "PATIENCE", 1.0)
    X = da.from_array(problem.X, chunks=(100, -1)).map_blocks(die, dtype=float)
    with time_limit(SECONDS), pytest.raises((RuntimeError, distributed.KilledWorker)):
        plain_uma(problem.C).fit(X, da.from_array(problem.y, chunks=100))


@pytest.mark.parametrize("cluster", [1], indirect=True)
def test_a_cluster_that_stays_without_workers_ends_in_an_error(cluster, monkeypatch):
    problem = make_problem(0, n=300, d=8, Q=4)
    monkeypatch.setattr(_dask_pool, "PATIENCE", 0.5)
    monkeypatch.setattr(_dask_pool, "NO_WORKERS", 2.0)
    at_pass(8, lambda: cluster.cluster.scale(0), monkeypatch)
    with time_limit(SECONDS), pytest.raises(RuntimeError, match="no worker for 2 seconds"):
        MODELS["UMA"](problem.C).fit(*rows(problem))


def redrawn(block):
    return block + np.random.default_rng().normal(size=block.shape)


def test_rows_that_change_when_they_are_made_again_are_noticed(cluster, monkeypatch):
    problem = make_problem(0, n=3000, d=8, Q=4)
    pids = list(all_workers(cluster).values())
    at_pass(8, lambda: kill(pids[:1]), monkeypatch)
    X, y = rows(problem)
    with time_limit(SECONDS), pytest.raises(ValueError, match="came out different"):
        MODELS["likelihood"](problem.C).fit(X.map_blocks(redrawn, dtype=float), y)


def eat_memory():
    eaten = []
    while True:
        eaten.append(np.ones(5 * 2**20))  # 40 MB, written to
        time.sleep(0.02)


@pytest.mark.parametrize("name", MODELS)
def test_a_worker_runs_out_of_memory(name, cluster, monkeypatch, capsys):
    victim, pid = next(iter(all_workers(cluster).items()))
    eaters = []

    def feed():
        # It holds the worker's only thread: the fit waits until the worker is paused or gone.
        eaters.append(cluster.submit(eat_memory, workers=[victim], pure=False))

    fit_with_fault(name, cluster, feed, monkeypatch, capsys, "one of 3 out of memory")
    # Other workers take over as soon as this one is paused; it may be killed only now.
    with time_limit(SECONDS):
        while pid in alive(cluster).values():
            time.sleep(0.2)
    for eater in eaters:
        eater.cancel()


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise: a job in the background inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", MODELS)
def test_the_client_is_interrupted(name, cluster, monkeypatch, capsys):
    problem = make_problem(1, n=3000, d=8, Q=4)
    local = MODELS[name](problem.C).fit(problem.X, problem.y)
    model = MODELS[name](problem.C).set_params(warm_start=True)
    # Up to pass 13 the likelihood only finds where to start.
    at_pass(20, lambda: os.kill(os.getpid(), signal.SIGINT), monkeypatch)
    with time_limit(SECONDS), pytest.raises(KeyboardInterrupt):
        model.fit(*rows(problem))
    done = model.n_iter_
    assert 0 < done < local.n_iter_
    assert model.coef_.shape == local.coef_.shape
    if name == "UMA":
        model.set_params(max_iter=25 - done)
    started = time.perf_counter()
    with time_limit(SECONDS):
        model.fit(*rows(problem))
    # The likelihood's minimiser starts afresh from where it was: the same minimum, another way.
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-9 if name == "UMA" else 1e-4)
    with capsys.disabled():
        took = time.perf_counter() - started
        print(f"\n{name}, interrupted: {lost(model, local)}, {took:.1f} s for the rest")
