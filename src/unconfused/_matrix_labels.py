"""Labels of the rows and columns of a confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._typing import IntArray, Labels


def own_labels(confusion: Any) -> tuple[Labels, Labels] | None:
    """Return the row and column labels of a DataFrame or estimate; None if it has none."""
    # Columns first: a frame may have a column named "classes".
    if not hasattr(confusion, "columns"):
        if not hasattr(confusion, "classes") or callable(confusion.classes):
            return None
        classes, labels = np.asarray(confusion.classes), getattr(confusion, "labels", None)
        return classes, classes if labels is None else np.asarray(labels)
    if not hasattr(confusion, "index"):
        raise ValueError(
            "This frame has no row labels, so its rows cannot be matched to the classes. Pass "
            "a plain array with `classes`, or a pandas DataFrame with the classes as its index."
        )
    return np.asarray(confusion.index), np.asarray(confusion.columns)


def refuse_other_labels(labels: Labels, classes: Labels, where: str) -> None:
    """Raise if the names on a side of a matrix are not the classes."""
    given, wanted = labels.tolist(), classes.tolist()
    if len(set(given)) != len(given):
        raise ValueError(f"The {where} of the confusion matrix name a class twice: {given}.")
    if set(given) == set(wanted):
        return
    only_given = [label for label in given if label not in set(wanted)]
    only_wanted = [label for label in wanted if label not in set(given)]
    raise ValueError(
        f"The {where} of the confusion matrix do not match the classes: it has {only_given} "
        f"which are no classes, and lacks {only_wanted}. Use the same labels, of the same type, "
        "in the matrix and in the data."
    )


def places_of(labels: Labels, classes: Labels) -> IntArray:
    """Return where each class stands among labels."""
    where = {label: place for place, label in enumerate(labels.tolist())}
    return np.array([where[label] for label in classes.tolist()], dtype=np.intp)
