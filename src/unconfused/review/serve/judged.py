"""What the models say about rows: suggestion, probability, why, and rows to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import Pipeline

from unconfused._pipelines import final_step
from unconfused._text import percent
from unconfused._typing import BoolArray, FloatArray, IntArray, Labels
from unconfused.confusion.estimation.calibration import judged_labels

SURE = 0.8
"""Rows to compare with are of their class with at least this probability, if there are any."""

MOST_COMPARED = 3000
"""Rows of a class among which the nearest are looked for."""

REASONS = 4
"""Features named as reasons."""


@dataclass(frozen=True)
class Judged:
    """The rows as a learner takes them, and their probabilities, (n, Q).

    `model` is fitted to all rows and gives reasons; it is None until it is fitted. `posterior` is
    P(true class | row, label), `alone` what the features say without the label. Rows are checked in
    ascending order of the entry of their label in `ranking`. `matrix` is the C by which `alone`
    becomes `posterior`; with votes there is none, and `observed` is the majority.
    """

    model: Any
    classes_: Labels
    features: Any
    observed: IntArray
    posterior: FloatArray
    ranking: FloatArray
    alone: FloatArray
    matrix: FloatArray | None = None

    @property
    def classes(self) -> list[str]:
        """The classes, as text."""
        return [str(one) for one in self.classes_.tolist()]

    @cached_property
    def _labels_judged(self) -> tuple[FloatArray, IntArray]:
        return judged_labels(self.posterior, self.observed)

    @property
    def wrong(self) -> FloatArray:
        """Probability that each label is wrong."""
        return self._labels_judged[0]

    def suggested(self, row: int) -> int:
        """Return the likeliest class; the label on a tie."""
        return int(self._labels_judged[1][row])

    def wrong_given(self, checked: BoolArray, found: BoolArray) -> FloatArray:
        """Return the probability that each label is wrong, in the light of verdicts.

        All are multiplied by the number of labels found wrong over the number expected. A model
        that has learnt the mistakes expects next to none.
        """
        if not checked.any():
            return self.wrong
        n_found, expected = int((found & checked).sum()), float(self.wrong[checked].sum())
        return np.clip(self.wrong * (max(n_found, 0.5) / max(expected, 1e-9)), 0.0, 1.0)

    def why(self, row: int) -> list[str]:
        """Return reasons for the suggestion, in sentences."""
        label, best, names = int(self.observed[row]), self.suggested(row), self.classes
        top = np.argsort(-self.alone[row], kind="stable")[:2]
        told = ", ".join(f"{names[one]} ({percent(float(self.alone[row, one]))})" for one in top)
        said = [f"By its features alone: {told}."]
        if label >= 0 and best != label:
            if self.matrix is not None:
                chance = percent(float(self.matrix[best, label]))
                said.append(f"{chance} of the rows of {names[best]} are labelled {names[label]}.")
            reasons = self._reasons(row, best, label)
            if reasons:
                said.append(f"In favour of {names[best]}: {', '.join(reasons)}.")
        return said

    def _reasons(self, row: int, best: int, label: int) -> list[str]:
        """Return the features that count most for one class against another."""
        final = final_step(self.model)[0]
        if not isinstance(self.model, Pipeline) or not hasattr(final, "coef_"):
            return []
        try:
            names = self.model[:-1].get_feature_names_out()
        except (AttributeError, ValueError, TypeError):
            return []
        weights = np.asarray(final.coef_)
        if len(weights) == 1:  # two classes: the difference
            weights = np.vstack([-weights[0], weights[0]]) / 2
        values = self.features[[row]]
        values = np.asarray(values.todense() if issparse(values) else values).ravel()
        effect = (weights[best] - weights[label]) * values
        top = np.argsort(-effect, kind="stable")[:REASONS]
        return [_plain(str(names[one])) for one in top if effect[one] > 0.05 * abs(effect).sum()]

    def nearest(self, row: int, code: int, n_rows: int = 3) -> list[int]:
        """Return the rows most like this one among those probably of a class and labelled so."""
        own = np.flatnonzero((self.observed == code) & (np.arange(len(self.observed)) != row))
        sure = own[self.posterior[own, code] >= SURE]
        pool = (sure if len(sure) else own)[:: max(1, len(own) // MOST_COMPARED)]
        if not len(pool):
            return []
        # Of texts, rows without a known word would be near to all others.
        metric = "cosine" if issparse(self.features) else "euclidean"
        distance = pairwise_distances(self.features[[row]], self.features[pool], metric=metric)[0]
        nearest: list[int] = pool[np.argsort(distance, kind="stable")[:n_rows]].tolist()
        return nearest


def _plain(name: str) -> str:
    """Drop what a column transformer puts before the name of a feature."""
    return name.partition("__")[2] or name
