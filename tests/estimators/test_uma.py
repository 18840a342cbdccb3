"""UMAClassifier as its users meet it: kinds of data, stopping, memory."""

import pickle
import resource
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from problems import make_noisy_blobs, make_problem, plain_uma
from scipy import sparse
from scipy.special import ndtri
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import train_test_split

import unconfused
from unconfused import ConfusionWarning, UMAClassifier, noise
from unconfused._matrix import LEVEL, Unmixing
from unconfused.confusion.estimation.pooled import shrink_to_symmetric
from unconfused.engines import LocalEngine
from unconfused.engines.base import CellTables, exact_norms


def noise_of(unmixing, tables, pair, norm, total):
    p, q = pair
    return unmixing.pair_noise(tables.counts[p], tables.squares[p], q, norm, total)


@pytest.fixture(scope="module")
def blobs():
    return make_noisy_blobs()


@pytest.mark.parametrize("kind", ["pandas", "polars", "float32", "csr", "list", "integers"])
def test_kinds_of_rows(blobs, kind):
    X, true, y, C = blobs
    expected = UMAClassifier(C).fit(X, y).predict(X)
    if kind == "integers":
        X = np.rint(X * 100).astype(int)
        assert UMAClassifier(C).fit(X, y).score(X, true) > 0.95
        return
    rows = {
        "pandas": lambda: pd.DataFrame(X, columns=[f"f{i}" for i in range(5)]),
        "polars": lambda: pl.DataFrame(X, schema=[f"f{i}" for i in range(5)]),
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sparse.csr_array(X),
        "list": X.tolist,
    }[kind]()
    clf = UMAClassifier(C).fit(rows, y)
    assert np.mean(clf.predict(rows) == expected) > 0.99
    if kind in ("pandas", "polars"):
        assert clf.feature_names_in_.tolist() == ["f0", "f1", "f2", "f3", "f4"]


@pytest.mark.parametrize(
    "names", [["a", "b", "c", "d"], [10, 20, 30, 40], pd.Categorical(["w", "x", "y", "z"])]
)
def test_kinds_of_labels(blobs, names):
    X, _, y, C = blobs
    names = np.asarray(names)
    expected = names[UMAClassifier(C).fit(X, y).predict(X)]
    for labels in (names[y], list(names[y]), pd.Series(names[y]), pl.Series(names[y])):
        clf = UMAClassifier(C).fit(X, labels)
        assert np.array_equal(clf.predict(X), expected)


def test_boolean_labels():
    X, true = make_blobs(200, centers=2, random_state=1)
    clf = UMAClassifier().fit(X, true == 1)
    assert clf.classes_.dtype == bool
    assert clf.score(X, true == 1) > 0.95


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_not_copied_to_float64(blobs, dtype, order, monkeypatch):
    X, _, y, C = blobs
    rows = np.array(X, dtype=dtype, order=order)
    seen = []
    from unconfused.estimators import _base

    real = _base.make_engine

    def spy(X, *arguments, **settings):
        seen.append(X)
        return real(X, *arguments, **settings)

    monkeypatch.setattr(_base, "make_engine", spy)
    UMAClassifier(C, relabel=0).fit(rows, y)
    assert seen[0].dtype == dtype
    assert np.shares_memory(seen[0], rows) == (order == "C")
    csr = sparse.csr_matrix(rows)
    UMAClassifier(C, relabel=0).fit(csr, y)
    assert np.shares_memory(seen[1].data, csr.data)


def test_knowing_the_noise_helps(blobs):
    X, true, y, C = blobs
    knowing = UMAClassifier(C).fit(X, y).score(X, true)
    ignoring = UMAClassifier().fit(X, y).score(X, true)
    assert knowing > 0.97
    assert ignoring < knowing - 0.05


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"init": "means"}, {"average": True}])
def test_defaults_beat_ignoring_the_noise_on_digits(settings):
    X, true = load_digits(return_X_y=True)
    C = noise.pairwise(10, 0.4)
    gain = []
    for seed in range(5):
        rows = train_test_split(X / 16, true, random_state=seed, stratify=true)
        y = noise.corrupt_labels(rows[2], C, random_state=seed)
        knowing = UMAClassifier(C, **settings).fit(rows[0], y).score(rows[1], rows[3])
        ignoring = UMAClassifier(np.eye(10), **settings).fit(rows[0], y).score(rows[1], rows[3])
        gain.append(knowing - ignoring)
    assert np.mean(gain) > 0.1
    assert min(gain) > 0


