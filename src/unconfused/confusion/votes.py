"""Labels by several annotators, held as a list of answers.

Most annotators see few items, so a table of items by annotators is mostly empty. Both ways of
writing votes down, one answer per line or one column per annotator, end up here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from unconfused._labels import encode_labels, is_missing, label_array
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels


@dataclass(frozen=True, eq=False)
class Votes:
    """Who called what how: three aligned arrays of codes, and what the codes stand for.

    Attributes
    ----------
    item : (n_votes,) index into `items`
    annotator : (n_votes,) index into `annotators`
    label : (n_votes,) index into `classes`
    items : what was labelled; an item may have no vote
    annotators : who labelled; an annotator may have no vote
    classes : the labels, sorted

    Examples
    --------
    >>> votes = votes_from_long(["s1", "s1", "s2"], ["Ann", "Bob", "Ann"], ["jazz", "pop", "pop"])
    >>> votes
    Votes(3 votes on 2 items by 2 annotators, 2 classes)
    >>> votes.to_wide()
    array([['jazz', 'pop'],
           ['pop', None]], dtype=object)
    """

    item: IntArray
    annotator: IntArray
    label: IntArray
    items: Labels
    annotators: Labels
    classes: Labels

    def __len__(self) -> int:
        """Return the number of votes."""
        return len(self.label)

    def __repr__(self) -> str:
        """Say how much there is."""
        return (
            f"Votes({len(self)} votes on {self.n_items} items by {self.n_annotators} annotators, "
            f"{len(self.classes)} classes)"
        )

    @property
    def n_items(self) -> int:
        """Number of items, those without a vote included."""
        return len(self.items)

    @property
    def n_annotators(self) -> int:
        """Number of annotators, those without a vote included."""
        return len(self.annotators)

    @property
    def tally(self) -> FloatArray:
        """How many votes each class got on each item: (n_items, Q)."""
        n_classes = len(self.classes)
        cells = self.item * n_classes + self.label
        counted = np.bincount(cells, minlength=self.n_items * n_classes)
        return counted.reshape(self.n_items, n_classes).astype(np.float64)

    def indicators(self) -> Any:
        """Return the votes as a CSR matrix: a row per item, a column per annotator and label."""
        n_classes = len(self.classes)
        columns = self.annotator * n_classes + self.label
        shape = (self.n_items, self.n_annotators * n_classes)
        return sparse.csr_matrix((np.ones(len(self)), (self.item, columns)), shape=shape)

    def to_wide(self, missing: Any = None) -> Labels:
        """Return one row per item and one column per annotator, `missing` where none voted."""
        table = np.full((self.n_items, self.n_annotators), missing, dtype=object)
        table[self.item, self.annotator] = self.classes.astype(object)[self.label]
        return table


def votes_from_long(
    item: ArrayLike,
    annotator: ArrayLike,
    label: ArrayLike,
    *,
    items: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    duplicates: Literal["error", "last"] = "error",
    missing_label: Any = "auto",
) -> Votes:
    """Collect votes written one answer per line.

    Parameters
    ----------
    item : (n_votes,) what was labelled
    annotator : (n_votes,) by whom
    label : (n_votes,) as what. Lines with a missing label (None, NaN) carry no vote
    items : all items in the order wanted, those without a vote included: for votes on the rows of
        ``X``, the identifiers of these rows. By default the items found, sorted
    classes : all classes, if the votes may not show every one
    duplicates : what to do when an annotator answers twice on one item: refuse (``"error"``), or
        let the line that comes last count (``"last"``)
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    Votes

    Examples
    --------
    >>> votes = votes_from_long([7, 7, 8], ["Ann", "Bob", "Ann"], ["a", "b", None], items=[7, 8, 9])
    >>> votes.item.tolist(), votes.annotators.tolist(), votes.n_items
    ([0, 0], ['Ann', 'Bob'], 3)
    """
    if duplicates not in ("error", "last"):
        raise ValueError(f"duplicates must be 'error' or 'last'; got {duplicates!r}.")
    columns = {"item": item, "annotator": annotator, "label": label}
    arrays = {name: _column(values, name) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{count} in {name}" for name, count in lengths.items())
        raise ValueError(f"There must be one entry per vote in every column; got {told}.")
    voters, who = _sorted_codes(arrays["annotator"], "annotator")
    found, what = _sorted_codes(arrays["item"], "item")
    if items is not None:
        found, what = _in_order(found, what, _column(items, "items"))
    shown, codes = label_codes(arrays["label"], classes, missing_label)
    cast = codes >= 0
    votes = Votes(what[cast], who[cast], codes[cast], found, voters, shown)
    return _without_duplicates(votes, duplicates)


def votes_from_wide(
    y: Any, *, classes: ArrayLike | None = None, missing_label: Any = "auto"
) -> Votes:
    """Collect votes written one row per item and one column per annotator.

    A frame names its annotators; those of an array are numbered. Items are numbered by row.

    Examples
    --------
    >>> votes_from_wide([["a", "b", None], ["b", None, "b"]])
    Votes(4 votes on 2 items by 3 annotators, 2 classes)
    """
    if sparse.issparse(y):
        raise ValueError(
            "Votes in a sparse matrix are ambiguous: an absent entry could be a class or a missing "
            "vote. Use confusion.votes_from_long(item, annotator, label)."
        )
    names = getattr(y, "columns", None)
    table = np.asarray(y) if hasattr(y, "columns") else label_array(y)
    if table.ndim != 2:
        raise ValueError(
            f"Votes need one row per item and one column per annotator; got shape {table.shape}. "
            "For one answer per line use confusion.votes_from_long(item, annotator, label)."
        )
    n_items, n_annotators = table.shape
    annotators = np.arange(n_annotators) if names is None else label_array(list(names))
    shown, codes = label_codes(table.ravel(), classes, missing_label)
    place = np.flatnonzero(codes >= 0)
    item, annotator = np.divmod(place, n_annotators)
    return Votes(item, annotator, codes[place], np.arange(n_items), annotators, shown)


def label_codes(
    values: Labels, classes: ArrayLike | None = None, missing_label: Any = "auto"
) -> tuple[Labels, IntArray]:
    """Find the classes and the code of each label, looking at every distinct label once."""
    distinct, inverse = _distinct(values, "label")
    encoded = encode_labels(distinct, classes=classes, missing_label=missing_label)
    return encoded.classes, encoded.observed[inverse]


def _column(values: Any, name: str) -> Labels:
    array = label_array(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; it has shape {array.shape}.")
    return array


def _distinct(values: Labels, name: str) -> tuple[Labels, IntArray]:
    """Return the distinct values in any order, and where each entry is among them."""
    if values.dtype.kind in "iufb":
        numbers, places = np.unique(values, return_inverse=True)
        return numbers, places.astype(np.intp)
    # A dictionary is several times faster than sorting a million strings.
    entries = values.tolist()
    try:
        place = {entry: number for number, entry in enumerate(dict.fromkeys(entries))}
    except TypeError:
        raise ValueError(f"{name} must hold plain values, not sequences.") from None
    inverse = np.fromiter(map(place.__getitem__, entries), dtype=np.intp, count=len(entries))
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    return distinct, inverse


def _sorted_codes(values: Labels, name: str) -> tuple[Labels, IntArray]:
    """Return the distinct identifiers sorted, and the code of each entry."""
    distinct, inverse = _distinct(values, name)
    if is_missing(distinct).any():
        raise ValueError(f"{name} holds missing values (None or NaN); every vote needs one.")
    try:
        order = np.argsort(distinct, kind="stable")
    except TypeError:
        raise ValueError(f"{name} mixes values of different types; use one type.") from None
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    ordered = distinct[order]
    return (np.array(ordered.tolist()) if ordered.dtype.kind == "O" else ordered), rank[inverse]


def _in_order(found: Labels, codes: IntArray, wanted: Labels) -> tuple[Labels, IntArray]:
    """Renumber items by their place among those the user lists."""
    listed = wanted.tolist()
    place = {identifier: number for number, identifier in enumerate(listed)}
    if len(place) != len(listed):
        raise ValueError("items lists an item twice.")
    unknown = [identifier for identifier in found.tolist() if identifier not in place]
    if unknown:
        raise ValueError(
            f"{len(unknown)} of the voted items are not among `items`, such as {unknown[0]!r}. "
            "Leave their votes out, or list them."
        )
    places = np.array([place[identifier] for identifier in found.tolist()], dtype=np.intp)
    return wanted, places[codes] if len(codes) else codes


def _without_duplicates(votes: Votes, duplicates: str) -> Votes:
    cell = votes.item * votes.n_annotators + votes.annotator
    # The first of a reversed list is the last line of the original one.
    _, from_the_end = np.unique(cell[::-1], return_index=True)
    repeats = len(cell) - len(from_the_end)
    if not repeats:
        return votes
    if duplicates == "error":
        counts = np.bincount(np.unique(cell, return_inverse=True)[1])
        first = np.unique(cell)[counts > 1][0]
        who = votes.annotators[first % votes.n_annotators]
        what = votes.items[first // votes.n_annotators]
        raise ValueError(
            f"{repeats} votes repeat an earlier one of the same annotator on the same item (for "
            f"instance annotator {who!s} on item {what!s}). Settle them first, or pass "
            "duplicates='last' to let the last answer count."
        )
    kept = np.sort(len(cell) - 1 - from_the_end)
    return Votes(
        votes.item[kept],
        votes.annotator[kept],
        votes.label[kept],
        votes.items,
        votes.annotators,
        votes.classes,
    )
