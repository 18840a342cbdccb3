"""Fitted models of all kinds that a file may hold, for those who change files."""

import numpy as np
import pandas as pd
from problems import make_problem
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from unconfused import (
    SelfLabelingClassifier,
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedDiscriminantAnalysis,
    UnconfusedLogisticRegression,
)
from unconfused.kernels import KernelProjection

PROBLEM = make_problem(n=120)
X, Y = PROBLEM.X, PROBLEM.y
ROWS = X[:6].tolist()
SPARSE = sparse.csr_matrix(X)
WORDS = np.array(["ant bee cat", "bee cat dog", "dog eel", "ant fox bee", "eel fox"])[Y % 5]
COLOURS = np.array(["red", "blue", "green", "grey"], dtype=object)[Y][:, None]
FRAME = pd.DataFrame({"size": X[:, 0], "colour": COLOURS[:, 0], "text": WORDS})
SOME_LABELS = np.where(np.arange(len(Y)) % 3 == 0, PROBLEM.true, -1)


def small_uma(**given):
    return UMAClassifier(max_iter=5, random_state=np.random.RandomState(0), **given)


def columns():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2)
    parts = [("n", numbers, ["size"]), ("c", encoder, ["colour"])]
    parts.append(("t", TfidfVectorizer(), "text"))
    return ColumnTransformer(parts)


def sparse_weights():
    return LogisticRegression(C=1e3).fit(X, Y).sparsify()


ON_NUMBERS = {
    "uma": lambda: make_pipeline(StandardScaler(), small_uma()).fit(X, Y),
    "uma, averaged": lambda: small_uma(average=True).fit(X, Y),
    "likelihood": lambda: UnconfusedLogisticRegression(PROBLEM.C).fit(X, Y),
    "online": lambda: UltraconservativeClassifier(average=True, max_iter=2).fit(X, Y),
    "discriminant": lambda: UnconfusedDiscriminantAnalysis().fit(X, Y),
    "self-labelling": lambda: SelfLabelingClassifier(SVC(C=10.0)).fit(X, SOME_LABELS),
    "filled, scaled": lambda: make_pipeline(SimpleImputer(), MinMaxScaler(), small_uma()).fit(X, Y),
    "unit rows": lambda: make_pipeline(Normalizer(), small_uma()).fit(X, Y),
    "as they are": lambda: make_pipeline(FunctionTransformer(), small_uma()).fit(X, Y),
    "largest entry": lambda: make_pipeline(MaxAbsScaler(), small_uma()).fit(SPARSE, Y),
    "kernel": lambda: make_pipeline(KernelProjection(3), small_uma()).fit(X, Y),
    "kernel, sparse": lambda: make_pipeline(KernelProjection(3), small_uma()).fit(SPARSE, Y),
    "nystroem": lambda: make_pipeline(Nystroem(n_components=3), small_uma()).fit(SPARSE, Y),
    "components": lambda: make_pipeline(PCA(2), small_uma()).fit(X, Y),
    "singular vectors": lambda: make_pipeline(TruncatedSVD(2), small_uma()).fit(X, Y),
    "logistic": lambda: LogisticRegression().fit(X, Y),
    "logistic, sparse weights": sparse_weights,
    "ridge": lambda: RidgeClassifier().fit(X, Y),
    "descent": lambda: SGDClassifier(average=True).fit(X, Y),
    "perceptron": lambda: Perceptron().fit(X, Y),
    "linear machine": lambda: LinearSVC().fit(X, Y),
    "machine": lambda: SVC().fit(X, Y),
    "machine, sparse": lambda: SVC().fit(SPARSE, Y),
    "tree": lambda: DecisionTreeClassifier().fit(X, Y),
    "forest": lambda: RandomForestClassifier(2, max_depth=4).fit(X, Y),
    "extra trees": lambda: ExtraTreesClassifier(2, max_depth=4).fit(X, Y),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(X, Y),
}

ON_WORDS = {
    "counts": lambda: make_pipeline(CountVectorizer(), small_uma()).fit(WORDS, Y),
    "words": lambda: make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(WORDS, Y),
}

ON_LEVELS = {
    "levels": lambda: make_pipeline(OneHotEncoder(), small_uma()).fit(COLOURS, Y),
    "numbered levels": lambda: make_pipeline(OrdinalEncoder(), small_uma()).fit(COLOURS, Y),
}

ON_FRAMES = {"columns": lambda: make_pipeline(columns(), small_uma()).fit(FRAME, Y)}
