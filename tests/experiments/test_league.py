"""The league: its contestants do what they say, and its page says what came out."""

import json
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest
from problems import make_problem

from unconfused import UnconfusedLogisticRegression, noise

pytest.importorskip("experiments", reason="experiments are not part of the package")

from experiments.league import data as league_data
from experiments.league.block import find_block
from experiments.league.corrections import CorrectedSoftmax
from experiments.league.finding import FINDERS
from experiments.league.judge import FIELDS, Contest, Plan, calibration_error, contests, hold
from experiments.league.methods import METHODS
from experiments.league.noises import NOISES, matrix_behind, rough_labels, seen_labels
from experiments.league.page import write_page
from experiments.league.problem import Problem, choose_trusted, pose
from experiments.league.results import Results
from experiments.league.targets import (
    no_draw_hurts,
    no_harm_on_average,
    nobody_is_better,
    pack,
    probabilities_are_right,
    unpack,
    wrong_labels_are_found,
)
from experiments.league.tuning import PENALTIES, choose_penalty
from experiments.runner import Clock, in_words, run_all
from experiments.store import Store

pytestmark = pytest.mark.slow

SOME = ("symmetric 0.2", "pair flip 0.3")
LINEAR = find_block("linear")


@pytest.fixture
def small(monkeypatch):
    """Put four easy classes in the place of a data set."""
    rng = np.random.RandomState(0)
    truth = np.arange(400) % 4
    X = np.eye(4)[truth] + 0.4 * rng.randn(400, 4)
    whole = league_data.DataSet(
        X[:300], truth[:300], X[300:], truth[300:], 4, raw=X[:300], raw_test=X[300:]
    )
    source = league_data.Source("four classes", lambda seed: whole, SOME, 2, 1)
    monkeypatch.setitem(league_data.SOURCES, "digits", source)
    league_data.load.cache_clear()
    pose.cache_clear()
    yield whole
    league_data.load.cache_clear()
    pose.cache_clear()


def test_forward_correction_is_the_likelihood_through_the_matrix():
    problem = make_problem(3, n=200)
    theirs = CorrectedSoftmax(problem.C, "forward", 1e-2).fit(problem.X, problem.y)
    ours = UnconfusedLogisticRegression(problem.C, l2=1e-2, relabel=0, tol=1e-6)
    ours.fit(problem.X, problem.y)
    expected = ours.predict_proba(problem.X)
    np.testing.assert_allclose(theirs.predict_proba(problem.X), expected, atol=2e-2)
    plain = CorrectedSoftmax(np.eye(4), "forward", 1e-2).fit(problem.X, problem.y)
    assert np.abs(plain.predict_proba(problem.X) - expected).max() > 0.1


def test_backward_correction_has_the_clean_loss_on_average():
    problem = make_problem(1, n=4000)
    clean = CorrectedSoftmax(np.eye(4), "backward", 1e-1).fit(problem.X, problem.true)
    seen = noise.corrupt_labels(problem.true, problem.C, random_state=0)
    corrected = CorrectedSoftmax(problem.C, "backward", 1e-1).fit(problem.X, seen)
    ignoring = CorrectedSoftmax(np.eye(4), "backward", 1e-1).fit(problem.X, seen)
    gap = np.abs(corrected.coef_ - clean.coef_).max()
    assert gap < 0.5 * np.abs(ignoring.coef_ - clean.coef_).max()


def test_a_truth_keeps_its_ordinary_loss():
    problem = make_problem(2, n=100)
    truth = problem.true.copy()
    both = [
        CorrectedSoftmax(matrix, "forward", 1e-1).fit(problem.X, problem.y, truth).coef_
        for matrix in (problem.C, np.eye(4))
    ]
    np.testing.assert_allclose(both[0], both[1])  # every truth is known: no matrix matters


@pytest.mark.parametrize("name", NOISES)
def test_noises_are_as_strong_as_their_names(small, name):
    seen = seen_labels(small, name, seed=1)
    matrix = matrix_behind(small, name, seen, seed=1)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    rate = float(name.split()[-1]) * (0.75 if name.startswith("random") else 1.0)
    assert np.mean(seen != small.truth) == pytest.approx(rate, abs=0.12)


