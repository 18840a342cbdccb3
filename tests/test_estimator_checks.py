"""scikit-learn's own checks of every estimator, with no expected failures."""

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from unconfused import (
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)
from unconfused.steps import STEPS

LIKELIHOOD = UnconfusedLogisticRegression(refine=False)
ESTIMATORS = [
    UMAClassifier(),
    UMAClassifier(init="means", average=True, tol=1e-3, max_iter=200),
    UnconfusedDiscriminantAnalysis(),
    UnconfusedDiscriminantAnalysis(shrinkage=0.1),
    UnconfusedLogisticRegression(),
    UnconfusedLogisticRegression(refine=True),
    *(UltraconservativeClassifier(step=step) for step in STEPS),
    UltraconservativeClassifier(average=True),
    SelfLabelingClassifier(),
    SelfLabelingClassifier(GaussianNB(), LIKELIHOOD, use_known_labels=False, n_rounds=2),
    SelfLabelingClassifier(LogisticRegression(), UMAClassifier(tol=1e-3, max_iter=200)),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
