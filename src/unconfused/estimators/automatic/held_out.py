"""The held-out rows that candidates are compared on, and their folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.utils import check_random_state

from unconfused._matrix import label_chances
from unconfused._typing import BoolArray, FloatArray, IntArray, Rows
from unconfused.confusion.estimation.calibration import LARGEST_POWER, Calibration, log_chances
from unconfused.estimators._arrays import rows_at, scores_on_host, to_numpy

if TYPE_CHECKING:
    from unconfused.estimators._noisy import NoisyData

FOLDS = 5

MOST_JUDGED = 10_000
"""Maximum number of rows that candidates are compared on, and that C is guessed from. Of more rows
a sample is drawn, truths first. Set by reasoning, not on data."""

ROWS_TO_COMPARE_BY = 1000
"""Candidates are compared on the fewest folds that hold this many rows. On Digits and Reuters the
choice of a penalty then costs at most 0.003 nats per row against one on all folds."""

SURPRISING = 0.05
"""Chance below which it is no accident that a class is missing from the truths."""

SMALLEST = 1e-12
"""Class shares below this count as this much: their logarithms are taken."""

PRECISION_OF_POWER = 1.0
"""Precision of a normal prior on the log inverse temperature, centred at 0. Without it, a few
held-out rows that are all predicted correctly would push probabilities to certainty."""

BLOCK = 250_000
"""Entries per block when rows are hashed."""


@dataclass(frozen=True)
class CheckedPredictions:
    """What the folds of a fit predict for the rows whose truth is known.

    Attributes
    ----------
    truth, observed, predicted : (n,), classes, MISSING where there is none
    """

    truth: IntArray
    observed: IntArray
    predicted: IntArray

    def of(self, truth: IntArray, observed: IntArray) -> bool:
        """Whether the rows of the fit are those with these truths and labels."""
        return np.array_equal(self.truth, truth) and np.array_equal(self.observed, observed)


def checked_predictions(model: Any) -> CheckedPredictions | None:
    """Return what the folds of a model's fit predict, if it is known and what the model predicts.

    They predict the likeliest classes. With a `class_weight` the model predicts others.
    """
    found: CheckedPredictions | None = vars(model).get("_checked")
    return found if getattr(model, "class_weight", None) is None else None


@dataclass(frozen=True)
class HeldOutRows:
    """Held-out rows, in folds.

    Parameters
    ----------
    X : the rows
    evidence : (n, Q), P(observation | true class) of each row
    weight : (n,), sample weights
    fold : (n,), the fold each is held out in
    places : (n,), where they are among the rows of the fit that can be held out
    n_eligible : how many of those there are
    truth : (n,), whether the truth of the row is known
    observed : (n,), labels of rows that are seen through C, if there are any
    matrix : C, if it is known
    """

    X: Rows
    evidence: FloatArray
    weight: FloatArray
    fold: IntArray
    places: IntArray
    n_eligible: int
    truth: BoolArray
    observed: IntArray | None = None
    matrix: FloatArray | None = None

    @property
    def every(self) -> BoolArray:
        """A mask of all rows."""
        return np.ones(len(self.truth), dtype=bool)

    def through(self, matrix: FloatArray) -> HeldOutRows:
        """Return the same rows, their labels seen through another C."""
        if self.observed is None:
            return self
        evidence = self.evidence.copy()
        evidence[~self.truth] = label_chances(matrix)[self.observed[~self.truth]]
        return replace(self, evidence=evidence, matrix=matrix)

    def held(self, fold: int) -> BoolArray:
        """Return the mask of a fold's rows, over all rows that can be held out."""
        mask = np.zeros(self.n_eligible, dtype=bool)
        mask[self.places[self.fold == fold]] = True
        return mask

    def enough(self, which: BoolArray, per_class: int) -> bool:
        """Whether there are at least `per_class` rows of some kind per class, on average."""
        return bool(which.sum() >= per_class * self.evidence.shape[1])

    def folds_to_compare(self, which: BoolArray) -> int:
        """Return how many folds hold enough of some rows to compare candidates by."""
        rows = np.cumsum(np.bincount(self.fold[which], minlength=FOLDS))
        return min(1 + int(np.searchsorted(rows, ROWS_TO_COMPARE_BY)), FOLDS)

    def truths_show(self, shares: FloatArray) -> bool:
        """Whether the truths are of every class that a random sample of them would have shown.

        A model is not judged by truths that leave out a class of which they should have some: they
        favour models that never predict it. `shares` are those of the classes among all rows.
        """
        missing = ~self.evidence[self.truth].any(axis=0)
        chance = (1.0 - shares[missing]) ** np.count_nonzero(self.truth)
        return bool((chance >= SURPRISING).all())

    def scores(self, weights: Sequence[FloatArray]) -> FloatArray:
        """Return the scores of all rows, each fold's by weights of its own; NaN without any."""
        scores = np.full(self.evidence.shape, np.nan)
        for fold, own in enumerate(weights):
            rows = self.fold == fold
            scores[rows] = scores_on_host(rows_at(self.X, rows), own)
        return scores

    @cached_property
    def evidence_of_shares(self) -> float:
        """How far labels speak for uneven class shares, from 0 (not at all) to 1.

        It is the factor of James and Stein: even shares, too, leave differences to chance in the
        frequencies of labels. Through a C counted on trusted rows these say too little.
        """
        if self.observed is None or self.matrix is None or self.truth.any():
            return 1.0
        n_rows = _n_rows(self.weight)
        share = self.weight / self.weight.sum()
        seen = np.bincount(self.observed, share, minlength=self.matrix.shape[1])
        even = self.matrix.mean(axis=0)
        excess = n_rows * float(((seen - even) ** 2 / np.maximum(even, SMALLEST)).sum())
        return max(0.0, 1.0 - (len(seen) - 1) / max(excess, SMALLEST))

    def calibration(
        self,
        scores: FloatArray,
        shares: FloatArray | None,
        trust: float = 1.0,
        which: BoolArray | None = None,
    ) -> Calibration:
        """Fit the temperature to out-of-fold scores, and draw the class shares towards even ones.

        The scores are scaled around the log class shares, as the penalty shrinks the effect of the
        features only. The shares themselves are not fitted, as the models of the folds may be in
        poor optima; but C magnifies the chance in label frequencies, and an intercept follows it.

        Parameters
        ----------
        scores : (n, Q), out-of-fold scores of all rows
        shares : (Q,), class shares; None without an intercept
        trust : weight of a label relative to a truth
        which : rows to fit to; None for all
        """
        which = self.every if which is None else which
        n_classes = scores.shape[1]
        prior = target = np.zeros(n_classes)
        if shares is not None:
            kept = self.evidence_of_shares
            prior = np.log(np.maximum(shares, SMALLEST))
            target = np.log(np.maximum(kept * shares + (1.0 - kept) / n_classes, SMALLEST))
        around, evidence = scores[which] - prior, self.evidence[which]
        # Weights of any scale mean the same: as many rows as there are.
        weight = self.weight[which] / max(float(self.weight[which].mean()), 1e-300)
        weight = np.where(self.truth[which], 1.0, trust) * weight

        def loss(log_power: float) -> float:
            probability = softmax(np.exp(log_power) * around + target, axis=1)
            explained = float(weight @ log_chances(probability, evidence))
            return PRECISION_OF_POWER * log_power**2 / 2 - explained

        limit = float(np.log(LARGEST_POWER))
        found = minimize_scalar(
            loss, bounds=(-limit, limit), method="bounded", options={"xatol": 0.01}
        )
        power = float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0
        shift = target - power * prior
        return Calibration(power, shift - shift.mean())

    def losses(self, scores: FloatArray, which: BoolArray, intercept: bool) -> FloatArray:
        """Return the log-loss of some of the rows, calibrated on them."""
        own = scores[which]
        weight = self.weight[which] / self.weight[which].sum()
        shares = weight @ softmax(own, axis=1) if intercept else None
        scale = self.calibration(scores, shares, which=which)
        # A model that its temperature has to change much pays for that, as in the calibration.
        prior = PRECISION_OF_POWER * np.log(scale.power) ** 2 / (2 * _n_rows(self.weight[which]))
        explained = log_chances(softmax(scale.scores(own), axis=1), self.evidence[which])
        return np.asarray(prior - explained)


