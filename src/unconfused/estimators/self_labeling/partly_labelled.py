"""Rows of which some have a known label, and how to split them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit, check_cv

from unconfused._labels import MISSING
from unconfused._typing import FloatArray, IntArray, Labels, Rows
from unconfused.confusion.cross_validated import Split, make_folds
from unconfused.confusion.estimate import name_classes


@dataclass(frozen=True)
class PartlyLabelled:
    """Rows of which some have a known label; refused unless two classes have two labels each."""

    X: Rows
    truth: IntArray
    """Indices into the classes; ``MISSING`` where unknown."""

    classes: Labels
    weight: FloatArray | None

    @property
    def known(self) -> IntArray:
        """Indices of the labelled rows."""
        return np.flatnonzero(self.truth != MISSING)

    @property
    def all_known(self) -> bool:
        """Whether no row is unlabelled."""
        return len(self.known) == len(self.truth)

    def with_labels_of(self, rows: IntArray) -> PartlyLabelled:
        """Return the same problem with the labels of all other rows hidden."""
        truth = np.full_like(self.truth, MISSING)
        truth[rows] = self.truth[rows]
        return replace(self, truth=truth)

    def refuse_too_few(self) -> None:
        """Raise unless there are two classes with two labels of positive weight each."""
        codes, classes = self.truth, self.classes
        if len(classes) < 2:
            found = f"show one class, {classes.tolist()[0]!r}" if len(classes) else "have no label"
            raise ValueError(
                f"A classifier needs labelled rows of at least two classes; these rows {found} "
                f"(n_samples={len(codes)}). Unlabelled rows are marked None or NaN; -1 only with "
                "integer labels of two or more other classes, or with missing_label=-1."
            )
        counted = codes >= 0 if self.weight is None else (codes >= 0) & (self.weight > 0)
        sizes = np.bincount(codes[counted], minlength=len(classes))
        if np.any(sizes < 2):
            raise ValueError(
                f"There are fewer than two labelled rows of {name_classes(classes[sizes < 2])}: "
                "the labeller needs rows to train on and rows to test on. Label more such rows, or "
                "mark these as unlabelled."
            )

    def split(self, cv: Any, rng: np.random.RandomState) -> list[Split]:
        """Split the labelled rows into training and test parts, as indices among all rows."""
        known, codes = self.known, self.truth[self.known]
        if isinstance(cv, Integral):
            splits = make_folds(codes, self.classes, int(cv), rng)
        elif isinstance(cv, Real):
            holdout = StratifiedShuffleSplit(1, test_size=float(cv), random_state=rng)
            splits = list(holdout.split(codes, codes))
        else:
            splits = list(check_cv(cv, codes, classifier=True).split(codes, codes))
            _refuse_bad_splits(splits, codes, self.classes)
        return [(known[train], known[test]) for train, test in splits]


def _refuse_bad_splits(splits: list[Split], codes: IntArray, classes: Labels) -> None:
    for train, test in splits:
        if np.isin(train, test).any():
            raise ValueError("cv has a split whose training and test rows overlap.")
        unseen = np.setdiff1d(np.arange(len(classes)), codes[train])
        if len(unseen):
            raise ValueError(
                f"cv has a split without a training row of {name_classes(classes[unseen])}."
            )
    tested = np.concatenate([codes[:0], *(test for _, test in splits)])
    if not len(tested) or len(np.unique(tested)) < len(tested):
        raise ValueError("cv must test each labelled row at most once, and at least one of them.")