def test_rough_labels_depend_on_the_rows(small):
    first, again = (rough_labels(small, 0.3, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    doubled = replace(small, X=np.vstack([small.X, small.X]), truth=np.tile(small.truth, 2))
    labels = rough_labels(doubled, 0.3, seed=5)
    np.testing.assert_array_equal(labels[:300], labels[300:])  # equal rows, equal labels


def test_trusted_rows_are_drawn_uniformly_with_two_of_every_class(small):
    rows = choose_trusted(small, 0.02, seed=0)
    assert np.all(np.bincount(small.truth[rows]) >= 2) and len(rows) == len(set(rows))
    many = choose_trusted(small, 0.5, seed=0)
    assert len(many) == 150 and np.ptp(np.bincount(small.truth[many])) > 0
    unknown = replace(small, truth=np.where(np.arange(300) < 200, small.truth, -1))
    assert np.all(choose_trusted(unknown, 0.3, seed=0) < 200)
    problem = pose("digits", "symmetric 0.2", 0, "trusted")
    np.testing.assert_array_equal(problem.truth[problem.trusted], small.truth[problem.trusted])
    assert np.all(pose("digits", "symmetric 0.2", 0, "none").truth == -1)


def test_penalties_are_chosen_without_held_out_rows(small):
    problem = pose("digits", "symmetric 0.2", 0, "trusted")
    held = np.concatenate([fold.held for fold in problem.tuning])
    np.testing.assert_array_equal(np.sort(held), problem.trusted)  # truths judge, where known
    labels = np.concatenate([f.held for f in pose("digits", "symmetric 0.2", 0, "none").tuning])
    np.testing.assert_array_equal(np.sort(labels), np.arange(300))
    met = []

    class Model:
        classes_ = np.arange(4)

        def __init__(self, l2):
            self.l2 = l2

        def predict_proba(self, X):
            (rows,) = (f.held for f in problem.tuning if np.array_equal(problem.X[f.held], X))
            right = np.eye(4)[problem.best_known[rows]]
            return right if self.l2 == 1e-4 else np.roll(right, 1, axis=1)

    def fit(given: Problem, l2: float) -> Model:
        met.append(given)
        return Model(l2)

    chosen = choose_penalty(replace(METHODS["ours"], title="a spy", fit=fit), problem)
    assert chosen == 1e-4 and len(met) == 3 * len(PENALTIES)
    assert all(given.n_rows == 200 for given in met)


def test_a_part_of_many_rows_is_penalised_as_much_as_all(small, monkeypatch):
    monkeypatch.setattr("experiments.league.problem.MOST_ROWS_TO_TUNE", 100)
    problem, met = replace(pose("digits", "symmetric 0.2", 0, "none")), []
    assert all(fold.strength == 3 for fold in problem.tuning)

    def fit(given: Problem, l2: float):
        met.append(l2 * given.n_rows)
        return METHODS["noisy"].fit(given, l2)

    chosen = choose_penalty(replace(METHODS["noisy"], title="a spy", fit=fit), problem)
    assert chosen in PENALTIES
    np.testing.assert_allclose(met[:4], np.array(PENALTIES) * 200, rtol=0.02)


def test_contests_are_held_once_and_resumed(small, tmp_path):
    store = Store(tmp_path / "league.jsonl", FIELDS)
    plan = Plan(["digits"], {"digits": 1}, [*METHODS, *FINDERS])
    assert len(contests(LINEAR, store, plan)) == 1 + 3 * len(SOME)
    some = Contest("linear", "digits", "symmetric 0.2", 0, "known", ("ours", "uma", "backward"))
    for record in hold(some):
        assert 0 <= record["error"] < 0.5
        store.add(record)
    again = contests(LINEAR, Store(tmp_path / "league.jsonl", FIELDS), plan)
    (left,) = (c for c in again if (c.noise, c.knowledge) == ("symmetric 0.2", "known"))
    assert "ours" not in left.methods and "forward" in left.methods
    only = contests(LINEAR, store, replace(plan, entrants=["ours"]))
    assert len(only) == 3 * len(SOME) - 1 and {c.methods for c in only} == {("ours",)}
    assert len(contests(LINEAR, store, replace(plan, noises=["pair flip 0.3"]))) == 4


def test_a_contestant_that_fails_says_why(small, monkeypatch):
    def fit(problem, l2):
        raise RuntimeError("out of luck")

    monkeypatch.setitem(METHODS, "ours", replace(METHODS["ours"], fit=fit))
    (record,) = hold(Contest("linear", "digits", "symmetric 0.2", 0, "known", ("ours",)))
    assert record["failed"] == "RuntimeError: out of luck" and "error" not in record


def test_a_line_cut_off_is_made_again(tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    path.write_text('{"data": "a", "error": 0.1}\n{"data": "b", "err')
    store = Store(path, ("data",))
    assert len(store) == 1 and ("a",) in store and ("b",) not in store
    assert "line 2" in capsys.readouterr().out


def test_tasks_are_done_and_kept(tmp_path):
    store = Store(tmp_path / "deep" / "results.jsonl", ("task",))
    assert run_all([1, 2, 3], _square, store, kind_of=str, n_jobs=1)
    assert [r["square"] for r in store.records()] == [1, 4, 9]
    assert len(Store(store.path, ("task",))) == 3


def _square(task):
    return [{"task": task, "square": task * task}]


def test_time_left_is_reckoned_by_kind():
    clock = Clock(["slow", "slow", "fast", "fast"], n_jobs=1)
    clock.done("slow", 10.0)
    clock.done("fast", 1.0)
    assert clock.left() == pytest.approx(11.0)
    assert [in_words(t) for t in (5, 300, 9000)] == ["5 s", "5 min", "2.5 h"]


def record(knowledge, method, seed, noise_name="pair flip 0.3", **numbers):
    noise_name = "none" if knowledge == "clean" else noise_name
    key = zip(FIELDS, ("digits", noise_name, seed, knowledge, method), strict=True)
    return {**dict(key), **numbers}


def test_targets_and_page_follow_the_records():
    rng = np.random.RandomState(0)
    right = {rate: rng.random_sample(1000) > rate for rate in (0.06, 0.1, 0.2)}
    records = []
    for seed in range(2):
        records += [
            record("clean", "clean", seed, error=0.05, calibration_error=0.01),
            record("known", "ours", seed, error=0.055 + 0.002 * seed, calibration_error=0.02),
            record("trusted", "ours", seed, error=0.1, calibration_error=0.05, **pack(right[0.1])),
            record("trusted", "trusted", seed, error=0.06, **pack(right[0.06])),
            record("none", "noisy", seed, error=0.2, **pack(right[0.2])),
            record("none", "find-ours", seed, average_precision=0.9),
            record("none", "find-cleanlab-margin", seed, average_precision=0.95),
            record("known", "uma", seed, failed="ValueError: no"),
        ]
    results = Results(records)
    won = {check.what.split("; ")[2]: check for check in nobody_is_better(results)}
    assert won["C known"].met and "noisy" in won["C known"].outcome
    assert not won["trusted rows"].met and "+0.0400 against trusted" in won["trusted rows"].outcome
    draws = list(no_draw_hurts(results))
    assert len(draws) == 2 and not any(check.met for check in draws)
    assert "against trusted" in draws[0].outcome
    mean = [check.met for check in no_harm_on_average(results)]
    assert sorted(mean) == [False, True]
    assert [check.met for check in probabilities_are_right(results)] == [True, False]
    (found,) = wrong_labels_are_found(results)
    assert not found.met and found.outcome == "0.9000 against 0.9500 (cleanlab-margin)"
    page = write_page(LINEAR, results, "# The league\n")
    assert "0.056 ± 0.001" in page and "failed" in page
    for target in LINEAR.targets:
        checks = list(target.checks(results))
        assert f"{sum(c.met for c in checks)} of {len(checks)}" in page and target.title in page
    # A seed that only the peer has met changes nothing.
    more = Results([*records, record("none", "find-cleanlab-margin", 2, average_precision=0.1)])
    (found,) = wrong_labels_are_found(more)
    assert found.outcome == "0.9000 against 0.9500 (cleanlab-margin)"


def test_which_rows_were_right_survives_the_store():
    right = np.random.RandomState(0).random_sample(77) > 0.4
    np.testing.assert_array_equal(unpack(json.loads(json.dumps(pack(right)))), right)


def test_calibration_error_of_the_sure_and_wrong():
    sure = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert calibration_error(sure, np.array([0, 0])) == 0.0
    assert calibration_error(sure, np.array([0, 1])) == pytest.approx(0.5)


def test_the_command_names_what_is_missing(tmp_path, monkeypatch, capsys):
    from experiments.league.main import run_league

    monkeypatch.setenv("UNCONFUSED_DATA", str(tmp_path / "nowhere"))
    options = Namespace(
        only=["music"],
        methods=None,
        results=tmp_path,
        docs=tmp_path,
        summary=False,
        quick=True,
        runs=1,
        jobs=1,
        block="linear",
        noises=None,
    )
    league_data.load.cache_clear()
    assert run_league(options) == 2 and "--only" in capsys.readouterr().out
    options.only = ["nonsense"]
    assert run_league(options) == 2 and "nonsense" in capsys.readouterr().out
    options.only, options.methods = ["music"], ["humbug"]
    assert run_league(options) == 2 and "humbug" in capsys.readouterr().out
    options.methods, options.noises = None, ["din"]
    assert run_league(options) == 2 and "din" in capsys.readouterr().out
    options.noises, options.block = None, "square"
    assert run_league(options) == 2 and "square" in capsys.readouterr().out
    options.block, options.summary = "linear", True
    assert run_league(options) == 2 and "no results" in capsys.readouterr().out


def test_publishing_writes_page_figure_and_numbers(small, tmp_path):
    from experiments.league.main import publish

    pytest.importorskip("matplotlib")
    pytest.importorskip("cleanlab", reason="the league's peers are an extra")
    pytest.importorskip("skactiveml", reason="the league's peers are an extra")
    store = Store(tmp_path / "league.jsonl", FIELDS)
    for contest in (
        Contest("linear", "digits", "none", 0, "clean", ("clean",)),
        Contest("linear", "digits", "pair flip 0.3", 0, "known", ("ours", "forward")),
    ):
        for record in hold(contest):
            store.add(record)
    publish(LINEAR, store, tmp_path)
    numbers = json.loads((tmp_path / "league" / "league.json").read_text())
    assert {entry["method"] for entry in numbers["results"]} == {"clean", "ours", "forward"}
    assert (tmp_path / "league" / "league.png").stat().st_size > 10_000
    page = (tmp_path / "league.md").read_text()
    assert "four classes; pair flip 0.3" in page and "four classes 1 of 2" in page


def test_break_even_draws_what_it_measured(small, tmp_path, monkeypatch):
    from experiments import break_even

    pytest.importorskip("matplotlib")
    monkeypatch.setattr(break_even, "CASES", {"digits": "symmetric 0.2"})
    monkeypatch.setattr(break_even, "N_TRUSTED", (20, 50, 2000))
    options = Namespace(
        only=None, results=tmp_path, docs=tmp_path, summary=False, quick=True, runs=None, jobs=1
    )
    assert break_even.run_break_even(options) == 0
    records = Store(tmp_path / "break_even.jsonl", break_even.FIELDS).records()
    assert {r["n_trusted"] for r in records} == {0, 20, 50} and len(records) == 2 + 2 * 3
    assert all(0.5 < r["accuracy"] <= 1 for r in records)
    assert (tmp_path / "league" / "break_even.png").stat().st_size > 10_000
    options.summary = True
    assert break_even.run_break_even(options) == 0
