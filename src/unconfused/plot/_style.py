"""What all figures share: colours, type, and where matplotlib comes from.

Colours are from Okabe and Ito's palette, which readers with any common colour vision can tell
apart; nothing is said by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unconfused._text.extras import pip_install

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


@contextmanager
def drawing(ax: Any, size: tuple[float, float] = (5.2, 4.2)) -> Iterator[Any]:
    """Give axes to draw on, the user's or new ones, in our style while it lasts."""
    try:
        import matplotlib as mpl
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"Figures need matplotlib: {pip_install('plot')}") from error
    with mpl.rc_context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        else:  # axes the user made know nothing of our style
            ax.spines[["top", "right"]].set_visible(False)
        yield ax
