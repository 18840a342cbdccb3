"""Fits on Dask collections are the fits in memory, however the rows are cut."""

import numpy as np
import pytest
from problems import make_problem
from scipy import sparse

from unconfused import (
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)

dask = pytest.importorskip("dask", reason="needs the extra `dask`")
da = pytest.importorskip("dask.array", reason="needs the extra `dask`")

pytestmark = pytest.mark.slow

N = 180
CUTS = {
    "one block": (N,),
    "two blocks": (90, 90),
    "seven blocks": (26, 26, 26, 26, 26, 25, 25),
    "uneven": (1, 120, 9, 50),
    "empty blocks": (0, 60, 0, 0, 119, 1, 0),
}


@pytest.fixture(autouse=True)
def _three_threads():
    with dask.config.set(scheduler="threads", num_workers=3):
        yield


def dask_problem(problem, cut=(26, 26, 26, 26, 26, 25, 25)):
    return da.from_array(problem.X, chunks=(cut, -1)), da.from_array(problem.y, chunks=(cut,))


def assert_same_uma(ours, local):
    assert ours.history_["predicted"].tolist() == local.history_["predicted"].tolist()
    assert ours.history_["true"].tolist() == local.history_["true"].tolist()
    assert ours.stopped_ == local.stopped_
    np.testing.assert_array_equal(ours.classes_, local.classes_)
    np.testing.assert_allclose(ours.history_["noise"], local.history_["noise"], atol=1e-9)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, local.intercept_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.class_prior_, local.class_prior_, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("cut", "settings"),
    [
        *((cut, {}) for cut in CUTS),
        ("uneven", {"selection": "confusion", "tol": 1e-3, "step": "proportional"}),
        ("seven blocks", {"selection": "random", "random_state": 0, "max_iter": 8}),
        ("empty blocks", {"alpha": 0.05, "average": True, "init": "means"}),
    ],
)
def test_uma_is_the_local_one(cut, settings):
    problem = make_problem(1, n=N, Q=4)
    cut, settings = CUTS[cut], {"max_iter": 25} | settings
    local = UMAClassifier(problem.C, **settings).fit(problem.X, problem.y)
    assert_same_uma(UMAClassifier(problem.C, **settings).fit(*dask_problem(problem, cut)), local)


@pytest.mark.parametrize("selection", ["error", "random"])
def test_sums_that_overflow_are_told_of(selection):
    problem = make_problem(1, n=N, Q=3)
    X, y = dask_problem(problem)
    with pytest.raises(ValueError, match="overflow: scale the features down"):
        UMAClassifier(problem.C, selection=selection).fit(1e200 * X, y)


def with_settings(confusion=None, **settings):
    """Return the likelihood learner with nothing left to choose, and no rounds."""
    return UnconfusedLogisticRegression(confusion, l2=1e-4, relabel=0, **settings)


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("learner", [with_settings, UnconfusedDiscriminantAnalysis])
def test_other_learners_are_the_local_ones(cut, learner):
    problem = make_problem(2, n=N, Q=3)
    local = learner(problem.C).fit(problem.X, problem.y)
    ours = learner(problem.C).fit(*dask_problem(problem, cut))
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.class_prior_, local.class_prior_, rtol=0, atol=1e-9)


def test_two_classes_and_float32():
    problem = make_problem(3, n=N, Q=2)
    problem.X = problem.X.astype(np.float32)
    local = UMAClassifier(problem.C, max_iter=20).fit(problem.X, problem.y)
    ours = UMAClassifier(problem.C, max_iter=20).fit(*dask_problem(problem))
    assert ours.coef_.dtype == np.float32
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-6)


def test_sorted_labels_leave_blocks_without_some_class():
    problem = make_problem(4, n=N, Q=4)
    order = np.argsort(problem.y, kind="stable")
    problem.X, problem.y = problem.X[order], problem.y[order]
    local = UMAClassifier(problem.C, max_iter=20).fit(problem.X, problem.y)
    assert_same_uma(UMAClassifier(problem.C, max_iter=20).fit(*dask_problem(problem)), local)


@pytest.mark.parametrize("as_object", [False, True])
def test_string_labels(as_object):
    problem = make_problem(5, n=N, Q=3)
    names = np.array(["thrush", "jay", "owl"])[problem.y]
    names = names.astype(object) if as_object else names
    local = UMAClassifier(problem.C, max_iter=15).fit(problem.X, names)
    X, y = da.from_array(problem.X, chunks=(50, -1)), da.from_array(names, chunks=50)
    ours = UMAClassifier(problem.C, max_iter=15).fit(X, y)
    assert_same_uma(ours, local)
    assert ours.classes_.dtype == local.classes_.dtype
    assert ours.predict(X).compute().tolist() == local.predict(problem.X).tolist()