def _n_rows(weight: FloatArray) -> float:
    """Return how many rows there are: weights are frequencies, but small ones do not mean few."""
    return max(float(weight.sum()), float(len(weight)))


def rows_to_judge_by(data: NoisyData, matrix: FloatArray | None, seed: int) -> HeldOutRows | None:
    """Return the trusted rows, and with a matrix those with a label too; None if there are none.

    Copies of a row are held out together, and rows of no weight are left out: a weight of 2 is the
    row twice. A class's only trusted row is never held out.
    """
    if not data.trusted and (matrix is None or not data.in_memory):
        return None
    data = data.eligible
    truth, observed = data.labels.truth, data.labels.observed
    known, n_classes = truth >= 0, len(data.labels.classes)
    n_labels = len(data.labels.labels)
    weight = np.ones(len(truth)) if data.sample_weight is None else data.sample_weight
    judged = np.flatnonzero((known | (matrix is not None)) & (weight > 0))
    if not len(judged):
        return None
    strata = np.where(known, n_labels + truth, observed)
    X, judged, fold = _in_folds(data.X, judged, known, strata, known, seed)
    evidence = np.eye(n_classes)[truth[judged]]
    seen = None if matrix is None else observed[judged]
    rows = HeldOutRows(X, evidence, weight[judged], fold, judged, len(truth), known[judged], seen)
    return rows if matrix is None else rows.through(matrix)


