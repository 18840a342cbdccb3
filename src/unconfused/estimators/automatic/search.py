"""Settings chosen on rows held out: the penalty, and what a noisy row counts beside a trusted one.

One criterion for all: the log-loss of what is known of rows that a fit has not seen, at the
temperature that suits its scores best. What is known is the truth of trusted rows; where C is given
it is the label of every row too, seen through C; with votes, the votes.

Candidates are walked through from strong penalties to weak ones, each fit of a fold going on from
the one before, until the loss has risen twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from unconfused._typing import BoolArray, FloatArray
from unconfused.engines.base import Engine
from unconfused.estimators.automatic.held_out import FOLDS, HeldOutRows
from unconfused.estimators.relabel.weighted_mean import mean_and_error
from unconfused.solvers.likelihood import LikelihoodState

PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6)
"""Penalties tried, times the mean squared distance of a row from the mean of all: features on
another scale are the same problem. On Digits, Reuters and Music the best lie between 1e-4 and 1e-3.
"""

USUAL_PENALTY = 3e-4
"""The penalty, relative as above, where rows are too few to choose one."""

WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Weights tried, besides 0, "trusted rows only"."""

FIRST_WEIGHT = 0.3
"""The weight at which the penalty is chosen, if C was counted on trusted rows. The best penalty
hardly depends on it (Digits, Reuters, Music)."""

USUAL_ROUNDS = 4
"""At most so many rounds of relabelling; later ones change next to nothing (Digits, Reuters)."""

FEWEST_TRUTHS, FEWEST_LABELS = 3, 30
"""Nothing is chosen on fewer rows than so many per class, in the mean."""

THIN_EVIDENCE = float(np.log(20.0))
"""Log-losses on all held-out rows together are logarithms of likelihoods: candidates that differ by
less than this, 20 to 1, are as good. A handful of rows, all predicted rightly, would otherwise
decide by the last digits of losses next to 0."""

CLEARLY = 2.0
"""Standard errors by which a simple model must be better to be taken instead. Rounds gain more than
log-losses on a few truths can tell: on Reuters at one standard error they were given up where they
had raised accuracy from 0.88 to 0.92."""

SEARCH_TOL, SEARCH_MATRIX_STEPS = 3e-4, 5
"""Tolerance of fits that are only compared, and steps of C between them."""


class Candidate(NamedTuple):
    """Settings to be tried."""

    l2: float
    noisy_weight: float
    believed: bool = False
    """Whether labels are taken as they are, and not through C."""


FitWithout = Callable[[int, Candidate, LikelihoodState | None], LikelihoodState]
"""Fit a candidate without the rows of a fold, from a state on."""


def penalty_unit(engine: Engine) -> float:
    """Return the mean squared distance of a row from the mean, or from 0 without an intercept.

    Weighted, so that weights are frequencies; 1 if the rows are all the same.
    """
    total = float(engine.code_counts.sum())
    features = engine.n_features - engine.intercept
    unit = float(engine.feature_squares()[:features].sum()) / total
    if engine.intercept:
        mean = engine.code_sums().sum(axis=0)[:features] / total
        spread = unit - float(mean @ mean)
        unit = spread if spread > 1e-9 * unit else unit
    return unit if np.isfinite(unit) and unit > 0 else 1.0


