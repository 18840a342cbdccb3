"""A fit that is interrupted leaves its estimator not fitted, as it was, or with a model so far.

`POINTS` interrupts for every call of `CALLS`, evenly over the lines of the library it runs and at
each of the first and the last: by turns on a new estimator and on one that was fitted to other rows
before.
"""

from contextlib import suppress
from copy import deepcopy

import joblib
import numpy as np
import pytest
from interrupts import interrupt_at
from problems import make_problem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from unconfused import (
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)

POINTS = 40
EDGE = 8
"""Lines at either end that are all tried."""

NEW, OLD = make_problem(0, n=80, d=5, Q=3), make_problem(1, n=60, d=7, Q=4)


def fit(model, problem):
    return model.fit(problem.X, problem.y)


def fit_with_truth(model, problem):
    return model.fit(
        problem.X, problem.y, y_true=np.where(np.arange(len(problem.y)) % 4, np.nan, problem.true)
    )


def fit_votes(model, problem):
    return model.fit(problem.X, np.column_stack([problem.y, problem.true]))


def fit_partly(model, problem):
    labels = problem.true.astype(float)
    labels[::2] = np.nan
    return model.fit(problem.X, labels)


def one_chunk(model, problem):
    return model.partial_fit(problem.X, problem.y, classes=np.arange(3))


CALLS = {
    "UMA": (UMAClassifier(max_iter=5), fit),
    "UMA, averaged": (UMAClassifier(max_iter=5, average=True, alpha=0.01, init="means"), fit),
    "UMA, chunk": (UMAClassifier(), one_chunk),
    "online": (UltraconservativeClassifier(max_iter=3, random_state=0), fit),
    "online, own step": (
        UltraconservativeClassifier(
            step=lambda s, t, p, n: np.eye(len(s))[t] - np.eye(len(s))[p], max_iter=2
        ),
        fit,
    ),
    "online, chunk": (UltraconservativeClassifier(average=True), one_chunk),
    "likelihood": (UnconfusedLogisticRegression(max_iter=5), fit),
    "likelihood, truth": (
        UnconfusedLogisticRegression(l2=1e-2, relabel=0, max_iter=3, random_state=0),
        fit_with_truth,
    ),
    "likelihood, relabel": (
        UnconfusedLogisticRegression(np.eye(3) * 0.7 + 0.1, l2=1e-2, max_iter=3, relabel=1),
        fit,
    ),
    "likelihood, votes": (UnconfusedLogisticRegression(l2=1e-2, max_iter=3), fit_votes),
    "discriminant": (UnconfusedDiscriminantAnalysis(), fit),
    "self-labelling": (
        SelfLabelingClassifier(LogisticRegression(), UMAClassifier(max_iter=3), cv=2),
        fit_partly,
    ),
}


def points(model, call):
    """Return the lines to interrupt at, and what a whole fit leaves behind."""
    call(clone(model), NEW)  # so that nothing is compiled later
    whole = clone(model)
    with interrupt_at() as count:
        call(whole, NEW)
    total = count[0]
    spread = np.linspace(1, total, POINTS).astype(int).tolist()
    edges = [*range(1, EDGE + 1), *range(total - EDGE + 1, total + 1)]
    return sorted({*spread, *edges}), learnt(whole)


def learnt(model):
    return {name for name in vars(model) if name.endswith("_")}


def check_all_or_nothing(model, whole, number):
    if not learnt(model):
        with pytest.raises(NotFittedError):
            model.predict(NEW.X)
        return
    # A search for the weight of noisy rows that was interrupted has no losses to show.
    assert learnt(model) ^ whole <= {"choice_"}, number
    assert model.predict(NEW.X).shape == (len(NEW.y),), number
    model._repr_html_()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_interrupted_at_any_line(name):
    model, call = CALLS[name]
    settings = {k: v for k, v in model.get_params().items() if k == "confusion"}
    # A chunk of other rows would be refused.
    chunk = call is one_chunk
    before = None if chunk else call(clone(model).set_params(**dict.fromkeys(settings)), OLD)
    numbers, whole = points(model, call)
    for turn, number in enumerate(numbers):
        again = turn % 2 and before is not None
        tried = deepcopy(before).set_params(**settings) if again else clone(model)
        with interrupt_at(number), suppress(KeyboardInterrupt):
            call(tried, NEW)
        if again and tried.n_features_in_ != NEW.X.shape[1]:
            kept = vars(deepcopy(before)).keys()  # without what grows with the rows
            assert vars(tried).keys() == kept, number
            expected = before.predict(OLD.X)
            np.testing.assert_array_equal(tried.predict(OLD.X), expected, err_msg=str(number))
        else:
            check_all_or_nothing(tried, whole, number)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize(
    "model",
    [
        UMAClassifier(max_iter=5, average=True),
        UMAClassifier(max_iter=5, fit_intercept=False),
        UltraconservativeClassifier(average=True, random_state=0),
        UnconfusedLogisticRegression(max_iter=5, l2=1e-2, relabel=0),
        UnconfusedDiscriminantAnalysis(),
    ],
    ids=repr,
)
def test_a_model_loaded_read_only_learns_on(model, warm, tmp_path):
    if warm and "warm_start" not in model.get_params():
        pytest.skip("does not go on from the last fit")
    model = clone(model).set_params(**{"warm_start": True} if warm else {})
    model.fit(NEW.X, NEW.y)
    joblib.dump(model, tmp_path / "model")
    loaded = joblib.load(tmp_path / "model", mmap_mode="r")
    assert not loaded.coef_.flags.writeable
    before = loaded.coef_.copy()
    published = loaded.coef_
    learn = "partial_fit" if hasattr(model, "partial_fit") and not warm else "fit"
    ours, theirs = (getattr(one, learn)(NEW.X[:40], NEW.y[:40]) for one in (loaded, model))
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(published, before)
    ours.fit(NEW.X, NEW.y)
