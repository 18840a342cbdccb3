"""Verdicts found again in the data: `CheckedRows`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unconfused._columns.row_hash import row_hashes
from unconfused._columns.summary import as_written
from unconfused._labels import MISSING, count_pairs, encode_labels, is_missing, label_array
from unconfused._text import count
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion.audit import from_audit
from unconfused.confusion.estimate import ConfusionEstimate
from unconfused.confusion.trusted import from_trusted
from unconfused.review.verdicts import Verdicts

DRAWN_WITHIN_LABELS = ("random", "confusion")
"""Ways of drawing that choose by chance alone among the rows with one label."""

FIRST = 3
"""Rows named in a note."""

FEWEST_DRAWN = 10
"""Rows drawn at random below which nothing is counted."""


@dataclass(frozen=True)
class CheckedRows:
    """Rows whose truth was settled, and how they came to be checked.

    Attributes
    ----------
    y_true : (n,) the truth where a verdict settled it, None elsewhere: what `fit` takes
    probability : (n,) probability with which a checked row was drawn, NaN where it is unknown or
        where the label has changed since. Rows with NaN do not count in estimates of the noise
    drawn_by : (n,) how the row was selected, "" for other rows
    notes : sentences on verdicts that were ignored
    skipped, conflicts : rows that a reviewer skipped, and those with contradictory verdicts
    """

    y_true: Labels
    probability: FloatArray
    drawn_by: Labels
    notes: list[str] = field(default_factory=list)
    skipped: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    conflicts: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @property
    def known(self) -> Any:
        """Mask of the rows whose truth is settled."""
        return np.array([one is not None for one in self.y_true.tolist()], dtype=bool)

    @property
    def representative(self) -> Any:
        """Mask of the rows that may be counted: drawn with a known positive probability."""
        return self.known & np.isfinite(self.probability)

    @property
    def y_random(self) -> Labels:
        """The truth of the rows that may be counted, None elsewhere."""
        return self.only(np.flatnonzero(self.representative)).y_true

    def at(self, rows: IntArray) -> CheckedRows:
        """Return the verdicts of some rows."""
        return CheckedRows(self.y_true[rows], self.probability[rows], self.drawn_by[rows])

    def only(self, rows: IntArray) -> CheckedRows:
        """Keep the verdicts on some rows."""
        y_true, probability = self.y_true.copy(), self.probability.copy()
        others = np.isin(np.arange(len(y_true)), rows, invert=True)
        y_true[others], probability[others] = None, np.nan
        return CheckedRows(y_true, probability, self.drawn_by)

    def confusion(
        self, y: ArrayLike, *, classes: ArrayLike | None = None, smoothing: float = 0.0
    ) -> ConfusionEstimate:
        """Estimate C from the rows that were drawn at random.

        As `confusion.from_trusted` if all were drawn evenly, otherwise as `confusion.from_audit`.
        """
        n_drawn = int(self.representative.sum())
        if n_drawn < FEWEST_DRAWN:
            raise ValueError(
                f"{n_drawn or 'None'} of the rows with a verdict were drawn at random, and "
                f"{FEWEST_DRAWN} are needed to tell how often labels are wrong. Check more rows "
                "with --by random or --by mix."
            )
        how = self.drawn_by[self.representative]
        given: dict[str, Any] = {"classes": classes, "smoothing": smoothing, "missing_label": None}
        if np.all(how == "random"):
            return from_trusted(self.y_random, y, **given)
        within = bool(np.isin(how, DRAWN_WITHIN_LABELS).all())
        chances = None if within else np.where(self.known, self.probability, 1.0)
        return from_audit(self.y_random, y, probability=chances, **given)

    def sample_weight(self, y: ArrayLike) -> FloatArray | None:
        """Return what each row drawn at random counts, 0 for the others; None if there are too few.

        Rows of a label that were drawn more often than others represent fewer rows. The weights add
        up to the number of evenly drawn rows that such a sample is worth (Kish).
        """
        observed = encode_labels(y, self.y_random, missing_label=None).observed
        present = observed != MISSING
        sample = self.representative & present
        if sample.sum() < FEWEST_DRAWN:
            return None
        weight = self.weight_within_labels(sample, observed)
        if np.any(self.drawn_by[sample] != "random"):
            rows, drawn = np.bincount(observed[present]), np.bincount(observed[sample])
            weight[sample] *= (rows[: len(drawn)] / np.maximum(drawn, 1))[observed[sample]]
        return np.asarray(weight * weight.sum() / (weight**2).sum())

    def weight_within_labels(self, sample: BoolArray, observed: IntArray) -> FloatArray:
        """Return what each row of a sample counts among those with its label: 1 on average."""
        weight = sample.astype(np.float64)
        if not np.isin(self.drawn_by[sample], DRAWN_WITHIN_LABELS).all():
            labels, weight[sample] = observed[sample], 1.0 / self.probability[sample]
            mean = np.bincount(labels, weight[sample]) / np.maximum(np.bincount(labels), 1)
            weight[sample] /= mean[labels]
        return weight

    def sample_counts(self, y: ArrayLike, *, classes: ArrayLike | None = None) -> FloatArray | None:
        """Count the rows drawn at random by true class and label; None if there are too few."""
        weight = self.sample_weight(y)
        if weight is None:
            return None
        labels = encode_labels(y, self.y_random, classes=classes, missing_label=None)
        return count_pairs(labels.truth, labels.observed, len(labels.classes), weight)


def match_verdicts(
    verdicts: Verdicts,
    rows: Any,
    y: ArrayLike,
    *,
    keys: ArrayLike | None = None,
    leave_out: Collection[str] = (),
) -> CheckedRows:
    """Find the rows of verdicts in the data they were made on.

    Parameters
    ----------
    verdicts : from `read_verdicts`
    rows : the data, with all columns it had when rows were checked: frame, array, sparse matrix,
        or a function that returns rows by their numbers
    y : the labels
    keys : the key of each row; by default its number from 0
    leave_out : columns of `rows` that are no part of a row's content, such as the labels

    Returns
    -------
    CheckedRows

    Examples
    --------
    >>> import pandas as pd
    >>> from unconfused.review.verdicts import Verdict
    >>> frame = pd.DataFrame({"size": [3, 7], "kind": ["cat", "cat"]})
    >>> seen = row_hashes(frame, ["kind"])
    >>> given = Verdicts([Verdict("1", seen[1], "cat", "label", "dog", "suspicion")])
    >>> match_verdicts(given, frame, frame["kind"], leave_out=["kind"]).y_true
    array([None, 'dog'], dtype=object)
    """
    labels = label_array(y)
    place = _places(len(labels), keys)
    wanted = sorted(place[key] for key in verdicts.by_key if key in place)
    fetch = rows if callable(rows) else getattr(rows, "iloc", rows).__getitem__
    hashes = dict(zip(wanted, row_hashes(fetch(wanted), leave_out), strict=True))
    return place_verdicts(verdicts, labels, place, hashes)


def place_verdicts(
    verdicts: Verdicts, labels: Labels, place: Mapping[str, int], hashes: Mapping[int, str]
) -> CheckedRows:
    """Put verdicts where their rows are, given the hashes of those rows."""
    n_rows, meaning = len(labels), _meanings(labels)
    y_true = np.full(n_rows, None, dtype=object)
    drawn_by = np.full(n_rows, "", dtype=object)
    probability = np.full(n_rows, np.nan)
    gone, changed, relabelled = [], [], []
    for key, one in verdicts.settled.items():
        row = place.get(key)
        if row is None:
            gone.append(key)
        elif hashes.get(row) != one.row_hash:
            changed.append(key)
        else:
            y_true[row], drawn_by[row] = meaning(one.verdict), one.drawn_by
            if as_text(labels[row]) in (one.label, ""):  # "": there are votes, or no label
                probability[row] = np.nan if one.probability is None else one.probability
            else:
                relabelled.append(key)
    skipped, conflicts = (
        np.array([place[key] for key in keys if key in place], dtype=np.intp)
        for keys in (verdicts.skipped, verdicts.conflicts)
    )
    notes = [
        *verdicts.notes,
        *_note(gone, "belongs to no row of the data", "belong to no row of the data"),
        *_note(changed, "is refused: its row has changed", "are refused: their rows have changed"),
        *_note(list(verdicts.conflicts), "contradicts another", "contradict each other"),
    ]
    if relabelled:
        # The rows that were confirmed are no sample any more: wrong labels are gone from it.
        probability[:] = np.nan
        notes.append(
            f"The labels of {count(len(relabelled), 'checked row')} have changed since: truths are "
            "used, but verdicts no longer tell how many labels are wrong."
        )
    return CheckedRows(y_true, probability, drawn_by, notes, skipped, conflicts)


def _meanings(labels: Labels) -> Callable[[str], Any]:
    """Return what turns the text of a class into a label of the data's own type."""
    present = labels[~is_missing(labels)].tolist()
    known = {as_text(one): one for one in set(present)}
    numbers = bool(present) and all(isinstance(one, int | float) for one in known.values())

    def meaning(text: str) -> Any:
        if text in known or not numbers:
            return known.get(text, text)
        try:
            return int(text)
        except ValueError:
            raise ValueError(
                f"A verdict says {text!r}, but the labels of the data are numbers."
            ) from None

    return meaning


def _note(keys: list[str], one: str, many: str) -> list[str]:
    if not keys:
        return []
    shown = ", ".join(keys[:FIRST]) + (", ..." if len(keys) > FIRST else "")
    if len(keys) == 1:
        return [f"A verdict {one}, and is not used (row {shown})."]
    return [f"Verdicts on {len(keys):,} rows {many}, and are not used (rows {shown})."]


def _places(n_rows: int, keys: ArrayLike | None) -> dict[str, int]:
    if keys is None:
        return {str(row): row for row in range(n_rows)}
    texts = [as_text(one) for one in label_array(keys).tolist()]
    if len(texts) != n_rows:
        raise ValueError(f"There are {len(texts)} keys for {n_rows} rows.")
    place = {key: row for row, key in enumerate(texts)}
    if len(place) < len(texts):
        twice = next(key for row, key in enumerate(texts) if place[key] != row)
        raise ValueError(f"The key {twice!r} occurs more than once: every row needs its own.")
    return place


def as_text(label: Any) -> str:
    """Return a label as it is written in a verdict file."""
    missing = label is None or (isinstance(label, float | np.floating) and label != label)
    return "" if missing else as_written(label).strip()
