"""The displays: what is drawn is what the model holds."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from reports import confused_digits
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unconfused import (
    UMAClassifier,
    UnconfusedLogisticRegression,
    confusion,
    datasets,
    noise,
)
from unconfused._text import pip_install
from unconfused.plot import (
    ConfusionEstimateDisplay,
    ConvergenceDisplay,
    RegionsDisplay,
    ReliabilityDisplay,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

pytestmark = pytest.mark.slow

X, TRUE, SEEN, C = confused_digits()


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def uma():
    return UMAClassifier(C, init="zero").fit(X, SEEN)


@pytest.fixture(scope="module")
def logistic():
    return UnconfusedLogisticRegression(C, l2=1e-3, relabel=0).fit(X[::2], SEEN[::2])


def test_confusion_of_an_estimate():
    estimate = confusion.from_trusted(TRUE, SEEN)
    display = ConfusionEstimateDisplay.from_estimate(estimate, level=0.9)
    low, high = estimate.interval(0.9)
    share, interval = display.text_[4, 9].get_text().split("\n")
    assert share == f"{100 * estimate.matrix[4, 9]:.0f}"
    assert interval == f"{100 * low[4, 9]:.0f}–{100 * high[4, 9]:.0f}"
    assert display.text_[4, 9].get_position() == (9, 4), "columns are labels, rows the truth"
    image = display.image_.get_array()
    assert image[4, 4, 2] > image[4, 4, 0], "right is blue"
    assert image[4, 9, 0] > image[4, 9, 2], "wrong is orange"
    assert image[4, 9].sum() < image[0, 9].sum(), "darker where more is wrong"
    assert display.ax_.get_xlabel() == "observed label" and display.figure_ is display.ax_.figure


def test_confusion_of_a_model_in_a_pipeline_and_in_sorted_order():
    order = np.array([2, 0, 1])
    counts = np.array([[90, 10, 0], [0, 60, 40], [5, 0, 95]])
    estimate = confusion.ConfusionEstimate.from_counts(counts[np.ix_(order, order)], order)
    model = make_pipeline(
        StandardScaler(), UnconfusedLogisticRegression(estimate, l2=1e-3, relabel=0, refine=False)
    )
    display = ConfusionEstimateDisplay.from_estimator(model.fit(X, TRUE % 3))
    assert display.text_[1, 2].get_text().split("\n")[0] == "40"
    low, high = (float(end) for end in display.text_[1, 2].get_text().split("\n")[1].split("–"))
    assert low < 40 < high


def test_confusion_of_a_plain_matrix_and_of_many_classes(uma):
    figure, axes = plt.subplots()
    display = ConfusionEstimateDisplay.from_estimator(uma, ax=axes)
    assert display.ax_ is axes and display.figure_ is figure
    assert display.text_[4, 9].get_text() == f"{100 * C[4, 9]:.0f}"
    crowded = ConfusionEstimateDisplay(noise.symmetric(40, 0.3)).plot()
    assert not any(crowded.text_.ravel()), "no room for numbers"
    with pytest.raises(ValueError, match="no confusion matrix"):
        ConfusionEstimateDisplay.from_estimator(GaussianNB().fit(X, SEEN))


def test_convergence_of_uma(uma):
    display = ConvergenceDisplay.from_estimator(uma)
    norm, level = display.lines_
    np.testing.assert_array_equal(norm.get_ydata(), uma.history_["norm"])
    np.testing.assert_array_equal(level.get_ydata(), uma.history_["noise"])
    assert display.ax_.get_yscale() == "log"
    pairs = list(zip(uma.history_["predicted"], uma.history_["true"], strict=True))
    most = max(set(pairs), key=pairs.count)
    beside = display.figure_.axes[1]
    marks = beside.lines[0].get_xdata()
    assert len(marks) == pairs.count(most)
    written = [text.get_text() for text in beside.get_yticklabels()]
    assert written == display.pairs_ and len(written) == 6
    display.figure_.canvas.draw()
    bottom = display.ax_.get_ylim()[0]
    assert bottom < 0.5 * uma.history_["noise"].min(), "the marks have room below the curves"


def test_convergence_without_noise_and_of_the_likelihood(logistic):
    zeros = np.zeros(3, dtype=int)
    history = {"norm": np.ones(3), "noise": zeros, "predicted": zeros, "true": zeros + 1}
    quiet = ConvergenceDisplay(history).plot()
    assert len(quiet.lines_) == 1 and quiet.pairs_ == ["0 → 1"]
    display = ConvergenceDisplay.from_estimator(logistic)
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), logistic.history_["objective"])
    with pytest.raises(ValueError, match="keeps no history"):
        ConvergenceDisplay.from_estimator(GaussianNB().fit(X, SEEN))


def test_convergence_without_updates():
    """The unmixed class means may leave nothing to do."""
    none = np.empty(0, dtype=int)
    history = {"norm": np.empty(0), "noise": np.empty(0), "predicted": none, "true": none}
    display = ConvergenceDisplay(history).plot()
    assert display.pairs_ == []
    assert [text.get_text() for text in display.ax_.texts] == ["no updates"]
    display.figure_.canvas.draw()


def test_reliability_against_labels_and_truth(logistic):
    rows, seen, true = X[1::2], SEEN[1::2], TRUE[1::2]
    against_labels = ReliabilityDisplay.from_estimator(logistic, rows, seen)
    chances = logistic.predict_proba(rows) @ C
    inside = (chances >= 0.1) & (chances < 0.2)
    came = np.eye(10)[seen].astype(bool)
    assert against_labels.line_.get_ydata()[1] == pytest.approx(came[inside].mean())
    assert against_labels.line_.get_xdata()[1] == pytest.approx(chances[inside].mean())
    assert against_labels.ax_.get_ylabel() == "share with this label"
    truth = np.where(np.arange(len(true)) % 2 == 0, true, -1)
    against_truth = ReliabilityDisplay.from_estimator(logistic, rows, seen, y_true=truth)
    assert against_truth.curve.count.sum() == 10 * np.sum(truth >= 0)
    assert against_truth.ax_.get_ylabel() == "share of this class"


def test_reliability_refuses(uma):
    with pytest.raises(ValueError, match="predicts no probabilities"):
        ReliabilityDisplay.from_estimator(uma, X, SEEN)
    with pytest.raises(ValueError, match="name all classes"):
        ReliabilityDisplay.from_predictions([0, 1, 0], np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="n_bins"):
        ReliabilityDisplay.from_predictions([0, 1], np.full((2, 2), 0.5), n_bins=0)


def test_regions_of_the_circle():
    rows, y = datasets.make_circle(400, n_classes=5, random_state=0)
    names = np.array(["ant", "bee", "cow", "dog", "eel"])
    model = UMAClassifier(fit_intercept=False).fit(rows, names[y])
    display = RegionsDisplay.from_estimator(model, rows, names[y])
    for text in display.names_:
        assert model.predict([text.get_position()])[0] == text.get_text()
    dots = display.ax_.collections[0]
    assert len(dots.get_offsets()) == 400
    same = dots.get_facecolor()[np.flatnonzero(y == 0)]
    assert np.ptp(same, axis=0).max() == 0 and tuple(same[0][:3]) == to_rgb("#88CCEE")
    image = display.image_.get_array()
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == len(set(model.predict(rows)))
    assert len(RegionsDisplay.from_estimator(model).ax_.collections) == 0
    with pytest.raises(ValueError, match="two features only"):
        RegionsDisplay.from_estimator(UMAClassifier().fit(X, SEEN))


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from unconfused.plot import ConfusionEstimateDisplay\n"
        "try:\n    ConfusionEstimateDisplay([[0.9, 0.1], [0.2, 0.8]]).plot()\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert pip_install("plot") in done.stdout
