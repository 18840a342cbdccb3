"""The search for the penalty and for the weight of noisy rows, by cross-validation.

The criterion is the held-out log-loss, at the best temperature, of everything known about a row:
the truth of trusted rows; with a known C also the labels of all rows, through C; or the votes.

Penalties are tried in both directions from a usual one, each fit warm-started from the previous
one, until the loss has risen twice. With many rows a few folds suffice to compare penalties, and
only the best is fitted in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from unconfused._matrix import loses_a_class
from unconfused._typing import BoolArray, FloatArray, IntArray
from unconfused.confusion.estimation.balance import class_shares
from unconfused.estimators.automatic.held_out import FOLDS, HeldOutRows
from unconfused.estimators.relabel.evidence import NO_BETTER, mean_and_error
from unconfused.solvers.likelihood import LikelihoodState

WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Weights of noisy rows that are tried, besides 0 (trusted rows only)."""

FIRST_WEIGHT = 0.3
"""The weight at which the penalty is chosen, if C was counted on trusted rows. The best penalty
hardly depends on it (Digits, Reuters, Music)."""

FEWEST_TRUTHS = 3
"""Fewest truths per class, on average, that settings are chosen on."""

THIN_EVIDENCE = float(np.log(20.0))
"""Difference in the log-likelihood of the held-out truths (odds of 20 to 1) below which two weights
of noisy rows count as equally good."""

SEARCH_MATRIX_STEPS = 5
"""Steps of C in fits that only serve the comparison."""


MOST_LOST = 4
"""How many weaker penalties, down to a hundredth, are tried if a class has vanished."""


BETTER, FAR_BETTER = 1.0, 4.0
"""Paired standard errors by which a guess must predict held-out labels better for it to be used:
through its classes, or in all. Settled on Digits, Reuters and the twelve tables of the league that
rules were compared on."""


class Candidate(NamedTuple):
    """A combination of settings."""

    l2: float
    noisy_weight: float
    believed: bool = False
    """Whether labels are taken as right, instead of through C."""


FitWithout = Callable[[int, Candidate, LikelihoodState | None], LikelihoodState]
"""Fit a candidate without the rows of a fold, from a state on."""


