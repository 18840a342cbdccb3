"""Any classifier, learning through the confusion matrix."""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unconfused._labels import encode_labels
from unconfused._pipelines import seeded
from unconfused._typing import ArrayLike, FloatArray, Labels
from unconfused.confusion.cross_validated import given_splits
from unconfused.confusion.estimate import ConfusionEstimate, divide_rows
from unconfused.confusion.estimation.calibration import posterior_given
from unconfused.confusion.estimation.class_probabilities import evidence_of
from unconfused.confusion.noisy import CAVEAT
from unconfused.estimators._accuracy import score_by_truth
from unconfused.estimators._arrays import one_column
from unconfused.estimators._base import FitInterrupted, all_at_once
from unconfused.estimators._noisy import refuse_no_truth
from unconfused.estimators.annotators.crowd import (
    annotator_matrices,
    are_votes,
    log_vote_chances,
    posterior_of_votes,
    publish_annotators,
)
from unconfused.estimators.automatic.held_out import fold_seed
from unconfused.estimators.relabel.evidence import FEWEST_LABELS
from unconfused.estimators.wrapping.average import Average, average_candidates
from unconfused.estimators.wrapping.base import BaseClassifier, Task
from unconfused.estimators.wrapping.soft_rounds import CrossFitted, RoundError, SoftRounds
from unconfused.estimators.wrapping.task import open_task

MOST_FITS, MOST_ROUNDS = 30, 4
"""Fits of the classifier, and rounds, that "auto" allows."""

STALE = ("annotators_", "annotator_confusion_", "annotator_silence_", "guessed_confusion_")
"""Attributes that not every fit sets."""


