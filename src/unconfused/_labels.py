"""Labels of rows: classes, missing labels, integer codes, counts of pairs of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray, Labels

MISSING = -1
"""Code of a missing label; codes of classes start at 0."""

GAPS_AS_TEXT = ("", "nan", "NaN", "None", "<NA>", "NaT")
"""What missing labels become in an array of text."""


@dataclass(frozen=True)
class EncodedLabels:
    """Observed and true labels as indices into sorted classes; ``MISSING`` where absent."""

    classes: Labels
    observed: IntArray
    truth: IntArray
    other_labels: Labels | None = None
    """The sorted labels that `observed` points into, if these are not the classes."""

    @property
    def labels(self) -> Labels:
        """The sorted labels that `observed` points into."""
        return self.classes if self.other_labels is None else self.other_labels


def is_missing(labels: Labels) -> BoolArray:
    """Return a mask of None, NaN and pandas' NA.

    Examples
    --------
    >>> import numpy as np
    >>> is_missing(np.array(["cat", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind != "O":
        return np.zeros(labels.shape, dtype=bool)
    # pandas' NA cannot be compared, and NaN differs from itself.
    flat = [
        entry is None or type(entry).__name__ in ("NAType", "NaTType") or entry != entry
        for entry in labels.ravel().tolist()
    ]
    return np.array(flat, dtype=bool).reshape(labels.shape)


def label_array(labels: Any) -> Labels:
    """Return labels as an array, without NumPy turning a missing one into a string.

    Examples
    --------
    >>> label_array(["cat", float("nan")])
    array(['cat', nan], dtype=object)
    """
    return np.asarray(labels) if hasattr(labels, "dtype") else np.array(labels, dtype=object)


def has_columns(labels: Any) -> bool:
    """Return whether labels have two or more columns, as votes do."""
    shape = labels.shape if hasattr(labels, "shape") else label_array(labels).shape
    return len(shape) == 2 and shape[1] > 1


def split_missing(
    labels: ArrayLike, name: str, missing_label: Any = "auto"
) -> tuple[Labels, BoolArray]:
    """Return the labels as a one-dimensional array, and a mask of missing ones.

    None and NaN are always missing, and so is ``missing_label``. Whether -1 is missing depends on
    the other labels and is decided in `encode_labels`.
    """
    array = label_array(labels)
    if array.dtype.kind == "f" and np.isinf(array).any():
        raise ValueError(f"Input {name} contains infinity; labels must be classes.")
    if array.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one label per row; it has shape {array.shape}. If "
            "columns are votes of several annotators, pass "
            f"confusion.from_annotators({name}).consensus; if each is a problem of its own "
            "(multi-label), use sklearn.multioutput.MultiOutputClassifier."
        )
    missing = is_missing(array)
    if _names_a_value(missing_label):
        missing |= np.array([entry == missing_label for entry in array.tolist()], dtype=bool)
    if array.dtype.kind == "O":
        array = _without_object_dtype(array, missing, name)
    return array, missing


def _names_a_value(missing_label: Any) -> bool:
    automatic = isinstance(missing_label, str) and missing_label == "auto"
    return not automatic and not bool(is_missing(np.array([missing_label], object))[0])


def _without_object_dtype(array: Labels, missing: BoolArray, name: str) -> Labels:
    """Convert an object array to the plain type of its labels, with a filler where missing."""
    present = array[~missing].tolist()
    if not present:
        return np.zeros(array.shape, dtype=np.intp)
    kinds = {_kind(entry) for entry in present}
    if len(kinds) > 1:
        raise ValueError(
            f"{name} mixes labels of different types ({', '.join(sorted(kinds))}); "
            "give every class a label of one type, and mark missing ones with None or NaN."
        )
    plain = np.array(present)
    if plain.ndim != 1:
        raise ValueError(f"{name} must hold one plain label per row, not sequences.")
    filled = np.full(array.shape, plain[0], dtype=plain.dtype)
    filled[~missing] = plain
    return filled


def _kind(entry: Any) -> str:
    if isinstance(entry, (bool, np.bool_)):
        return "boolean"
    if isinstance(entry, (int, float, np.number)):
        return "number"
    return "string" if isinstance(entry, str) else type(entry).__name__


def _holds_integers(array: Labels) -> bool:
    """Return whether labels are integers, or integers that a NaN turned into floats."""
    if array.dtype.kind in "iu":
        return True
    return array.dtype.kind == "f" and bool(np.all(array[~np.isnan(array)] % 1 == 0))


def sorted_classes(classes: ArrayLike) -> Labels:
    """Validate and sort classes given by the user."""
    array, missing = split_missing(classes, "classes")
    if missing.any():
        raise ValueError("classes must not contain a missing value (None or NaN).")
    unique = np.unique(array)
    if len(unique) != len(array):
        raise ValueError(f"classes must not repeat a class; got {array.tolist()}.")
    return unique


def encode_labels(
    y: ArrayLike,
    y_true: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    missing_label: Any = "auto",
) -> EncodedLabels:
    """Determine the classes and encode observed and true labels as indices into them.

    -1 means "missing" only where it is unambiguous: with integer labels, if two or more other
    classes remain and -1 is neither among `classes` nor, for `y_true`, among the observed labels.
    `labels` are those of `y`, where they are not the classes ("unsure", "not a cat").

    Examples
    --------
    >>> encoded = encode_labels(["a", "b", None], [None, "a", "b"])
    >>> encoded.classes.tolist(), encoded.observed.tolist(), encoded.truth.tolist()
    (['a', 'b'], [0, 1, -1], [-1, 0, 1])
    """
    refuse_other_order(y, y_true)
    if labels is not None:
        return _encode_apart(y, y_true, classes, labels, missing_label)
    observed, observed_missing = split_missing(y, "y", missing_label)
    named = None if classes is None else sorted_classes(classes)
    automatic = isinstance(missing_label, str) and missing_label == "auto"
    if automatic:
        observed_missing |= _minus_one(observed, observed_missing, named)
    shown = distinct(present(observed, observed_missing))
    if y_true is None:
        truth, truth_missing = observed, np.ones(len(observed), dtype=bool)
    else:
        truth, truth_missing = split_missing(y_true, "y_true", missing_label)
        refuse_other_length(len(observed), len(truth), "y", "y_true")
        if automatic:
            truth_missing |= _minus_one(truth, truth_missing, named, shown)
    true_shown = distinct(present(truth, truth_missing))
    if named is None:
        _refuse_gaps_as_text(shown, true_shown)
        _refuse_other_spelling(shown, true_shown)
        named = _union(shown, true_shown)
    return EncodedLabels(
        classes=named,
        observed=_codes(observed, observed_missing, named, "y"),
        truth=_codes(truth, truth_missing, named, "y_true"),
    )


def encode_complete(labels: ArrayLike, classes: ArrayLike | None, name: str) -> EncodedLabels:
    """Encode labels none of which may be missing: -1 is a label like any other."""
    encoded = encode_labels(labels, classes=classes, missing_label=None)
    if np.any(encoded.observed == MISSING):
        raise ValueError(f"{name} must not hold missing labels (None or NaN).")
    return encoded


def refuse_other_length(n_rows: int, n_others: int, first: str = "X", second: str = "y") -> None:
    """Raise if two things that belong together row by row are not equally long."""
    if n_rows != n_others:
        raise ValueError(f"{first} has {n_rows} rows but {second} has {n_others}.")


def refuse_other_order(y: Any, y_true: Any, first: str = "y", second: str = "y_true") -> None:
    """Raise if pandas objects have one index in different orders: rows are matched by position."""
    one: Any = getattr(y, "index", None)
    other: Any = getattr(y_true, "index", None)
    if any(type(index).__module__.partition(".")[0] != "pandas" for index in (one, other)):
        return
    if len(one) != len(other) or one.equals(other) or not (one.is_unique and other.is_unique):
        return
    if other.isin(one).all():
        raise ValueError(
            f"{first} and {second} have the same index in different orders, but rows are matched "
            f"by position. Pass {second}.loc[{first}.index]; or, if their positions do match, "
            f"{second}.to_numpy()."
        )


def _refuse_gaps_as_text(shown: Labels, true_shown: Labels) -> None:
    """Raise if the truth alone shows a "class" such as "nan": a gap that was turned into text."""
    if true_shown.dtype.kind != "U":
        return
    strangers = set(true_shown.tolist()).difference(shown.tolist())
    if gaps := [label for label in sorted(strangers) if label.strip() in GAPS_AS_TEXT]:
        raise ValueError(
            f"y_true holds the text {gaps[0]!r}, which y does not: is it a missing truth? Then "
            f"pass None instead, or missing_label={gaps[0]!r}. (NumPy turns None and NaN into text "
            "unless dtype=object.) If it is a class, name all classes with `classes`."
        )


def _refuse_other_spelling(shown: Labels, true_shown: Labels) -> None:
    """Raise if names differ in case or surrounding spaces only; letters among the labels may."""
    spelt: dict[str, tuple[str, str]] = {}
    strangers = sorted(set(true_shown.tolist()).difference(labels := shown.tolist()))
    for where, label in [*(("y", one) for one in labels), *(("y_true", one) for one in strangers)]:
        if not isinstance(label, str):
            return
        first, other = spelt.setdefault(label.strip().casefold(), (where, label))
        if other != label and not (where == first and len(label) == len(other) == 1):
            raise ValueError(
                f"{where} holds {label!r} and {first} holds {other!r}, which differ only in case "
                "or spaces. Write them alike; if they are different classes, name all classes with "
                "`classes`."
            )


def _encode_apart(
    y: ArrayLike, y_true: ArrayLike | None, classes: Any, labels: ArrayLike, missing_label: Any
) -> EncodedLabels:
    """Encode observed labels that are not classes ("unsure"), and true labels, which are."""
    seen = encode_labels(y, classes=labels, missing_label=missing_label)
    known = np.full(len(seen.observed), None) if y_true is None else y_true
    truth = encode_labels(known, classes=classes, missing_label=missing_label)
    refuse_other_length(len(seen.observed), len(truth.observed), "y", "y_true")
    return EncodedLabels(truth.classes, seen.observed, truth.observed, seen.classes)


def present(labels: Labels, missing: BoolArray) -> Labels:
    """Return the labels that are not missing, without a copy if all are present."""
    return labels[~missing] if missing.any() else labels


def distinct(labels: Labels) -> Labels:
    """Return the sorted distinct labels; integers of a small range are counted, not sorted."""
    if labels.dtype.kind not in "iu" or not len(labels):
        return np.unique(labels)
    low, high = int(labels.min()), int(labels.max())
    if high - low >= len(labels):
        return np.unique(labels)
    counts = np.bincount((labels - labels.dtype.type(low)).astype(np.intp, copy=False))
    return (np.flatnonzero(counts) + low).astype(labels.dtype)


def known_truth(
    y_true: ArrayLike, classes: Labels, missing_label: Any = "auto"
) -> tuple[Labels, BoolArray]:
    """Return true labels and a mask of missing ones, for a model with these classes."""
    truth, missing = split_missing(y_true, "y_true", missing_label)
    if isinstance(missing_label, str) and missing_label == "auto":
        missing |= _minus_one(truth, missing, classes)
    return truth, missing


def _minus_one(
    labels: Labels, missing: BoolArray, named: Labels | None, shown: Labels | None = None
) -> BoolArray:
    """Return where -1 marks a missing label; for truths, `shown` are the observed labels."""
    held = present(labels, missing)
    others = held[:0] if shown is None else shown
    none = np.zeros(len(labels), dtype=bool)
    if not _holds_integers(held) or not _shows_minus_one(held):
        return none
    if named is not None:
        is_class = _shows_minus_one(named)
    elif not _shows_minus_one(others):
        is_class = len(_union(others, np.unique(held[held != -1]))) < 2
    else:
        is_class = bool(missing.any())  # NaN marks missing truths, so -1 is the class that y shows
        if not is_class:
            raise ValueError(
                "-1 in y_true could be the class -1 that y shows, or a missing truth. Mark missing "
                "truths with NaN; if -1 is the class everywhere, say so with `classes`, or with "
                "missing_label=None."
            )
    return none if is_class else (labels == -1) & ~missing


def _shows_minus_one(labels: Labels) -> bool:
    return labels.dtype.kind in "iuf" and bool(np.any(labels == -1))


def _union(first: Labels, second: Labels) -> Labels:
    if not len(first) or not len(second):
        return first if len(first) else second
    if _family(first) != _family(second):
        raise ValueError(
            f"y and y_true hold labels of different types ({_sample(first)} against "
            f"{_sample(second)}); write both the same way."
        )
    merged = np.union1d(first, second)
    # A NaN turns integers and booleans into floats: keep the type of the other side.
    kinds = {first.dtype.kind, second.dtype.kind}
    if "b" in kinds and np.isin(merged, [0, 1]).all():
        return np.unique(merged.astype(bool))
    if kinds & set("iu") and _holds_integers(merged):
        return merged.astype(np.int64)
    return merged


def _family(labels: Labels) -> str:
    return "number" if labels.dtype.kind in "iufb" else labels.dtype.kind


def _codes(labels: Labels, missing: BoolArray, classes: Labels, name: str) -> IntArray:
    """Return the index of every label among the sorted classes."""
    shown = present(labels, missing)
    if not len(shown):  # a broadcast scalar takes no memory
        return np.broadcast_to(np.intp(MISSING), len(labels))
    if _family(shown) != _family(classes):
        raise ValueError(
            f"{name} and the classes are of different types: {name} holds "
            f"{_sample(np.unique(shown))}, the classes are {_sample(classes)}. "
            "Write both the same way."
        )
    last = len(classes) - 1
    if shown.dtype == classes.dtype == np.int64 and classes[last] - classes[0] == last:
        positions: IntArray = shown - classes[0]  # classes that follow one another need no search
        unknown = (positions < 0) | (positions > last)
    else:
        positions = np.searchsorted(classes, shown)
        positions[positions > last] = 0
        unknown = classes[positions] != shown
    if unknown.any():
        raise ValueError(
            f"{name} holds labels outside the classes: {_sample(np.unique(shown[unknown]))}. "
            f"The classes are {_sample(classes)}; add the missing ones to `classes` (and to the "
            "confusion matrix), or correct the labels."
        )
    if not missing.any():
        return positions
    codes = np.full(len(labels), MISSING, dtype=np.intp)
    codes[~missing] = positions
    return codes


def _sample(labels: Labels, most: int = 6) -> str:
    return ", ".join([*map(repr, labels[:most].tolist()), *["..."] * (len(labels) > most)])


def count_pairs(
    truth: IntArray,
    observed: IntArray,
    n_classes: int,
    weight: FloatArray | None = None,
    n_labels: int | None = None,
) -> FloatArray:
    """Count (true, observed) code pairs, over the rows where neither is missing."""
    known = (truth >= 0) & (observed >= 0)
    shape = (n_classes, n_classes if n_labels is None else n_labels)
    cells = truth[known] * shape[1] + observed[known]
    counts = np.bincount(cells, None if weight is None else weight[known], shape[0] * shape[1])
    return counts.reshape(shape).astype(np.float64)
