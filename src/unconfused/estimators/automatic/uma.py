"""UMA with trusted rows: C refined on held-out rows, and an average with simpler models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import log_softmax

from unconfused._matrix import ILL_CONDITIONED_BEYOND, Unmixing, condition_of
from unconfused._typing import BoolArray, FloatArray
from unconfused.confusion.estimation.calibration import Calibration, best_power
from unconfused.engines.base import Engine
from unconfused.estimators._noisy import NoisyData
from unconfused.estimators.automatic.average import blend
from unconfused.estimators.automatic.held_out import FOLDS, HeldOutRows, rows_to_judge_by
from unconfused.estimators.automatic.search import FEWEST_TRUTHS
from unconfused.estimators.relabel.uma_rounds import MakeEngine, UMAWithRounds
from unconfused.solvers.discriminant import fit_discriminant, regularized_weights, unmix_classes
from unconfused.solvers.uma.solver import INTERRUPTED, UMAState
from unconfused.solvers.uma.whitening import MOST_CLASSES, Whitening, composition

Fit = Callable[[BoolArray | None], FloatArray]
"""Weights of a model fitted to all rows, or without some."""


def refined_on_held_out(
    data: NoisyData, unmixing: Unmixing, make_engine: MakeEngine, seed: int
) -> Unmixing:
    """Return the unmixing with C, counted on trusted rows, refined by the labels of all rows.

    Given the true class, what a discriminant predicts for a row that it was not fitted to and the
    row's label are independent, if mistakes depend on the class alone. Its prediction is then like
    the answer of a second annotator, and the joint counts improve the estimate of C. On Dask
    collections, where rows without a truth cannot be held out, it is fitted to these rows too.
    """
    engine = make_engine(*data.rows_without(None))
    whitening = Whitening.of(engine, unmixing) if unmixing.n_classes <= MOST_CLASSES else None
    if whitening is None:
        return unmixing
    covariance = whitening.covariance  # which needs no labels, so that it serves every fold

    def discriminant(of: Engine) -> FloatArray:
        total = float(of.code_counts.sum())
        return regularized_weights(unmix_classes(of, unmixing), covariance, total)[0]

    rows = rows_to_judge_by(data, unmixing.matrix, seed) if data.in_memory else None
    if rows is None:
        partition = engine.partition(unmixing, 0.0)
        partition.restart(discriminant(engine)[:, : engine.n_features])
        counts = partition.tables().counts
    else:
        others = (make_engine(*data.rows_without(rows.held(fold))) for fold in range(FOLDS))
        scores = rows.scores([discriminant(of) for of in others])
        counts = np.zeros((unmixing.n_classes, data.n_codes))
        np.add.at(counts, (scores.argmax(axis=1), data.codes[rows.places]), rows.weight)
    matrix = composition(unmixing.matrix, counts, unmixing.counts)[1]
    worst = max(ILL_CONDITIONED_BEYOND, unmixing.condition_number)
    return (
        unmixing if condition_of(matrix) > worst else replace(unmixing, matrix=matrix, counts=None)
    )


def averaged_with_simple(
    data: NoisyData,
    unmixing: Unmixing,
    fit: UMAWithRounds,
    state: UMAState,
    prior: FloatArray,
    seed: int,
) -> FloatArray:
    """Return the weights of UMA, averaged with two discriminants by held-out truths.

    One takes the labels as right, the other knows the trusted rows alone: they win where mistakes
    depend on the rows, or are few. Scores are averaged, and hence weights. The average is taken if
    it predicts more of the truths. `prior` are the shares of the classes. Too few truths, or none
    of a class that should be among them, judge nothing.
    """
    rows = rows_to_judge_by(data, None, seed) if data.in_memory else None
    judged = rows is not None and rows.enough(rows.truth, FEWEST_TRUTHS) and rows.truths_show(prior)
    if rows is None or not judged or state.stopped == INTERRUPTED:
        return fit.weights(state)
    # Codes of truths come after those of the labels, however many there are.
    right = Unmixing(np.eye(*unmixing.matrix.shape), trusted=True)

    def through_matrix(held: BoolArray | None) -> FloatArray:
        return fit.weights(state) if held is None else fit.without(held, data, unmixing)

    def from_truths(held: BoolArray | None) -> FloatArray:
        return fit_discriminant(fit.make_engine(*data.trusted_rows(held)), right).weights

    def from_labels(held: BoolArray | None) -> FloatArray:
        return fit_discriminant(fit.make_engine(*data.rows_without(held)), right).weights

    fits = [through_matrix, from_truths]
    if data.labels.other_labels is None:  # or there are no classes to take as right
        fits.append(from_labels)
    try:
        return _average(fits, rows)
    except KeyboardInterrupt:
        state.stopped = INTERRUPTED
        return fit.weights(state)


def _average(fits: Sequence[Fit], rows: HeldOutRows) -> FloatArray:
    """Return the average of models that makes held-out rows likeliest, if it beats the first."""
    n_folds = rows.folds_to_compare(rows.every)
    some = rows.fold < n_folds
    evidence, weight = rows.evidence[some], rows.weight[some]
    tables, fair = [], []
    for fit in fits:
        scores = rows.scores([fit(rows.held(fold)) for fold in range(n_folds)])[some]
        # Weights of any size give the same classifier.
        scale = 1.0 / max(float(scores.std(axis=1).mean()), np.finfo(np.float64).tiny)
        power = best_power(np.exp(log_softmax(scale * scores, axis=1)), evidence, weight)
        tables.append(scores)
        fair.append(Calibration(scale * power, np.zeros(scores.shape[1])))
    found = blend(tables, fair, evidence, weight)
    # Likelihood also rewards an average for being calibrated, which predictions do not need.
    judged = (found.logs, tables[0])
    mistakes, of_first = (weight @ (one.argmax(1) != evidence.argmax(1)) for one in judged)
    if mistakes >= of_first:
        return fits[0](None)
    return found.weights([fit(None) for fit in fits], intercept=False)
