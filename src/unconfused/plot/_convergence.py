"""Convergence of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from unconfused._typing import FloatArray, IntArray, Labels
from unconfused.plot._style import BLUE, ORANGE, Display, fitted_step

MOST_PAIRS = 6
"""Pairs marked in UMA's figure."""

LINE = 0.055
"""Share of the height that the marks of one pair take."""


class ConvergenceDisplay(Display):
    """The norm of UMA's update vectors against their noise level, or the likelihood's objective.

    For UMA, the most frequent pairs are marked below the curve. Make it with `from_estimator`.

    Parameters
    ----------
    history : `history_` of a fitted UMAClassifier or UnconfusedLogisticRegression
    classes : names for the pairs

    Attributes
    ----------
    ax_, figure_ : axes and figure
    lines_ : the curves
    pairs_ : for UMA, the names of the pairs marked, the most frequent first

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UMAClassifier
    >>> from unconfused.plot import ConvergenceDisplay
    >>> clf = UMAClassifier().fit(*load_iris(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(clf)
    >>> len(display.lines_[0].get_ydata()) == clf.n_iter_
    True
    """

    size = (6.0, 4.4)

    def __init__(self, history: Mapping[str, FloatArray], *, classes: Labels | None = None) -> None:
        self.history = history
        self.classes = classes

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the history of a fitted model, or of the last step of a pipeline."""
        final = fitted_step(estimator, "history_", "keeps no history of its fit")
        return cls(final.history_, classes=final.classes_).plot(ax=ax)

    def _draw(self, axes: Any) -> None:
        if "norm" in self.history:
            self._draw_uma(axes)
            return
        objective = self.history["objective"]
        steps = np.arange(1, len(objective) + 1)
        self.lines_ = axes.plot(steps, objective, color=BLUE, linewidth=2)
        axes.set(xlabel="step", ylabel="objective", title="Convergence of the fit")

    def _draw_uma(self, axes: Any) -> None:
        norm, noise = self.history["norm"], self.history["noise"]
        updates = np.arange(1, len(norm) + 1)
        self.lines_ = axes.plot(updates, norm, color=BLUE, label="norm of the update vector")
        if np.any(noise > 0):
            self.lines_ += axes.plot(
                updates, noise, color=ORANGE, linestyle="--", label="its noise level"
            )
        if np.any(norm > 0):
            axes.set_yscale("log")
            axes.set_ylim(top=4 * norm.max())  # room for the legend
        axes.legend(frameon=False, loc="upper right")
        axes.set(
            xlabel="update (marks: updates of a pair, predicted → true class)",
            ylabel="norm",
            title="Convergence of UMA",
        )
        self.pairs_: list[str] = []
        if len(updates):
            self._mark_pairs(axes, updates)
        else:
            axes.text(0.5, 0.5, "no updates", transform=axes.transAxes, ha="center")

    def _mark_pairs(self, axes: Any, updates: IntArray) -> None:
        """Mark below the curve when each of the most frequent pairs was chosen."""
        pairs = np.column_stack([self.history["predicted"], self.history["true"]])
        found, which, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
        self.pairs_ = [self._name(*found[pair]) for pair in order]
        low, high = np.log(axes.get_ylim()) if axes.get_yscale() == "log" else (0.0, 0.0)
        room = LINE * len(order) + 0.04
        axes.set_ylim(bottom=np.exp(high - (high - low) / (1.0 - room)))
        marks, heights = axes.twinx(), LINE * (len(order) - np.arange(len(order)) - 0.5)
        for pair, height in zip(order, heights, strict=True):
            at = updates[which.ravel() == pair]
            marks.plot(at, np.full(len(at), height), "|", color=BLUE, ms=6)
        marks.set(ylim=(0, 1), yticks=heights, yticklabels=self.pairs_)
        marks.tick_params(length=0, labelsize=8.5)

    def _name(self, predicted: int, true: int) -> str:
        if self.classes is None:
            return f"{predicted} → {true}"
        return f"{str(self.classes[predicted])[:14]} → {str(self.classes[true])[:14]}"
