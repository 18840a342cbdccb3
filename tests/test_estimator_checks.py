"""scikit-learn's own checks of every estimator, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from unconfused import (
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedLogisticRegression,
)
from unconfused.steps import STEPS

ESTIMATORS = [
    UMAClassifier(),
    UMAClassifier(init="means", average=True, tol=1e-3, max_iter=200),
    UnconfusedLogisticRegression(),
    UnconfusedLogisticRegression(refine=True),
    *(UltraconservativeClassifier(step=step) for step in STEPS),
    UltraconservativeClassifier(average=True),
    SelfLabelingClassifier(),
    SelfLabelingClassifier(use_known_labels=False, n_rounds=2),
    SelfLabelingClassifier(learner=UMAClassifier(tol=1e-3, max_iter=200), n_rounds=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