def test_trusted_rows_give_the_matrix(blobs):
    X, true, y, _ = blobs
    y_true = np.where(np.arange(600) % 3 == 0, true, -1)
    clf = UMAClassifier().fit(X, y, y_true=y_true)
    counts = np.zeros((4, 4))
    np.add.at(counts, (true[::3], y[::3]), 1)
    # A little steadier than the shares themselves.
    plain = UMAClassifier(whiten=False).fit(X, y, y_true=y_true)
    np.testing.assert_allclose(plain.confusion_, shrink_to_symmetric(counts))
    np.testing.assert_allclose(
        plain.confusion_, counts / counts.sum(axis=1, keepdims=True), atol=0.05
    )
    ignoring = UMAClassifier().fit(X, y)
    assert clf.score(X, y, y_true=true) > 0.97
    assert ignoring.score(X, y, y_true=true) < 0.94


def test_labels_may_be_missing_where_the_truth_is_known(blobs):
    X, true, y, C = blobs
    trusted = np.arange(600) % 4 == 0
    gaps = UMAClassifier(C).fit(
        X, np.where(trusted, np.nan, y), y_true=np.where(trusted, true, np.nan)
    )
    whole = UMAClassifier(C).fit(X, y, y_true=np.where(trusted, true, np.nan))
    np.testing.assert_allclose(gaps.coef_, whole.coef_)


def test_a_class_without_trusted_rows_is_named(blobs):
    X, true, y, C = blobs
    names = np.array(["a", "b", "c", "d"])
    y_true = np.where((true != 2) & (np.arange(600) % 3 == 0), names[true], None)
    with (
        pytest.warns(ConfusionWarning, match="no random sample"),
        pytest.warns(ConfusionWarning, match=r"of class 'c'; mistakes in its labels"),
    ):
        clf = UMAClassifier().fit(X, names[y], y_true=y_true)
    assert clf.score(X, names[true]) > 0.9
    assert UMAClassifier(C).fit(X, names[y], y_true=y_true).score(X, names[true]) > 0.95


def test_scoring_against_the_truth(blobs):
    X, true, y, C = blobs
    clf = UMAClassifier(C).fit(X, y)
    predicted = clf.predict(X)
    known = np.arange(600) < 30
    y_true = np.where(known, true, np.nan)
    assert clf.score(X, y, y_true=y_true) == np.mean(predicted[known] == true[known])
    assert clf.score(X, y) == np.mean(predicted == y)
    weight = np.arange(600)
    expected = np.average(predicted[known] == true[known], weights=weight[known])
    assert clf.score(X, y, y_true=y_true, sample_weight=weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match="y_true holds no label"):
        clf.score(X, y, y_true=np.full(600, np.nan))


