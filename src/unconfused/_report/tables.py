"""The tables of a report: the matrix, the label mix, the rows to check, the annotators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from unconfused._columns.kinds import require_columns
from unconfused._columns.row_hash import map_cells, row_hashes
from unconfused._report.data import Annotator, ClassShare, Confusion, MixUp, SuspectRow
from unconfused._text import cell_text, class_names, shorten
from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused._report.case import Case
    from unconfused._report.judge import Judgement
    from unconfused._report.source import ConfusionSource

ALL_CLASSES_UP_TO, MOST_CLASSES = 15, 12
"""Of more classes, the heat map shows those mixed up most: others would not be legible."""

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


class RowContent(NamedTuple):
    """What a report shows of a row."""

    row_hash: str = ""
    cells: Sequence[tuple[str, str]] = ()
    name: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class RowListing:
    """Which rows a report lists, and what it shows of them.

    `fetch` returns some rows, by their place, as the user has them: a frame, a matrix or texts.
    Columns to `leave_out` (the labels) are no part of a row's content; the `hidden` ones are, and
    are not `shown` either. One column may have the rows' names, or the index if `named_by_index`,
    and another their texts. Rows have `numbers`, if those are not their places.
    """

    fetch: Callable[[list[int]], Any] | None = None
    max_rows: int = 1000
    numbers: IntArray | None = None
    shown: Collection[str] | None = None
    leave_out: Collection[str] = ()
    hidden: Collection[str] = ()
    name: str | None = None
    named_by_index: bool = False
    text: str | None = None

    def contents(self, places: list[int]) -> list[RowContent]:
        """Return the content of rows; of a matrix, a hash alone."""
        if self.fetch is None or not places:
            return []
        found = self.fetch(places)
        hashes = row_hashes(found, self.leave_out)
        names: Iterable[Any] = map(str, found.index) if self.named_by_index else repeat(None)
        texts: Iterable[Any] = repeat(None)
        if not hasattr(found, "columns"):
            texts = map(str, found) if np.ndim(found) == 1 else texts
            return [RowContent(*one) for one in zip(hashes, repeat(()), names, texts, strict=False)]
        columns = {str(name): name for name in found.columns}

        def cells(name: str, longest: int = LONGEST_CELL) -> list[str]:
            return map_cells(found[columns[name]], lambda one: shorten(cell_text(one), longest))

        aside = {*self.leave_out, *self.hidden, self.name, self.text}
        usual = [name for name in columns if name not in aside][:MOST_COLUMNS]
        shown = usual if self.shown is None else [one for one in self.shown if one in columns]
        lines = zip(*map(cells, shown), strict=True) if shown else repeat(())
        filled = ([(n, c) for n, c in zip(shown, one, strict=True) if c] for one in lines)
        if self.name is not None:
            names = map_cells(found[columns[self.name]], str)
        if self.text is not None:
            texts = cells(self.text, LONGEST_TEXT)
        return [RowContent(*one) for one in zip(hashes, filled, names, texts, strict=False)]


def listing_of(X: Any, row_columns: Any, row_text: str | None, max_rows: int) -> RowListing:
    """Return a listing of rows by their columns, or as they are in X."""
    if max_rows < 0:
        raise ValueError(f"max_rows must not be negative; got {max_rows}.")
    (rows,) = indexable(X if row_columns is None else row_columns)
    if row_columns is not None and len(rows) != _num_samples(X):
        raise ValueError(f"row_columns has {len(rows)} rows, and X another number.")
    if row_text is not None and not hasattr(rows, "columns"):
        raise ValueError("row_text is a column of row_columns, or of X; these have no names.")
    if row_text is not None:
        require_columns(rows, [row_text])
    # A frame's row labels, if they say more than the row's number.
    named = hasattr(rows, "iloc") and type(rows.index).__name__ != "RangeIndex"
    fetch = partial(_safe_indexing, rows)
    return RowListing(fetch, max_rows, named_by_index=named, text=row_text)


def rows_of(judged: Judgement, listing: RowListing) -> list[SuspectRow]:
    """Rank the rows whose truth is not known by how likely their label is wrong."""
    case = judged.case
    ranked = np.flatnonzero(case.labelled & ~case.trusted)
    order = ranked[np.argsort(-judged.suspicion[ranked], kind="stable")][: listing.max_rows]
    found: Any = listing.contents(case.place[order[:MOST_DETAILED]].tolist())
    pairs = zip_longest(order.tolist(), found, fillvalue=RowContent())
    return [_row(judged, place, listing, content) for place, content in pairs]


def _row(judged: Judgement, place: Any, listing: RowListing, content: Any) -> SuspectRow:
    case, chances, given = judged.case, judged.chances[place], int(judged.case.place[place])
    number = given if listing.numbers is None else int(listing.numbers[given])
    best = np.argsort(-chances, kind="stable")[:3]
    key = str(number) if content.name is None else content.name.strip()
    return SuspectRow(
        number,
        None if content.name is None else shorten(content.name),
        None if content.text is None else shorten(content.text, LONGEST_TEXT),
        int(case.observed[place]),
        int(judged.suggested[place]),
        float(judged.suspicion[place]),
        [(int(code), float(chances[code])) for code in best if chances[code] >= 0.005],
        key,
        content.row_hash if len(key) <= LONGEST_KEY else "",  # a text is no key to find a row by
        content.cells,
        _votes_on(case, place) if content.row_hash else [],
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
