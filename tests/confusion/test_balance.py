"""Mistakes that depend on the rows: noticed, and C held to by counts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pets import succeed_json
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split

from unconfused import UnconfusedLogisticRegression, noise
from unconfused._matrix_labels import differs_from
from unconfused._report.gather import gather
from unconfused.confusion import ConfusionEstimate, from_trusted
from unconfused.confusion.estimation.balance import balance, balance_until_sure, class_shares


def rough_digits():
    """Return digits labelled by a model that has seen 40 of them, and C as it came out."""
    X, truth = load_digits(return_X_y=True)
    X, X_test, truth, truth_test = train_test_split(X / 16, truth, random_state=0)
    labels = LogisticRegression(max_iter=1000).fit(X[:40], truth[:40]).predict(X)
    return X, labels, truth, X_test, truth_test, from_trusted(truth, labels).matrix


@pytest.mark.slow
def test_rounds_mend_labels_of_a_rough_classifier():
    X, labels, truth, X_test, truth_test, C = rough_digits()
    once = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0, random_state=0).fit(X, labels)
    rounds = clone(once).set_params(relabel=4).fit(X, labels)
    errors = [1 - model.score(X_test, truth_test) for model in (once, rounds)]
    assert errors[1] < 0.6 * errors[0]
    assert rounds.noise_depends_on_rows_ and not once.noise_depends_on_rows_
    found = rounds.cross_fitted_posterior_.argmax(axis=1)
    assert np.mean(found == truth) > 0.9 > np.mean(labels == truth)
    sure = rounds.predict_proba(X_test).max(axis=1).mean()
    assert abs(sure - (1 - errors[1])) < 0.05


def test_weights_and_known_truths_make_no_difference_to_what_is_noticed():
    X, labels, truth, _, _, C = rough_digits()
    names = np.array([f"digit {q}" for q in range(10)])
    model = UnconfusedLogisticRegression(C, relabel=1, l2=1e-3, random_state=0)
    dense = clone(model).fit(X, labels)
    assert dense.noise_depends_on_rows_
    other = clone(model).fit(
        sparse.csr_matrix(X), names[labels], sample_weight=np.full(len(X), 0.01)
    )
    assert other.noise_depends_on_rows_
    np.testing.assert_allclose(other.predict_proba(X), dense.predict_proba(X), atol=0.02)
    known = np.where(np.arange(len(X)) < 30, truth, np.nan)
    told = clone(model).set_params(noisy_weight=1.0).fit(X, labels, y_true=known)
    assert told.noise_depends_on_rows_
    assert np.array_equal(told.cross_fitted_posterior_[:30].argmax(axis=1), truth[:30])


def test_a_guessed_matrix_is_no_proof():
    X, labels, _, _, _, C = rough_digits()
    guess = ConfusionEstimate(C, 5000 * C, np.arange(10), caveat="Guessed.")
    counted = replace(guess, counts=130 * C, caveat="")  # so few that it would be refined
    for confusion, expected in ((guess, False), (counted, True)):
        model = UnconfusedLogisticRegression(confusion, relabel=1, l2=1e-3, random_state=0)
        assert model.fit(X, labels).noise_depends_on_rows_ is expected
    np.testing.assert_array_equal(model.confusion_, C)  # held to, not refined
    model.set_params(warm_start=True, relabel=0).fit(X, labels)
    assert not model.noise_depends_on_rows_


@pytest.mark.slow
def test_reports_and_commands_say_so_and_audit_finds_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, labels, truth, _, _, C = rough_digits()
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0, random_state=0).fit(X, labels)
    notes = gather(model, X, labels, sensitivity=False, random_state=0).notes
    assert any("relabel=4" in note for note in notes)
    table = pd.DataFrame(X, columns=[f"p{k}" for k in range(X.shape[1])]).assign(label=labels)
    table.to_csv("rough.csv", index=False)
    pd.DataFrame(C).to_csv("C.csv")
    options = ["rough.csv", "-l", "label", "-c", "C.csv", "--learner", "logistic"]
    precision = []
    for rounds in ("0", "4"):
        said = succeed_json("audit", *options, "--relabel", rounds, "-o", "found.csv", "--force")
        assert any("--relabel 4" in note for note in said["notes"]) == (rounds == "0")
        found = pd.read_csv("found.csv")
        wrong = truth[found["row"]] != found["label"]
        precision.append(average_precision_score(wrong, found["probability_wrong"]))
    assert precision[1] > precision[0] + 0.1
    said = succeed_json("fit", *options, "--relabel", "1", "-o", "model.skops")
    assert any("Mistakes depend on the row" in note for note in said["notes"])


@pytest.mark.parametrize("kind", [noise.symmetric, noise.pairwise])
def test_mistakes_that_follow_the_class_are_left_to_the_likelihood(kind):
    X, _, truth, _, _, _ = rough_digits()
    C = kind(10, 0.4)
    labels = noise.corrupt_labels(truth, C, random_state=0)
    model = UnconfusedLogisticRegression(C, relabel=1, l2=1e-3, random_state=0).fit(X, labels)
    assert not model.noise_depends_on_rows_


@pytest.mark.parametrize("l2", [1e-6, 1e-4])
def test_models_that_judge_a_row_have_not_seen_its_label(l2):
    X, truth = make_classification(
        300, 500, n_informative=20, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    C = noise.symmetric(3, 0.3)
    labels = noise.corrupt_labels(truth, C, random_state=0)
    model = UnconfusedLogisticRegression(C, relabel=1, l2=l2, random_state=0).fit(X, labels)
    assert not model.noise_depends_on_rows_
    assert model.score(X, labels) > 0.9  # it knows its rows by heart
    # Whoever has not seen the labels cannot be surer of them than they deserve.
    sure = model.cross_fitted_posterior_[np.arange(len(labels)), labels].mean()
    assert abs(sure - np.mean(labels == truth)) < 0.06


@pytest.mark.parametrize(("n_classes", "n_rows"), [(2, 200), (20, 1000), (50, 5000)])
@pytest.mark.parametrize("kind", [noise.symmetric, noise.pairwise])
def test_chance_is_not_taken_for_more_with_many_classes(kind, n_classes, n_rows):
    C, rng = kind(n_classes, 0.3), np.random.RandomState(0)
    truth = rng.randint(n_classes, size=n_rows)
    labels = noise.corrupt_labels(truth, C, random_state=0)
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (truth, labels), 1)
    assert not differs_from(counts, C)
    assert differs_from(np.diag(counts.sum(axis=1)), C)
    # C counted on a few rows of each class is no more than a hint, its zeros above all.
    few = np.stack([rng.multinomial(15, row) for row in C])
    assert not differs_from(counts, few / 15, few.sum(axis=1))


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_balanced_probabilities_add_up(seed, n_classes):
    rng = np.random.RandomState(seed)
    logs = 3 * rng.randn(60 * n_classes, n_classes)
    codes, weight = rng.randint(n_classes, size=len(logs)), rng.rand(len(logs)) + 0.1
    joint = rng.dirichlet(np.ones(n_classes**2)).reshape(n_classes, n_classes) + 0.002
    posterior = balance(logs, codes, joint, weight)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    for label in range(n_classes):
        shares = np.average(posterior[codes == label], axis=0, weights=weight[codes == label])
        np.testing.assert_allclose(shares, joint[:, label] / joint[:, label].sum(), atol=2e-3)


def test_balancing_what_adds_up_changes_nothing():
    rng = np.random.RandomState(0)
    probability = rng.dirichlet(np.ones(3), size=500)
    codes = rng.randint(3, size=500)
    joint = np.stack([probability[codes == s].sum(axis=0) for s in range(3)], axis=1)
    found = balance(np.log(probability), codes, joint, np.ones(500))
    np.testing.assert_allclose(found, probability, atol=5e-3)


def test_a_label_that_cannot_be_and_classes_that_cannot_have_it():
    logs = np.log([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]])
    joint = np.array([[0.0, 0.0], [1.0, 0.0]])
    found = balance(logs, np.array([0, 0, 1]), joint, np.ones(3))
    np.testing.assert_allclose(found, [[0, 1], [0, 1], [0.9, 0.1]], atol=1e-4)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_as_many_rows_are_sure_as_asked_for(share):
    rng = np.random.RandomState(0)
    logs, codes = rng.randn(2000, 4), rng.randint(4, size=2000)
    joint = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    for scale in (0.2, 1.0, 5.0):
        found = balance_until_sure(scale * logs, codes, joint, np.ones(2000), 0.8, share)
        assert abs(np.mean(found.max(axis=1) >= 0.8) - share) < 0.05


def test_shares_and_chance():
    C = noise.symmetric(4, 0.5)
    truth = np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(class_shares(C, 80 * truth @ C), truth, atol=1e-3)
    rng = np.random.RandomState(0)
    drawn = np.stack([rng.multinomial(500, row) for row in C]).astype(float)
    assert not differs_from(drawn, C)
    assert differs_from(500 * noise.symmetric(4, 0.2), C)
    # A label that cannot be: C is wrong, which says nothing of the rows.
    never = np.array([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]])
    assert not differs_from(100 * never + [0.0, 0.0, 500.0], never)
    np.testing.assert_allclose(class_shares(0 * C, truth), truth)
