"""The confusion matrix with its intervals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unconfused._typing import FloatArray, Labels
from unconfused.plot._style import BLUE, ORANGE, Display, fitted_step

NUMBERS_UP_TO = 15
"""Classes up to which every cell has room for its number."""


class ConfusionEstimateDisplay(Display):
    """Heat map of a confusion matrix: blue where labels are right, orange where they are wrong.

    Make it with `from_estimate` or `from_estimator`.

    Parameters
    ----------
    matrix : (Q, Q) probabilities, rows true, columns observed
    classes : labels of rows and columns
    interval : lower and upper ends for every entry, or None

    Attributes
    ----------
    ax_, figure_ : axes and figure
    image_ : the heat map
    text_ : (Q, Q) the numbers in the cells, None where there is none

    Examples
    --------
    >>> from unconfused.confusion import from_trusted
    >>> from unconfused.plot import ConfusionEstimateDisplay
    >>> estimate = from_trusted(["a"] * 30 + ["b"] * 30, ["a"] * 25 + ["b"] * 35)
    >>> display = ConfusionEstimateDisplay.from_estimate(estimate)
    >>> print(display.text_[0, 1].get_text())
    17
    7–33
    """

    def __init__(
        self,
        matrix: FloatArray,
        *,
        classes: Labels | None = None,
        interval: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.classes = np.arange(len(self.matrix)) if classes is None else np.asarray(classes)
        self.interval = interval
        side = float(np.clip(0.55 * len(self.matrix), 3.6, 9.0))
        self.size = (side + 0.9, side + 0.6)

    @classmethod
    def from_estimate(cls, estimate: Any, *, level: float = 0.95, ax: Any = None) -> Self:
        """Plot a `ConfusionEstimate` with credible intervals of this level."""
        display = cls(estimate.matrix, classes=estimate.classes, interval=estimate.interval(level))
        return display.plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, level: float = 0.95, ax: Any = None) -> Self:
        """Plot the matrix of a fitted model, with intervals if it was given as an estimate.

        `estimator` may be a pipeline that ends in one of our learners.
        """
        final = fitted_step(estimator, "confusion_", "has no confusion matrix to draw")
        given = final.confusion
        interval = None
        if hasattr(given, "interval") and hasattr(given, "counts"):
            # Estimates may name the classes in another order than the sorted one of the model.
            order = np.argsort(np.asarray(given.classes))
            low, high = given.interval(level)
            interval = low[np.ix_(order, order)], high[np.ix_(order, order)]
        return cls(final.confusion_, classes=final.classes_, interval=interval).plot(ax=ax)

    def _draw(self, axes: Any) -> None:
        self.image_ = axes.imshow(_colours(self.matrix))
        self.text_ = np.full(self.matrix.shape, None, dtype=object)
        if len(self.matrix) <= NUMBERS_UP_TO:
            self._write_numbers()
        shown = np.arange(0, len(self.matrix), max(1, len(self.matrix) // 30))
        names = [str(name)[:16] for name in self.classes[shown].tolist()]
        turned = {"rotation": 45, "ha": "right"} if max(map(len, names)) > 3 else {}
        axes.set_xticks(shown, names, **turned)
        axes.set_yticks(shown, names)
        axes.set(xlabel="observed label", ylabel="true class", title="How labels go wrong, %")
        axes.tick_params(length=0)
        axes.spines[:].set(visible=True, color="#BBBBBB")

    def _write_numbers(self) -> None:
        for (row, column), share in np.ndenumerate(self.matrix):
            if share < 0.005 and self.interval is None:
                continue
            text = f"{100 * share:.0f}"
            if self.interval is not None:
                low, high = self.interval
                text += f"\n{100 * low[row, column]:.0f}–{100 * high[row, column]:.0f}"
            self.text_[row, column] = self.ax_.text(
                column,
                row,
                text,
                ha="center",
                va="center",
                fontsize=7.5,
                linespacing=1.1,
                color="white" if share > 0.7 and row == column else "black",
            )


def _colours(matrix: FloatArray) -> FloatArray:
    """Shade the diagonal blue and the rest orange, small errors still visible."""
    from matplotlib.colors import to_rgb

    right = np.eye(len(matrix), dtype=bool)
    worst = max(0.15, float(matrix[~right].max())) if len(matrix) > 1 else 1.0
    strength = np.sqrt(np.clip(np.where(right, matrix, 0.7 * matrix / worst), 0.0, 1.0))
    hue = np.where(right[:, :, np.newaxis], to_rgb(BLUE), to_rgb(ORANGE))
    return np.asarray(1.0 - strength[:, :, np.newaxis] * (1.0 - hue))
