"""Convergence of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unconfused._pipelines import final_step
from unconfused._typing import FloatArray, IntArray, Labels
from unconfused.plot._style import BLUE, ORANGE, drawing

MOST_PAIRS = 6
"""Pairs marked in UMA's figure."""

LINE = 0.055
"""Share of the height that the marks of one pair take."""


class ConvergenceDisplay:
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

    def __init__(self, history: Mapping[str, FloatArray], *, classes: Labels | None = None) -> None:
        self.history = history
        self.classes = classes

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot the history of a fitted model, or of the last step of a pipeline."""
        final, _ = final_step(estimator)
        check_is_fitted(final)
        if not hasattr(final, "history_"):
            raise ValueError(f"{type(final).__name__} keeps no history of its fit.")
        return cls(final.history_, classes=final.classes_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        with drawing(ax, (6.0, 4.4)) as axes:
            self.ax_, self.figure_ = axes, axes.figure
            if "norm" in self.history:
                self._plot_uma()
            else:
                self._plot_likelihood()
        return self

    def _plot_likelihood(self) -> None:
        objective = self.history["objective"]
        steps = np.arange(1, len(objective) + 1)
        self.lines_ = self.ax_.plot(steps, objective, color=BLUE, linewidth=2, label="objective")
        self.ax_.set(xlabel="step", ylabel="objective", title="Convergence of the fit")

    def _plot_uma(self) -> None:
        norm, noise = self.history["norm"], self.history["noise"]
        updates = np.arange(1, len(norm) + 1)
        self.lines_ = self.ax_.plot(
            updates, norm, color=BLUE, linewidth=1.6, label="length of the update vector"
        )
        if np.any(noise > 0):
            self.lines_ += self.ax_.plot(
                updates, noise, color=ORANGE, linewidth=1.4, linestyle="--", label="its noise level"
            )
        if np.any(norm > 0):
            self.ax_.set_yscale("log")
            self.ax_.set_ylim(top=4 * norm.max())  # room for the legend
        if not len(updates):
            self.ax_.text(0.5, 0.5, "no updates", transform=self.ax_.transAxes, ha="center")
        self.ax_.legend(frameon=False, loc="upper right")
        self.ax_.set(
            xlabel="update; marked: when a pair was chosen (predicted → truly)",
            ylabel="length",
            title="Convergence of UMA",
        )
        self.pairs_: list[str] = []
        if len(updates):
            self._mark_pairs(updates)

    def _mark_pairs(self, updates: IntArray) -> None:
        """Mark below the curve when each of the most frequent pairs was chosen."""
        pairs = np.column_stack([self.history["predicted"], self.history["true"]])
        found, which, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_PAIRS]
        self.pairs_ = [self._name(*found[pair]) for pair in order]
        # Places of the marks: updates along the axis, a share of the height across it.
        mixed = self.ax_.get_xaxis_transform()
        for line, pair in enumerate(order):
            height = LINE * (len(order) - line - 0.5)
            at = updates[which.ravel() == pair]
            self.ax_.plot(at, np.full(len(at), height), "|", color=BLUE, ms=6, transform=mixed)
            self.ax_.text(
                1.02, height, self.pairs_[line], transform=self.ax_.transAxes, va="center", size=8.5
            )
        self._make_room(LINE * len(order) + 0.04)

    def _make_room(self, share: float) -> None:
        """Keep the curve, and the numbers of its axis, above this share of the height."""
        values = np.concatenate([line.get_ydata() for line in self.lines_[:2]])
        logarithmic = self.ax_.get_yscale() == "log"
        values = np.log10(values[values > 0]) if logarithmic else values
        low, high = float(values.min()), float(values.max())
        span = (high - low or 1.0) * 1.05
        bottom = high + 0.04 * span - 1.04 * span / (1.0 - share)
        ends = np.array([bottom, high + 0.04 * span])
        self.ax_.set_ylim(10.0**ends if logarithmic else ends)
        kept = [t for t in self.ax_.get_yticks() if low <= (np.log10(t) if logarithmic else t)]
        self.ax_.set_yticks([t for t in kept if t <= self.ax_.get_ylim()[1]])
        self.ax_.minorticks_off()

    def _name(self, predicted: int, true: int) -> str:
        if self.classes is None:
            return f"{predicted} → {true}"
        return f"{str(self.classes[predicted])[:14]} → {str(self.classes[true])[:14]}"