def test_history_has_one_record_per_update(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(C).fit(X, y)
    assert set(clf.history_) == {"predicted", "true", "norm", "noise", "significance", "step"}
    assert {len(column) for column in clf.history_.values()} == {clf.n_iter_}
    assert np.all(clf.history_["predicted"] != clf.history_["true"])
    assert np.all(clf.history_["norm"] > 0)
    assert np.all(clf.history_["significance"] > -ndtri(LEVEL))
    assert np.all(clf.history_["step"] == 1)


def test_the_noise_level_is_what_sampling_shows():
    # Rows of class 0 alone: every other vector z_0q is noise, and its length is foretold.
    rng = np.random.RandomState(0)
    X = rng.randn(2000, 4) + 2
    C = noise.random_confusion(3, strength=0.6, random_state=1)
    squared, foretold = [], []
    for seed in range(60):
        y = noise.corrupt_labels(np.zeros(2000, int), C, random_state=seed, classes=[0, 1, 2])
        partition = LocalEngine(X, y, 3).partition(Unmixing(C), 0.0)
        norms = exact_norms(partition)
        tables, pairs = partition.tables(), [(0, 1), (0, 2)]
        said = [noise_of(Unmixing(C), tables, pair, norms[pair], 2000.0) for pair in pairs]
        squared.append(norms[0, 1:] ** 2)
        foretold.append([level**2 for level, _ in said])
    np.testing.assert_allclose(np.mean(squared, axis=0), np.mean(foretold, axis=0), rtol=0.25)


def test_auto_tolerance_does_not_learn_the_noise(blobs):
    X, true, y, C = blobs
    clf = UMAClassifier(C).fit(X, y)
    assert clf.stopped_ == "no pair left to unconfuse"
    assert clf.n_iter_ < 100
    chasing = UMAClassifier(C, tol=1e-9).fit(X, y)
    assert chasing.stopped_ == "max_iter reached"
    assert clf.score(X, true) >= chasing.score(X, true) - 0.01


def test_clean_labels_are_learnt_to_the_last_row():
    # With no noise a single row is no chance: the stop must not give up on it.
    X, true = make_blobs(300, centers=4, n_features=5, random_state=1)
    rare = np.append(true, 4)
    X = np.vstack([X, [[30.0] * 5]])
    assert UMAClassifier().fit(X, rare).score(X, rare) == 1.0


def test_weights_are_never_all_zero():
    rng = np.random.RandomState(0)
    X, y = rng.randn(12, 2), np.arange(12) % 3
    matrix = np.full((3, 3), 0.332) + np.diag([0.004] * 3)
    with (
        pytest.warns(ConfusionWarning, match=r"is ill-conditioned \(condition number 250\)"),
        pytest.warns(ConfusionWarning, match=r"made no update.*too ill-conditioned"),
    ):
        clf = plain_uma(matrix, init="zero").fit(X, y)
    assert clf.coef_.any()
    with pytest.warns(ConfusionWarning, match=r"above tol=1e\+06; lower it"):
        clf = plain_uma(tol=1e6).fit(X, y)
    assert clf.coef_.any()


def test_a_class_too_small_to_have_a_mean_starts_at_the_centre():
    problem = make_problem(6)
    clf = UMAClassifier(problem.C, init="means", max_iter=1).fit(problem.X, problem.y)
    assert np.abs(clf.coef_).max() < 3  # dividing by a seventh of a row would give 10 and more


def test_entries_stored_in_two_parts_are_one_entry(blobs):
    X, _, y, C = blobs
    plain = sparse.csr_matrix(X)
    halves = sparse.csr_matrix(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), plain.indptr * 2), X.shape
    )
    stored = halves.nnz
    for settings in ({}, {"init": "means"}, {"step": "passive_aggressive"}):
        one = UMAClassifier(C, **settings).fit(plain, y)
        two = UMAClassifier(C, **settings).fit(halves, y)
        np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-9)
        np.testing.assert_allclose(two.history_["noise"], one.history_["noise"], atol=1e-9)
    assert halves.nnz == stored, "the caller's matrix is left alone"


def test_without_an_update_the_weights_are_the_class_means(blobs):
    X, true, y, C = blobs
    with pytest.warns(ConfusionWarning, match="made no update"):
        assert plain_uma(C, tol=1e6).fit(X, y).score(X, true) > 0.9
    assert plain_uma(C, tol=1e-3, max_iter=1).fit(X, y).history_["norm"].shape == (1,)


def test_a_margin_no_row_has_is_warned_of(blobs):
    X, true, y, C = blobs
    with pytest.warns(ConfusionWarning, match=r"margin of alpha=1e\+06.*lower alpha"):
        UMAClassifier(C, alpha=1e6, tol=1e-3).fit(X, y)
    assert UMAClassifier(C, alpha=0.5, init="means").fit(X, y).score(X, true) > 0.9


