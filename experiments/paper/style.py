"""One look for all figures of the paper: type, colours, bands, and files as PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unconfused.plot._style import BLUE, GREY, ORANGE, STYLE

__all__ = ["BLUE", "GREEN", "GREY", "LOOKS", "ORANGE", "band", "page", "save", "sizes_axis"]

GREEN, PURPLE = "#009E73", "#CC79A7"

OURS: dict[Any, Any] = {
    **STYLE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
    "svg.hashsalt": "unconfused",  # the same figure is the same file
    "svg.fonttype": "none",
}

Look = dict[str, Any]

# Who is who by colour, mark and dashes at once: one of them is enough to tell.
LOOKS: dict[str, Look] = {
    "uma": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "perceptron": {"color": ORANGE, "marker": "s", "linestyle": "--"},
    "f_conf": {"color": ORANGE, "marker": "s", "linestyle": "--"},
    "s3vm": {"color": GREEN, "marker": "^", "linestyle": "-."},
    "error": {"color": BLUE, "linestyle": "-"},
    "confusion": {"color": ORANGE, "linestyle": "--"},
    "random": {"color": GREEN, "linestyle": ":"},
}


SHADES: tuple[Look, ...] = (
    {"color": GREY, "marker": "v", "linestyle": ":", "markersize": 3},
    {"color": GREEN, "marker": "s", "linestyle": "--", "markersize": 3},
    {"color": BLUE, "marker": "o", "linestyle": "-", "markersize": 3},
)
"""The same method after more and more updates."""


@contextmanager
def page() -> Iterator[Any]:
    """Give pyplot in our style while it lasts, without a window."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(OURS):
        yield plt


def band(ax: Any, x: Any, values: dict[str, Any], look: Look, label: str) -> None:
    """Draw means as a line, and the standard error on both sides as a band."""
    mean = np.asarray(values["mean"])
    ax.plot(x, mean, label=label, **look)
    if values["standard_error"] is not None:
        error = np.asarray(values["standard_error"])
        ax.fill_between(x, mean - error, mean + error, color=look["color"], alpha=0.2, lw=0)


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG, without a date, so that it only changes with its numbers."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(OURS):
        figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def sizes_axis(ax: Any, sizes: list[int]) -> None:
    """Put the sizes of S_conf on a logarithmic axis, each named where there is room."""
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    ax.set_xlabel("Rows in S_conf")
