"""Rounds of relabelling: they mend labels, keep to what is known, and make probabilities honest."""

import pickle

import numpy as np
import pytest
from problems import make_problem
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import train_test_split

from unconfused import UnconfusedLogisticRegression, noise
from unconfused.confusion import rank_label_errors
from unconfused.confusion.estimation.calibration import calibrate, only_power
from unconfused.estimators.relabel import pseudo_labels
from unconfused.estimators.relabel import rounds as _relabel
from unconfused.estimators.relabel.evidence import Evidence, OutOfFold
from unconfused.estimators.relabel.pseudo_labels import AMBIGUOUS, LEAST_PENALTY, Relabelling
from unconfused.solvers.likelihood import LikelihoodState


def problem(n=300):
    made = make_problem(3, n, 6, 3, diagonal=4.0)
    return made.X, made.y, made.C


def noisy_digits(kind, seed=0):
    X, truth = load_digits(return_X_y=True)
    C = kind(10)
    X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=seed)
    return X, noise.corrupt_labels(truth, C, random_state=seed), truth, X_test, truth_test, C


@pytest.mark.slow
def test_rounds_lower_the_error_and_make_probabilities_honest():
    X, y, _, X_test, truth_test, C = noisy_digits(lambda q: noise.symmetric(q, 0.6))
    plain = UnconfusedLogisticRegression(C, l2=1e-4, relabel=0, random_state=0).fit(X, y)
    rounds = clone(plain).set_params(relabel=4).fit(X, y)
    errors = [1 - model.score(X_test, truth_test) for model in (plain, rounds)]
    assert errors[1] < 0.8 * errors[0]
    sure = rounds.predict_proba(X_test).max(axis=1).mean()
    assert abs(sure - (1 - errors[1])) < 0.04
    changed = rounds.history_["relabelled"]
    assert 1 <= len(changed) <= 4 and changed[-1] < changed[0]
    assert "relabelled" not in plain.history_


def test_sparse_rows_and_weights_give_the_same_model():
    X, y, C = problem()
    model = UnconfusedLogisticRegression(C, relabel=2, random_state=0)
    dense = clone(model).fit(X, y)
    # Small weights do not mean few rows; a weight of 2 is the row twice, and tells more of shares.
    for rows, weight in ((sparse.csr_matrix(X), None), (X, np.full(len(y), 0.5))):
        same = clone(model).fit(rows, y, sample_weight=weight)
        np.testing.assert_allclose(same.predict_proba(X), dense.predict_proba(X), atol=1e-3)
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, dense.coef_)


def test_known_truths_are_never_relabelled(monkeypatch):
    X, y, C = problem()
    truth = np.full(len(y), np.nan)
    truth[:60] = (y[:60] + 1) % 3  # against all evidence
    targets = []
    target = Relabelling._pseudo_labels

    def noting(*args):
        targets.append(target(*args))
        return targets[-1]

    monkeypatch.setattr(Relabelling, "_pseudo_labels", staticmethod(noting))
    model = UnconfusedLogisticRegression(C, relabel=3, noisy_weight=1.0, random_state=0)
    model.fit(X, y, y_true=truth)
    assert len(targets) > 5
    for taught in targets:
        counts = taught.weight[:60] > 0
        assert counts.any()
        np.testing.assert_array_equal(taught.codes[:60][counts], 3 + truth[:60][counts])


def test_votes_are_relabelled_too(monkeypatch):
    monkeypatch.setattr(OutOfFold, "is_less_likely_than", lambda *args: False)
    made = make_problem(3, 300, 6, 3)
    X, y = made.X, made.true
    rng = np.random.RandomState(0)
    wrong = rng.random_sample((300, 3)) < 0.4
    votes = np.where(wrong, rng.randint(0, 3, (300, 3)), y[:, np.newaxis]).astype(float)
    votes[rng.random_sample((300, 3)) < 0.3] = np.nan
    votes[:, 0] = np.where(np.isnan(votes).all(axis=1), y, votes[:, 0])
    model = UnconfusedLogisticRegression(relabel=3, random_state=0).fit(X, votes)
    assert len(model.history_["relabelled"]) >= 1 and model.score(X, y) > 0.85


