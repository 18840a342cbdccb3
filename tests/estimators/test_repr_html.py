"""What a notebook shows of models and matrices."""

import numpy as np
import pytest
from reports import HOSTILE, confused_digits
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import (
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
    confusion,
    noise,
)
from unconfused._report.accuracy import checked_accuracy
from unconfused._report.case import open_case
from unconfused._text import percent
from unconfused._text.checked_accuracy import accuracy_words
from unconfused.estimators._card import with_card

X, TRUE, SEEN, C = confused_digits()
X, TRUE, SEEN = X[:400], TRUE[:400], SEEN[:400]
SETTINGS = {
    UMAClassifier: {"max_iter": 20},
    UnconfusedLogisticRegression: {"l2": 1e-3, "relabel": 0},
}
CARD = "unconfused-card"


@pytest.mark.parametrize(
    "learner", [UMAClassifier, UnconfusedLogisticRegression, UnconfusedDiscriminantAnalysis]
)
def test_a_fitted_model_has_a_card_above_its_diagram(learner):
    model = learner(C, **SETTINGS.get(learner, {}))
    assert CARD not in model._repr_html_() and "sk-container" in model._repr_html_()
    model.fit(X, SEEN)
    shown = model._repr_html_()
    expected = percent(1 - model.class_prior_ @ np.diag(C))
    assert shown.index(CARD) < shown.index("sk-container")
    assert f">{expected}<" in shown and "most often '4' is called '9'" in shown
    assert shown.count("<rect") == 100
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"].count(CARD) == 1 and bundle["text/plain"] == repr(model)


def test_a_card_says_how_often_the_model_is_right_as_reports_do():
    truth = np.where(np.arange(400) % 4 == 0, TRUE.astype(float), np.nan)
    model = UnconfusedLogisticRegression(random_state=0).fit(X, SEEN, y_true=truth)
    said = accuracy_words(checked_accuracy(open_case(model, X, SEEN, truth), 0))
    assert said.startswith("On 100 checked rows the model is right")
    assert said in model._repr_html_()
    # Of other rows a report measures anew.
    fewer = np.where(np.arange(400) % 8 == 0, truth, np.nan)
    assert checked_accuracy(open_case(model, X, SEEN, fewer), 0).rows == 50
    # Costs change what the model predicts, and they can be set after the fit.
    only_three = np.where(np.arange(10) == 3, 1.0, 1e9) * (1.0 - np.eye(10))
    model.set_params(class_weight=only_three)
    assert "On 100 checked rows" not in model._repr_html_()
    found = checked_accuracy(open_case(model, X, SEEN, truth), 0)
    assert found.model[0] == np.mean(TRUE[::4] == 3)


def test_plain_text_is_respected():
    model = UMAClassifier(max_iter=5).fit(X, SEEN)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_no_card_inside_a_pipeline_nor_without_a_matrix():
    pipeline = make_pipeline(StandardScaler(), UMAClassifier(C, max_iter=5)).fit(X, SEEN)
    assert CARD not in pipeline._repr_html_()
    assert CARD not in UltraconservativeClassifier()._repr_html_()


def test_labels_taken_as_they_are():
    shown = UMAClassifier(max_iter=5).fit(X, SEEN)._repr_html_()
    assert "are wrong: unknown" in shown


def test_votes_are_answers_and_a_lower_bound():
    votes = np.column_stack([SEEN, TRUE, noise.corrupt_labels(TRUE, C, random_state=1)])
    shown = UnconfusedLogisticRegression(l2=1e-3, relabel=0).fit(X, votes)._repr_html_()
    assert "of the answers are probably wrong, perhaps more" in shown


def test_hostile_labels_stay_text():
    model = UnconfusedLogisticRegression(C, classes=HOSTILE, l2=1e-3, relabel=0)
    model.fit(X, HOSTILE[SEEN])
    card = with_card(model, "")
    assert "<script" not in card and "<img" not in card
    assert "&lt;script&gt;" in card


def test_an_estimate_shows_its_verdict():
    estimate = confusion.from_trusted(TRUE, SEEN)
    shown = estimate._repr_html_()
    assert CARD in shown and estimate.verdict[:40] in shown
    assert f">{percent(estimate.noise_rate)}<" in shown
    many = confusion.ConfusionEstimate.from_counts(100 * noise.symmetric(30, 0.2), np.arange(30))
    assert "<rect" not in many._repr_html_(), "no heat map that nobody could read"
    empty = confusion.ConfusionEstimate.from_counts(np.zeros((2, 2)), ["a", "b"])
    assert "nothing was counted" in empty._repr_html_()
