"""The likelihood on Dask collections: trusted rows held out, posteriors of labels."""

from dataclasses import replace

import numpy as np
import pytest
from problems import make_problem

from unconfused import (
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)
from unconfused.estimators.automatic.penalty import USUAL_PENALTY

dask = pytest.importorskip("dask", reason="needs the extra `dask`")
da = pytest.importorskip("dask.array", reason="needs the extra `dask`")

pytestmark = pytest.mark.slow

N = 120
CUTS = [(N,), (0, 50, 0, 69, 1, 0), (18, 17, 17, 17, 17, 17, 17)]


@pytest.fixture(autouse=True)
def _three_threads():
    with dask.config.set(scheduler="threads", num_workers=3):
        yield


def assert_same(ours, local, *more):
    for name in ("coef_", "intercept_", "confusion_", "class_prior_", *more):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(local, name), rtol=0, atol=1e-9, err_msg=name
        )
    np.testing.assert_array_equal(ours.classes_, local.classes_)
    assert ours.classes_.dtype == local.classes_.dtype
    assert (ours.n_iter_, ours.noisy_weight_) == (local.n_iter_, local.noisy_weight_)


# The search for the weight of noisy rows


@pytest.fixture(scope="module")
def trusted():
    """Rows of which a third is trusted, and the fits in memory."""
    problem = make_problem(3, n=N, Q=3)
    columns = {
        "y": np.where(np.arange(N) % 9 == 0, np.nan, problem.y),
        "y_true": np.where(np.arange(N) % 3 == 0, problem.true, np.nan),
    }
    return problem, columns


SEARCH = {"l2": 1e-2, "tol": 1e-2, "relabel": 0, "random_state": 0}


@pytest.mark.parametrize("known", [False, True], ids=["C counted", "C given"])
def test_the_weight_found_is_that_in_memory(trusted, known):
    problem, columns = trusted
    weight = np.random.RandomState(0).randint(0, 3, N).astype(float)
    C = problem.C if known else None
    local = UnconfusedLogisticRegression(C, **SEARCH)
    local.fit(problem.X, **columns, sample_weight=weight)
    assert np.ptp(local.choice_["loss"]) > 0.01, "the search has something to decide"
    for cut in CUTS if known else CUTS[1:2]:
        X = da.from_array(problem.X, chunks=(cut, -1))
        lazily = {name: da.from_array(one, chunks=(cut,)) for name, one in columns.items()}
        ours = UnconfusedLogisticRegression(C, **SEARCH).fit(X, **lazily, sample_weight=weight)
        assert_same(ours, local)
        # Fits that are only compared do not come to rest: rounding is magnified.
        losses = ours.choice_["loss"]
        np.testing.assert_allclose(losses, local.choice_["loss"], rtol=0, atol=1e-6)


def test_the_penalty_is_chosen_too_and_there_are_no_rounds(trusted):
    problem, columns = trusted
    X = da.from_array(problem.X, chunks=(40, -1))
    ours = UnconfusedLogisticRegression(random_state=0).fit(X, **columns)
    local = UnconfusedLogisticRegression(relabel=0, random_state=0).fit(problem.X, **columns)
    # Only trusted rows can be held out here, in memory labels as well: choices may differ.
    assert ours.relabel_ == 0 and len(np.unique(ours.choice_["l2"])) > 2
    assert ours.choice_["share"].sum() == pytest.approx(1.0)
    accuracies = [model.score(problem.X, problem.true) for model in (ours, local)]
    assert accuracies[0] > accuracies[1] - 0.02
    alone = UnconfusedLogisticRegression(problem.C).fit(X, problem.y)
    spread = np.square(problem.X - problem.X.mean(axis=0)).sum(axis=1).mean()
    assert alone.l2_ == pytest.approx(USUAL_PENALTY * spread), "labels cannot be held out there"


