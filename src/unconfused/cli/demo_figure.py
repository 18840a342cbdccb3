"""The figure of the demo: the noise, the outcome, and the outcome at less noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from unconfused._atomic import whole_file
from unconfused.cli.digits_demo import BELIEVED, CLEAN, ESTIMATED, RATES, Learner, Outcome
from unconfused.plot import BLUE, GREY, ORANGE, STYLE


def draw(outcome: Outcome) -> Figure:
    """Draw what a demo found."""
    # No pyplot: a figure of its own needs no display and leaves the user's settings alone.
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.5, 3.9), layout="constrained")
        spacing: Any = figure.get_layout_engine()
        spacing.set(w_pad=0.12)
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.15, 1.1, 1.1))
        _draw_matrix(left, outcome)
        _draw_errors(middle, outcome.learners)
        _draw_curves(right, outcome)
    return figure


def save_figure(figure: Figure, target: Path) -> None:
    """Write a figure, in place of one that may be there."""
    with whole_file(target, force=True) as scratch:
        figure.savefig(scratch, format=target.suffix[1:].lower(), dpi=130)


def _colour(learner: Learner) -> str:
    return {CLEAN: GREY, BELIEVED: ORANGE}.get(learner.given, BLUE)


def _draw_matrix(axes: Any, outcome: Outcome) -> None:
    """Draw the matrix as colours, and its estimate as numbers."""
    matrix, estimate = outcome.confusion, outcome.estimate
    axes.imshow(matrix, cmap="Blues", vmin=0.0, vmax=1.0)
    for row, column in np.argwhere(np.round(estimate, 2) > 0):
        written = f"{estimate[row, column]:.2f}".lstrip("0")
        ink = "white" if matrix[row, column] > 0.65 else "black"
        axes.text(column, row, written, ha="center", va="center", fontsize=7.5, color=ink)
    axes.set(
        xlabel=f"label we saw (numbers: estimates of\n{outcome.best(ESTIMATED).name})",
        ylabel="true class",
        xticks=range(len(matrix)),
        yticks=range(len(matrix)),
        title="How labels go wrong",
    )
    axes.tick_params(length=0)
    axes.set_anchor("N")
    for side in axes.spines.values():
        side.set(visible=True, color="#BBBBBB")


def _draw_errors(axes: Any, learners: list[Learner]) -> None:
    """Draw one bar per learner, first on top, with its error and what it was given."""
    places = np.arange(len(learners))[::-1]
    means = np.array([100 * one.mean for one in learners])
    spreads = np.array([100 * one.spread for one in learners])
    axes.barh(
        places,
        means,
        xerr=spreads,
        color=[_colour(one) for one in learners],
        height=0.62,
        error_kw={"elinewidth": 1.2, "capsize": 3, "ecolor": "#222222"},
    )
    for place, mean, end in zip(places, means, means + spreads, strict=True):
        look = {"textcoords": "offset points", "va": "center", "weight": "bold"}
        axes.annotate(f"{mean:.1f}", (end, place), (5, 0), **look)
    axes.set_yticks(places, [f"{one.name}\n{one.given}" for one in learners], linespacing=1.3)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.2 * float((means + spreads).max()))
    axes.set(xlabel="error on clean test labels, %", title="Error after training")


def _draw_curves(axes: Any, outcome: Outcome) -> None:
    """Draw the mean error over the share of wrong labels, the range over runs shaded."""
    wrong, highest = 100 * np.array(RATES), 0.0
    for one in outcome.learners:
        if one.name in outcome.curves:
            percent, colour = 100 * outcome.curves[one.name], _colour(one)
            look = {"color": colour, "linewidth": 2, "marker": "o", "markersize": 4}
            axes.plot(wrong, percent.mean(axis=0), label=one.name, **look)
            low, high = percent.min(axis=0), percent.max(axis=0)
            axes.fill_between(wrong, low, high, color=colour, alpha=0.15, lw=0)
            highest = max(highest, float(high.max()))
    # No labels at the curves: where noise does no harm, they lie upon one another.
    axes.legend(frameon=False, loc="upper left", labelcolor="linecolor")
    axes.set_ylim(0, max(1.35 * highest, 1.0))
    axes.set(
        xlabel="wrong labels in training, %",
        ylabel="error on clean test labels, %",
        title="Error by noise",
    )
