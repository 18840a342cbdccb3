"""Discriminant analysis with noisy labels, as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from unconfused._typing import ArrayLike
from unconfused.estimators._arrays import like
from unconfused.estimators._base import SoftmaxClassifier
from unconfused.estimators._noisy import NoisyData, unmixing_for
from unconfused.estimators.dask.data import check_dask
from unconfused.solvers.discriminant import fit_discriminant


class UnconfusedDiscriminantAnalysis(SoftmaxClassifier):
    """Linear discriminant analysis for noisy labels with a confusion matrix.

    A quick fit with nothing to tune. Class means and shares are estimated by inverting the
    confusion matrix; the covariance within classes is the total covariance, which needs no labels,
    minus that of the class means. The weights have a closed form (beyond 1,000 features, a linear
    system is solved by conjugate gradients). The inverse amplifies sampling errors, as in
    `UMAClassifier`; `UnconfusedLogisticRegression` needs no inverse and is more accurate under
    heavy noise.

    Parameters
    ----------
    confusion : array-like of shape (Q, Q) or (Q, S), DataFrame, ConfusionEstimate or None
        ``confusion[t, k]`` is the probability that a row of true class t has label k; rows sum to
        1. A plain array follows `classes`, or sorted order; a DataFrame is aligned by its labels.
        None: counted on the rows with a `y_true`; without any, labels are taken as right. The
        matrix must not be singular.
    shrinkage : "auto" or float in [0, 1)
        Weight of a scaled identity in the within-class covariance, as in scikit-learn's
        LinearDiscriminantAnalysis. "auto" chooses a ridge by generalized cross-validation on the
        unmixed labels, in closed form; noisier labels lead to more shrinkage.
    fit_intercept : bool
        If False, rows are assumed centred and there is no intercept.
    classes : array-like or None
        All classes, if some may be missing from the labels; also the order of a plain `confusion`.
    missing_label : "auto" or a value
        Value that marks a missing label in `y` and `y_true`, besides None and NaN. "auto" means -1
        where that is unambiguous.
    n_jobs : int or None
        Number of threads; -1 for all cores, None for the current OpenMP limit.

    Attributes
    ----------
    classes_ : the sorted classes
    coef_, intercept_ : the weights; one row per class, or a single row with two classes
    confusion_ : (Q, S), the confusion matrix used, in the order of `classes_`
    labels_ : (S,), the labels of the columns of `confusion_`, only if they are not the classes
    class_prior_ : (Q,), estimated share of each true class among the training rows, shrunk towards
        equal shares by the amount of label noise
    means_ : (Q, d), unmixed class means
    shrinkage_ : float, weight of the identity in the covariance

    Notes
    -----
    With clean labels and a given `shrinkage` this is scikit-learn's LinearDiscriminantAnalysis.
    Label noise adds scatter to the estimated means, and so to their covariance. The expected
    scatter and two of its standard errors are subtracted. The probabilities assume normally
    distributed classes with a common covariance.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from unconfused import UnconfusedDiscriminantAnalysis, noise
    >>> X, y = load_digits(return_X_y=True)
    >>> C = noise.pairwise(10, 0.3)
    >>> seen = noise.corrupt_labels(y, C, random_state=0)
    >>> clf = UnconfusedDiscriminantAnalysis(C).fit(X / 16, seen)
    >>> print(f"{clf.score(X / 16, y):.2f}")
    0.95
    """

    _check_dask = check_dask
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SoftmaxClassifier._parameter_constraints,
        "shrinkage": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        confusion: Any = None,
        *,
        shrinkage: float | str = "auto",
        fit_intercept: bool = True,
        classes: ArrayLike | None = None,
        missing_label: Any = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.confusion = confusion
        self.shrinkage = shrinkage
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.missing_label = missing_label
        self.n_jobs = n_jobs

    def _fit(self, data: NoisyData) -> None:
        unmixing = unmixing_for(data, self.confusion, self.classes, shrunk=False)
        engine = self._engine(data.X, data.codes, data.n_codes, data.sample_weight)
        unmixing.prior(engine.code_counts)  # warns about labels that do not match the matrix
        shrinkage = None if self.shrinkage == "auto" else float(self.shrinkage)
        found = fit_discriminant(engine, unmixing, shrinkage)
        self._publish_labels(data.labels)
        self.confusion_ = unmixing.matrix
        self.class_prior_, self.shrinkage_ = found.prior, found.shrinkage
        self.means_ = like(found.means, data.X, data.X.dtype)
        self._publish_weights(found.weights, data.X, self.fit_intercept)
