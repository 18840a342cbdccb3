"""Which rows are asked about: by what, with what probability, and from what kind of rows."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from unconfused import (
    UMAClassifier,
    UnconfusedClassifier,
    UnconfusedLogisticRegression,
    confusion,
    next_to_check,
    noise,
)
from unconfused.review import CheckedRows


@pytest.fixture(scope="module")
def problem():
    rng = np.random.RandomState(0)
    truth = rng.choice(3, 900, p=[0.6, 0.3, 0.1])
    X = np.eye(3)[truth] * 2.5 + rng.randn(900, 3)
    C = noise.random_confusion(3, strength=0.3, random_state=1)
    y = noise.corrupt_labels(truth, C, random_state=2)
    model = UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X, y)
    return X, truth, y, model


def test_every_way_of_drawing(problem):
    X, truth, y, model = problem
    wrong = y != truth
    for by in ("mix", "suspicion", "confusion", "gain", "random"):
        rows = next_to_check(model, X, y, 60, by=by, random_state=0)
        assert len(rows) == 60 == len(set(rows.row.tolist())), by
        chance = np.isin(rows.drawn_by, ["random", "confusion"])
        assert np.array_equal(np.isfinite(rows.probability), chance)
        assert np.all((rows.probability[chance] > 0) & (rows.probability[chance] <= 1))
    suspicion = next_to_check(model, X, y, 60, by="suspicion").row
    assert wrong[suspicion].mean() > 2 * wrong.mean()
    mix = next_to_check(model, X, y, 60, random_state=0)
    assert (mix.drawn_by == "random").sum() == 3
    assert (mix.drawn_by[:10] == "random").sum() <= 1, "not all random rows at once"


def test_where_all_rows_are_checked_none_are_drawn(problem):
    X, truth, y, model = problem
    checked = CheckedRows(truth.astype(object), np.full(900, 0.5), np.full(900, "random", object))
    for by in ("mix", "suspicion", "confusion", "gain", "random"):
        assert len(next_to_check(model, X, y, 60, by=by, checked=checked)) == 0, by


def test_a_random_sample_holds_rows_that_are_known_already(problem):
    X, truth, y, model = problem
    first = next_to_check(model, X, y, 200, by="suspicion").row
    y_true = np.full(900, -1)
    y_true[first] = truth[first]
    rows = next_to_check(model, X, y, 300, by="random", y_true=y_true, random_state=0)
    assert (~rows.known).sum() == 300 and rows.known.sum() > 40
    assert set(rows.row[rows.known]) <= set(first.tolist())
    sample = rows.row  # all together are a random sample, as without the first 200
    share, error = (y != truth)[sample].mean(), np.sqrt(0.2 / len(sample))
    assert abs(share - (y != truth).mean()) < 3 * error
    without = (y != truth)[rows.row[~rows.known]].mean()
    assert without < share, "leaving out what looked wrong would flatter the labels"


def test_drawing_again_takes_other_rows(problem):
    X, truth, y, model = problem
    y_true, chance = np.full(900, None, dtype=object), np.full(900, np.nan)
    how = np.full(900, "", dtype=object)
    seen: set[int] = set()
    for _ in range(3):
        checked = CheckedRows(y_true, chance, how)
        rows = next_to_check(model, X, y, 100, by="random", checked=checked, random_state=0)
        assert not seen & set(rows.row.tolist())
        seen |= set(rows.row.tolist())
        y_true[rows.row], chance[rows.row], how[rows.row] = (
            truth[rows.row], rows.probability, rows.drawn_by,
        )  # fmt: skip
    assert len(seen) == 300


def test_the_random_share_holds_of_all_batches_together(problem):
    X, truth, y, model = problem
    y_true, chance = np.full(900, None, dtype=object), np.full(900, np.nan)
    how = np.full(900, "", dtype=object)
    asked = 0
    for seed in range(5):
        checked = CheckedRows(y_true, chance, how)
        rows = next_to_check(model, X, y, 24, checked=checked, random_state=seed)
        asked += np.sum((rows.drawn_by == "random") & ~rows.known)
        y_true[rows.row], how[rows.row] = truth[rows.row], rows.drawn_by
        chance[rows.row] = rows.probability
    assert asked <= 6 <= np.sum(how == "random"), "not 2 of 24 each time"
    # Truths from elsewhere are not made up for.
    rows = next_to_check(model, X, y, 20, y_true=np.where(np.arange(900) < 500, truth, -1))
    assert (rows.drawn_by == "random")[~rows.known].sum() == 1


def test_drawing_by_label_tells_the_matrix_better_than_chance(problem):
    """Two rare classes are mixed up: chance alone sees few rows of their labels."""
    model = problem[3]
    errors = {"random": [], "confusion": []}
    C = np.array([[0.98, 0.01, 0.01], [0.01, 0.6, 0.39], [0.01, 0.39, 0.6]])
    for seed in range(10):
        truth = np.random.RandomState(seed).choice(3, 3000, p=[0.9, 0.05, 0.05])
        y = noise.corrupt_labels(truth, C, random_state=seed)
        joint = np.bincount(3 * truth + y, minlength=9).reshape(3, 3)
        posterior = (joint / joint.sum(axis=0)).T[y]
        for by in errors:
            rows = next_to_check(
                model, np.zeros((3000, 3)), y, 300, by=by, posterior=posterior, random_state=seed
            ).row
            y_true = np.full(3000, None, dtype=object)
            y_true[rows] = truth[rows]
            found = confusion.from_audit(y_true, y, smoothing=0.01).matrix
            errors[by].append(((found - C) ** 2).sum())
    assert np.mean(errors["confusion"]) < 0.5 * np.mean(errors["random"])


def test_alike_rows_are_apart():
    rng = np.random.RandomState(0)
    X = np.vstack([rng.randn(100, 4), np.repeat(rng.randn(4, 4) * 3, 10, axis=0)])
    y = rng.randint(2, size=140)
    model = UnconfusedLogisticRegression(noise.symmetric(2, 0.3), l2=1e-2, relabel=0).fit(X, y)
    rows = next_to_check(model, X, y, 60, by="suspicion").row
    copies = [tuple(X[one]) for one in rows]
    plain = np.argsort(-(1 - model.label_posterior(X, y)[np.arange(140), y]), kind="stable")[:60]
    naive = [tuple(X[one]) for one in plain]
    assert set(plain) == set(rows)

    def repeats(asked):
        return sum(a == b for a, b in itertools.pairwise(asked))

    assert repeats(copies) < repeats(naive)


def test_blocks_sparse_and_dask_rows_are_the_same(problem):
    X, _, y, model = problem
    plain = next_to_check(model, X, y, 50, random_state=3)
    blocks = next_to_check(model, iter(np.array_split(X, 7)), y, 50, random_state=3)
    thin = next_to_check(model, sparse.csr_array(X), y, 50, random_state=3)
    for other in (blocks, thin):
        assert np.array_equal(plain.row, other.row)
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(250, 3))
    for labels in (y, da.from_array(y, chunks=250)):
        found = next_to_check(model, lazy, labels, 50, random_state=3)
        assert np.array_equal(plain.row, found.row)
    with pytest.raises(ValueError, match="same chunks"):
        next_to_check(model, lazy, da.from_array(y, chunks=300), 5)


@pytest.mark.parametrize("kind", ["texts", "images", "frame"])
def test_rows_that_are_not_a_table_of_numbers(kind):
    truth = np.arange(60) % 2
    y = np.where(np.arange(60) < 6, 1 - truth, truth)
    numbers = truth[:, None, None] + np.random.RandomState(0).randn(60, 2, 2) / 9
    rows, encode = {
        "texts": (np.array(["good day", "bad night"])[truth].tolist(), CountVectorizer()),
        "images": (numbers, FunctionTransformer(lambda X: X.reshape(len(X), -1))),
        "frame": (pd.DataFrame({"a": truth, "b": np.array(["x", "y"])[truth]}), OneHotEncoder()),
    }[kind]
    model = UnconfusedClassifier(
        make_pipeline(encode, LogisticRegression()), noise.symmetric(2, 0.1)
    )
    found = next_to_check(model.fit(rows, y), rows, y, 6, random_share=0)
    assert sorted(found.row.tolist()) == list(range(6))


def test_missing_labels_are_not_drawn(problem):
    X, _, y, model = problem
    y = y.astype(object)
    y[::2] = None
    for by in ("mix", "confusion"):
        rows = next_to_check(model, X, y, 700, by=by, random_state=0)
        assert np.all(rows.row % 2 == 1) and len(rows) == 450


@pytest.mark.parametrize(
    ("options", "message"),
    [({"by": "luck"}, "mix, suspicion"), ({"budget": 0}, "at least 1"),
     ({"random_share": 2}, "between 0 and 1")],
)  # fmt: skip
def test_refusals(problem, options, message):
    X, _, y, model = problem
    with pytest.raises(ValueError, match=message):
        next_to_check(model, X, y, **{"budget": 5} | options)
    with pytest.raises(NotFittedError, match="call fit first"):
        next_to_check(UMAClassifier(), X, y, 5)
    with pytest.raises(ValueError, match="no probabilities"):
        next_to_check(UMAClassifier().fit(X, y), X, y, 5)
