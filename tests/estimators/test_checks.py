"""scikit-learn's own checks of every estimator, with no expected failures."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from unconfused import (
    KernelUMAClassifier,
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)

pytestmark = pytest.mark.slow
LIKELIHOOD = UnconfusedLogisticRegression(l2=1e-3, relabel=0, refine=False)
DEFAULTS = [
    UMAClassifier(),
    KernelUMAClassifier(max_iter=100),
    UnconfusedDiscriminantAnalysis(),
    UnconfusedLogisticRegression(),
    UltraconservativeClassifier(),
    SelfLabelingClassifier(),
    UnconfusedClassifier(LogisticRegression()),
]
VARIANTS = [
    UnconfusedClassifier(GaussianNB(), "auto", max_rounds=2),
    UnconfusedClassifier(HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2)),
    UMAClassifier(init="means", average=True, tol=1e-3, max_iter=200),
    KernelUMAClassifier(kernel="linear", average=True, tol=1e-3, max_iter=50),
    UnconfusedDiscriminantAnalysis(shrinkage=0.1),
    UnconfusedLogisticRegression(l2=1e-3, refine=True, relabel=2),
    UltraconservativeClassifier(step="passive_aggressive", average=True),
    SelfLabelingClassifier(GaussianNB(), LIKELIHOOD, use_known_labels=False, n_rounds=2),
]


@pytest.fixture(autouse=True)
def one_seed():
    """Let estimators without a `random_state` draw alike in every run."""
    np.random.seed(0)  # noqa: NPY002 - what `random_state=None` stands for


@parametrize_with_checks(DEFAULTS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@parametrize_with_checks(VARIANTS)
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)