def test_rows_that_say_nothing_give_the_largest_class():
    y = [0] * 10 + [1] * 30
    clf = UMAClassifier([[0.9, 0.1], [0.2, 0.8]]).fit(np.zeros((40, 2)), y)
    assert clf.predict([[0.0, 0.0]]) == [1]
    with pytest.raises(ValueError, match="overflow"), np.errstate(all="ignore"):
        UMAClassifier().fit(np.full((40, 2), 1e200) * np.arange(40)[:, None], y)


def test_every_truth_known_needs_no_matrix():
    X, true = make_blobs(100, centers=3, random_state=1)
    clf = UMAClassifier().fit(X, np.zeros(100, int), y_true=true)
    assert clf.score(X, true) > 0.9


@pytest.mark.parametrize("known", [None, 50.0])
def test_what_is_said_of_one_pair_is_what_is_said_of_all(known):
    rng, C = np.random.RandomState(0), np.array([[0.7, 0.3, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]])
    unmixing = Unmixing(C, counts=None if known is None else known * C)
    counts = np.round(20 * rng.rand(3, 3)) * [[1, 1, 1], [1, 0, 1], [0, 0, 0]]
    tables, norms = CellTables(counts, 2.0 * counts), rng.rand(3, 3)
    significant = unmixing.significant_pairs(tables.counts, 200.0)
    every = np.array(
        [noise_of(unmixing, tables, pair, norms[pair], 200.0)[1] for pair in np.ndindex(3, 3)]
    ).reshape(3, 3)
    assert np.isinf(every).any() == (known is None)
    assert (every == 0).any()
    assert significant.any()
    assert np.all(every[significant] > -ndtri(LEVEL))
    assert not significant[every < -ndtri(LEVEL)].any()


@pytest.mark.parametrize(("rate", "n_rows"), [(0.05, 300), (0.2, 2000), (0.05, 3000)])
def test_a_stop_by_significance_holds_its_level(rate, n_rows):
    # Every row is predicted rightly: whatever stands out is a false alarm.
    C = noise.symmetric(10, rate)
    X, true = np.eye(10)[np.arange(n_rows) % 10], np.arange(n_rows) % 10
    alarms = 0
    for seed in range(200):
        y = noise.corrupt_labels(true, C, random_state=seed)
        unmixing = Unmixing(C)
        partition = LocalEngine(X, y, 10).partition(unmixing, 0.0)
        partition.restart(np.eye(10, 11))
        significant = unmixing.significant_pairs(partition.tables().counts, float(n_rows))
        alarms += (significant & ~np.eye(10, dtype=bool)).any()
    assert alarms <= 200 * 0.12


