"""The tables of a report: the matrix, the label mix, the rows to check, the annotators."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _num_samples

from unconfused._columns.row_hash import map_cells, row_hashes
from unconfused._labels import label_array
from unconfused._report.data import Annotator, ClassShare, Confusion, MixUp, SuspectRow
from unconfused._text import cell_text, class_names, shorten
from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused._report.case import Case
    from unconfused._report.judge import Judgement
    from unconfused._report.source import ConfusionSource

ALL_CLASSES_UP_TO = 15
"""A heat map of more classes than this is no longer legible on a small screen."""

MOST_CLASSES = 12
MOST_IN_FULL = 150
"""Classes up to which the whole matrix is on the page, folded."""

MOST_MIX_UPS = 12
MOST_SHARES = 20
MOST_ANNOTATORS = 50
LONGEST_TEXT, LONGEST_KEY, LONGEST_CELL = 240, 120, 80

MOST_COLUMNS = 8
"""Columns of a row that are shown, unless they are named."""

MOST_VOTES = 12
"""Votes on a row that are shown."""

MOST_DETAILED = 1000
"""Rows that are shown with their own columns: as many as a page lists."""


def confusion_of(source: ConfusionSource, case: Case) -> Confusion:
    """Show C for all classes, or for those mixed up most, and how many labels that concerns."""
    labelled = case.observed[case.labelled]
    total = len(labelled) if case.votes is None else len(case.votes)
    if source.wrong.joint is None:
        pairs = np.diag(np.bincount(labelled, minlength=case.n_classes).astype(np.float64))
    else:
        pairs = total * source.wrong.joint
    ends = (None, None) if source.estimate is None else source.estimate.interval()
    tables = source.matrix, *ends, pairs

    def at(place: Any) -> list[Any]:
        return [None if table is None else table[place] for table in tables]

    shown = _classes_to_show(pairs)
    matrix, low, high, rows = at(np.ix_(shown, shown))
    return Confusion(
        shown,
        matrix,
        low,
        high,
        rows,
        [MixUp(*pair, *at(pair)) for pair in _ranked_pairs(pairs)[:MOST_MIX_UPS]],
        source.words,
        source.quality,
        source.matrix if len(shown) < len(pairs) <= MOST_IN_FULL else None,
        "row" if case.votes is None else "answer",
    )


def _ranked_pairs(pairs: FloatArray) -> list[tuple[int, int]]:
    """Return pairs of different classes with any expected row, the largest first."""
    off = pairs * ~np.eye(len(pairs), dtype=bool)
    order = np.argsort(-off, axis=None, kind="stable")[: 50 * MOST_CLASSES]
    places = np.column_stack(np.unravel_index(order, off.shape))
    return [(int(t), int(k)) for t, k in places if off[t, k] >= 0.05]


def _classes_to_show(pairs: FloatArray) -> IntArray:
    if len(pairs) <= ALL_CLASSES_UP_TO:
        return np.arange(len(pairs))
    chosen: list[int] = []
    for pair in _ranked_pairs(pairs):
        new = [code for code in dict.fromkeys(pair) if code not in chosen]
        if len(chosen) + len(new) > MOST_CLASSES:
            break
        chosen += new
    largest = np.argsort(-pairs.sum(axis=1), kind="stable").tolist()
    return np.sort(list(dict.fromkeys(chosen + largest))[: max(len(chosen), MOST_CLASSES)])


def mix_of(judged: Judgement) -> list[ClassShare]:
    """Compare the classes' shares among the labels with those estimated, of the same rows."""
    labelled = judged.case.labelled
    n_classes = judged.case.n_classes
    before = np.bincount(judged.case.observed[labelled], minlength=n_classes)
    after = judged.posterior[labelled].sum(axis=0)
    total = max(1, int(labelled.sum()))
    columns = (range(n_classes), (before / total).tolist(), (after / total).tolist())
    shares = [ClassShare(*one) for one in zip(*columns, strict=True)]
    if n_classes <= MOST_SHARES:
        return shares
    shares.sort(key=lambda one: -abs(one.labels - one.estimated))
    return sorted(shares[:MOST_SHARES], key=lambda one: one.name)


