"""What the model says of rows: suggestion, probability, why, and rows to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from unconfused._text.words import percent
from unconfused._typing import FloatArray, IntArray

SURE = 0.8
"""Rows to compare with are of their class with at least this probability, if there are any."""

MOST_COMPARED = 3000
"""Rows of a class among which the nearest are looked for."""

REASONS = 4
"""Features named as reasons."""


@dataclass(frozen=True)
class Judged:
    """A fitted model, and the posterior of every row by models that have not seen it."""

    model: Any
    features: Any
    """Rows as the learner takes them."""

    observed: IntArray
    """Label codes."""

    posterior: FloatArray

    @property
    def final(self) -> Any:
        """The learner at the end."""
        return self.model.steps[-1][1] if isinstance(self.model, Pipeline) else self.model

    @property
    def classes(self) -> list[str]:
        """The classes, as text."""
        return [str(one) for one in self.final.classes_.tolist()]

    @cached_property
    def wrong(self) -> FloatArray:
        """Probability that each label is wrong."""
        own = self.posterior[np.arange(len(self.observed)), self.observed]
        return np.where(self.observed >= 0, np.clip(1 - own, 0, 1), 0.0)

    def suggested(self, row: int) -> int:
        """Return the likeliest class; the label on a tie."""
        chances, label = self.posterior[row], int(self.observed[row])
        best = int(np.argmax(chances))
        return label if label >= 0 and chances[label] >= chances[best] else best

    def why(self, row: int) -> list[str]:
        """Return reasons for the suggestion, in sentences."""
        label, best = int(self.observed[row]), self.suggested(row)
        names, matrix = self.classes, np.asarray(self.final.confusion_)
        alone = self._without_label(row)
        top = np.argsort(-alone, kind="stable")[:2]
        told = ", ".join(f"{names[one]} {percent(float(alone[one]))}" for one in top)
        said = [f"By its features alone: {told}."]
        if label >= 0 and best != label:
            chance = percent(float(matrix[best, label]))
            said.append(f"{names[best]} is labelled {names[label]} in {chance} of the cases.")
            reasons = self._reasons(row, best, label)
            if reasons:
                said.append(f"Speaking for {names[best]}: {', '.join(reasons)}.")
        return said

    def _without_label(self, row: int) -> FloatArray:
        """Return what the features alone say: the posterior, with the label taken out again."""
        label, chances = int(self.observed[row]), self.posterior[row]
        if label < 0:
            return np.asarray(chances)
        evidence = np.asarray(self.final.confusion_)[:, label]
        alone = np.divide(chances, evidence, out=np.zeros_like(chances), where=evidence > 0)
        return np.asarray(alone / alone.sum()) if alone.sum() > 0 else chances

    def _reasons(self, row: int, best: int, label: int) -> list[str]:
        """Return the features that count most for one class against another."""
        if not isinstance(self.model, Pipeline) or not hasattr(self.final, "coef_"):
            return []
        try:
            names = self.model[:-1].get_feature_names_out()
        except (AttributeError, ValueError, TypeError):
            return []
        weights = np.asarray(self.final.coef_)
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
        near = self.features[pool] @ self.features[[row]].T
        near = np.asarray(near.todense() if issparse(near) else near).ravel()
        squares = self._squares[pool]
        distance = squares - 2 * near
        return [int(one) for one in pool[np.argsort(distance, kind="stable")[:n_rows]]]

    @cached_property
    def _squares(self) -> FloatArray:
        rows = self.features
        if issparse(rows):
            return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _plain(name: str) -> str:
    """Drop what a column transformer puts before the name of a feature."""
    return name.partition("__")[2] or name