@dataclass
class Search:
    """Candidates tried so far, and how to try others.

    Parameters
    ----------
    rows : what to judge by
    fit_without : fits of the folds
    intercept : whether the last weight of a class is its intercept
    given : whether C is known. If it was counted on trusted rows, and these are too few to tell
        weights apart, they are too few for C as well: thin evidence then speaks for no weight
    """

    rows: HeldOutRows
    fit_without: FitWithout
    intercept: bool
    given: bool = True
    scores: dict[Candidate, FloatArray] = field(default_factory=dict)
    chosen: Candidate | None = None

    def walk(
        self,
        candidates: Sequence[Candidate],
        which: BoolArray,
        states: Sequence[LikelihoodState] | None = None,
    ) -> tuple[Candidate, list[LikelihoodState]]:
        """Try candidates in turn until their loss has risen twice; return the best of them.

        With it come the states of its fits, to go on from.
        """
        best, reached = candidates[0], list[LikelihoodState]()
        risen, least = 0, np.inf
        for candidate in candidates:
            states = [
                self._fit(fold, candidate, None if states is None else states[fold])
                for fold in range(FOLDS)
            ]
            self.scores[candidate] = self.rows.scores([s.weights for s in states], self.intercept)
            loss = self.loss(candidate, which)
            risen = 0 if loss < least else risen + 1
            if loss < least or not reached:
                best, reached, least = candidate, states, loss
            elif risen == 2:
                break
        return best, reached

    def _fit(
        self, fold: int, candidate: Candidate, state: LikelihoodState | None
    ) -> LikelihoodState:
        if state is not None:  # a copy: another walk may go on from there, too
            state = LikelihoodState(state.weights.copy(), state.matrix.copy())
        found = self.fit_without(fold, candidate, state)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def loss(self, candidate: Candidate, which: BoolArray) -> float:
        """Return the mean loss of a candidate on some of the rows."""
        losses = self.rows.losses(self.scores[candidate], which)
        return float(np.average(losses, weights=self.rows.weight[which]))

    def best_loss(self, which: BoolArray) -> float:
        """Return the mean loss of what was chosen on some of the rows."""
        assert self.chosen is not None
        return self.loss(self.chosen, which)

    def as_good(
        self,
        one: FloatArray,
        best: FloatArray,
        which: BoolArray,
        errors: float = 1.0,
        thin: float = THIN_EVIDENCE,
    ) -> bool:
        """Whether losses on some of the rows are not above others by so many standard errors."""
        weight = self.rows.weight[which]
        excess, error = mean_and_error(one - best, weight)
        return excess <= max(errors * error, thin / float(weight.sum()))

    def largest_weight(self, candidates: Sequence[Candidate], which: BoolArray) -> Candidate:
        """Return the candidate with the largest weight that is as good as the best.

        The trusted rows are few, and losses on them differ by chance; the noisy rows are many.
        Where it cannot be told that they do harm, they should count.
        """
        losses = {c: self.rows.losses(self.scores[c], which) for c in candidates}
        best = min(candidates, key=lambda c: self.loss(c, which))
        thin = THIN_EVIDENCE if self.given else 0.0
        as_good = [c for c in candidates if self.as_good(losses[c], losses[best], which, thin=thin)]
        return max(as_good, key=lambda c: c.noisy_weight)

    def choose_weight(
        self, best: Candidate, states: list[LikelihoodState], penalties: Sequence[float]
    ) -> Candidate:
        """Go on from the best penalty to other weights; return the candidate to take."""
        truth = self.rows.truth
        larger = [w for w in reversed(WEIGHTS) if w > best.noisy_weight]
        smaller = [w for w in WEIGHTS if w < best.noisy_weight]
        for weights in filter(None, (larger, smaller)):
            self.walk([best._replace(noisy_weight=w) for w in weights], truth, states)
        weighed = [c for c in self.scores if c.l2 == best.l2]
        alone, _ = self.walk([Candidate(l2, 0.0) for l2 in penalties], truth)
        return self.largest_weight([*weighed, alone], truth)

    @property
    def best_simple(self) -> Candidate | None:
        """The better one of labels believed and trusted rows alone, by truths; None if not tried.

        Labels believed means both mixed: trusted rows enter with their truth. With their labels
        instead, a few rows would be worse, and all others the same.
        """
        simple = [c for c in self.scores if c.believed or c.noisy_weight == 0]
        return min(simple, key=lambda c: self.loss(c, self.rows.truth)) if simple else None

    def simpler(self, judged: tuple[FloatArray, FloatArray] | None) -> Candidate | None:
        """Return what predicts held-out truths clearly better than what was chosen, if any does.

        That is labels believed as they are, or the trusted rows alone, each at its best penalty.

        Parameters
        ----------
        judged : what models that have not seen a row say of all rows that can be held out, before
            rounds of relabelling and after them, two of (n, Q), if there were any. They have learnt
            from fewer rows than the fits of the search, so that only their difference counts; and
            not even that where labels have no weight: rounds then only repeat what the trusted rows
            said, and truths held out of them are no judge of it
        """
        truth, best = self.rows.truth, self.best_simple
        if best is None or self.chosen is None:
            return None
        ours = self.rows.losses(self.scores[self.chosen], truth)
        if judged is not None and self.chosen.noisy_weight > 0:
            before, after = (self.rows.losses(logs[self.rows.places], truth) for logs in judged)
            ours = ours + after - before
        theirs = self.rows.losses(self.scores[best], truth)
        return None if self.as_good(ours, theirs, truth, CLEARLY) else best

    def table(self) -> dict[str, FloatArray]:
        """Return what was tried, and the losses: on trusted rows if any are judged by."""
        truth = self.rows.truth
        which = truth if truth.any() else ~truth
        tried = list(self.scores)
        return {
            "l2": np.array([c.l2 for c in tried]),
            "noisy_weight": np.array([c.noisy_weight for c in tried]),
            "believed": np.array([float(c.believed) for c in tried]),
            "loss": np.array([self.loss(c, which) for c in tried]),
            "chosen": np.array([float(c == self.chosen) for c in tried]),
        }