@dataclass(frozen=True)
class RowContents:
    """Access to the rows behind a report, as the user has them.

    `fetch` returns some rows, by their place, as a frame or a matrix. Columns to `leave_out` (the
    labels) are no part of a row's content; the `hidden` ones are, and are not `shown` either.
    """

    fetch: Callable[[list[int]], Any]
    shown: Collection[str] | None = None
    leave_out: Collection[str] = ()
    hidden: Collection[str] = ()

    def of(self, rows: list[int]) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the hash of each row, and its cells with their columns' names."""
        found = self.fetch(rows)
        hashes = row_hashes(found, self.leave_out)
        if not hasattr(found, "columns"):
            return [(one, []) for one in hashes]
        left_out = {*self.leave_out, *self.hidden}
        names = {str(name): name for name in found.columns if str(name) not in left_out}
        shown = list(names)[:MOST_COLUMNS]
        if self.shown is not None:
            shown = [name for name in self.shown if name in names]
        columns = [map_cells(found[names[name]], _cell) for name in shown]
        lines = zip(*columns, strict=True)
        cells = [[(n, c) for n, c in zip(shown, line, strict=True) if c] for line in lines]
        return list(zip(hashes, cells or [[] for _ in rows], strict=True))


def _cell(cell: Any) -> str:
    return shorten(cell_text(cell), LONGEST_CELL)


@dataclass(frozen=True)
class RowListing:
    """Which rows a report lists, and what it shows of them.

    A name and a text for each row, its own columns, and its number if that is not its place in X.
    """

    max_rows: int = 1000
    names: Any = None
    texts: Any = None
    contents: RowContents | None = None
    numbers: IntArray | None = None

    def checked(self, X: Any) -> RowListing:
        """Return the listing with names and texts as lists, one entry per row of X."""
        if self.max_rows < 0:
            raise ValueError(f"max_rows must not be negative; got {self.max_rows}.")
        n_rows, names, index = _num_samples(X), self.names, getattr(X, "index", None)
        # A frame's row labels, if they say more than the row's number.
        if names is None and not callable(index) and type(index).__name__ != "RangeIndex":
            names = index
        return replace(
            self,
            names=_per_row(names, n_rows, "row_names"),
            texts=_per_row(self.texts, n_rows, "row_text"),
        )


def _per_row(values: Any, n_rows: int, name: str) -> list[Any] | None:
    if values is None:
        return None
    found: list[Any] = label_array(values).tolist()
    if len(found) != n_rows:
        raise ValueError(f"{name} has {len(found)} entries but X has {n_rows} rows.")
    return found


def rows_of(judged: Judgement, listing: RowListing) -> list[SuspectRow]:
    """Rank the rows whose truth is not known by how likely their label is wrong."""
    case = judged.case
    ranked = np.flatnonzero(case.labelled & ~case.trusted)
    order = ranked[np.argsort(-judged.suspicion[ranked], kind="stable")][: listing.max_rows]
    found: list[Any] = []
    if listing.contents is not None:
        found = listing.contents.of(case.place[order[:MOST_DETAILED]].tolist())
    pairs = zip_longest(order.tolist(), found)
    return [_row(judged, place, listing, contents) for place, contents in pairs]


def _row(judged: Judgement, place: int, listing: RowListing, contents: Any) -> SuspectRow:
    case, names, texts = judged.case, listing.names, listing.texts
    chances, given = judged.chances[place], int(case.place[place])
    number = given if listing.numbers is None else int(listing.numbers[given])
    best = np.argsort(-chances, kind="stable")[:3]
    key = str(number) if names is None else str(names[given]).strip()
    row_hash, cells = contents or ("", [])
    return SuspectRow(
        number,
        None if names is None else shorten(str(names[given])),
        None if texts is None else shorten(str(texts[given]), LONGEST_TEXT),
        int(case.observed[place]),
        int(judged.suggested[place]),
        float(judged.suspicion[place]),
        [(int(code), float(chances[code])) for code in best if chances[code] >= 0.005],
        key,
        row_hash if len(key) <= LONGEST_KEY else "",  # a text is no key to find a row by
        cells,
        _votes_on(case, place) if contents else [],
    )


def _votes_on(case: Case, place: int) -> list[tuple[str, int]]:
    """Return who voted what on a row."""
    if case.votes is None:
        return []
    own = np.flatnonzero(case.votes.item == place)[:MOST_VOTES]
    who = class_names(case.votes.annotators)
    return [(shorten(who[case.votes.annotator[v]]), int(case.votes.label[v])) for v in own]


def annotators_of(case: Case) -> list[Annotator]:
    """List annotators by how often they err, the worst first."""
    if case.votes is None:
        return []
    final, votes = case.final, case.votes
    right = np.einsum("aqq,q->a", final.annotator_confusion_, final.class_prior_)
    answers = np.bincount(votes.annotator, minlength=votes.n_annotators)
    order = [int(a) for a in np.argsort(right, kind="stable") if answers[a]]
    return [
        Annotator(shorten(str(votes.annotators[a])), int(answers[a]), float(max(0.0, 1 - right[a])))
        for a in order[:MOST_ANNOTATORS]
    ]
