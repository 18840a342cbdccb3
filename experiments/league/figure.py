"""The league in one picture: ours, the best other method, and the noisy labels alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.league.data import SOURCES
from experiments.league.results import Place, Results, clean_place
from experiments.league.targets import cells, rival_place

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
OURS, OTHER, NOISY = "#0072B2", "#E69F00", "#999999"

TITLES = {"known": "C known", "trusted": "trusted rows", "none": "nothing known"}


def draw_league(results: Results, folder: Path, stem: str) -> list[Path]:
    """Draw a line per data set and noise, a panel per kind of knowledge; write PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    there = list(cells(results))
    rows = list(dict.fromkeys((data, noise) for data, noise, _ in there))
    size = (9.5, 1.6 + 0.27 * max(4, len(rows)))
    figure, axes = plt.subplots(1, 3, figsize=size, sharey=True, sharex=True)
    for ax, (knowledge, title) in zip(axes, TITLES.items(), strict=True):
        for height, (data, noise) in enumerate(rows):
            if (data, noise, knowledge) in there:
                _line(ax, results, (data, noise, knowledge), height)
        _finish(ax, rows, title)
    axes[0].set_yticks(range(len(rows)), [f"{SOURCES[d].title}; {noise}" for d, noise in rows])
    axes[0].invert_yaxis()
    handles, labels = axes[-1].get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    figure.legend(found.values(), found.keys(), loc="lower center", ncols=3, frameon=False)
    figure.supxlabel("test error, times that with clean labels", y=0.36 / size[1], fontsize=10)
    figure.tight_layout(rect=(0, 0.5 / size[1], 1, 1))
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{stem}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return paths


def _line(ax: Any, results: Results, cell: tuple[str, str, str], height: int) -> None:
    """Draw one cell: a line between ours and the best other method, and the noisy labels."""
    own: Place = (*cell, "ours")
    ceiling = max(results.mean(clean_place(cell[0])), 1e-3)
    rivals = [rival_place(cell, m) for m in dict.fromkeys(place[3] for place in results.places)]
    means = [results.mean(place) for place in rivals if place[3] not in ("ours", "clean", "noisy")]
    best = float(np.nanmin(means)) if np.any(np.isfinite(means)) else float("nan")
    ours, noisy = results.mean(own), results.mean(rival_place(cell, "noisy"))
    ax.plot([ours / ceiling, best / ceiling], [height, height], color=OTHER, linewidth=2, zorder=1)
    marks = {"facecolors": "none", "edgecolors": NOISY, "s": 26, "linewidths": 1.3}
    ax.scatter(noisy / ceiling, height, label="LR on the noisy labels", zorder=2, **marks)
    ax.scatter(best / ceiling, height, color=OTHER, s=30, label="best other method", zorder=3)
    ax.scatter(ours / ceiling, height, color=OURS, s=36, label="ours, one call", zorder=4)


def _finish(ax: Any, rows: list[tuple[str, str]], title: str) -> None:
    ax.axvline(1.0, color="black", linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ticks = [1, 2, 5, 10]
    ax.set_xticks(ticks, [f"{tick}×" for tick in ticks])
    ax.minorticks_off()
    ax.set_title(title, fontsize=10)
    ax.tick_params(axis="y", length=0)
    # A faint line between data sets.
    for height in range(1, len(rows)):
        if rows[height][0] != rows[height - 1][0]:
            ax.axhline(height - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
