"""Labels by several annotators, held as a list of answers.

Most annotators see few items, so a table of items by annotators is mostly empty. Both ways of
writing votes down, one answer per line or one column per annotator, end up here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from unconfused._labels import count_pairs, encode_labels, is_missing, label_array
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels

ONE_SIDED_FROM = 20
"""Votes from which an annotator who always gives one label is taken to know no other."""


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of several annotators: aligned arrays of item, annotator and label codes.

    Annotators may be people, rules or models. An abstention is no vote.

    Attributes
    ----------
    item : (n_votes,) index into `items`
    annotator : (n_votes,) index into `annotators`
    label : (n_votes,) index into `classes`
    items : what was labelled; an item may have no vote
    annotators : who labelled; an annotator may have no vote
    classes : the labels, sorted
    weight : (n_votes,) positive weight of each vote, such as a confidence. None: all votes count 1

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
    weight: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of votes."""
        return len(self.label)

    def __repr__(self) -> str:
        """Summarize the votes."""
        return (
            f"Votes({len(self)} votes on {self.n_items} items by {self.n_annotators} annotators, "
            f"{len(self.classes)} classes)"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Items and annotators: the shape of the table that `to_wide` makes."""
        return self.n_items, self.n_annotators

    def __getitem__(self, rows: Any) -> Votes:
        """Return the votes on some items."""
        if isinstance(rows, tuple):  # scikit-learn writes rows, then an ellipsis
            rows = rows[0]
        return self.take_items(np.arange(self.n_items)[rows])

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
        """Weight of the votes for each class on each item: (n_items, Q)."""
        return count_pairs(self.item, self.label, self.n_items, self.weight, len(self.classes))

    @property
    def one_sided(self) -> BoolArray:
        """Mask of annotators who gave only one label in at least 20 votes, as most rules do: (A,).

        Their silence is informative: where a rule that only ever says "spam" is silent, the item is
        less likely to be spam.
        """
        n_classes = len(self.classes)
        table = count_pairs(self.annotator, self.label, self.n_annotators, None, n_classes)
        return np.asarray(
            ((table > 0).sum(axis=1) == 1) & (table.sum(axis=1) >= ONE_SIDED_FROM) & (n_classes > 1)
        )

    def indicators(self, silent: BoolArray | None = None) -> Any:
        """Return the votes as a CSR matrix: a row per item, a column per annotator and label.

        If any annotator is marked in `silent`, (A,), there is one label more, which these give to
        the items they do not vote on.
        """
        weight = np.ones(len(self)) if self.weight is None else self.weight
        silent = np.zeros(self.n_annotators, bool) if silent is None else silent
        n_labels = len(self.classes) + bool(silent.any())
        item, columns = self.item, self.annotator * n_labels + self.label
        if silent.any():
            spoken = np.zeros((self.n_items, self.n_annotators), dtype=bool)
            spoken[self.item, self.annotator] = True
            still, who = np.nonzero(~spoken & silent)
            item = np.concatenate([item, still])
            columns = np.concatenate([columns, who * n_labels + n_labels - 1])
            weight = np.concatenate([weight, np.ones(len(still))])
        shape = (self.n_items, self.n_annotators * n_labels)
        return sparse.csr_matrix((weight, (item, columns)), shape=shape)

    def take(self, kept: Any) -> Votes:
        """Return some of the votes, by a mask or by numbers; items and annotators stay."""
        taken = {"item": self.item[kept], "annotator": self.annotator[kept]}
        weight = None if self.weight is None else self.weight[kept]
        return replace(self, **taken, label=self.label[kept], weight=weight)

    def take_items(self, rows: IntArray) -> Votes:
        """Return the votes on some items, which are renumbered.

        Examples
        --------
        >>> votes = votes_from_wide([["a", "b"], ["b", None], ["b", "b"]])
        >>> votes.take_items(np.array([2, 1])).to_wide().tolist()
        [['b', 'b'], ['b', None]]
        """
        new_place = np.full(self.n_items, -1)
        new_place[rows] = np.arange(len(rows))
        kept = self.take(new_place[self.item] >= 0)
        return replace(kept, item=new_place[kept.item], items=self.items[rows])

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
    weight: ArrayLike | None = None,
    duplicates: Literal["error", "last"] = "error",
    missing_label: Any = "auto",
) -> Votes:
    """Collect votes written one answer per line.

    Parameters
    ----------
    item : (n_votes,) what was labelled
    annotator : (n_votes,) who labelled it
    label : (n_votes,) the answer. Lines with a missing label (None, NaN) carry no vote; use this
        for refusals and abstentions
    items : all items in the order wanted, those without a vote included: for votes on the rows of
        ``X``, the identifiers of these rows. By default the items that have votes, sorted
    classes : all classes, if the votes may not show every one
    weight : (n_votes,) how much each vote counts, such as the confidence of a model; votes with a
        weight that is 0 or missing do not count
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
    columns = {"item": item, "annotator": annotator, "label": label, "weight": weight}
    arrays = {name: _column(values, name) for name, values in columns.items() if values is not None}
    if len({len(values) for values in arrays.values()}) > 1:
        told = ", ".join(f"{len(values)} in {name}" for name, values in arrays.items())
        raise ValueError(f"There must be one entry per vote in every column; got {told}.")
    voters, who = _sorted_codes(arrays["annotator"], "annotator")
    found, what = _sorted_codes(arrays["item"], "item")
    if items is not None:
        found, what = _in_order(found, what, _column(items, "items"))
    shown, codes = label_codes(arrays["label"], classes, missing_label)
    cast = _weighed(Votes(what, who, codes, found, voters, shown), arrays.get("weight"))
    return _without_duplicates(cast, duplicates)


def votes_from_wide(
    y: Any,
    *,
    classes: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    annotators: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> Votes:
    """Collect votes written one row per item and one column per annotator.

    Items are numbered by row.

    Parameters
    ----------
    y : (n_items, n_annotators) labels, missing (None, NaN) where an annotator did not answer,
        abstained or refused
    classes : all classes, if the votes may not show every one
    weight : (n_items, n_annotators) how much each vote counts, such as the confidence of a model;
        votes with a weight that is 0 or missing do not count
    annotators : (n_annotators,) their names; by default the columns of a frame, or else numbers
    missing_label : a value that means "missing" besides None and NaN

    Returns
    -------
    Votes

    Examples
    --------
    >>> votes_from_wide([["a", "b", None], ["b", None, "b"]])
    Votes(4 votes on 2 items by 3 annotators, 2 classes)

    Votes of a model that is certain, and of one that is not, with their confidences as weights:

    >>> votes = votes_from_wide([["a", "b"]], weight=[[0.99, 0.55]], annotators=["large", "small"])
    >>> votes.tally
    array([[0.99, 0.55]])
    """
    if sparse.issparse(y):
        raise ValueError(
            "Votes in a sparse matrix are ambiguous: an absent entry could be a class or a missing "
            "vote. Use confusion.votes_from_long(item, annotator, label)."
        )
    names = getattr(y, "columns", None)
    table = label_array(y) if names is None else np.asarray(y)
    if table.ndim != 2:
        raise ValueError(
            f"Votes need one row per item and one column per annotator; got shape {table.shape}. "
            "For one answer per line use confusion.votes_from_long(item, annotator, label)."
        )
    n_items, n_annotators = table.shape
    if annotators is None:
        annotators = np.arange(n_annotators) if names is None else list(names)
    named = _column(annotators, "annotators")
    if len(named) != n_annotators:
        raise ValueError(f"annotators names {len(named)}, but y has {n_annotators} columns.")
    shown, codes = label_codes(table.ravel(), classes, missing_label)
    item, annotator = np.divmod(np.arange(table.size), max(1, n_annotators))
    votes = Votes(item, annotator, codes, np.arange(n_items), named, shown)
    if weight is not None and np.shape(weight) != table.shape:
        raise ValueError(f"weight must have the shape of y, {table.shape}; got {np.shape(weight)}.")
    return _weighed(votes, None if weight is None else np.asarray(weight).ravel())


def _weighed(votes: Votes, weight: Labels | None) -> Votes:
    """Drop votes without a label, or with weight 0."""
    cast = votes.label >= 0
    if weight is None:
        return votes if cast.all() else votes.take(cast)
    try:
        weights = np.where(is_missing(weight), 0.0, weight).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weight must hold numbers ({error}).") from None
    if not np.all((weights >= 0) & np.isfinite(weights)):
        raise ValueError("The weight of a vote must be finite and not negative.")
    return replace(votes, weight=weights).take(cast & (weights > 0))


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
    ordered = distinct[order]
    plain = np.array(ordered.tolist()) if ordered.dtype.kind == "O" else ordered
    return plain, np.argsort(order)[inverse]


def _in_order(found: Labels, codes: IntArray, wanted: Labels) -> tuple[Labels, IntArray]:
    """Renumber items by their place among those the user lists."""
    listed = wanted.tolist()
    place = {identifier: number for number, identifier in enumerate(listed)}
    if len(place) != len(listed):
        raise ValueError("items lists an item twice.")
    if unknown := [identifier for identifier in found.tolist() if identifier not in place]:
        raise ValueError(
            f"{len(unknown)} of the voted items are not among `items`, such as {unknown[0]!r}. "
            "Leave their votes out, or list them."
        )
    places = np.array([place[identifier] for identifier in found.tolist()], dtype=np.intp)
    return wanted, places[codes] if len(codes) else codes


def _without_duplicates(votes: Votes, duplicates: str) -> Votes:
    cell = votes.item * votes.n_annotators + votes.annotator
    # The first of a reversed list is the last line of the original one.
    cells, from_the_end, counts = np.unique(cell[::-1], return_index=True, return_counts=True)
    if len(cells) == len(cell):
        return votes
    if duplicates == "error":
        item, annotator = np.divmod(cells[counts > 1][0], votes.n_annotators)
        raise ValueError(
            f"Votes that repeat an earlier one of the same annotator: {len(cell) - len(cells)} "
            f"(for instance annotator {votes.annotators[annotator]!s} on item "
            f"{votes.items[item]!s}). Settle them first, or pass duplicates='last' to let the last "
            "answer count."
        )
    return votes.take(np.sort(len(cell) - 1 - from_the_end))
