"""Few labels and many unlabelled rows: pseudo-labels, learnt through their confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.utils import get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from unconfused._arguments import random_state as make_random_state
from unconfused._labels import encode_labels
from unconfused._pipelines import seeded
from unconfused._typing import ArrayLike, FloatArray, Labels
from unconfused.estimators._accuracy import accuracy_where_known
from unconfused.estimators._base import all_at_once
from unconfused.estimators._noisy import checked_labels, checked_weight
from unconfused.estimators.logistic import UnconfusedLogisticRegression
from unconfused.estimators.self_labeling.partly_labelled import PartlyLabelled
from unconfused.estimators.self_labeling.rounds import Labeler, Learner, Round, Rounds

Method = TypeVar("Method", bound=Callable[..., Any])

SETTLED = 0.01
"""Rounds end when no entry of the confusion matrix changes by more than this."""


def _learner_has(method: str) -> Callable[[Method], Method]:
    """Make a method available only if every learner that may be chosen has it."""

    def check(self: SelfLabelingClassifier) -> bool:
        fitted = hasattr(self, "learner_")
        learners = [self.learner_] if fitted else self._given_learners()
        return all(hasattr(learner, method) for learner in learners)

    offered: Callable[[Method], Method] = available_if(check)
    return offered


class SelfLabelingClassifier(ClassifierMixin, BaseEstimator):
    """Learn from few labelled and many unlabelled rows.

    A labeller is trained on the labelled rows and labels all others. Its confusion matrix is
    counted on held-out labelled rows, and a learner is trained on all rows through that matrix
    (Example 1 of Louche and Ralaivola). The known labels can be used as trusted rows, and the
    learner can replace the labeller in further rounds.

    Parameters
    ----------
    labeler : classifier, list of classifiers, or None
        Any scikit-learn classifier. Of several, the one with the lowest cross-validated error is
        used. None: logistic regression with two penalties, and a support vector machine with a
        Gaussian kernel. Classifiers from `sklearn.semi_supervised`, and those with an attribute
        ``takes_unlabelled = True``, also get the unlabelled rows; their `y` has the classes coded
        from 0 to Q - 1, and -1 for unlabelled.
    learner : classifier, list of classifiers, or None
        `UnconfusedLogisticRegression`, `UMAClassifier`, a pipeline that ends in one, or any other
        with a parameter `confusion`. Of several, the one that predicts held-out labels best is
        used. None: `UnconfusedLogisticRegression` with the penalties 1e-4, 1e-5 and 1e-6.
    cv : int, float, splitter or iterable of splits
        On which labelled rows the labeller's mistakes are counted. An int: on all of them, by
        cross-validation with this number of folds (fewer if classes have fewer labels). A float:
        on this share, held out from the labeller. Or a splitter, or pairs of training and test
        indices among the labelled rows; with a single split the labeller is trained on its training
        rows only.
    use_known_labels : bool
        Whether the learner also gets the known labels, as `y_true`, or only the labeller's labels.
    n_rounds : int
        Maximum number of rounds. From the second on, the learner of the last round is the labeller.
        Rounds end early when the confusion matrix no longer changes.
    missing_label : "auto" or a value
        Value that marks unlabelled rows, besides None and NaN. "auto": -1, if `y` holds integers
        with at least two other classes. Otherwise -1 is a class.
    n_jobs : int or None
        Number of folds fitted in parallel, as in joblib.
    random_state : int, RandomState or None
        Seed of the folds, and of labellers and learners whose own `random_state` is None.

    Attributes
    ----------
    classes_ : the classes, sorted
    labeler_ : the labeller of the last round; from the second round on, a learner
    learner_ : the fitted learner, used for predictions
    confusion_ : ConfusionEstimate of `labeler_`, from held-out rows
    labels_ : (n,), labels by `labeler_` of all rows, the labelled ones included
    n_rounds_ : number of rounds
    history_ : dict of arrays, one entry per round: `noise_rate` (estimated share of wrong labels),
        `change` (largest move of an entry of the matrix), `relabelled` (share of labels that
        changed), `noisy_weight` (weight of the labeller's labels relative to known ones; NaN if the
        learner sets it)

    Notes
    -----
    A confusion matrix assumes that mistakes depend on the class only, but those of a labeller are
    concentrated near its decision boundaries. If the learner has ``noisy_weight="auto"``, the
    weight is therefore chosen here, by the calibrated log-loss on labels held out from both
    labeller and learner. (The learner itself would choose it on rows that the labeller was trained
    on.) The learner is overconfident: calibrate it before you rely on `predict_proba`.

    The labeller should see something that the learner does not: another kind of boundary, or the
    unlabelled rows. With a linear labeller, a linear learner gains little.

    Examples
    --------
    Ten images of each digit have a label, 1,697 images have none:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from unconfused import SelfLabelingClassifier, UnconfusedLogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> rng = np.random.RandomState(0)
    >>> partly = np.full(len(y), -1)
    >>> for digit in range(10):
    ...     partly[rng.choice(np.flatnonzero(y == digit), 10, replace=False)] = digit
    >>> learner = UnconfusedLogisticRegression(noisy_weight=0.3)
    >>> clf = SelfLabelingClassifier(SVC(C=10), learner, random_state=0)
    >>> print(f"{clf.fit(X / 16, partly).score(X / 16, y):.1f}")
    0.9
    >>> clf.confusion_
    ConfusionEstimate(10 classes, 100 counts, noise rate ..., condition number ...)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "labeler": [HasMethods(["fit", "predict"]), list, tuple, None],
        "learner": [HasMethods(["fit", "predict"]), list, tuple, None],
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            HasMethods(["split"]),
            "array-like",
        ],
        "use_known_labels": ["boolean"],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        labeler: Any = None,
        learner: Any = None,
        *,
        cv: Any = 5,
        use_known_labels: bool = True,
        n_rounds: int = 1,
        missing_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.labeler = labeler
        self.learner = learner
        self.cv = cv
        self.use_known_labels = use_known_labels
        self.n_rounds = n_rounds
        self.missing_label = missing_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Declare what scikit-learn may pass in: what both parts take."""
        tags = super().__sklearn_tags__()
        parts = [get_tags(part) for part in [*self._given_labelers(), *self._given_learners()]]
        tags.input_tags.sparse = all(part.input_tags.sparse for part in parts)
        tags.input_tags.allow_nan = all(part.input_tags.allow_nan for part in parts)
        return tags

    @all_at_once
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows of which some are labelled.

        Parameters
        ----------
        X : array, sparse matrix or frame that labeller and learner take, of shape (n, d)
        y : the labels, missing (see `missing_label`) where unknown. Every class needs two
        sample_weight : frequency weight of every row, passed to the parts that take weights

        Returns
        -------
        The fitted classifier.
        """
        self._validate_params()
        data = self._check_data(X, y, sample_weight)
        rng = make_random_state(self.random_state)
        rounds = Rounds(
            data,
            data.split(self.cv, rng),
            [Labeler(seeded(one, rng)) for one in self._given_labelers()],
            [Learner(seeded(one, rng), self.use_known_labels) for one in self._given_learners()],
            self.n_jobs,
        )
        self.classes_ = data.classes
        self._run(rounds)
        return self

    def _run(self, rounds: Rounds) -> None:
        labeler, now = rounds.first()
        history = [_record(now, None)]
        while len(history) < self.n_rounds:
            before, labeler = now, now.fitted
            now = rounds.next(before)
            history.append(_record(now, before))
            if history[-1]["change"] < SETTLED:
                break
        self.labeler_, self.learner_, self.confusion_ = labeler, now.fitted, now.estimate
        self.labels_ = self.classes_[now.labels]
        self.n_rounds_ = len(history)
        self.history_ = {key: np.array([one[key] for one in history]) for key in history[0]}

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> PartlyLabelled:
        validate_data(self, X, skip_check_array=True)
        (X,) = indexable(X)
        labels = checked_labels(self, y, X)
        encoded = encode_labels(labels, missing_label=self.missing_label)
        weight = checked_weight(sample_weight, len(labels))
        data = PartlyLabelled(X, encoded.observed, encoded.classes, weight)
        data.refuse_too_few()
        return data

    def _given_labelers(self) -> list[Any]:
        if self.labeler is not None:
            return _candidates(self.labeler)
        linear = [LogisticRegression(C=penalty, max_iter=1000) for penalty in (1.0, 100.0)]
        return [*linear, SVC(C=10.0)]

    def _given_learners(self) -> list[Any]:
        if self.learner is not None:
            return _candidates(self.learner)
        # Without relabelling: the labeller's mistakes are not independent of the features.
        penalties = (1e-4, 1e-5, 1e-6)
        return [UnconfusedLogisticRegression(l2=l2, refine=False, relabel=0) for l2 in penalties]

    def predict(self, X: Any) -> Labels:
        """Predict the class of every row with the learner."""
        check_is_fitted(self)
        return np.asarray(self.learner_.predict(X))

    @_learner_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the learner's probability of every class for every row, (n, Q)."""
        check_is_fitted(self)
        return np.asarray(self.learner_.predict_proba(X))

    @_learner_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        check_is_fitted(self)
        return np.asarray(self.learner_.predict_log_proba(X))

    @_learner_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the learner's score of every class for every row; with two classes, of the 2nd."""
        check_is_fitted(self)
        return np.asarray(self.learner_.decision_function(X))

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the rows whose label is known."""
        return accuracy_where_known(self, self.predict(X), y, sample_weight, "y")


def _candidates(given: Any) -> list[Any]:
    """Return one or several estimators as a list of them."""
    candidates = list(given) if isinstance(given, list | tuple) else [given]
    if not candidates:
        raise ValueError("An empty list of labellers or learners leaves nothing to choose from.")
    return candidates


def _record(now: Round, before: Round | None) -> dict[str, float]:
    """Return the entries of `history_` for a round."""
    change = relabelled = np.nan
    if before is not None:
        change = float(np.abs(now.estimate.matrix - before.estimate.matrix).max())
        relabelled = float(np.mean(now.labels != before.labels))
    return {
        "noise_rate": now.estimate.noise_rate,
        "change": change,
        "relabelled": relabelled,
        "noisy_weight": np.nan if now.learner.noisy_weight is None else now.learner.noisy_weight,
    }
