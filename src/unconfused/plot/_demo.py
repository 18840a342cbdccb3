"""The figure of the demo: the noise, the outcome, and the outcome at less noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.plot._style import STYLE


@dataclass(frozen=True)
class Bar:
    """One learner's error: its name, what it was given, mean and spread over runs."""

    name: str
    given: str
    mean: float
    spread: float
    colour: str


@dataclass(frozen=True)
class Curve:
    """Errors of one learner at each share of wrong labels (columns) in every run (rows)."""

    name: str
    rates: tuple[float, ...]
    runs: FloatArray
    colour: str


def confusion_heatmap(
    axes: Any, matrix: FloatArray, estimate: FloatArray | None = None, source: str = "a model"
) -> None:
    """Draw a confusion matrix, entries written into their cells.

    With `estimate`, colours show the matrix, the numbers its estimate, and `source` says whose.
    """
    matrix = np.asarray(matrix)
    written = matrix if estimate is None else np.asarray(estimate)
    axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    for row, column in np.argwhere(np.round(written, 2) > 0):
        share = written[row, column]
        axes.text(
            column,
            row,
            f"{share:.2f}".lstrip("0"),
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if matrix[row, column] > 0.65 else "black",
        )
    axes.set(
        xlabel="label we saw"
        if estimate is None
        else f"label we saw (numbers: estimates of\n{source})",
        ylabel="true class",
        xticks=range(len(matrix)),
        yticks=range(len(matrix)),
        title="How labels go wrong",
    )
    axes.tick_params(length=0)
    axes.set_anchor("N")
    for side in axes.spines.values():
        side.set(visible=True, color="#BBBBBB")


def error_bars(axes: Any, bars: list[Bar]) -> None:
    """Draw one bar per learner, first on top, with its error and what it was given."""
    places = np.arange(len(bars))[::-1]
    means = np.array([100 * bar.mean for bar in bars])
    spreads = np.array([100 * bar.spread for bar in bars])
    axes.barh(
        places,
        means,
        xerr=spreads,
        color=[bar.colour for bar in bars],
        height=0.62,
        error_kw={"elinewidth": 1.2, "capsize": 3, "ecolor": "#222222"},
    )
    for place, mean, spread in zip(places, means, spreads, strict=True):
        axes.annotate(
            f"{mean:.1f}",
            (mean + spread, place),
            (5, 0),
            textcoords="offset points",
            va="center",
            weight="bold",
        )
    axes.set_yticks(places, [f"{bar.name}\n{bar.given}" for bar in bars], linespacing=1.3)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.2 * float((means + spreads).max()))
    axes.set(xlabel="error on clean test labels, %", title="Error after training")


def error_curves(axes: Any, curves: list[Curve]) -> None:
    """Draw the mean error over the share of wrong labels, the range over runs shaded."""
    for curve in curves:
        wrong, percent = 100 * np.array(curve.rates), 100 * curve.runs
        look = {"color": curve.colour, "linewidth": 2, "marker": "o", "markersize": 4}
        axes.plot(wrong, percent.mean(axis=0), label=curve.name, **look)
        axes.fill_between(
            wrong, percent.min(axis=0), percent.max(axis=0), color=curve.colour, alpha=0.15, lw=0
        )
    # No labels at the curves: where noise does no harm, they lie upon one another.
    axes.legend(frameon=False, loc="upper left", labelcolor="linecolor")
    highest = max(float(curve.runs.max()) for curve in curves)
    axes.set_ylim(0, max(135 * highest, 1.0))
    axes.set(
        xlabel="wrong labels in training, %",
        ylabel="error on clean test labels, %",
        title="Error by noise",
    )


def demo_figure(
    confusion: FloatArray, estimate: FloatArray, source: str, bars: list[Bar], curves: list[Curve]
) -> Any:
    """Return the figure of `unconfused demo`: the noise, the errors, and errors at less noise."""
    # No pyplot: a figure of its own needs no display and leaves the user's settings alone.
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.5, 3.9), layout="constrained")
        spacing: Any = figure.get_layout_engine()
        spacing.set(w_pad=0.12)
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1.1, 1.1))
        confusion_heatmap(left, confusion, estimate, source)
        error_bars(middle, bars)
        error_curves(right, curves)
    return figure
