"""Labels corrected and accuracy against rows checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

LOOKS = {
    "mix": ("ours (mix)", "#D55E00", "-"),
    "suspicion": ("plain suspicion", "#56B4E9", "--"),
    "cleanlab": ("cleanlab", "#009E73", "-."),
    "random": ("random", "#777777", ":"),
}


def draw_review(curves: Any, folder: Path) -> Path:
    """Draw two rows of panels, one column per data set and noise, at most six."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = list(curves.items())
    if len(shown) > 6:
        step = len(shown) / 6
        shown = [shown[int(place * step)] for place in range(6)]
    figure, axes = plt.subplots(2, len(shown), figsize=(2.6 * len(shown), 5.2), squeeze=False)
    for column, ((data, noise), records) in enumerate(shown):
        axes[0, column].set_title(f"{data}\n{noise}", fontsize=9)
        for row, what in enumerate(("mended", "accuracy")):
            _panel(axes[row, column], records, what)
    axes[0, 0].set_ylabel("wrong labels corrected, %")
    axes[1, 0].set_ylabel("test accuracy")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False)
    figure.supxlabel("rows checked, %", y=0.06, fontsize=10)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "review.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _panel(ax: Any, records: Any, what: str) -> None:
    for name, (label, colour, line) in LOOKS.items():
        x = np.mean([np.array(one["checked"]) / one["n_rows"] for one in records[name]], axis=0)
        scale = [100 / max(1, one["n_wrong"]) if what == "mended" else 1 for one in records[name]]
        y = np.array([k * np.array(one[what]) for k, one in zip(scale, records[name], strict=True)])
        width = 2.2 if name == "mix" else 1.5
        ax.plot(100 * x, y.mean(axis=0), linestyle=line, color=colour, label=label, linewidth=width)
    ax.grid(alpha=0.25)
    ax.tick_params(labelsize=8)
