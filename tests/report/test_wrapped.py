"""Reports on any classifier through the confusion matrix."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import UnconfusedClassifier, noise, write_report
from unconfused._report.gather import gather

C = noise.pairwise(3, 0.3)


def problem():
    X, truth = make_blobs(240, centers=3, random_state=1)
    return X, noise.corrupt_labels(truth, C, random_state=0), truth


@pytest.mark.parametrize("trusted", [False, True])
def test_rows_are_judged_by_the_folds_of_the_fit(tmp_path, monkeypatch, trusted):
    X, y, truth = problem()
    known = np.where(np.arange(240) < 60, truth.astype(float), np.nan) if trusted else None
    model = make_pipeline(
        StandardScaler(), UnconfusedClassifier(GaussianNB(), None if trusted else C, max_rounds=1)
    )
    model.fit(X, y, **({"unconfusedclassifier__y_true": known} if trusted else {}))
    fits = []
    fit = GaussianNB.fit
    monkeypatch.setattr(GaussianNB, "fit", lambda *a, **k: fits.append(1) or fit(*a, **k))
    page = gather(model, X, y, y_true=known, random_state=0)
    assert not fits
    wrong = y != truth
    if trusted:
        wrong[:60] = False
    assert np.mean([wrong[one.row] for one in page.rows[:40]]) > 0.9
    assert "GaussianNB was fitted" in page.convergence and "rounds" in page.convergence
    text = write_report(model, X, y, tmp_path / "report.html", y_true=known, random_state=0)
    assert text is None or text


def test_other_rows_take_a_fit_of_their_own_and_believed_labels_are_judged_too():
    X, y, _ = problem()
    model = UnconfusedClassifier(GaussianNB(), C, max_rounds=1).fit(X[:200], y[:200])
    assert gather(model, X, y, random_state=0).n_rows == 240
    believed = UnconfusedClassifier(GaussianNB()).fit(X, y)
    page = gather(believed, X, y, random_state=0)
    assert page.n_wrong > 20


def test_votes():
    X, _, truth = problem()
    votes = np.column_stack([noise.corrupt_labels(truth, C, random_state=k) for k in (1, 2, 3)])
    model = UnconfusedClassifier(GaussianNB(), max_rounds=1).fit(X, votes)
    page = gather(model, X, votes, random_state=0)
    assert len(page.annotators) == 3
