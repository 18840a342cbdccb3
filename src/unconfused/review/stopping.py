"""How many labels are still wrong, and what checking more rows would bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from unconfused._labels import is_missing
from unconfused._text import percent, percent_range, roughly
from unconfused._text.wrong_labels import wrong_labels
from unconfused._typing import ArrayLike, BoolArray, FloatArray, IntArray
from unconfused.review.checked import FEWEST_DRAWN, CheckedRows
from unconfused.review.fit import features_of, fit_checked
from unconfused.review.left_out import judge_left_out

UNSEEN = 1.0
"""Rows that the model gets wholly wrong, added to the sample when its errors are averaged: a small
sample may hold none. With 0.5, intervals covered as few as 80 % where a model is nearly always
right, and sure of it."""

MORE = 50
"""Number of further rows whose expected gain the review page shows."""


@dataclass(frozen=True)
class WrongLeft:
    """The share of labels that are still wrong.

    Attributes
    ----------
    share : estimate; without an interval a guess by the model
    low, high : ends of a 95 % interval; None if fewer than 10 rows were drawn at random
    n_random : number of rows drawn at random
    mended : number of labels found to be wrong
    by_model : whether `share` comes from the models' probabilities, corrected on the random rows,
        and not from counting these rows
    """

    share: float
    low: float | None
    high: float | None
    n_random: int
    mended: int
    by_model: bool = False

    @property
    def sentence(self) -> str:
        """The estimate in words."""
        if self.low is None or self.high is None:
            return (
                "Too early to tell how many labels are still wrong: this takes at least "
                f"{FEWEST_DRAWN} rows drawn at random, and there are {self.n_random:,}."
            )
        how = "predicted by the model, corrected on" if self.by_model else "counted on"
        return (
            f"{roughly(percent(self.share))} of the labels are still wrong (95 % interval "
            f"{percent_range(self.low, self.high)}, {how} {self.n_random:,} rows drawn at random)."
        )


def wrong_left(checked: CheckedRows, y: ArrayLike, wrong: FloatArray | None = None) -> WrongLeft:
    """Estimate the share of labels that are still wrong after all verdicts are applied.

    Parameters
    ----------
    checked : from `match_verdicts`
    y : the labels
    wrong : (n,) probability that each label is wrong, by models that have not seen the verdict on
        the row. The estimate is the mean of these probabilities, corrected by their error on the
        rows drawn at random (the difference estimator of survey sampling), if that is worth more
        than counting these rows. With too few such rows the mean is not corrected, and only a guess

    Examples
    --------
    >>> y = np.array(["a"] * 80 + ["b"] * 20, dtype=object)
    >>> y_true, how = np.full(100, None, dtype=object), np.full(100, "", dtype=object)
    >>> y_true[::2], how[::2] = y[::2], "random"
    >>> y_true[::20] = "c"
    >>> chance = np.where(how == "random", 0.5, np.nan)
    >>> left = wrong_left(CheckedRows(y_true, chance, how), y)
    >>> round(left.share, 2), left.mended
    (0.05, 5)
    """
    labels = np.asarray(y, dtype=object)
    labelled = ~is_missing(labels) & (labels != "")
    known = checked.known & labelled
    mistaken = known & (checked.y_true != labels)
    mended, n_labels = int(mistaken.sum()), max(1, int(labelled.sum()))
    weight = checked.sample_weight(labels)
    if weight is None:
        rest = 0.0 if wrong is None else float(np.sum(wrong[labelled & ~known]))
        n_random = int(np.count_nonzero(checked.representative & labelled))
        return WrongLeft(rest / n_labels, None, None, n_random, mended)
    size, by_model = float(weight.sum()), False
    share = float(weight @ mistaken) / size
    if wrong is not None:
        corrected = _corrected(mistaken[labelled], wrong[labelled], weight[labelled])
        if by_model := corrected[1] > size:
            share, size = corrected
    found = wrong_labels(size * np.array([[1.0 - share, share], [0.0, 0.0]]), "trusted")
    # What was mended is no longer wrong, and what was seen to be wrong was surely wrong.
    ends = np.array([found.share, found.low, found.high])
    left = np.clip(ends - mended / n_labels, 0.0, 1.0 - known.sum() / n_labels)
    share, low, high = left.tolist()
    return WrongLeft(share, low, high, int(np.count_nonzero(weight)), mended, by_model)


def _corrected(mistaken: BoolArray, wrong: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Return the mean of `wrong`, corrected by a sample, and how many plain rows that is worth."""
    size = float(weight.sum())
    off = mistaken - wrong
    mean = float(weight @ off) / size
    share = min(max(float(wrong.mean()) + mean, 0.0), 1.0)
    variance = float(weight @ (off - mean) ** 2 + UNSEEN) / size
    smoothed = (share * size + 0.5) / (size + 1.0)
    return share, smoothed * (1.0 - smoothed) / variance * size