def test_labels_in_memory_cut_otherwise_or_as_a_column():
    problem = make_problem(6, n=N, Q=3)
    local = UMAClassifier(problem.C, max_iter=15).fit(problem.X, problem.y)
    X = da.from_array(problem.X, chunks=(50, 2))  # columns in two blocks
    for y in (problem.y, da.from_array(problem.y, chunks=77), da.from_array(problem.y)[:, None]):
        assert_same_uma(UMAClassifier(problem.C, max_iter=15).fit(X, y), local)


@pytest.mark.parametrize("learner", ["uma", "likelihood"])
def test_truths_and_weights(learner):
    problem = make_problem(7, n=N, Q=3)
    truth = np.where(np.arange(N) % 3 == 0, problem.true, np.nan)
    y = np.where(np.arange(N) % 9 == 0, np.nan, problem.y)
    weight = np.random.RandomState(0).randint(0, 3, N).astype(float)
    make = {
        "uma": lambda: UMAClassifier(whiten=False, max_iter=15),
        "likelihood": lambda: with_settings(noisy_weight=0.5),
    }[learner]
    local = make().fit(problem.X, y, truth, weight)
    X = da.from_array(problem.X, chunks=(40, -1))
    lazily = [da.from_array(column, chunks=40) for column in (y, truth, weight)]
    ours = make().fit(X, *lazily)
    np.testing.assert_allclose(ours.confusion_, local.confusion_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)


def test_all_rows_of_a_worker_may_count_nothing():
    problem = make_problem(17, n=N, Q=3)
    weight = (np.arange(N) < 60).astype(float)
    local = UMAClassifier(problem.C, max_iter=15).fit(problem.X, problem.y, sample_weight=weight)
    X, y = dask_problem(problem, (60, 60, 60))
    ours = UMAClassifier(problem.C, max_iter=15).fit(X, y, sample_weight=weight)
    assert_same_uma(ours, local)


def test_missing_labels_written_as_minus_one():
    problem = make_problem(8, n=N, Q=3)
    truth = np.where(np.arange(N) < 60, problem.true, -1)  # some blocks hold nothing but -1
    X, y = dask_problem(problem)
    ours = UMAClassifier(max_iter=10).fit(X, y, da.from_array(truth, chunks=26))
    counted = UMAClassifier(whiten=False).fit(problem.X, problem.y, truth).confusion_
    assert not np.allclose(ours.confusion_, counted)  # refined, but not on rows held out
    local = UMAClassifier(ours.confusion_, max_iter=10).fit(problem.X, problem.y, truth)
    assert_same_uma(ours, local)


@pytest.mark.parametrize("learner", [UMAClassifier, with_settings])
def test_sparse_blocks(learner):
    problem = make_problem(9, n=N, d=8, Q=3)
    problem.X[np.abs(problem.X) < 0.2] = 0
    local = learner(problem.C, max_iter=30).fit(sparse.csr_matrix(problem.X), problem.y)
    X, y = dask_problem(problem)
    X = X.map_blocks(sparse.csr_matrix)
    ours = learner(problem.C, max_iter=30).fit(X, y)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-9)
    assert ours.predict(X).compute().tolist() == local.predict(problem.X).tolist()


def test_frames():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe", reason="needs the extra `dask`")
    problem = make_problem(10, n=N, Q=3)
    frame = pd.DataFrame(problem.X, columns=["a", "b", "c", "d"])
    frame["label"] = np.array(["x", "y", "z"])[problem.y]
    local = UMAClassifier(problem.C, max_iter=15).fit(frame[["a", "b", "c", "d"]], frame["label"])
    lazily = dd.from_pandas(frame, npartitions=4)
    X = lazily[["a", "b", "c", "d"]]
    ours = UMAClassifier(problem.C, max_iter=15).fit(X, lazily["label"])
    assert_same_uma(ours, local)
    assert ours.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert ours.predict(X).compute().tolist() == local.predict(frame[["a", "b", "c", "d"]]).tolist()
    with pytest.raises(ValueError, match="feature names"):
        ours.predict(lazily[["b", "a", "c", "d"]])


def test_a_second_fit_goes_on_from_the_first():
    problem = make_problem(11, n=N, Q=3)
    local = UMAClassifier(problem.C, max_iter=20).fit(problem.X, problem.y)
    ours = UMAClassifier(problem.C, max_iter=10, warm_start=True)
    X, y = dask_problem(problem)
    assert_same_uma(ours.fit(X, y).fit(X, y), local)


