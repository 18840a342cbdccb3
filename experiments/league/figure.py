"""The league in one picture: how far from clean labels each way of learning ends up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.league.data import SOURCES
from experiments.league.noises import NOISES
from experiments.league.results import Results, clean_place

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
SHOWN: list[tuple[str, str, str, str, str]] = [
    ("none", "noisy", "LR on noisy labels", "#999999", "o"),
    ("none", "cleanlab", "CleanLearning", "#E69F00", "s"),
    ("trusted", "trusted", "LR on trusted rows", "#56B4E9", "^"),
    ("known", "uma-averaged", "UMA, C known", "#CC79A7", "v"),
    ("none", "ours", "ours, nothing known", "#009E73", "P"),
    ("trusted", "ours", "ours, trusted rows", "#0072B2", "D"),
    ("known", "ours", "ours, C known", "#D55E00", "*"),
]
"""Knowledge, method, name in the legend, colour, marker."""


def draw_league(results: Results, folder: Path) -> list[Path]:
    """Draw one panel per data set, a line per noise; write PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in SOURCES if name != "music" and _has(results, name)]
    figure, axes = plt.subplots(1, len(names), figsize=(3.4 * len(names), 4.6), sharey=True)
    for ax, name in zip(np.atleast_1d(axes), names, strict=True):
        _panel(ax, results, name)
    first = np.atleast_1d(axes)[0]
    first.set_yticks(range(len(NOISES)), NOISES)
    first.invert_yaxis()
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.supxlabel("test error (logarithmic)", y=0.13, fontsize=10)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"league.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return paths


def _has(results: Results, name: str) -> bool:
    return any(place[0] == name for place in results.places)


def _panel(ax: Any, results: Results, name: str) -> None:
    ceiling = results.mean(clean_place(name))
    ax.axvline(ceiling, color="black", linewidth=1, linestyle=":", label="LR on clean labels")
    found = [ceiling]
    for knowledge, method, title, colour, marker in SHOWN:
        places = [(name, noise, knowledge, method) for noise in NOISES]
        means = np.array([results.mean(place) for place in places])
        errors = np.nan_to_num([results.error_of_mean(place) for place in places])
        found += [mean for mean in means if np.isfinite(mean)]
        ax.errorbar(
            means,
            range(len(NOISES)),
            xerr=errors,
            fmt=marker,
            color=colour,
            markersize=9 if marker == "*" else 6,
            linewidth=1,
            label=title,
            alpha=0.9,
        )
    # Said, not found: where all errors are equal, or one is 0, there would be nothing to span.
    ax.set_xlim(max(min(found), 0.005) / 1.2, max(*found, 0.01) * 1.2)
    ax.set_xscale("log")
    ax.set_title(SOURCES[name].title, fontsize=10)
    ticks = [tick for tick in (0.02, 0.05, 0.1, 0.2, 0.5) if tick > ceiling / 1.6]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.grid(axis="y", linewidth=0.4)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