def voted_rows_to_judge_by(
    X: Rows, evidence: FloatArray, weight: FloatArray, known: BoolArray, seed: int
) -> HeldOutRows:
    """Return rows with votes, given the chance of each row's votes by true class."""
    places, nowhere = np.flatnonzero(weight > 0), np.zeros(len(weight), dtype=bool)
    X, places, fold = _in_folds(X, places, known, evidence.argmax(axis=1), nowhere, seed)
    n_rows = len(weight)
    return HeldOutRows(X, evidence[places], weight[places], fold, places, n_rows, known[places])


def _in_folds(
    X: Rows, places: IntArray, known: BoolArray, strata: IntArray, rare: BoolArray, seed: int
) -> tuple[Rows, IntArray, IntArray]:
    """Return the rows at some places, the places, and the fold of each.

    They are at most `MOST_JUDGED`, those whose truth is known first, and no row that is in no fold.
    """
    if len(places) > MOST_JUDGED:
        order = np.random.RandomState(seed).permutation(len(places))
        order = order[np.argsort(~known[places[order]], kind="stable")]
        places = np.sort(places[order[:MOST_JUDGED]])
    X = rows_at(X, places)
    fold = fold_numbers(_row_keys(X), strata[places], rare[places], seed)
    kept = fold >= 0
    return (X, places, fold) if kept.all() else (rows_at(X, kept), places[kept], fold[kept])


def fold_seed(random_state: Any) -> int:
    """Return a seed for folds; None is always the same: a fit done twice is the same fit."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


def fold_numbers(keys: FloatArray, strata: IntArray, rare: BoolArray, seed: int) -> IntArray:
    """Deal rows into folds, those of each stratum evenly, and those with the same key together.

    Parameters
    ----------
    keys : (n,), the same for copies of a row
    strata : (n,)
    rare : (n,), rows that are in no fold (-1) if they are all there is of their stratum
    seed : of the order within a stratum

    Examples
    --------
    >>> strata, keys = np.array([0, 0, 0, 0, 1]), np.array([0.5, 0.1, 0.5, 0.7, 0.9])
    >>> folds = fold_numbers(keys, strata, strata == 1, seed=0)
    >>> bool(folds[0] == folds[2]), int(folds[4])
    (True, -1)
    """
    rng = np.random.RandomState(seed)
    _, first, groups = np.unique(keys, return_index=True, return_inverse=True)
    # The same order however often a row occurs, and wherever it stands.
    own = np.zeros(len(first), dtype=np.intp)
    np.maximum.at(own, groups, strata)
    fold, dealt = np.empty(len(first), dtype=np.intp), 0
    for stratum in np.unique(own):
        members = np.flatnonzero(own == stratum)
        fold[rng.permutation(members)] = (dealt + np.arange(len(members))) % FOLDS
        dealt += len(members)
    sizes = np.bincount(own)
    alone = rare & (sizes[own[groups]] < 2)
    return np.where(alone, -1, fold[groups])


def _row_keys(X: Rows) -> FloatArray:
    """Return a number for each row, the same for the same row wherever it stands."""
    host: Any = to_numpy(X)
    direction = np.random.RandomState(0).uniform(0.5, 1.5, X.shape[1])
    if issparse(host):
        return np.asarray(host @ direction)
    # Not a product of matrix and vector: how that rounds depends on the place of a row.
    blocks = np.array_split(host, max(1, host.size // BLOCK))
    return np.concatenate([np.sum(block * direction, axis=1) for block in blocks])