def test_a_class_nobody_is_sure_of_keeps_its_likeliest_rows():
    posterior = np.array([[0.9, 0.05, 0.05], [0.2, 0.7, 0.1], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    np.testing.assert_array_equal(_relabel.sure_classes(posterior), [0, 1, 1, 2])
    posterior[1] = [0.05, 0.9, 0.05]
    np.testing.assert_array_equal(_relabel.sure_classes(posterior), [0, 1, -1, 2])


def test_a_class_that_would_vanish_ends_the_rounds():
    def flat(held=None, start=None):
        return LikelihoodState(np.array([[1.0], [0.0], [0.0]]), np.eye(3))

    codes = np.array([0, 1, 2, 0, 1, 2])
    evidence = Evidence(np.ones((6, 3)), np.zeros(6, dtype=bool), np.ones(6), codes, np.ones(6))
    state = flat()
    rounds = Relabelling(
        X=np.ones((6, 1)),
        model=UnconfusedLogisticRegression(relabel=3, fit_intercept=False),
        evidence=evidence,
        fit_without=flat,
        settings=None,
    )
    rounds.run(state)  # there are no settings: a round would fail
    assert state.relabelled == []


def test_ctrl_c_in_a_round_keeps_the_model_so_far(monkeypatch):
    X, y, C = problem()
    plain = UnconfusedLogisticRegression(C, relabel=0, random_state=0).fit(X, y)

    def interrupt(self, *args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Relabelling, "_evaluate", interrupt)
    model = UnconfusedLogisticRegression(C, relabel=2, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_)


def test_dask_rows_are_refused_in_words():
    da = pytest.importorskip("dask.array")
    X, y, C = problem(60)
    rows, labels = da.from_array(X, chunks=(30, -1)), da.from_array(y, chunks=30)
    with pytest.raises(ValueError, match="relabel"):
        UnconfusedLogisticRegression(C, relabel=1).fit(rows, labels)


@pytest.mark.slow
def test_labels_are_ranked_by_what_the_rounds_have_found():
    X, y, truth, *_, C = noisy_digits(lambda q: noise.symmetric(q, 0.4))
    once = UnconfusedLogisticRegression(C, relabel=0, random_state=0)
    rounds = clone(once).set_params(relabel=4)
    precision = []
    for model in (once, rounds):
        issues = rank_label_errors(model, X, y, random_state=0)
        precision.append(average_precision_score((y != truth)[issues.row], issues.probability))
    assert min(precision) > 0.98  # several sets of folds, or the rounds' own
    fitted = rounds.fit(X, y)
    posterior = fitted.cross_fitted_posterior_
    own = posterior[issues.row, y[issues.row]]
    np.testing.assert_allclose(1 - own, issues.probability, atol=1e-9)
    assert not hasattr(once.fit(X, y), "cross_fitted_posterior_")
    assert not hasattr(pickle.loads(pickle.dumps(fitted)), "cross_fitted_posterior_")


def test_verbose_tells_of_the_rounds(capsys):
    X, y, C = problem()
    UnconfusedLogisticRegression(C, relabel=2, random_state=0, verbose=1).fit(X, y)
    assert "Relabelling" in "".join(capsys.readouterr())


def test_a_row_has_no_say_in_what_it_is_rehearsed_with(monkeypatch):
    # Pseudo-labels that predict the rows of a fold do not depend on its labels.
    X, y, C = problem(150)
    taught = []
    trial_targets = Relabelling._trial_targets

    def noting(*args):
        taught.append(trial_targets(*args))
        return taught[-1]

    monkeypatch.setattr(Relabelling, "_trial_targets", noting)
    parts = np.random.RandomState(0).permutation(150).reshape(5, 30)
    folds = [np.isin(np.arange(150), part) for part in parts]
    monkeypatch.setattr(Relabelling, "_folds", lambda self, number=0: folds)
    for labels in (y, np.where(folds[2], (y + 1) % 3, y)):
        model = UnconfusedLogisticRegression(C, l2=1e-4, relabel=1, random_state=0)
        model.fit(X, labels, sample_weight=np.ones(150))
    one, other = (targets[2] for targets in taught)
    counts = ~folds[2]
    assert one.weight[folds[2]].sum() == other.weight[folds[2]].sum() == 0
    np.testing.assert_array_equal(one.codes[counts], other.codes[counts])
    assert not np.array_equal(taught[0][0].codes, taught[1][0].codes)


def test_a_first_round_that_does_harm_is_not_made(monkeypatch):
    monkeypatch.setattr(OutOfFold, "is_less_likely_than", lambda *args: True)
    X, y, C = problem()
    once = UnconfusedLogisticRegression(C, relabel=0, random_state=0).fit(X, y)
    rounds = clone(once).set_params(relabel=4).fit(X, y)
    assert len(rounds.history_["relabelled"]) == 0
    # The same weights, made as sure as labels warrant.
    scale = rounds.coef_ / once.coef_
    np.testing.assert_allclose(scale, scale[0, 0], rtol=1e-6)
    truth = np.where(np.arange(len(y)) < 60, y.astype(float), np.nan)
    rounds = clone(rounds).set_params(noisy_weight=0.01).fit(X, y, y_true=truth)
    assert len(rounds.history_["relabelled"]) == 0


def test_harm_is_judged_on_rows_that_count():
    row = np.full((4, 2), 0.5)
    evidence = Evidence(
        row, np.zeros(4, bool), np.ones(4), np.arange(4) % 2, np.array([1.0, 1, 1, 0])
    )
    fair = only_power(np.log(row), row, np.ones(4))
    before, now = (
        OutOfFold(evidence, fair, np.array(log_likelihood), row, np.log(row))
        for log_likelihood in ([-1.0, -1.0, -1.0, 0.0], [-1.1, -1.2, -1.3, -99.0])
    )  # less by 0.2; the last row counts nothing
    assert now.is_less_likely_than(before) and not before.is_less_likely_than(now)
    assert not before.is_less_likely_than(before)
    assert before.mean_log_likelihood == pytest.approx(
        -1.0
    ) and now.mean_log_likelihood == pytest.approx(-1.2)


def test_a_round_that_explains_less_is_taken_back():
    X, y, _, X_test, truth_test, C = noisy_digits(lambda q: noise.symmetric(q, 0.5))
    settings = {"l2": 0.03, "random_state": 0}  # far too stiff for this
    once = UnconfusedLogisticRegression(C, relabel=0, **settings).fit(X, y)
    rounds = UnconfusedLogisticRegression(C, relabel=4, **settings).fit(X, y)
    assert rounds.score(X_test, truth_test) >= once.score(X_test, truth_test) - 0.01


def rare_classes(seed=0):
    """Rows of three classes, one of them rare, that overlap; labels wrong every other time."""
    rng = np.random.RandomState(seed)
    truth = np.repeat([0, 1, 2], [1200, 240, 60])
    X = rng.randn(len(truth), 40) + 1.3 * np.eye(3, 40)[truth]
    C = noise.symmetric(3, 0.4)
    return X, noise.corrupt_labels(truth, C, random_state=seed), truth, C


def test_rounds_help_where_a_simple_model_knows_only_the_frequent_class():
    X, y, _, C = rare_classes()
    X_test, _, truth_test, _ = rare_classes(seed=50)
    plain = UnconfusedLogisticRegression(C, l2=0.15, relabel=0, random_state=0).fit(X, y)
    rounds = clone(plain).set_params(relabel=4).fit(X, y)
    assert np.mean(plain.predict(X_test) == 0) > 0.98
    assert rounds.score(X_test, truth_test) > plain.score(X_test, truth_test) + 0.02


def test_classes_are_as_frequent_as_labels_say():
    rng = np.random.RandomState(0)
    truth = np.repeat([0, 1, 2], [16000, 3000, 1000])
    scores = rng.randn(len(truth), 3) + 2 * np.eye(3)[truth]
    logs = log_softmax(0.5 * scores, axis=1)  # too unsure, and all classes alike
    C = noise.symmetric(3, 0.3)
    y = noise.corrupt_labels(truth, C, random_state=0)
    fair = calibrate(logs, C[:, y].T, np.ones(len(y)))
    shares = fair.apply(logs).mean(axis=0)
    np.testing.assert_allclose(shares, [0.8, 0.15, 0.05], atol=0.02)
    assert fair.power > 1
    assert only_power(logs, C[:, y].T, np.ones(len(y))).shift.max() == 0.0


def test_without_rows_that_count_nothing_is_calibrated():
    fair = calibrate(np.log(np.full((4, 2), 0.5)), np.ones((4, 2)), np.zeros(4))
    assert fair.power == 1.0 and not fair.shift.any()


def test_the_penalty_stays_the_same_belief_when_more_rows_are_learnt_from(monkeypatch):
    X, y, C = problem()
    monkeypatch.setattr(OutOfFold, "is_less_likely_than", lambda *args: False)
    truth = np.where(np.arange(len(y)) < 60, y.astype(float), np.nan)
    factors = []
    fit = Relabelling._fit_target

    def noting(rounds, target, weight, start):
        factors.append((rounds.relaxed * target.factor, weight.sum()))
        return fit(rounds, target, weight, start)

    monkeypatch.setattr(Relabelling, "_fit_target", noting)
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=1, noisy_weight=0.1, random_state=0)
    model.fit(X, y, y_true=truth)
    assert len(model.history_["relabelled"]) == 1
    for factor, fitted in factors[:-1]:  # those of folds
        assert factor * fitted == pytest.approx(0.8 * (60 + 0.1 * (len(y) - 60)), rel=0.1)
    factor, fitted = factors[-1]
    assert factor * fitted == pytest.approx(60 + 0.1 * (len(y) - 60))


def test_ambiguous_rows_keep_their_labels_at_a_lower_weight(monkeypatch):
    X, y, _, _, _, C = noisy_digits(lambda q: noise.symmetric(q, 0.5))
    targets = []
    target = Relabelling._pseudo_labels

    def noting(evidence, classes, ambiguous):
        targets.append((classes, target(evidence, classes, ambiguous)))
        return targets[-1][-1]

    monkeypatch.setattr(Relabelling, "_pseudo_labels", staticmethod(noting))
    UnconfusedLogisticRegression(C, relabel=1, l2=1e-3, random_state=0).fit(X, y)
    classes, first = targets[0]
    sure = classes >= 0
    assert 0 < sure.mean() < 1
    np.testing.assert_allclose(first.weight, np.where(sure, 1.0, AMBIGUOUS))
    np.testing.assert_array_equal(first.codes, np.where(sure, 10 + classes, y))


def test_votes_in_doubt_are_left_out():
    posterior = np.array([[0.9, 0.1], [0.5, 0.5]])
    evidence = Evidence(posterior, np.zeros(2, bool), np.ones(2), np.array([0, 1]), np.full(2, 3.0))
    target = Relabelling._pseudo_labels(evidence, np.array([0, -1]), 0.0)
    assert target.matrix is None and target.weight.tolist() == [3.0, 0.0]


def test_rounds_may_weaken_a_penalty_that_was_chosen_for_noisy_labels(monkeypatch):
    X, truth = load_digits(return_X_y=True)
    C = noise.symmetric(10, 0.5)
    y = noise.corrupt_labels(truth[:1200], C, random_state=0)
    errors = []
    for limit in (1.0, LEAST_PENALTY):
        monkeypatch.setattr(pseudo_labels, "LEAST_PENALTY", limit)
        model = UnconfusedLogisticRegression(C, random_state=0).fit(X[:1200] / 16, y)
        errors.append(1 - model.score(X[1200:] / 16, truth[1200:]))
    assert errors[1] < errors[0]


def test_rounds_do_not_make_probabilities_too_certain():
    X, truth = load_digits(return_X_y=True)
    order = np.random.RandomState(2).permutation(len(truth))
    rows, rest = order[:1200], order[1200:]
    matrix = noise.random_confusion(10, strength=0.6, random_state=2)
    y = noise.corrupt_labels(truth[rows], matrix, random_state=2)
    clf = UnconfusedLogisticRegression(matrix, random_state=0).fit(X[rows], y)
    assert clf.relabel_ > 0
    scores = clf.decision_function(X[rest])
    losses = [log_loss(truth[rest], softmax(p * scores, axis=1)) for p in np.linspace(0.4, 1.6, 13)]
    assert log_loss(truth[rest], clf.predict_proba(X[rest])) <= 1.2 * min(losses)