@dataclass
class Search:
    """The candidates tried so far.

    Parameters
    ----------
    rows : the held-out rows
    fit_without : fits of the folds
    intercept : whether the last weight of a class is its intercept
    by_truths : whether there are enough held-out truths to choose by
    counted : (Q,), class shares among the rows that C was counted on; None if C was not counted:
        then they are those that explain the labels
    """

    rows: HeldOutRows
    fit_without: FitWithout
    intercept: bool
    by_truths: bool = False
    counted: FloatArray | None = None
    scores: dict[Candidate, FloatArray] = field(default_factory=dict)
    """Out-of-fold scores; NaN in folds that a candidate was not fitted in."""

    matrices: dict[Candidate, FloatArray] = field(default_factory=dict)
    """Mean of C over the folds of a candidate."""

    simple: list[Candidate] = field(default_factory=list)
    """The best models with labels taken as right, and of trusted rows alone, if tried."""

    chosen: Candidate | None = None
    fits: list[LikelihoodState] = field(default_factory=list)
    """Fits of the folds with the best penalty, from which others start."""

    shares: dict[Candidate, float] = field(default_factory=dict)
    """Shares of candidates in the final average."""

    predicted: IntArray | None = None
    """Out-of-fold predictions of the final model on the rows whose truth is known."""

    def best_penalty(
        self, like: Candidate, penalties: Sequence[float], which: BoolArray
    ) -> tuple[Candidate, list[LikelihoodState]]:
        """Try penalties around that of a candidate; return the best, and its fits to go on from.

        Weaker ones come first, and stronger ones if those are no better. The candidate's own is
        kept unless another makes held-out labels clearly likelier: where noise leaves little to
        choose by, the strongest penalties reduce a model to its intercept at hardly any loss.
        """
        n_folds = self.rows.folds_to_compare(which)
        some = which & (self.rows.fold < n_folds)
        first = int(np.argmin(np.abs(np.subtract(penalties, like.l2))))
        weaker = [like._replace(l2=l2) for l2 in penalties[first:]]
        best, states = self._walk(weaker, some, [None] * n_folds, NO_BETTER)
        if best == weaker[0]:
            stronger = [like._replace(l2=l2) for l2 in penalties[:first][::-1]]
            best, reached = self._walk(stronger, some, states, NO_BETTER, best)
            states = reached or states
        if n_folds < FOLDS:
            states = states + [self._fit(fold, best, None) for fold in range(n_folds, FOLDS)]
            self._note(best, states)
        return best, states

    def _walk(
        self,
        candidates: Sequence[Candidate],
        which: BoolArray,
        states: Sequence[LikelihoodState | None],
        margin: float,
        best: Candidate | None = None,
    ) -> tuple[Candidate, list[LikelihoodState]]:
        """Try candidates in turn until their loss has risen twice.

        Towards weaker penalties, also until no fit takes a step: the penalty is negligible then.

        Parameters
        ----------
        candidates, which : settings to try, and rows to judge by
        states : where the fits start, one for each of the first folds
        margin : by how much the log-likelihood must exceed that of the best so far
        best : the best so far

        Returns
        -------
        best : the best of all
        reached : the fits of the best, none if it is still the one passed
        """
        margin /= float(self.rows.weight[which].sum())
        lowest = least = np.inf if best is None else self.loss(best, which)
        best, reached, risen, lost = best or candidates[0], list[LikelihoodState](), 0, 0
        for candidate in candidates:
            fits = [self._fit(fold, candidate, state) for fold, state in enumerate(states)]
            at_rest = states[0] is not None and not any(fit.n_iter for fit in fits)
            self._note(candidate, fits)
            if self._loses_a_class(candidate):
                reached, lost = reached or (fits if candidate == best else []), lost + 1
                if lost > MOST_LOST or candidate.l2 > best.l2:  # stronger ones lose even more
                    break
                continue
            states, loss = fits, self.loss(candidate, which)
            if loss < least - margin:
                best, reached, least = candidate, fits, min(loss, least)
            risen = 0 if loss < lowest else risen + (not at_rest)
            lowest = min(lowest, loss)
            if risen == 2 or (at_rest and candidates[-1].l2 < candidates[0].l2):
                break
        return best, reached

    def _loses_a_class(self, candidate: Candidate) -> bool:
        """Whether a class has next to none of the rows that are known or expected to be of it.

        Under a strong penalty the likelihood can favour intercepts that remove classes: those that
        remain explain the labels of the others as mistakes, and are easier to predict.
        """
        rows, expected = self.rows, self.counted
        if rows.observed is None or candidate.believed or not candidate.noisy_weight:
            return False
        judged = ~np.isnan(self.scores[candidate][:, 0])
        weight, observed = rows.weight[judged], rows.observed[judged]
        if expected is None:
            matrix, seen = self.matrices[candidate], observed >= 0
            labels = np.bincount(observed[seen], weight[seen], minlength=matrix.shape[1])
            expected = class_shares(matrix, labels.astype(np.float64))
        found = weight @ softmax(self.scores[candidate][judged], axis=1) / weight.sum()
        return loses_a_class(expected, found)

    def _note(self, candidate: Candidate, fits: Sequence[LikelihoodState]) -> None:
        """Keep the scores and C of a candidate."""
        self.scores[candidate] = self.rows.scores([fit.weights for fit in fits])
        self.matrices[candidate] = np.mean([fit.matrix for fit in fits], axis=0)

    def folds_of_all(self, labelled: BoolArray) -> tuple[list[BoolArray] | None, list[FloatArray]]:
        """Return the rows of each fold, and the weights of its fit.

        None if the fits are no start for others, or were judged on a sample of the labelled rows.
        Rows without a label are dealt evenly.
        """
        fold = np.full(len(labelled), -1)
        fold[self.rows.places] = self.rows.fold
        if not self.fits or (labelled & (fold < 0)).any():
            return None, []
        fold[fold < 0] = np.arange(np.count_nonzero(fold < 0)) % FOLDS
        return [fold == k for k in range(FOLDS)], [fit.weights for fit in self.fits]

    def _fit(
        self, fold: int, candidate: Candidate, state: LikelihoodState | None
    ) -> LikelihoodState:
        if state is not None:  # a copy: another walk may go on from there, too
            state = LikelihoodState(state.weights.copy(), state.matrix.copy())
        found = self.fit_without(fold, candidate, state)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def losses(self, candidate: Candidate, which: BoolArray) -> FloatArray:
        """Return the losses of a candidate on some of the rows, labels seen through its own C."""
        rows = self.rows.through(self.matrices[candidate])
        return rows.losses(self.scores[candidate], which, self.intercept)

    def loss(self, candidate: Candidate, which: BoolArray) -> float:
        """Return the mean loss of a candidate on some of the rows."""
        return float(np.average(self.losses(candidate, which), weights=self.rows.weight[which]))

    def supports_guess(self, believing: Search) -> bool:
        """Whether held-out labels support a guessed C, beside a search that took labels as right.

        A matrix also blurs predictions, and that alone can make labels likelier. So the classes of
        this search must explain the labels better than believed ones do through the same C, or at
        least as well if labels are far likelier through C than without it. If a class mostly has
        the label of another one, labels alone cannot tell the two apart.
        """
        assert self.chosen is not None and believing.chosen is not None
        scores, every = believing.scores[believing.chosen], self.rows.every
        losses, matrix = self.losses(self.chosen, every), self.matrices[self.chosen]
        blurred = believing.rows.through(matrix).losses(scores, every, self.intercept)
        of_classes, of_labels = (
            mean_and_error(other - losses, self.rows.weight)
            for other in (blurred, believing.losses(believing.chosen, every))
        )
        clear = of_classes[0] > BETTER * of_classes[1] or of_labels[0] > FAR_BETTER * of_labels[1]
        swapped = (matrix.argmax(axis=1) != np.arange(len(matrix))).any()
        return clear and not swapped and min(of_classes[0], of_labels[0]) >= 0.0

    def largest_weight(self, candidates: Sequence[Candidate]) -> Candidate:
        """Return the candidate with the largest weight that is as good as the best.

        Trusted rows are few, and losses on them differ by chance; the noisy rows are many. Where
        it cannot be told that they do harm, they should count.
        """
        truth = self.rows.truth
        losses = {c: self.losses(c, truth) for c in candidates}
        best = losses[min(candidates, key=lambda c: self.loss(c, truth))]
        excess = {c: mean_and_error(losses[c] - best, self.rows.weight[truth]) for c in candidates}
        thin = THIN_EVIDENCE / float(self.rows.weight[truth].sum())
        as_good = [c for c in candidates if excess[c][0] <= max(thin, excess[c][1])]
        return max(as_good, key=lambda c: (c.noisy_weight, -self.loss(c, truth)))

    def choose_weight(
        self, best: Candidate, states: list[LikelihoodState], penalties: Sequence[float]
    ) -> Candidate:
        """Go on from the best penalty to other weights; return the candidate to take.

        The penalty that suits many noisy rows need not suit the trusted ones: small weights are
        tried with that of the trusted rows alone, too.
        """
        truth = self.rows.truth
        alone, of_alone = self.best_penalty(Candidate(best.l2, 0.0), penalties, truth)
        if self.rows.evidence[truth].any(axis=0).all():  # or it would never predict some class
            self.simple.append(alone)
        larger = [w for w in reversed(WEIGHTS) if w > best.noisy_weight]
        smaller = [w for w in WEIGHTS if w < best.noisy_weight]
        paths = [(best, states, larger), (best, states, smaller)]
        if alone.l2 != best.l2:
            paths.append((alone, of_alone, smaller[::-1]))
        for begin, reached, weights in paths:
            if weights:
                self._walk([begin._replace(noisy_weight=w) for w in weights], truth, reached, 0.0)
        in_all_folds = [c for c, scores in self.scores.items() if not np.isnan(scores).any()]
        return self.largest_weight([c for c in in_all_folds if c.l2 in (best.l2, alone.l2)])

    def calibrate(self, state: LikelihoodState) -> None:
        """Scale a fit's weights (in place) to the temperature that suits what was chosen."""
        assert self.chosen is not None
        rows, believed = (
            self.rows.through(state.matrix),
            np.array_equal(state.matrix, np.eye(len(state.matrix))),
        )
        # Of labels taken as right the temperature alone: it changes no prediction.
        shares = state.shares() if self.intercept and not believed else None
        scores = self.scores[self.chosen]
        found = rows.calibration(scores, shares)
        self.predicted = found.scores(scores[rows.truth]).argmax(axis=1)
        state.calibrate(found.power, found.shift, self.intercept)

    def table(self) -> dict[str, FloatArray]:
        """Return what was tried, and the losses: on trusted rows if any are judged by.

        The loss of a candidate that was not fitted in all folds is that of the chosen one plus
        their difference in the folds that both were fitted in.
        """
        truth, tried = self.rows.truth, list(self.scores)
        which = truth if truth.any() else ~truth
        return {
            "l2": np.array([c.l2 for c in tried]),
            "noisy_weight": np.array([c.noisy_weight for c in tried]),
            "believed": np.array([float(c.believed) for c in tried]),
            "loss": np.array([self._loss_in_all_folds(c, which) for c in tried]),
            "chosen": np.array([float(c == self.chosen) for c in tried]),
            "share": np.array([self.shares.get(c, 0.0) for c in tried]),
        }

    def _loss_in_all_folds(self, candidate: Candidate, which: BoolArray) -> float:
        some = which & ~np.isnan(self.scores[candidate][:, 0])
        if not some.any():
            return np.nan
        if some.sum() == which.sum():
            return self.loss(candidate, which)
        assert self.chosen is not None
        beyond = self.loss(self.chosen, which) - self.loss(self.chosen, some)
        return self.loss(candidate, some) + beyond
