"""The figure of the demo: the noise, the outcome, and the way there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._typing import FloatArray
from unconfused.plot._style import GREY, STYLE


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
    """Errors of one learner after each update (columns) in every run (rows)."""

    name: str
    runs: FloatArray
    colour: str


def confusion_heatmap(axes: Any, matrix: FloatArray) -> None:
    """Draw a confusion matrix, every entry above 0 written into its cell."""
    matrix = np.asarray(matrix)
    axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    for row, column in np.argwhere(matrix > 0):
        share = matrix[row, column]
        axes.text(
            column,
            row,
            f"{share:.2f}".lstrip("0"),
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if share > 0.65 else "black",
        )
    axes.set(
        xlabel="label we saw",
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


def error_paths(axes: Any, curves: list[Curve], stride: int, ceiling: Bar) -> None:
    """Draw the mean error over the updates, the range over runs shaded; `ceiling` is a level."""
    for curve in curves:
        updates = stride * np.arange(1, curve.runs.shape[1] + 1)
        percent = 100 * curve.runs
        axes.plot(updates, percent.mean(axis=0), color=curve.colour, linewidth=2)
        axes.fill_between(
            updates, percent.min(axis=0), percent.max(axis=0), color=curve.colour, alpha=0.15, lw=0
        )
        axes.annotate(
            curve.name,
            (updates[-1], percent[:, -1].max()),
            (0, 5),
            textcoords="offset points",
            ha="right",
            color=curve.colour,
            weight="bold",
        )
    axes.axhline(100 * ceiling.mean, color=GREY, linestyle=":", linewidth=1.5)
    axes.annotate(
        f"{ceiling.name}, {ceiling.given}",
        (0, 100 * ceiling.mean),
        (4, 3),
        textcoords="offset points",
        color=GREY,
        weight="bold",
    )
    axes.set(xlim=(0, updates[-1]), ylim=(0, 100))
    axes.set(
        xlabel="updates made", ylabel="error on clean test labels, %", title="Error while learning"
    )


def demo_figure(confusion: FloatArray, bars: list[Bar], curves: list[Curve], stride: int) -> Any:
    """Return the figure of `unconfused demo`: the noise, the outcome, and the way there."""
    # No pyplot: a figure of its own needs no display and leaves the user's settings alone.
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.5, 3.9), layout="constrained")
        spacing: Any = figure.get_layout_engine()
        spacing.set(w_pad=0.12)
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1.1, 1.1))
        confusion_heatmap(left, confusion)
        error_bars(middle, bars)
        error_paths(right, curves, stride, bars[0])
    return figure
