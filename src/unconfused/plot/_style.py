"""What all figures share: colours, type, axes.

Colours are from Okabe and Ito's palette, which readers with any common colour vision can tell
apart; nothing is said by colour alone.
"""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from unconfused._pipelines import final_step
from unconfused._text import import_extra

GREY, ORANGE, BLUE = "#707070", "#D55E00", "#0072B2"

TINTS = (
    "#88CCEE", "#CC6677", "#DDCC77", "#117733", "#332288",
    "#AA4499", "#44AA99", "#999933", "#882255", "#DDDDDD",
)  # fmt: skip
"""Paul Tol's muted colours, for up to ten regions; classes are named beside them too."""

STYLE: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Display:
    """A figure that can be plotted on given axes, or on new ones."""

    size = (4.6, 4.4)
    ax_: Any
    figure_: Any

    def plot(self, *, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        plt = import_extra("matplotlib.pyplot", "plot", "Drawing a figure")
        with plt.rc_context(STYLE):
            if ax is None:
                _, ax = plt.subplots(figsize=self.size, layout="constrained")
            else:  # axes the user made know nothing of our style
                ax.spines[["top", "right"]].set_visible(False)
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax)
        return self

    def _draw(self, axes: Any) -> None:
        raise NotImplementedError


def fitted_step(estimator: Any, attribute: str, problem: str) -> Any:
    """Return a fitted model, or the last step of a pipeline; raise if it lacks what is drawn."""
    final, _ = final_step(estimator)
    check_is_fitted(final)
    if not hasattr(final, attribute):
        raise ValueError(f"{type(final).__name__} {problem}.")
    return final
