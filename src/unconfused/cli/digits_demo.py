"""The demo: digits with corrupted training labels, learnt with and without C, and its figure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from unconfused import noise
from unconfused._atomic import whole_file
from unconfused._matrix import GuessedConfusionWarning
from unconfused._text import percent
from unconfused._typing import FloatArray
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.uma import UMAClassifier
from unconfused.kernels import kernel_projection

N_CLASSES, N_FEATURES, TEST_SHARE = 10, 300, 0.3
SEEDS = (0, 1, 2)

RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
"""Shares of wrong labels of the curves; the table is about the last."""

NOISES = {"pairwise": noise.pairwise, "symmetric": noise.symmetric}

CLEAN, BELIEVED = "clean labels", "noisy labels"
ESTIMATED, TOLD = "noisy labels, C estimated", "noisy labels and C"
"""What a learner was given."""


class Learner(NamedTuple):
    """A learner, and what it is given."""

    name: str
    given: str
    make: Callable[[FloatArray], Any]


def _ours(confusion: Any = None) -> Any:
    return UnconfusedLogisticRegression(confusion, random_state=0)


PLAIN, OURS = "LogisticRegression", "UnconfusedLogisticRegression"

# The first is the recommended learner on clean labels. It chooses its penalty in the same way as on
# noisy labels, so that the penalty explains no difference.
LEARNERS = (
    Learner(f"{OURS}()", CLEAN, lambda C: _ours()),
    Learner(PLAIN, BELIEVED, lambda C: LogisticRegression(max_iter=1000)),
    Learner("Perceptron", BELIEVED, lambda C: Perceptron(random_state=0)),
    Learner(f'{OURS}("auto")', ESTIMATED, lambda C: _ours("auto")),
    Learner(f"{OURS}(C)", TOLD, _ours),
    Learner("UMAClassifier(C)", TOLD, UMAClassifier),
)
CURVES = (PLAIN, f"{OURS}(C)")
"""Learners in the figure's last panel."""


@dataclass(frozen=True)
class Outcome:
    """Test errors, a row for each of `SEEDS`, and the matrix estimated in the first run.

    `errors` are those of `LEARNERS` by name; the `curves` have a column for each of `RATES`.
    """

    kind: str
    errors: dict[str, FloatArray]
    estimate: FloatArray
    curves: dict[str, FloatArray]

    def best(self, given: str) -> tuple[str, float]:
        """Return the learner with the lowest mean error among those given this, and the error."""
        means = {one.name: self.errors[one.name].mean() for one in LEARNERS if one.given == given}
        return min(means.items(), key=lambda item: item[1])

    def in_words(self) -> str:
        """Summarize the table in two or three sentences."""
        told = float(self.errors[CURVES[1]].mean())  # recommended, whichever came out best here
        (guess, guessed), (rival, believed) = self.best(ESTIMATED), self.best(BELIEVED)
        return (
            f"Knowing the confusion matrix, {CURVES[1]} has an error of {percent(told)}; "
            f"estimating it, {guess} has {percent(guessed)}. The best learner that trusts the "
            f"noisy labels ({rival}) has {percent(believed)}, and clean labels give "
            f"{percent(self.best(CLEAN)[1])}. Here "
            + ("it helps to model the noise." if told < believed else "the noise can be ignored.")
        )


def run_demo(kind: str, seeds: Sequence[int] = SEEDS, *, with_curves: bool = True) -> Outcome:
    """Let every learner run on every split."""
    rates, curves = RATES[:-1] if with_curves else (), [one for one in LEARNERS if one[0] in CURVES]
    # Small matrices: one thread is faster than several.
    with threadpool_limits(1):
        errors, estimate = _run(kind, RATES[-1], seeds, LEARNERS)
        less = [_run(kind, rate, seeds, curves)[0] for rate in rates]
    by_rate = {name: np.stack([one[name] for one in (*less, errors)], axis=1) for name in CURVES}
    return Outcome(kind, errors, estimate, by_rate)


