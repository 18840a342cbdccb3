"""Rows as a person sees them: their own columns, texts and images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from unconfused._columns.row_hash import map_cells, row_hashes
from unconfused._text import cell_text

LONG_TEXT = 80
"""Characters from which a cell is shown as a paragraph."""

MOST_CELLS = 60
"""Cells of a row that are shown."""

LONGEST = 20_000
"""Characters of a cell that are shown."""

IMAGES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".webp": "image/webp", ".bmp": "image/bmp", ".avif": "image/avif",
}  # fmt: skip
"""Kinds of images that are served. SVG is not: it may hold scripts."""


@dataclass(frozen=True)
class ReviewRows:
    """The data under review; keys and labels as text.

    `fetch` returns some rows as a frame with all columns, or as a matrix. The columns in
    `leave_out` (the labels) are neither shown nor hashed, those in `hidden` not shown. Cells that
    are paths in the folder `images` are shown as images. `votes` returns who said what of a row.
    """

    keys: Sequence[str]
    labels: Sequence[str]
    fetch: Callable[[list[int]], Any]
    leave_out: Sequence[str] = ()
    hidden: Sequence[str] = ()
    images: Path | None = None
    votes: Callable[[int], list[tuple[str, str]]] = lambda row: []
    _hashes: dict[int, str] = field(default_factory=dict, repr=False)

    def hash_of(self, row: int) -> str:
        """Return the hash of a row's content."""
        if row not in self._hashes:
            self._hashes[row] = row_hashes(self.fetch([row]), self.leave_out)[0]
        return self._hashes[row]

    def cells(self, row: int) -> list[dict[str, str]]:
        """Return a row's cells for the page: name, text, and how to show it."""
        one = self.fetch([row])
        if not hasattr(one, "columns"):
            return _numbers(one)
        left_out = {*self.leave_out, *self.hidden}
        names = [str(name) for name in one.columns if str(name) not in left_out]
        shown = []
        for name in names[:MOST_CELLS]:
            text = map_cells(one[name], cell_text)[0][:LONGEST]
            if not text:
                continue
            if self.image_path(text) is not None:
                kind = "image"
            else:
                kind = "text" if len(text) > LONG_TEXT or "\n" in text else "cell"
            shown.append({"name": name, "text": text, "kind": kind})
        if len(names) > MOST_CELLS:
            rest = f"{len(names) - MOST_CELLS} more columns are not shown"
            shown.append({"name": "…", "text": rest, "kind": "cell"})
        return shown

    def image(self, row: int, name: str) -> Path | None:
        """Return the file of an image in a cell, if it may be shown."""
        one = self.fetch([row])
        if not hasattr(one, "columns") or name not in one.columns or name in self.leave_out:
            return None
        return self.image_path(str(one[name].iloc[0]))

    def image_path(self, text: str) -> Path | None:
        """Return where a path leads if that is an image inside the allowed folder.

        The path is resolved first: neither ``..`` nor a link leads out of the folder.
        """
        if self.images is None or Path(text).suffix.lower() not in IMAGES or "\0" in text:
            return None
        try:
            folder = self.images.resolve(strict=True)
            found = (folder / text).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return found if found.is_file() and found.is_relative_to(folder) else None


def _numbers(one: Any) -> list[dict[str, str]]:
    if issparse(one):
        coordinates = one.tocoo()
        pairs = sorted(zip(coordinates.coords[-1], coordinates.data, strict=True))
    else:
        pairs = list(enumerate(np.asarray(one)[0]))
    return [
        {"name": f"column {place}", "text": f"{value:.6g}", "kind": "cell"}
        for place, value in pairs[:MOST_CELLS]
    ]