class UnconfusedClassifier(ClassifierMixin, BaseEstimator):
    """Train any classifier on noisy labels, through a confusion matrix.

    For models that are not linear: forests, boosted trees, networks, nearest neighbours, or a whole
    pipeline. The classifier is fitted to the labels. Its out-of-fold probabilities and the matrix
    give the posterior of each row's class (*pseudo-labels*), to which it is fitted again. Rounds of
    this are repeated as long as held-out labels do not become less likely. Finally the models
    before and after the rounds, and one fitted to the trusted rows, are averaged. The steps are
    described in "My model is not linear" in the guide.

    Parameters
    ----------
    estimator : classifier
        Any scikit-learn classifier or pipeline; it is cloned. If its `fit` takes no
        `sample_weight`, each row is used with its most likely class only, and rows are sampled by
        their weights. If it has no `predict_proba`, its decision scores are calibrated.
    confusion : array-like of shape (Q, Q), DataFrame, ConfusionEstimate, "auto" or None
        ``confusion[t, k]`` is the probability that a row of true class t has label k; rows sum to
        1. None: counted on the rows with a `y_true`; without any, labels are taken as right.
        "auto": as None, but without any `y_true` the matrix is estimated from the noisy labels, and
        used if held-out labels support it.
    cv : int, splitter or iterable of splits
        Number of folds, or splits that test every row once, such as for grouped rows. More folds
        give better out-of-fold predictions and cost more fits.
    max_rounds : int or "auto"
        Maximum number of rounds. "auto": 4, or as many as 30 fits of the classifier allow; none
        with fewer than 30 rows per class.
    classes : array-like or None
        All classes, if some may be missing from the labels; also the order of a plain `confusion`.
    missing_label : "auto" or a value
        A value that marks missing labels and truths, besides None and NaN. "auto": -1 among integer
        labels, where that is unambiguous; None: no other value.
    n_jobs : int or None
        Number of folds fitted in parallel, as in joblib.
    random_state : int, RandomState or None
        Seed of the folds, and of parts of the classifier whose own `random_state` is None. None
        always gives the same model.
    verbose : int
        Verbosity of progress messages.

    Attributes
    ----------
    classes_ : the sorted classes
    estimators_ : the fitted classifiers in the average, one to four. Use `predict_proba` of this
        object instead of theirs, which are not calibrated and may be probabilities of the label
    estimator_ : the classifier with the largest share in the average
    confusion_ : (Q, Q), the matrix in use, refined or not
    class_prior_ : (Q,), estimated share of each true class among the training rows
    n_rounds_ : number of rounds made
    n_fits_ : number of fits of the classifier
    shares_ : dict, share of each classifier in the average, by what it was fitted to: pseudo-labels
        ("rounds"), the "labels", labels and the truth where known ("mixed"; with votes, their
        majorities), or the "trusted" rows alone
    trained_on_ : what `estimator_` was fitted to, as in `shares_`
    history_ : dict of arrays: `relabelled`, the share of the rows whose class changed in each round
    guessed_confusion_ : ConfusionEstimate, if the matrix was estimated from the labels alone
    annotators_, annotator_confusion_ : the annotators, and their matrices (A, Q, Q), if the labels
        were votes
    annotator_silence_ : (A, Q), probability that an annotator gives no answer, by true class, if
        some annotators only ever give one label; NaN for the others
    cross_fitted_posterior_ : (n, Q), out-of-fold P(true class | row, label) of every training row;
        not saved in files

    Notes
    -----
    Logarithms of calibrated probabilities are averaged, with the weights that make held-out truths,
    and held-out labels given the matrix, most likely. The more rows are trusted, the more the
    truths decide.

    With "auto" and nothing known, the rounds are used if they predict held-out labels through the
    estimated matrix clearly better than models without it do, and than a model of the labels does
    through the same matrix. Otherwise two models are averaged: one fitted to all labels, and one
    without rows whose label is neither the most likely label nor, by the estimated matrix, the most
    likely class.

    With 4 folds there are 4 fits to labels, 6 to try a first round, 4 per round, 4 to the trusted
    rows and one for each model in the average, at most 30. Fits of rounds take somewhat longer,
    because a row is repeated for each class with a probability of 0.05 or more.

    Ctrl-C ends the rounds, and the models fitted so far are averaged. An interrupt during the final
    fits leaves the object as it was before.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from unconfused import UnconfusedClassifier, noise
    >>> X, y = load_digits(return_X_y=True)
    >>> C = noise.pairwise(10, 0.4)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> clf = UnconfusedClassifier(forest, C, max_rounds=2).fit(X[:1200], seen[:1200])
    >>> bool(clf.score(X[1200:], y[1200:]) > forest.fit(X[:1200], seen[:1200]).score(
    ...     X[1200:], y[1200:]) + 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        "cv": ["cv_object"],
        "max_rounds": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "classes": ["array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any,
        confusion: Any = None,
        *,
        cv: Any = 4,
        max_rounds: int | str = "auto",
        classes: ArrayLike | None = None,
        missing_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.confusion = confusion
        self.cv = cv
        self.max_rounds = max_rounds
        self.classes = classes
        self.missing_label = missing_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Declare what scikit-learn may pass in: what the classifier takes."""
        tags = super().__sklearn_tags__()
        own = get_tags(self.estimator)
        tags.input_tags = own.input_tags
        if own.classifier_tags is not None:  # `fit` refuses what is no classifier
            tags.classifier_tags.poor_score = own.classifier_tags.poor_score
        return tags

    @all_at_once
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier to noisy labels.

        Parameters
        ----------
        X : whatever the classifier takes, one entry per row: array, sparse matrix, frame, list
        y : the observed labels; may be missing where `y_true` is given. Two or more columns, or
            the result of `confusion.votes_from_long`, are votes, one annotator each
        y_true : the truth where known, missing elsewhere. Such rows count with their truth. Without
            a matrix or votes, at least one must be known
        sample_weight : frequency weight of every row

        Returns
        -------
        The fitted classifier.
        """
        self._validate_params()
        validate_data(self, X, skip_check_array=True)
        task = open_task(self, X, y, y_true, sample_weight)
        if y_true is not None and self.confusion is None and task.crowd is None:
            refuse_no_truth(task.evidence.known)
        (X,) = indexable(X)
        seed = fold_seed(self.random_state)
        rng = np.random.RandomState(seed)
        base = BaseClassifier(seeded(self.estimator, rng), task.classes, seed)
        splits = None
        if not isinstance(self.cv, Integral):
            rows = np.arange(len(task.first.classes))
            splits = [np.isin(rows, test) for _, test in given_splits(self.cv, task.first.classes)]
        rounds = SoftRounds(
            X=X,
            base=base,
            task=task,
            evidence=task.evidence,
            prior_counts=task.prior_counts,
            n_folds=int(self.cv) if splits is None else len(splits),
            splits=splits,
            n_jobs=self.n_jobs,
            seed=seed,
            verbose=int(self.verbose),
        )
        self.classes_ = task.classes
        interrupted = False
        try:
            average = self._run(task, rounds)
        except KeyboardInterrupt:
            if rounds.initial is None:  # no model yet
                raise
            average, interrupted = average_candidates(rounds, complete=False), True
        self._publish(task, rounds, average)
        if interrupted:
            raise FitInterrupted
        return self

    def _run(self, task: Task, rounds: SoftRounds) -> Average:
        """Make the rounds and average the models, or take the labels as they are."""
        n_rounds = self._most_rounds(task, rounds.n_folds)
        if not task.labels_are_true and (n_rounds or not task.guesses):
            with suppress(RoundError):  # the models before it do
                rounds.rounds(n_rounds)
        return Average([task.first]) if rounds.initial is None else average_candidates(rounds)

    def _most_rounds(self, task: Task, folds: int) -> int:
        if self.max_rounds != "auto":
            return int(self.max_rounds)
        counted = np.count_nonzero(task.evidence.sample_weight)
        if counted < FEWEST_LABELS * len(task.classes):
            return 0
        simple = int(task.trusted.any()) + (task.crowd is not None)
        others = folds + folds * (folds - 1) // 2 + (folds + 1) * simple + 2
        return int(np.clip((MOST_FITS - others) // folds, 1, MOST_ROUNDS))

    def _publish(self, task: Task, rounds: SoftRounds, average: Average) -> None:
        """Fit the models of the average, and set the fitted attributes."""
        for name in STALE:
            self.__dict__.pop(name, None)
        n_classes, weight = len(task.classes), task.evidence.sample_weight
        self.shares_, self._components = average.shares, average.components
        matrix, self._cross_fitted = average.matrix, average.found
        posterior = np.eye(n_classes)[task.first.classes]
        if average.found is not None and (matrix is not None or task.crowd is not None):
            posterior = average.found.posterior
        if matrix is not None and rounds.guessed_counts is not None:
            self.guessed_confusion_ = ConfusionEstimate(
                matrix, rounds.guessed_counts, task.classes, caveat=CAVEAT
            )
        if matrix is None:
            matrix = np.eye(n_classes) if task.guesses else task.evidence.matrix
        self.estimators_ = [rounds.base.fit(rounds.X, one) for one in average.training_sets]
        self.estimator_ = self.estimators_[0]
        self.trained_on_ = max(self.shares_, key=self.shares_.__getitem__)
        if task.crowd is not None and task.votes is not None:
            consensus = task.crowd.majority() if task.rules else posterior
            counted = weight[:, np.newaxis] * consensus
            publish_annotators(self, task.votes, annotator_matrices(task.crowd, counted))
            answers = task.crowd.counts(counted).sum(axis=0)
            matrix = divide_rows(answers[:, :n_classes], 1.0 / n_classes)
        assert matrix is not None
        self.confusion_ = matrix
        self.class_prior_ = weight @ posterior / weight.sum()
        self.n_rounds_ = len(rounds.changed) if self.shares_.get("rounds") else 0
        self.n_fits_ = rounds.n_fits + len(self.estimators_)
        self.history_ = {"relabelled": np.array(rounds.changed)}

    def predict(self, X: Any) -> Labels:
        """Predict the true class of every row."""
        check_is_fitted(self)
        if self._components is None:
            return np.asarray(self.estimator_.predict(X))
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every true class for every row, (n, Q)."""
        check_is_fitted(self)
        base = BaseClassifier(self.estimator, self.classes_, 0)
        logs = [base.log_probabilities(one, X) for one in self.estimators_]
        if self._components is None:
            table = np.exp(logs[0])
            return np.asarray(table / table.sum(axis=1, keepdims=True))
        scores = sum(one.scores(own) for one, own in zip(self._components, logs, strict=True))
        return np.asarray(softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def label_posterior(self, X: Any, y: ArrayLike) -> FloatArray:
        """Return P(true class | row, observed label), (n, Q); of the row alone where y is missing.

        One minus the entry of the observed label is the probability that this label is wrong. For
        rows of the training set use `cross_fitted_posterior_`: a classifier may have memorized
        their labels. `y` may be votes of the annotators the model was fitted with.
        """
        check_is_fitted(self)
        if are_votes(y):
            return posterior_of_votes(self, X, y)
        labels = encode_labels(
            one_column(y), classes=self.classes_, missing_label=self.missing_label
        )
        shares = self.predict_proba(X)
        check_consistent_length(shares, labels.observed)
        return posterior_given(shares, evidence_of(self.confusion_, labels.observed))

    score = score_by_truth
    _log_vote_chances = log_vote_chances  # for scorers

    @property
    def cross_fitted_posterior_(self) -> FloatArray:
        """P(true class | row, label) of every training row, (n, Q), by models of the folds."""
        found: CrossFitted | None = self.__dict__.get("_cross_fitted")
        if found is None:
            raise AttributeError(
                "There is no cross-fitted posterior: labels were taken as right, or the model was "
                "loaded from a file. Use confusion.rank_label_errors."
            )
        return found.posterior

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the predictions of the training rows, which grow with their number."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_cross_fitted", None)
        return state
