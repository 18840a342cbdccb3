"""Reliability of predicted probabilities."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from unconfused._labels import MISSING, encode_labels
from unconfused._matrix_labels import align_confusion
from unconfused._pipelines import final_step
from unconfused._typing import ArrayLike, FloatArray
from unconfused.metrics._reliability import ReliabilityCurve, reliability_curve
from unconfused.plot._style import BLUE, GREY, Display

Against = Literal["truth", "labels"]


class ReliabilityDisplay(Display):
    """Reliability curve: observed frequencies by predicted probability, with 95 % intervals.

    Make it with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : what to draw
    against : whether outcomes are true classes or noisy labels

    Attributes
    ----------
    ax_, figure_ : axes and figure
    line_ : the points

    Examples
    --------
    >>> import numpy as np
    >>> from unconfused.plot import ReliabilityDisplay
    >>> chances = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], chances, n_bins=2)
    >>> display.line_.get_ydata()
    array([0.25, 0.75])
    """

    def __init__(self, curve: ReliabilityCurve, *, against: Against = "truth") -> None:
        self.curve = curve
        self.against: Against = against

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        y_true: ArrayLike | None = None,
        n_bins: int = 10,
        ax: Any = None,
    ) -> Self:
        """Evaluate a fitted model on rows it was not trained on.

        With `y_true`, probabilities are compared with the truth, on the rows where it is known.
        Without, they are multiplied by the model's confusion matrix and compared with the noisy
        labels `y`, which checks model and matrix together.
        """
        final, _ = final_step(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"{type(final).__name__} predicts no probabilities.")
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            y_true=y_true,
            confusion=None if y_true is not None else final.confusion_,
            classes=estimator.classes_,
            n_bins=n_bins,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        probability: FloatArray,
        *,
        y_true: ArrayLike | None = None,
        confusion: Any = None,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        ax: Any = None,
    ) -> Self:
        """Compare predicted probabilities of the classes, (n, Q), with the outcomes.

        Parameters
        ----------
        y : the labels of the rows: noisy if there is a `confusion`, else taken as the truth
        probability : probabilities of the true classes, one column each, in sorted order
        y_true : the truth where known; then only these rows are used, and `y` is not
        confusion : the matrix that turns probabilities of classes into those of noisy labels
        classes : the classes, if `y` may not show every one
        n_bins : number of bins of equal width
        ax : axes to draw on
        """
        chances = np.asarray(probability, dtype=np.float64)
        labels = encode_labels(y, y_true, classes=classes)
        if chances.shape != (len(labels.observed), len(labels.classes)):
            raise ValueError(
                f"probability has shape {chances.shape}, but there are {len(labels.observed)} rows "
                f"and {len(labels.classes)} classes; name all classes with `classes`."
            )
        against: Against = "truth" if y_true is not None or confusion is None else "labels"
        outcome = labels.truth if y_true is not None else labels.observed
        if against == "labels":
            chances = chances @ align_confusion(confusion, labels.classes)
        known = outcome != MISSING
        curve = reliability_curve(chances[known], outcome[known], n_bins)
        return cls(curve, against=against).plot(ax=ax)

    def _draw(self, axes: Any) -> None:
        curve = self.curve
        axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", linewidth=1.4)
        ends = [curve.observed - curve.low, curve.high - curve.observed]
        drawn = axes.errorbar(curve.predicted, curve.observed, ends, fmt="o", color=BLUE)
        self.line_ = drawn.lines[0]
        axes.set(
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            aspect="equal",
            xlabel="predicted probability",
            ylabel="share of this class" if self.against == "truth" else "share with this label",
            title=f"Off by {100 * curve.gap:.1f} points on average",
        )