def test_predictions_are_lazy():
    problem = make_problem(12, n=N, Q=3)
    model = with_settings(problem.C).fit(problem.X, problem.y)
    X, y = dask_problem(problem, CUTS["empty blocks"])

    def fail(block):
        raise AssertionError("computed")

    untouched = X.map_blocks(fail, meta=np.empty((0, 0)))
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        lazy = getattr(model, method)(untouched)
        assert lazy.chunks[0] == X.chunks[0]
        found, expected = getattr(model, method)(X), getattr(model, method)(problem.X)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)
    assert model.score(X, y) == model.score(problem.X, problem.y)


def test_the_order_dependent_learner_refuses():
    X, y = dask_problem(make_problem(13, n=N))
    with pytest.raises(TypeError, match="rows in memory"):
        UltraconservativeClassifier().fit(X, y.compute())


def test_rows_larger_than_memory_are_read_for_every_pass(monkeypatch):
    from unconfused.engines.dask import pool

    problem = make_problem(14, n=N, Q=3)
    local = UMAClassifier(problem.C, max_iter=10).fit(problem.X, problem.y)
    X, y = dask_problem(problem)
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    X = X.map_blocks(read, meta=np.empty((0, 0)))
    assert_same_uma(UMAClassifier(problem.C, max_iter=10).fit(X, y), local)
    assert sum(reads) == N
    monkeypatch.setattr(pool, "SHARE_OF_MEMORY", 0.0)
    assert_same_uma(UMAClassifier(problem.C, max_iter=10).fit(X, y), local)
    assert sum(reads) > 10 * N


@pytest.mark.parametrize("model", [UMAClassifier, with_settings])
def test_rows_that_change_from_pass_to_pass_are_noticed(monkeypatch, model):
    from unconfused.engines.dask import pool

    monkeypatch.setattr(pool, "SHARE_OF_MEMORY", 0.0)
    problem = make_problem(14, n=N, Q=3)
    X, y = dask_problem(problem)
    rng = np.random.default_rng(0)
    X = X.map_blocks(lambda block: block + 0.1 * rng.normal(size=block.shape), dtype=float)
    with pytest.raises(ValueError, match="came out different"):
        model(problem.C).fit(X, y)


def test_labels_that_change_are_noticed():
    problem = make_problem(14, n=N, Q=3)
    X, y = dask_problem(problem)
    rng = np.random.default_rng(0)
    y = y.map_blocks(lambda block: np.where(rng.random(len(block)) < 0.5, block, 0), dtype=int)
    with pytest.raises(ValueError, match="came out different"):
        UnconfusedLogisticRegression().fit(X, y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_tells_rows_from_others(form, dtype):
    from unconfused.engines.dask.parts import Fingerprint

    rng = np.random.default_rng(0)
    X = rng.random((1000, 20)).astype(dtype)
    X /= X.sum(axis=1, keepdims=True)  # shares: every row adds up to the same
    codes, weights = rng.integers(3, size=1000), rng.random(1000)
    known = Fingerprint.of(form(X), weights, codes)
    assert not known.differs_from(Fingerprint.of(form(X), weights, codes))
    rounded = X * (1 + rng.choice([-1, 1], size=X.shape) * dtype(1e-7)).astype(dtype)
    assert not known.differs_from(Fingerprint.of(form(rounded), weights, codes))
    one_entry = X.copy()
    one_entry[500, 3] += 0.1
    shuffled = rng.permutation(1000)
    for rows, own_weights, own_codes in [
        (X[:-1], weights[:-1], codes[:-1]),
        (one_entry, weights, codes),
        (X[shuffled], weights, codes),
        (X, weights[shuffled], codes),
        (X, weights, codes[shuffled]),
    ]:
        assert known.differs_from(Fingerprint.of(form(rows), own_weights, own_codes))


def test_another_scheduler():
    problem = make_problem(15, n=N, Q=3)
    local = UMAClassifier(problem.C, max_iter=10).fit(problem.X, problem.y)
    with dask.config.set(scheduler="synchronous"):
        assert_same_uma(UMAClassifier(problem.C, max_iter=10).fit(*dask_problem(problem)), local)


def test_blocks_go_to_the_workers_that_have_them():
    from unconfused.engines.dask.pool import _groups

    sizes = np.array([10.0, 10.0, 0.0, 10.0, 10.0])
    slots = ["a", "b"]
    assert _groups([None] * 5, sizes, slots) == [("a", [0, 1]), ("b", [3, 4])]
    homes = ["b", "b", "a", "a", None]
    assert _groups(homes, sizes, slots) == [("a", [3, 4]), ("b", [0, 1])]
    assert _groups(["gone"] * 5, sizes, slots) == [("a", [0, 1]), ("b", [3, 4])]
    assert _groups([None] * 5, sizes, [None]) == [(None, [0, 1, 3, 4])]