def test_the_rows_are_read_once_for_the_whole_search(trusted):
    problem, columns = trusted
    reads = []

    def read(block):
        reads.append(len(block))
        return block

    X = da.from_array(problem.X, chunks=(40, -1)).map_blocks(read, meta=np.empty((0, 0)))
    ours = UnconfusedLogisticRegression(**SEARCH).fit(X, **columns)
    # Once for the trusted rows, once for the parts that all fits share.
    assert sum(reads) == 2 * N
    assert_same(ours, UnconfusedLogisticRegression(**SEARCH).fit(problem.X, **columns))


def test_rows_left_out_are_no_rows():
    from unconfused._matrix import Unmixing
    from unconfused.engines import LocalEngine
    from unconfused.engines.base import exact_norms
    from unconfused.engines.dask.engine import DaskRows

    problem = make_problem(3, n=N, Q=3)
    sizes = [50, 0, 69, 1]
    starts = np.cumsum([0, *sizes])
    weights = np.ones(N)
    rows = [slice(a, a + n) for a, n in zip(starts, sizes, strict=False)]
    blocks = [dask.delayed((problem.X[r], problem.y[r], weights[r])) for r in rows]
    whole = DaskRows(blocks, (N, 4), np.float64, np.array(sizes, float), 1.0, [None] * 4)
    left_out = [np.array([0, 7]), np.zeros(0, int), np.array([3, 68]), np.array([0])]
    rest = replace(whole, left_out=left_out).engine(3, intercept=True)
    kept = np.ones(N, dtype=bool)
    kept[np.concatenate([a + some for a, some in zip(starts, left_out, strict=False)])] = False
    other = whole.engine(3, intercept=True)
    assert other.code_counts.sum() == N
    local = LocalEngine(problem.X[kept], problem.y[kept], 3)
    np.testing.assert_array_equal(rest.code_counts, local.code_counts)
    np.testing.assert_allclose(rest.code_sums(), local.code_sums())
    # A cut of the rest goes on from update to update as any other.
    ours, theirs = (one.partition(Unmixing(problem.C), 0.0) for one in (rest, local))
    for pair in [(0, 1), (1, 2), (2, 0)]:
        steps = np.eye(3)[pair[1]] - np.eye(3)[pair[0]]
        z = theirs.update_vector(*pair)
        ours.move(steps, z)
        theirs.move(steps, z)
        np.testing.assert_array_equal(ours.tables().counts, theirs.tables().counts)
        np.testing.assert_allclose(exact_norms(ours), exact_norms(theirs), atol=1e-13)


def test_votes_need_rows_in_memory():
    problem = make_problem(5, n=N, Q=3)
    votes = np.column_stack([problem.y, problem.true])
    X = da.from_array(problem.X, chunks=(CUTS[1], -1))
    for form in (votes, da.from_array(votes, chunks=(CUTS[1], -1))):
        with pytest.raises(ValueError, match=r"rows in memory.*from_annotators"):
            UnconfusedLogisticRegression().fit(X, form)
    model = UnconfusedLogisticRegression(l2=1e-2, relabel=0).fit(problem.X, votes)
    with pytest.raises(ValueError, match="rows in memory"):
        model.label_posterior(X, votes)


# Posteriors of labels


@pytest.mark.parametrize("learner", [UnconfusedLogisticRegression, UnconfusedDiscriminantAnalysis])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_posteriors_of_labels_are_lazy(learner, n_classes):
    problem = make_problem(12, n=N, Q=n_classes)
    names = np.array(["x", "y", "z"], dtype=object)[problem.y]
    names[::7] = None
    model = learner(problem.C, classes=["x", "y", "z"][:n_classes]).fit(
        problem.X, names_of(problem)
    )
    X = da.from_array(problem.X, chunks=(CUTS[1], -1))
    expected = model.label_posterior(problem.X, names)

    def fail(block):
        raise AssertionError("computed")

    untouched = X.map_blocks(fail, meta=np.empty((0, 0)))
    assert model.label_posterior(untouched, names).chunks == (CUTS[1], (n_classes,))
    for labels in (names, da.from_array(names, chunks=31)):
        found = model.label_posterior(X, labels)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)


def names_of(problem):
    return np.array(["x", "y", "z"])[problem.y]
