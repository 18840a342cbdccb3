"""The numbers of the report: against what is known of problems we made."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from reports import HOSTILE, confused_digits, some_truth
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import UMAClassifier, UnconfusedLogisticRegression, confusion, noise
from unconfused._matrix import GuessedConfusionWarning
from unconfused._report.case import open_case
from unconfused._report.checks import reliability_of
from unconfused._report.gather import gather
from unconfused._report.html.page import _embedded
from unconfused._report.source import find_source
from unconfused._report.tables import listing_of
from unconfused.confusion.estimation.calibration import sharpen

pytestmark = pytest.mark.slow

X, TRUE, SEEN, C = confused_digits()
WRONG = float(np.mean(SEEN != TRUE))


@pytest.fixture(scope="module")
def known():
    # Rounds make the probabilities honest.
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=2).fit(X, SEEN)
    return gather(model, X, SEEN, random_state=0)


def precision(data, n=100):
    rows = [one.row for one in data.rows[:n]]
    return np.mean(SEEN[rows] != TRUE[rows])


def share(data):
    return data.n_wrong / data.n_labels


def test_a_known_matrix(known):
    assert abs(share(known) - WRONG) < 0.015
    assert known.verdict.certain and "most often '4' is called '9'" in known.verdict.sentence
    assert known.verdict.number == f"{100 * share(known):.1f} %"
    assert "taken as exact" in known.verdict.detail[0]
    assert known.confusion.low is None
    np.testing.assert_allclose(known.confusion.matrix, C, atol=1e-12)
    mix_up = known.confusion.mix_ups[0]
    assert (mix_up.true, mix_up.label) == (4, 9)
    assert abs(mix_up.rows - np.sum((TRUE == 4) & (SEEN == 9))) < 8
    assert precision(known) > 0.97
    assert known.notes == []


def test_the_label_mix(known):
    before = np.bincount(SEEN) / len(SEEN)
    after = np.bincount(TRUE) / len(TRUE)
    np.testing.assert_allclose([one.labels for one in known.mix], before, atol=1e-12)
    estimated = np.array([one.estimated for one in known.mix])
    assert np.abs(estimated - after).max() < 0.01 < np.abs(before - after).max()


def test_rows_are_ranked_and_explained(known):
    wrong = [one.wrong for one in known.rows]
    assert wrong == sorted(wrong, reverse=True) and len(wrong) == 1000
    assert known.n_ranked == len(X)
    for one in known.rows[:20]:
        assert one.label == SEEN[one.row] and one.suggested == one.posterior[0][0] != one.label
        assert sum(chance for _, chance in one.posterior) <= 1 + 1e-9


def test_reliability_is_that_of_the_model_not_of_the_fits_that_stand_in_for_it():
    rng = np.random.RandomState(0)
    unsure = rng.dirichlet([1.0, 1.0], 2000)
    truth = (rng.random_sample(2000) < sharpen(unsure, 3.0)[:, 1]).astype(int)
    known = np.ones(2000, dtype=bool)
    case = SimpleNamespace(trusted=known, truth=truth, votes=None, is_uma=False)
    judged = SimpleNamespace(case=case, probability=unsure, power=3.0)
    for final, answer in (({"choice_": {}}, "Yes"), ({}, "No, they are too low")):
        case.final = SimpleNamespace(**final)
        assert reliability_of(None, judged, 0).answer.startswith(answer)


def test_reliability_through_the_matrix(known):
    assert known.reliability.against == "labels" and "noisy labels" in known.reliability.words
    assert sum(known.reliability.curve.count) == 10 * len(X)
    assert known.reliability.gap < 0.03


def test_sensitivity_moves_the_right_way(known):
    fewer, more = known.sensitivity.scenarios
    assert fewer.wrong < known.sensitivity.baseline < more.wrong
    assert 0 <= fewer.changed < 0.1 and 0 <= more.changed < 0.1
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X[:300], SEEN[:300])
    assert gather(model, X[:300], SEEN[:300], sensitivity=False).sensitivity is None


def test_it_can_be_repeated(known):
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X, SEEN)
    first = gather(model, X, SEEN, sensitivity=False)
    seed = int(first.code.split("random_state=")[1].rstrip(")"))
    again = gather(model, X, SEEN, sensitivity=False, random_state=seed)
    assert again.rows == first.rows and again.verdict == first.verdict
    assert "UnconfusedLogisticRegression(confusion=C, l2=0.001, relabel=2)" in known.code


def test_json_can_hold_it(known):
    assert json.loads(_embedded(known))["n_rows"] == len(X)


def test_trusted_rows():
    y_true = some_truth(TRUE)
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0, random_state=0).fit(
        X, SEEN, y_true=y_true
    )
    data = gather(model, X, SEEN, y_true=y_true, random_state=0)
    assert abs(share(data) - WRONG) < 0.02
    assert "450 checked rows" in data.verdict.detail[0] and data.n_trusted == 450
    assert data.reliability.against == "truth" and "450 rows" in data.reliability.words
    assert data.confusion.low[4][9] < C[4, 9] < data.confusion.high[4][9]
    assert not {one.row for one in data.rows} & set(np.flatnonzero(y_true >= 0).tolist())
    assert any("drawn from the counts" in one.name for one in data.sensitivity.scenarios)
    assert "checked one" in data.convergence and "y_true=y_true" in data.code
    drawn = [one.wrong for one in data.sensitivity.scenarios if "drawn" in one.name]
    assert abs(np.mean(drawn) - data.sensitivity.baseline) < 0.02


def test_an_estimate_keeps_its_intervals_in_any_order():
    order = np.random.RandomState(0).permutation(10)
    counts = np.rint(300 * C)
    estimate = confusion.ConfusionEstimate.from_counts(counts[np.ix_(order, order)], order)
    model = UnconfusedLogisticRegression(estimate, l2=1e-3, relabel=0, refine=False).fit(X, SEEN)
    data = gather(model, X, SEEN, sensitivity=False, random_state=0)
    assert data.confusion.low[4][9] < counts[4, 9] / counts[4].sum() < data.confusion.high[4][9]
    assert data.confusion.high[9][4] < 0.05


def test_nothing_known_is_called_a_guess():
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, SEEN)
    data = gather(model, X, SEEN, random_state=0)
    assert not data.verdict.certain and "may be wrong" in data.verdict.sentence
    assert "Estimated from features and labels alone" in data.verdict.detail[0]
    assert "from_noisy" in data.confusion.source
    assert abs(share(data) - WRONG) < 0.04 and precision(data) > 0.9
    assert any(one.name == "nearly all labels correct" for one in data.sensitivity.scenarios)


def test_a_guess_that_explains_nothing_does_not_rank():
    rng = np.random.RandomState(0)
    rows = rng.standard_normal((500, 3))
    truth = (rows[:, 0] + 0.7 * rows[:, 1] > 0).astype(int)
    seen = (rows[:, 0] - 0.3 * rows[:, 1] + 0.2 * rng.standard_normal(500) > 0).astype(int)
    data = gather(
        UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(rows, seen), rows, seen, random_state=0
    )
    assert "ranked by self-confidence" in data.rows_words
    assert any("their order is meaningful" in note for note in data.notes)
    first = [one.row for one in data.rows[:50]]
    assert np.mean(seen[first] != truth[first]) > 1.5 * np.mean(seen != truth)
    wrong = [one.wrong for one in data.rows]
    assert wrong == sorted(wrong, reverse=True)


@pytest.mark.parametrize("helps", [True, False])
def test_rows_are_ranked_by_what_the_fit_chose(monkeypatch, helps):
    # Whatever another comparison says, a report tells the story of the fit.
    monkeypatch.setattr("unconfused._report.judge.matrix_helps", lambda *_: helps)
    rng = np.random.RandomState(0)
    rows = rng.standard_normal((500, 3))
    overlapping = (rows[:, 0] + rng.standard_normal(500) > 0).astype(int)
    told = {}
    for name, features, labels in (("used", X[:600], SEEN[:600]), ("not", rows, overlapping)):
        learner = UnconfusedLogisticRegression("auto", l2=1e-3, relabel=0, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuessedConfusionWarning)
            model = learner.fit(features, labels)
        assert hasattr(model, "guessed_confusion_") == (name == "used")
        told[name] = gather(model, features, labels, random_state=0, sensitivity=False).rows_words
    assert "self-confidence" not in told["used"] and "self-confidence" in told["not"]


def test_truth_the_model_never_saw_beats_a_guess():
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, SEEN)
    data = gather(model, X, SEEN, y_true=some_truth(TRUE), random_state=0, sensitivity=False)
    assert data.verdict.certain and "The fit did not use it" in data.confusion.source
    both = some_truth(TRUE) == 4
    assert data.confusion.matrix[4][9] == pytest.approx(np.mean(SEEN[both] == 9))
    assert abs(share(data) - WRONG) < 0.02


def test_where_not_even_a_guess_is_possible():
    rows, y = np.eye(4)[[0, 1, 2]], ["a", "b", "c"]
    data = gather(UMAClassifier().fit(rows, y), rows, y, random_state=0)
    assert data.verdict.number == "?" and not data.verdict.certain
    assert data.sensitivity is None


def test_uma_says_who_ranks():
    model = UMAClassifier(C, max_iter=100).fit(X, SEEN)
    data = gather(model, X, SEEN, random_state=0)
    assert "as UMA has no probabilities" in data.rows_words
    assert precision(data) > 0.97
    assert f"made {model.n_iter_} updates" in data.convergence
    assert len(data.sensitivity.scenarios) == 2


def crowd():
    votes = np.column_stack(
        [
            noise.corrupt_labels(TRUE, noise.symmetric(10, rate), random_state=seed)
            for seed, rate in enumerate((0.1, 0.3, 0.6))
        ]
    ).astype(float)
    votes[np.random.RandomState(0).rand(*votes.shape) < 0.2] = np.nan
    return votes


def test_votes():
    votes = crowd()
    some = ~np.isnan(votes).all(axis=1)
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X[some], votes[some])
    # A row without any vote is left out, and the others keep their numbers.
    data = gather(model, X, votes, random_state=0)
    assert data.n_rows == some.sum() and all(some[one.row] for one in data.rows)
    assert "of the answers" in data.verdict.sentence
    assert "The most frequent answer is wrong on at least" in data.verdict.detail[1]
    assert data.classes[:3] == ["0", "1", "2"]
    by_name = {one.name: one for one in data.annotators}
    assert by_name["0"].wrong < by_name["1"].wrong < by_name["2"].wrong
    assert by_name["2"].answers == int(np.sum(~np.isnan(votes[:, 2])))
    fewer, more = data.sensitivity.scenarios
    assert fewer.wrong != more.wrong
    with pytest.raises(ValueError, match="fitted with one label per row"):
        gather(UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X, SEEN), X, votes)


def test_votes_with_truth():
    votes = crowd()
    votes[0] = np.nan
    truth = np.where(np.arange(len(TRUE)) % 3 == 0, TRUE, np.nan)
    some = ~np.isnan(votes).all(axis=1) | ~np.isnan(truth)
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=2)
    model.fit(X[some], votes[some], y_true=truth[some])
    data = gather(model, X[some], votes[some], y_true=truth[some], random_state=0)
    assert data.reliability.against == "truth" and data.reliability.gap < 0.05


def test_a_pipeline_of_texts_with_names():
    words = np.array([["sun", "rain", "snow"][t % 3] + f" word{i % 7}" for i, t in enumerate(TRUE)])
    names = np.array(["dry", "wet", "cold"], dtype=object)
    matrix = np.array([[0.8, 0.2, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])
    seen = noise.corrupt_labels(TRUE % 3, matrix, random_state=1)
    given = pd.DataFrame(matrix, index=names, columns=names)
    likelihood = UnconfusedLogisticRegression(given, l2=1e-3, relabel=0)
    for learner in (likelihood, UMAClassifier(given, max_iter=50)):
        model = make_pipeline(CountVectorizer(), learner).fit(words, names[seen])
        data = gather(
            model, words, names[seen], random_state=0,
        )  # fmt: skip
        assert abs(share(data) - np.mean(seen != TRUE % 3)) < 0.02
        assert data.classes == ["cold", "dry", "wet"]
        assert data.rows[0].text == words[data.rows[0].row]
        assert data.rows[0].name is None
        assert "CountVectorizer()" in data.code


def test_a_frame_and_its_index():
    frame = pd.DataFrame(X, index=[f"digit {i}" for i in range(len(X))])
    model = make_pipeline(StandardScaler(), UnconfusedLogisticRegression(C, l2=1e-2, relabel=0))
    data = gather(model.fit(frame, SEEN), frame, SEEN, sensitivity=False, random_state=0)
    assert data.rows[0].name == f"digit {data.rows[0].row}"


def test_sparse_rows_and_a_fit_that_is_forgotten(known):
    rows = sparse.csr_matrix(X)
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(rows, SEEN)
    del model._state  # as after a model was stored and loaded again
    data = gather(model, rows, SEEN, sensitivity=False, random_state=0)
    assert share(data) == pytest.approx(share(known), abs=1e-3)
    assert data.convergence.endswith("steps.")


def test_many_classes_show_those_mixed_up_most():
    rng = np.random.RandomState(0)
    true = rng.randint(40, size=4000)
    rows = np.eye(40)[true] + 0.2 * rng.randn(4000, 40)
    matrix = np.eye(40)
    matrix[17, 17], matrix[17, 33] = 0.6, 0.4
    seen = noise.corrupt_labels(true, matrix, random_state=0)
    model = UnconfusedLogisticRegression(matrix, l2=1e-3, relabel=0).fit(rows, seen)
    data = gather(model, rows, seen, sensitivity=False, random_state=0)
    assert len(data.confusion.shown) == 12 and {17, 33} <= set(data.confusion.shown)
    assert (data.confusion.mix_ups[0].true, data.confusion.mix_ups[0].label) == (17, 33)
    assert len(data.mix) == 20


def test_a_transposed_matrix_is_noticed():
    matrix = np.array([[0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.0, 0.4, 0.6]])
    true = TRUE % 3
    seen = noise.corrupt_labels(true, matrix, random_state=0)
    other = np.array([[1.0, 0.0, 0.0], [0.45, 0.1, 0.45], [0.0, 0.0, 1.0]])
    model = UnconfusedLogisticRegression(other, l2=1e-2, relabel=0).fit(X, seen)
    data = gather(model, X, seen, sensitivity=False, random_state=0)
    assert any("do not fit each other" in note for note in data.notes)


def test_every_label_known_leaves_nothing_to_rank():
    model = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, SEEN, y_true=TRUE)
    data = gather(model, X, SEEN, y_true=TRUE, random_state=0, sensitivity=False)
    assert data.rows == [] and share(data) == pytest.approx(WRONG)


def test_what_it_refuses():
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X, SEEN)
    with pytest.raises(ValueError, match="best_estimator_"):
        gather(GridSearchCV(model, {"l2": [1e-3]}), X, SEEN)
    with pytest.raises(ValueError, match="got LogisticRegression"):
        gather(LogisticRegression(), X, SEEN)
    with pytest.raises(ValueError, match="1797 rows but y has 10"):
        gather(model, X, SEEN[:10])
    with pytest.raises(ValueError, match="max_rows"):
        listing_of(X, None, None, -1)
    with pytest.raises(ValueError, match="have no names"):
        listing_of(X, None, "text", 10)
    with pytest.raises(ValueError, match="There is no column 'text'"):
        listing_of(X, pd.DataFrame(X), "text", 10)
    with pytest.raises(ValueError, match="nothing to report on"):
        gather(model, X, np.full(len(X), np.nan))


def test_hostile_labels_are_only_labels():
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0, classes=HOSTILE).fit(
        X, HOSTILE[SEEN]
    )
    data = gather(model, X, HOSTILE[SEEN], sensitivity=False, random_state=0)
    assert sorted(data.classes) == sorted(HOSTILE.tolist())


@pytest.mark.parametrize("learner", [UnconfusedLogisticRegression, UMAClassifier])
def test_weights_of_classes_follow_their_names(learner):
    """Models of the folds are fitted to codes; weights and costs name classes, or follow them."""
    X, truth, seen, C = confused_digits()
    X, truth, seen = X[:300], truth[:300], seen[:300]
    backwards = np.array([f"digit {9 - code}" for code in range(10)])
    named = {"max_iter": 20} if learner is UMAClassifier else {"l2": 1e-3, "relabel": 0}
    weights = np.where(np.arange(10) == 3, 5.0, 1.0)
    model = learner(C, class_weight=dict(enumerate(weights)), **named)
    plain = gather(model.fit(X, seen), X, seen, random_state=0)
    model.set_params(class_weight=dict(zip(backwards, weights, strict=True)), classes=backwards)
    other = gather(model.fit(X, backwards[seen]), X, backwards[seen], random_state=0)
    assert [row.row for row in other.rows][:20] == [row.row for row in plain.rows][:20]


@pytest.mark.parametrize(("rate", "by_counts"), [(0.25, False), (0.5, True)])
def test_a_refined_matrix_that_the_checked_rows_refute_does_not_judge_labels(rate, by_counts):
    # On 30,000 people whose classes no linear model fits, labels said to be wrong with a
    # probability of 0.8 were wrong in half of the cases.
    X, truth = np.random.RandomState(0).randn(600, 2), np.arange(600) % 3
    y = noise.corrupt_labels(truth, noise.symmetric(3, 0.25), random_state=0)
    checked = np.where(np.arange(600) < 300, truth, np.nan)
    model = UnconfusedLogisticRegression(l2=1e-2, relabel=0).fit(X, y, y_true=checked)
    model.confusion_ = noise.symmetric(3, rate)
    source = find_source(open_case(model, X, y, checked), 0)
    assert ("beyond what the counts allow" in source.words) == by_counts
    assert (np.abs(source.judging - model.confusion_).max() > 0.1) == by_counts