@dataclass(frozen=True)
class StoppingCurve:
    """Error of the model and share of wrong labels against rows checked.

    Attributes
    ----------
    checked : rows checked at each stop
    error, error_spread : error of the model on rows drawn at random that it had not seen, and its
        standard error
    wrong, wrong_low, wrong_high : share of labels wrong after that many verdicts, with intervals
    gain, gain_spread : by how much `more` further rows are expected to lower the error of the
        model, and its standard error
    more : number of further rows
    left : estimate of the labels still wrong after all verdicts
    """

    checked: IntArray
    error: FloatArray
    error_spread: FloatArray
    wrong: FloatArray
    wrong_low: FloatArray
    wrong_high: FloatArray
    gain: float
    gain_spread: float
    more: int
    left: WrongLeft

    @property
    def sentence(self) -> str:
        """What checking more rows would bring."""
        if self.gain < 0.0005:
            return f"Another {self.more:,} rows are not expected to lower the error of the model."
        what = f"Another {self.more:,} rows would lower the error by about {self.gain:.3f}"
        unsure = ", perhaps not at all" if self.gain <= self.gain_spread else ""
        return f"{what} ± {self.gain_spread:.3f}{unsure}."


def when_to_stop(
    model: Any,
    X: Any,
    y: ArrayLike,
    checked: CheckedRows,
    *,
    more: int = 200,
    stops: int = 4,
    cv: int = 4,
    random_state: int = 0,
) -> StoppingCurve:
    """Estimate what checking rows has gained so far, and what checking more would gain.

    The model is fitted to the first verdicts, then to more and more of them. Each fit is evaluated
    on held-out rows that were drawn at random, which estimates the error on all rows. As errors
    fall about as 1 over the number of rows, doubling the verdicts is expected to gain half of what
    the last half of them gained.

    Parameters
    ----------
    model : an estimator of this library, or a Pipeline that ends in one; it is cloned
    X, y : rows and labels
    checked : verdicts; at least 10 must be on rows drawn at random
    more : number of further rows
    stops : points of the curve
    cv : folds of the rows drawn at random
    random_state : seed of the folds

    Returns
    -------
    StoppingCurve
    """
    sample = np.flatnonzero(checked.representative)
    if len(sample) < max(10, cv):
        raise ValueError(
            f"Only {len(sample)} checked rows were drawn at random; at least 10 are needed to "
            "estimate an error."
        )
    known = np.flatnonzero(checked.known)
    counts = np.unique(np.linspace(0, len(known), stops + 1).round().astype(int))
    mistakes = np.zeros((len(counts), len(sample)))
    unseen = judge_left_out(
        features_of(clone(model), X), y, checked, random_state=random_state
    ).wrong
    now = wrong_left(checked, y, unseen)
    left = np.array([now.share, now.low or 0.0, now.high or 0.0])
    shares = np.empty((len(counts), 3))
    folds = np.random.RandomState(random_state).permutation(len(sample)) % cv
    for stop, count in enumerate(counts):
        first = known[:count]
        for fold in range(cv):
            held = sample[folds == fold]
            some = checked.only(np.setdiff1d(first, held))
            predicted = fit_checked(clone(model), X, y, some).predict(_safe_indexing(X, held))
            mistakes[stop, folds == fold] = predicted.astype(object) != checked.y_true[held]
        # All rows drawn at random say what was wrong; what was not mended by then still is.
        mended = wrong_left(checked.only(first), y).mended
        shares[stop] = left + (now.mended - mended) / len(checked.y_true)
    half = int(np.argmin(np.abs(counts - counts[-1] / 2)))
    fall = mistakes[half] - mistakes[-1]
    scale = 0.5 * more / max(1, counts[-1] - counts[half])
    root = np.sqrt(len(sample))
    return StoppingCurve(
        counts,
        mistakes.mean(axis=1),
        mistakes.std(axis=1) / root,
        shares[:, 0],
        shares[:, 1],
        shares[:, 2],
        float(scale * fall.mean()),
        float(scale * fall.std() / root),
        more,
        now,
    )