def test_models_survive_pickling(blobs):
    X, _, y, C = blobs
    clf = UMAClassifier(pd.DataFrame(C)).fit(X, y)
    again = pickle.loads(pickle.dumps(clf))
    assert np.array_equal(again.predict(X), clf.predict(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selection": "best"}, "selection.*must be"),
        ({"step": "newton"}, "step.*must be"),
        ({"alpha": -1}, "alpha.*must be"),
        ({"tol": "small"}, "tol.*must be"),
        ({"max_iter": 0}, "max_iter.*must be"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
def test_bad_settings_are_refused(blobs, settings, message):
    X, _, y, C = blobs
    with pytest.raises(ValueError, match=message):
        UMAClassifier(C, **settings).fit(X, y)


def test_bad_rows_and_weights_are_refused(blobs):
    X, _, y, C = blobs
    with pytest.raises(ValueError, match="NaN"):
        UMAClassifier(C).fit(np.where(X > 5, np.nan, X), y)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        UMAClassifier(C).fit(X, y, sample_weight=np.full(600, -1.0))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        UMAClassifier(C).fit(X, y[:-1])


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1, -100])
def test_any_number_of_threads_gives_the_same_model(blobs, n_jobs):
    X, _, y, C = blobs
    rows = np.tile(X, (200, 1))
    labels = np.tile(y, 200)
    one = UMAClassifier(C, n_jobs=1, max_iter=5).fit(rows, labels)
    np.testing.assert_array_equal(
        UMAClassifier(C, n_jobs=n_jobs, max_iter=5).fit(rows, labels).coef_, one.coef_
    )


def test_progress_is_said_on_request(blobs, capsys):
    X, _, y, C = blobs
    UMAClassifier(C, verbose=1).fit(X, y)
    assert "UMA: update" in capsys.readouterr().err
    UMAClassifier(C).fit(X, y)
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_many_classes_and_features_stay_small_in_memory(tmp_path):
    # All cell sums at once would be 53 x 53 x 47,236 numbers, more than 1 GB.
    import subprocess
    import sys

    script = tmp_path / "large.py"
    script.write_text(
        "import resource, numpy as np\n"
        "from scipy import sparse\n"
        "from unconfused import UMAClassifier, noise\n"
        "rng = np.random.RandomState(0)\n"
        "small = sparse.random(100, 20, 0.5, format='csr', random_state=rng)\n"
        "UMAClassifier(max_iter=2).fit(small, np.arange(100) % 2)\n"
        "n, d, k = 4_000, 47_236, 75\n"
        "columns = rng.randint(d, size=n * k).astype(np.int32)\n"
        "pointers = np.arange(0, n * k + 1, k)\n"
        "X = sparse.csr_matrix((rng.rand(n * k), columns, pointers), shape=(n, d))\n"
        "y = np.arange(n) % 53\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "clf = UMAClassifier(noise.symmetric(53, 0.3), tol=1e-9, max_iter=3).fit(X, y)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert clf.n_iter_ == 3\n"
        "print((after - before) / 1024)\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 600, "MB above X"


def test_resource_units_are_kilobytes():
    # The memory test above reads kilobytes: a process of this kind takes at least tens of MB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 30_000


def test_kept_updates_are_unmixed_sums_with_their_true_classes(tmp_path):
    problem = make_problem(9, n=200)
    settings = {"tol": 1e-9, "max_iter": 25, "fit_intercept": False, "keep_updates": True}
    clf = plain_uma(problem.C, warm_start=True, **settings).fit(problem.X, problem.y)
    assert clf.updates_.shape == (25, 4)
    np.testing.assert_allclose(np.linalg.norm(clf.updates_, axis=1), clf.history_["norm"])
    # The first one is of all rows: nothing is predicted yet.
    unmix = np.linalg.inv(problem.C)[problem.y, clf.history_["true"][0]]
    np.testing.assert_allclose(clf.updates_[0], unmix @ problem.X / 200)
    weights = np.zeros((4, 4))
    for z, p, q in zip(
        clf.updates_, *(clf.history_[n] for n in ("predicted", "true")), strict=True
    ):
        rival = p if weights[p] @ z >= weights[q] @ z - 1e-12 else None
        if rival is None:
            rival = max((r for r in range(4) if r != q), key=lambda r: weights[r] @ z)
        weights[q] += z
        weights[rival] -= z
    np.testing.assert_allclose(clf.coef_, weights, atol=1e-12)
    unconfused.save(clf, tmp_path / "model")
    np.testing.assert_array_equal(unconfused.load(tmp_path / "model").updates_, clf.updates_)
    clf.fit(problem.X, problem.y)
    assert clf.updates_.shape == (50, 4)
    clf.set_params(keep_updates=False, warm_start=False).fit(problem.X, problem.y)
    assert not hasattr(clf, "updates_")
    with_intercept = UMAClassifier(problem.C, keep_updates=True, tol=1e-9, max_iter=3)
    assert with_intercept.fit(problem.X, problem.y).updates_.shape == (3, 4)


def test_a_fit_crosses_few_files(blobs):
    """Whoever follows a fit has to open all of them."""
    X, _, y, C = blobs
    UMAClassifier(C).fit(X, y)  # imports and compiles
    root, files = str(Path(unconfused.__file__).parent), set()

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
            files.add(code.co_filename)

    sys.setprofile(note)
    try:
        UMAClassifier(C).fit(X, y)
    finally:
        sys.setprofile(None)
    assert len(files) <= 20, sorted(files)
