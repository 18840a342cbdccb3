"""What a notebook shows of a confusion matrix: a line that says it, and a small heat map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unconfused._html.markup import Markup, element
from unconfused._typing import FloatArray

MOST_CLASSES = 20
"""Classes up to which the heat map is drawn."""

SIZE = 150
"""Width of the heat map in pixels."""

LONGEST_NAME = 24
BLUE, ORANGE = "#0072B2", "#D55E00"


def confusion_card(
    headline: tuple[str, str],
    matrix: FloatArray,
    classes: Sequence[object],
    details: Sequence[str] = (),
) -> Markup:
    """Return a card that needs no style sheet, and takes its ink from the page around it."""
    number, sentence = headline
    words = element(
        "div",
        element("div", number, style="font-size:2em;font-weight:700;line-height:1.1"),
        element("div", sentence, style="font-weight:600;margin-bottom:.5em"),
        *(element("div", one, style="opacity:.8;font-size:.92em") for one in details),
        style="min-width:12em;max-width:32em",
    )
    return element(
        "div",
        words,
        _heat_map(matrix, classes) if len(matrix) <= MOST_CLASSES else None,
        class_="unconfused-card",
        style="display:flex;flex-wrap:wrap;gap:1.2em;align-items:flex-start;padding:.6em .2em",
    )


def _heat_map(matrix: FloatArray, classes: Sequence[object]) -> Markup:
    n_classes = len(matrix)
    side = SIZE / n_classes
    cells = []
    for (row, column), share in np.ndenumerate(matrix):
        text = f"true {_name(classes[row])}, labelled {_name(classes[column])}: {share:.1%}"
        cells.append(
            element(
                "rect",
                element("title", text),
                x=f"{column * side:.1f}",
                y=f"{row * side:.1f}",
                width=f"{side - 1:.1f}",
                height=f"{side - 1:.1f}",
                fill=BLUE if row == column else ORANGE,
                fill_opacity=f"{np.sqrt(share):.2f}",
                stroke="currentColor",
                stroke_opacity="0.15",
                stroke_width="0.5",
            )
        )
    label = "Confusion matrix as a heat map: rows are true classes, columns are labels"
    return element(
        "div",
        element(
            "svg",
            *cells,
            width=SIZE,
            height=SIZE,
            viewBox=f"0 0 {SIZE} {SIZE}",
            role="img",
            aria_label=label,
        ),
        element("div", "true class ↓, label →", style="font-size:.8em;opacity:.8"),
    )


def _name(label: object) -> str:
    text = str(label)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
