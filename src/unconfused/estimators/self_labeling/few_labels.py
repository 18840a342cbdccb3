"""Few labels: how to divide them, and when they or the learner will not do."""

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
from unconfused.estimators._parts import has_parameter, last_step, takes_in_fit


@dataclass(frozen=True)
class PartlyLabelled:
    """Rows of which some have a known label."""

    X: Rows
    truth: IntArray
    """Indices into the classes; ``MISSING`` where unknown."""

    classes: Labels
    weight: FloatArray | None

    @property
    def known(self) -> IntArray:
        """Places of the labelled rows."""
        return np.flatnonzero(self.truth != MISSING)

    def knowing_only(self, rows: IntArray) -> PartlyLabelled:
        """Return the same problem with the labels of all other rows hidden."""
        truth = np.full_like(self.truth, MISSING)
        truth[rows] = self.truth[rows]
        return replace(self, truth=truth)

    def known_labels(self) -> Labels:
        """Return the labels, None where unknown."""
        labels = np.full(len(self.truth), None, dtype=object)
        labels[self.known] = self.classes[self.truth[self.known]].tolist()
        return labels


def split_known(data: PartlyLabelled, cv: Any, rng: np.random.RandomState) -> list[Split]:
    """Split the labelled rows for training and counting; as places among all rows."""
    known = data.known
    codes = data.truth[known]
    if isinstance(cv, Integral):
        splits = make_folds(codes, data.classes, int(cv), rng)
    elif isinstance(cv, Real):
        holdout = StratifiedShuffleSplit(1, test_size=float(cv), random_state=rng)
        splits = list(holdout.split(codes, codes))
    else:
        splits = list(check_cv(cv, codes, classifier=True).split(codes, codes))
        refuse_bad_splits(splits, codes, data.classes)
    places = np.arange(len(known))
    return [(known[places[train]], known[places[test]]) for train, test in splits]


def refuse_too_few(codes: IntArray, classes: Labels, weight: FloatArray | None) -> None:
    """Raise unless there are two classes with two labels each; rows of no weight are not there."""
    counted = codes >= 0 if weight is None else (codes >= 0) & (weight > 0)
    sizes = np.bincount(codes[counted], minlength=len(classes))
    if len(classes) < 2:
        found = "none is labelled" if not len(classes) else f"they show one class ({classes[0]!r})"
        raise ValueError(
            f"A classifier needs labelled rows of at least two classes; of {len(codes)} rows, "
            f"n_samples={len(codes)}, {found}. Unlabelled rows are marked None or NaN; -1 only "
            "with integer labels of two or more other classes, or with missing_label=-1."
        )
    if np.any(sizes < 2):
        raise ValueError(
            f"There are fewer than two labelled rows of {name_classes(classes[sizes < 2])}: the "
            "labeller must learn a class from some rows and be tested on others. Label more rows "
            "of each, or leave its label out."
        )


def refuse_bad_splits(splits: list[Split], codes: IntArray, classes: Labels) -> None:
    """Raise if a split tests a row twice, or trains or counts without a class."""
    tested = np.zeros(len(codes), dtype=np.intp)
    for train, test in splits:
        tested[test] += 1
        if np.isin(train, test).any():
            raise ValueError("cv has a split whose training and test rows overlap.")
        unseen = np.setdiff1d(np.arange(len(classes)), codes[train])
        if len(unseen):
            raise ValueError(
                f"cv has a split without a training row of {name_classes(classes[unseen])}."
            )
    if np.any(tested > 1) or not len(splits):
        raise ValueError("cv must test no labelled row more than once; these splits do.")


def refuse_unfit_learner(learner: Any, use_known_labels: bool) -> None:
    """Raise if a learner cannot be told the confusion matrix, or the known labels."""
    name = type(last_step(learner)[1]).__name__
    if not has_parameter(learner, "confusion"):
        raise ValueError(
            f"The learner {name} has no parameter `confusion`: use UnconfusedLogisticRegression "
            "or UMAClassifier, or give your own that parameter."
        )
    if use_known_labels and not takes_in_fit(learner, "y_true"):
        raise ValueError(
            f"The learner {name} takes no `y_true` in fit, so it cannot use the known labels: "
            "set use_known_labels=False."
        )
