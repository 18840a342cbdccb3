"""Evaluation of predictions on noisy labels: all the usual scores, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from unconfused._arguments import check_count, check_inner_share
from unconfused._labels import MISSING, count_pairs, encode_complete, refuse_other_length
from unconfused._typing import ArrayLike, FloatArray, IntArray, Labels
from unconfused.metrics._corrected import JointTable, read_predictions

T = TypeVar("T", float, FloatArray)

NOTHING = 1e-12
"""Shares up to here are rounding errors."""


@dataclass(frozen=True)
class ScoreInterval(Generic[T]):
    """A score and its interval: floats, or arrays with an entry per class.

    Examples
    --------
    >>> from unconfused.metrics import ScoreInterval
    >>> print(ScoreInterval(0.9, 0.85, 0.94))
    0.900 [0.850, 0.940]
    """

    value: T
    low: T
    high: T

    def __str__(self) -> str:
        parts = np.broadcast_arrays(self.value, self.low, self.high)
        rows = zip(*(part.ravel().tolist() for part in parts), strict=True)
        return ", ".join(f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, low, high in rows)


class NoisyEvaluation:
    """Scores of predictions against the truth, estimated from noisy labels, with intervals.

    Use it to evaluate a model on test labels that are noisy. The inverse of the confusion matrix
    converts the table of labels and predictions into the table of true classes and predictions,
    from which every score is computed. Trusted rows enter with their true label and are combined
    with the others for the least variance. Intervals come from simulated tables. If `confusion` is
    an estimate with counts, they include its uncertainty; its counts must come from other rows than
    those evaluated here.

    Scores and ends of intervals are clipped to their range; `corrected_accuracy` is not.

    Parameters
    ----------
    y : observed labels of rows the model was not trained on. Rows with neither a label nor a true
        label are left out
    predictions : predicted labels
    confusion : ``confusion[t, k]`` is the probability that a row of true class t has label k,
        whatever the prediction. Without it only the trusted rows are used
    y_true : true labels where known, missing elsewhere. The trusted rows must be a random sample;
        the most suspicious rows, for example, are not
    sample_weight : frequency weight of every row
    classes : all classes, and the order of a plain `confusion`. By default the labels of
        `confusion` if it has any, or those that occur, sorted
    missing_label : value that marks missing labels in `y` and `y_true`, besides None and NaN.
        "auto": -1, where that is unambiguous
    level : coverage of the intervals, for each score separately
    n_draws : number of simulated tables
    random_state : seed of the simulation

    Attributes
    ----------
    classes : (Q,), the sorted classes: the order of scores by class
    n_noisy, n_trusted : rows (sum of weights) used with their noisy and with their true label
    accuracy : share of correct predictions, as a `ScoreInterval`, like all scores
    balanced_accuracy : mean recall of the classes that occur (macro-averaged recall)
    precision : share of correct predictions among those of each class; 0 if it is never predicted
    recall : share of the rows of each class that are predicted correctly; NaN for an absent class
    f1 : harmonic mean of precision and recall of each class
    macro_precision, macro_f1 : means of `precision` and `f1` over the classes that occur or are
        predicted
    confusion_matrix : share of each pair (true class, prediction): errors of the model, not of the
        labels
    prevalence : share of each true class

    Examples
    --------
    >>> import numpy as np
    >>> from unconfused.metrics import NoisyEvaluation
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(2, size=5000)
    >>> y = np.where(rng.random(5000) < 0.3, 1 - truth, truth)
    >>> predictions = np.where(rng.random(5000) < 0.1, 1 - truth, truth)
    >>> print(f"{np.mean(predictions == y):.2f}")
    0.66
    >>> evaluation = NoisyEvaluation(y, predictions, confusion=[[0.7, 0.3], [0.3, 0.7]])
    >>> evaluation.accuracy.low < 0.9 < evaluation.accuracy.high
    True
    >>> evaluation.recall.value.shape
    (2,)
    """

    accuracy: ScoreInterval[float]
    balanced_accuracy: ScoreInterval[float]
    precision: ScoreInterval[FloatArray]
    recall: ScoreInterval[FloatArray]
    f1: ScoreInterval[FloatArray]
    macro_precision: ScoreInterval[float]
    macro_f1: ScoreInterval[float]
    confusion_matrix: ScoreInterval[FloatArray]
    prevalence: ScoreInterval[FloatArray]

    def __init__(
        self,
        y: ArrayLike,
        predictions: ArrayLike,
        confusion: Any = None,
        *,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        missing_label: Any = "auto",
        level: float = 0.95,
        n_draws: int = 1000,
        random_state: int = 0,
    ) -> None:
        if confusion is None and y_true is None:
            raise ValueError("Pass the confusion matrix of the labels, true labels, or both.")
        self.level = check_inner_share(level, "level")
        self.n_draws, self.random_state = check_count(n_draws, "n_draws", 2), random_state
        self._labels, self._predicted, self._weight, self._unmixing = read_predictions(
            y,
            predictions,
            confusion,
            y_true=y_true,
            classes=classes,
            sample_weight=sample_weight,
            missing_label=missing_label,
        )
        self.classes: Labels = self._labels.classes
        self._joint = self._table(self._predicted, len(self.classes))
        self.n_noisy = float(self._joint.noisy.sum())
        self.n_trusted = float(self._joint.trusted.sum())
        if not self.n_noisy + self.n_trusted > 0:
            raise ValueError("There are no labelled rows (of positive weight) to score against.")
        table = self._joint.estimate
        draws = self._joint.draws(self.n_draws, self.random_state)
        rng, n_rows = np.random.default_rng(self.random_state), self.n_noisy + self.n_trusted
        batches = [
            _scores_of(one, table, rng.standard_gamma(0.5, (2, *one.shape[:2])) / n_rows)
            for one in draws
        ]
        for name, value in _scores_of(table, table).items():
            drawn = np.concatenate([one[name] for one in batches])
            setattr(self, name, self._interval(value, drawn))

    def _table(self, columns: IntArray, n_columns: int) -> JointTable:
        """Count labels and truths by column; a row with both is a trusted row."""
        observed, truth, size = self._labels.observed, self._labels.truth, len(self.classes)
        noisy = np.where((truth == MISSING) & (self._unmixing is not None), observed, MISSING)
        by_label, by_truth = (
            count_pairs(codes, columns, size, self._weight, n_columns) for codes in (noisy, truth)
        )
        return JointTable(by_label, by_truth, self._unmixing)

    def _interval(
        self, value: FloatArray, draws: FloatArray, lowest: float = 0.0
    ) -> ScoreInterval[Any]:
        outside = 1 - self.level
        undefined = np.isnan(draws).mean(axis=0)
        filled = np.where(undefined == 1, 0.0, draws)
        low, high = np.nanquantile(filled, [outside / 2, 1 - outside / 2], axis=0)
        # A class that may be absent from the data can have any recall.
        low = np.where(undefined > outside, lowest, np.clip(low, lowest, 1.0))
        high = np.where(undefined > outside, 1.0, np.clip(high, lowest, 1.0))
        value = np.clip(value, lowest, 1.0)
        # Draws never reach 0 or 1 where no error, or no hit, was seen.
        low, high = np.fmin(low, value), np.fmax(high, value)
        if value.ndim == 0:
            return ScoreInterval(float(value), float(low), float(high))
        return ScoreInterval(value, low, high)

    def compare(self, other_predictions: ArrayLike) -> ScoreInterval[float]:
        """Return by how much these predictions are more accurate than others on the same rows.

        The interval of the difference is often much narrower than those of the two accuracies,
        because rows on which both models agree do not contribute to it.

        The result is the accuracy of `predictions` minus that of `other_predictions`.
        """
        name = "other_predictions"
        other = encode_complete(other_predictions, self.classes, name).observed
        refuse_other_length(len(self._predicted), len(other), "y", name)
        size = len(self.classes)
        pairs = np.where(other == self._predicted, 0, 1 + self._predicted * size + other)
        pairs, columns = np.unique(np.append(0, pairs), return_inverse=True)
        first, second = np.divmod(pairs[1:] - 1, size)
        places = np.arange(1, len(pairs))
        joint = self._table(columns[1:].astype(np.intp), len(pairs))

        def gain(table: FloatArray) -> FloatArray:
            return np.asarray((table[..., first, places] - table[..., second, places]).sum(axis=-1))

        draws = [gain(table) for table in joint.draws(self.n_draws, self.random_state)]
        return self._interval(gain(joint.estimate), np.concatenate(draws), lowest=-1.0)

    def __repr__(self) -> str:
        return (
            f"NoisyEvaluation(accuracy {self.accuracy}, {self.n_noisy:g} noisy and "
            f"{self.n_trusted:g} trusted rows)"
        )


def _scores_of(
    table: FloatArray, estimate: FloatArray, prior: FloatArray | None = None
) -> dict[str, FloatArray]:
    """Return all scores of tables of (true class, prediction) shares, (..., Q, Q).

    Means are over the classes that occur by the `estimate`: a simulated table shows all classes.
    Scores by class count the shares of the `prior` as hits and misses of each class, (2, ..., Q).
    The prior of a table of many classes is next to nothing for a ratio of two rare ones.
    """
    occurs = estimate.sum(axis=-1) > NOTHING
    shown = occurs | (estimate.sum(axis=-2) > NOTHING)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    prevalence, predicted = table.sum(axis=-1), table.sum(axis=-2)
    precision = np.nan_to_num(_ratio(hits, predicted))
    recall, f1 = _ratio(hits, prevalence), _ratio(2 * hits, prevalence + predicted)
    scores = {
        "accuracy": np.asarray(hits.sum(axis=-1)),
        "balanced_accuracy": _mean(recall[..., occurs]),
        "precision": precision,
        "macro_precision": _mean(precision[..., shown]),
        "recall": recall,
        "f1": f1,
        "macro_f1": _mean(f1[..., shown]),
        "confusion_matrix": table,
        "prevalence": prevalence,
    }
    if prior is not None:
        right, both = hits + prior[0], prior.sum(axis=0)
        scores["precision"] = np.nan_to_num(_ratio(right, predicted + both))
        scores["recall"] = _ratio(right, prevalence + both)
        scores["f1"] = _ratio(2 * right, prevalence + predicted + prior[0] + both)
    return scores


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole within 0 and 1, NaN where the whole is not positive."""
    unknown = np.full(whole.shape, np.nan)
    ratio = np.divide(part, whole, out=unknown, where=whole > NOTHING)
    return np.asarray(np.clip(ratio, 0.0, 1.0))


def _mean(scores: FloatArray) -> FloatArray:
    """Return the mean over the classes whose score is defined."""
    with np.errstate(invalid="ignore"):  # NaN where that is none
        return np.asarray(np.nansum(scores, axis=-1) / (~np.isnan(scores)).sum(axis=-1))