def _run(
    kind: str, rate: float, seeds: Sequence[int], learners: Sequence[Learner]
) -> tuple[dict[str, FloatArray], Any]:
    """Split, project and corrupt the digits, and let learners run, once for each seed."""
    X, y = load_digits(return_X_y=True)
    confusion, estimate = NOISES[kind](N_CLASSES, rate), None
    errors: dict[str, list[float]] = {one.name: [] for one in learners}
    for seed in seeds:
        X_train, X_test, clean, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
        )
        projection = kernel_projection(N_FEATURES, random_state=seed).fit(X_train)
        X_train, X_test = projection.transform(X_train), projection.transform(X_test)
        noisy = noise.corrupt_labels(clean, confusion, random_state=seed)
        for name, given, make in learners:
            # That the matrix is estimated is what one learner is there to show.
            with warnings.catch_warnings(action="ignore", category=GuessedConfusionWarning):
                model = make(confusion).fit(X_train, clean if given == CLEAN else noisy)
            errors[name].append(float(1.0 - model.score(X_test, y_test)))
            if given == ESTIMATED and estimate is None:
                estimate = model.confusion_
    return {name: np.array(found) for name, found in errors.items()}, estimate


def save_figure(outcome: Outcome, target: Path) -> None:
    """Draw the noise, the outcome, and the outcome at less noise; replace a file there may be."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from unconfused.plot import STYLE

    # No pyplot: a figure of its own needs no display and leaves the user's settings alone.
    with mpl.rc_context(STYLE), whole_file(target, force=True) as scratch:
        figure = Figure(figsize=(12.5, 3.9), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1.1, 1.1))
        _draw_matrix(left, outcome)
        _draw_errors(middle, outcome)
        _draw_curves(right, outcome)
        figure.savefig(scratch, format=target.suffix[1:].lower(), dpi=130)


def _draw_matrix(axes: Any, outcome: Outcome) -> None:
    """Draw the matrix as colours, and its estimate as numbers."""
    matrix = NOISES[outcome.kind](N_CLASSES, RATES[-1])
    axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    for row, column in np.argwhere(np.round(outcome.estimate, 2) > 0):
        written = f"{outcome.estimate[row, column]:.2f}".lstrip("0")
        ink = "white" if matrix[row, column] > 0.65 else "black"
        axes.text(column, row, written, ha="center", va="center", fontsize=7.5, color=ink)
    label = f"label we saw (numbers: estimates of\n{outcome.best(ESTIMATED)[0]})"
    ticks = range(N_CLASSES)
    axes.set(xlabel=label, ylabel="true class", xticks=ticks, yticks=ticks)
    axes.set(title="How labels go wrong")
    axes.tick_params(length=0)
    axes.set_anchor("N")


def _colour(learner: Learner) -> str:
    from unconfused.plot import BLUE, GREY, ORANGE

    return {CLEAN: GREY, BELIEVED: ORANGE}.get(learner.given, BLUE)


def _draw_errors(axes: Any, outcome: Outcome) -> None:
    """Draw one bar per learner, first on top, with its error and what it was given."""
    places = np.arange(len(LEARNERS))[::-1]
    percents = 100 * np.array([outcome.errors[one.name] for one in LEARNERS])
    means, spreads = percents.mean(axis=1), percents.std(axis=1, ddof=1)
    colours = [_colour(one) for one in LEARNERS]
    axes.barh(places, means, xerr=spreads, color=colours, height=0.62, capsize=3)
    for place, mean, end in zip(places, means, means + spreads, strict=True):
        look = {"textcoords": "offset points", "va": "center", "weight": "bold"}
        axes.annotate(f"{mean:.1f}", (end, place), (5, 0), **look)
    axes.set_yticks(places, [f"{one.name}\n{one.given}" for one in LEARNERS], linespacing=1.3)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.2 * float((means + spreads).max()))
    axes.set(xlabel="error on clean test labels, %", title="Error after training")


def _draw_curves(axes: Any, outcome: Outcome) -> None:
    """Draw the mean error over the share of wrong labels, the range over runs shaded."""
    wrong = 100 * np.array(RATES)
    for one in LEARNERS:
        if one.name in outcome.curves:
            percents, colour = 100 * outcome.curves[one.name], _colour(one)
            look = {"color": colour, "linewidth": 2, "marker": "o", "markersize": 4}
            axes.plot(wrong, percents.mean(axis=0), label=one.name, **look)
            ends = percents.min(axis=0), percents.max(axis=0)
            axes.fill_between(wrong, *ends, color=colour, alpha=0.15, lw=0)
    # No labels at the curves: where noise does no harm, they lie upon one another.
    axes.legend(frameon=False, loc="upper left", labelcolor="linecolor")
    axes.set_ylim(0, 1.35 * axes.get_ylim()[1])
    axes.set(xlabel="wrong labels in training, %", ylabel="error on clean test labels, %")
    axes.set(title="Error by noise")
