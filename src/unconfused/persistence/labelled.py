"""Conversion of frames inside a model to types that a file can hold."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from unconfused._labels import sorted_classes
from unconfused._matrix_labels import confusion_labels, places_of
from unconfused._typing import FloatArray, Labels


@dataclass(frozen=True, eq=False)
class LabelledConfusion:
    """A confusion matrix that knows its classes: what a labelled frame becomes in a file.

    Examples
    --------
    >>> import numpy as np
    >>> from unconfused import UMAClassifier
    >>> C = LabelledConfusion(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(["cat", "dog"]))
    >>> clf = UMAClassifier(C).fit([[0.0], [1.0], [0.1], [0.9]] * 9, ["cat", "dog"] * 18)
    >>> clf.predict([[0.2]])
    array(['cat'], dtype='<U3')
    """

    matrix: FloatArray
    classes: Labels
    labels: Labels | None = None
    """The labels of the columns, if they are not the classes."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Let NumPy see the matrix."""
        return np.array(self.matrix, dtype=dtype, copy=copy)


def without_frames(part: Any) -> Any:
    """Return a model with arrays for frames and series, lists for ranges; the original is kept.

    A square frame with the same labels on both sides is a confusion or cost matrix, and keeps its
    labels; so does a confusion matrix with other labels than classes.
    """
    if hasattr(part, "columns") and hasattr(part, "index"):
        return _matrix_of(part)
    if hasattr(part, "to_numpy") and not isinstance(part, type):
        return part.to_numpy()
    if isinstance(part, BaseEstimator):
        return _with_parts(part)
    if isinstance(part, range):
        return list(part)
    if type(part) in (list, tuple):
        found = [without_frames(one) for one in part]
        same = all(new is old for new, old in zip(found, part, strict=True))
        return part if same else type(part)(found)
    if type(part) is dict:
        # A vocabulary may count in NumPy's integers, each of which would be a file of its own.
        values = (one.item() if isinstance(one, np.integer) else one for one in part.values())
        new = dict(zip(part, map(without_frames, values), strict=True))
        return part if all(new[name] is one for name, one in part.items()) else new
    return part


def _with_parts(estimator: BaseEstimator) -> BaseEstimator:
    parts = {name: without_frames(part) for name, part in vars(estimator).items()}
    if all(parts[name] is part for name, part in vars(estimator).items()):
        return estimator
    twin = copy.copy(estimator)
    vars(twin).update(parts)
    return twin


def _matrix_of(frame: Any) -> Any:
    classes, labels = np.asarray(frame.index), np.asarray(frame.columns)
    square = len(classes) == len(labels) and set(classes.tolist()) == set(labels.tolist())
    other = None if square else confusion_labels(frame)
    if not square and (other is None or any(kind.kind not in "fiu" for kind in frame.dtypes)):
        return frame.to_numpy()
    named = sorted_classes(classes)
    places = np.ix_(places_of(classes, named), places_of(labels, named if other is None else other))
    return LabelledConfusion(frame.to_numpy(dtype=np.float64)[places], named, other)
