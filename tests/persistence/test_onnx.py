"""Exported models say what the models say, by the word of onnxruntime."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from problems import make_problem
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unconfused import (
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedLogisticRegression,
)
from unconfused._text import pip_install
from unconfused.kernels import kernel_projection
from unconfused.persistence import ExportError, to_onnx

pytestmark = pytest.mark.slow

PROBLEM = make_problem(n=400, d=6)
X, Y, C = PROBLEM.X.astype(np.float32), PROBLEM.y, PROBLEM.C
NAMES = np.array(["ant", "bee", "cät", "dog"])
LABELS = {
    "integers": Y,
    "text": NAMES[Y],
    "objects": NAMES.astype(object)[Y],
    "negative": Y - 7,
    "two": Y % 2,
    "two words": NAMES[Y % 2],
    "booleans": Y > 1,
}
LEARNERS = {
    "logistic": UnconfusedLogisticRegression(l2=1e-3),
    "logistic, no intercept": UnconfusedLogisticRegression(l2=1e-3, fit_intercept=False),
    "uma": UMAClassifier(),
    "online": UltraconservativeClassifier(average=True, random_state=0),
}


def run(graph, inputs):
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return SimpleNamespace(**dict(zip(names, session.run(None, inputs), strict=True)))


def agrees(model, graph, rows, inputs, tie=1e-4):
    found = run(graph, inputs)
    scores = model.decision_function(rows)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    first, second = np.sort(scores, axis=1)[:, [-1, -2]].T
    clear = first - second > tie
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found.label[clear], model.predict(rows)[clear])
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found.probabilities, model.predict_proba(rows), atol=1e-5)
    else:
        scale = np.abs(scores).max()
        np.testing.assert_allclose(found.scores / scale, scores / scale, atol=1e-5)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_of_all_kinds(learner, labels):
    model = LEARNERS[learner].fit(X, LABELS[labels])
    agrees(model, to_onnx(model), X, {"X": X})


def test_the_confusion_matrix_and_votes_need_no_part_in_it():
    model = UnconfusedLogisticRegression(C).fit(X, Y)
    agrees(model, to_onnx(model), X, {"X": X})
    model = UnconfusedLogisticRegression().fit(X, np.column_stack([Y, Y, Y[::-1]]))
    agrees(model, to_onnx(model), X, {"X": X})


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_whole_pipeline_of_numbers(learner):
    rows = np.where(np.random.RandomState(0).rand(*X.shape) < 0.1, np.nan, 30 * X + 7)
    rows = rows.astype(np.float32)
    steps = SimpleImputer(), StandardScaler(), PCA(4), LEARNERS[learner]
    model = make_pipeline(*steps).fit(rows, NAMES[Y])
    agrees(model, to_onnx(model), rows, {"X": rows})


def frame_of_columns():
    rng = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "size": np.where(rng.rand(len(X)) < 0.1, np.nan, X[:, 0]).astype(np.float32),
            "age": X[:, 1],
            "colour": np.array(["red", "blue", "green"], dtype=object)[rng.randint(3, size=len(X))],
            "text": [f"The {NAMES[k % 3]}'s a word-{k}" for k in rng.randint(9, size=len(X))],
            "unused": 1,
        }
    )


def columns_of(*, words):
    parts = [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["size", "age"]),
        ("names", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
    ]
    return ColumnTransformer([*parts, *([("words", TfidfVectorizer(), "text")] if words else [])])


def inputs_of(frame, graph):
    return {one.name: frame[one.name].to_numpy().reshape(-1, 1) for one in graph.graph.input}


@pytest.mark.parametrize("words", [False, True])
def test_columns_of_all_kinds(words):
    frame = frame_of_columns()
    model = make_pipeline(columns_of(words=words), UnconfusedLogisticRegression(l2=1e-3))
    model.fit(frame, NAMES[Y])
    graph = to_onnx(model, example=frame.head(50), text_locale="C.UTF-8" if words else None)
    assert {one.name for one in graph.graph.input} == {"size", "age", "colour"} | (
        {"text"} if words else set()
    )
    frame.loc[0, "colour"] = "never seen"
    agrees(model, graph, frame, inputs_of(frame, graph))


def test_names_that_a_graph_cannot_have():
    frame = frame_of_columns()[["size", "colour"]].set_axis(["size in cm", "col.our"], axis=1)
    parts = [("n", StandardScaler(), ["size in cm"]), ("c", OneHotEncoder(), ["col.our"])]
    model = make_pipeline(ColumnTransformer(parts), UnconfusedLogisticRegression(l2=1e-3))
    kept = frame.notna().all(axis=1).to_numpy()
    frame = frame[kept]
    model.fit(frame, NAMES[Y[kept]])
    graph = to_onnx(model, example=frame.head(50))
    names = [one.name for one in graph.graph.input]
    assert names[0] == "size_in_cm" and len(names) == 2
    columns = zip(names, frame.columns, strict=True)
    agrees(model, graph, frame, {n: frame[c].to_numpy().reshape(-1, 1) for n, c in columns})


def test_text_alone():
    texts = frame_of_columns()["text"].to_numpy(dtype=object)
    model = make_pipeline(TfidfVectorizer(), UMAClassifier(tol=0.0)).fit(texts, Y % 2)
    graph = to_onnx(model, example=texts, text_locale="C.UTF-8")
    with pytest.raises(ExportError, match=r"pass text_locale='C\.UTF-8'"):
        to_onnx(model, example=texts, text_locale="xx_XX.UTF-8")
    agrees(model, graph, texts, {"X": texts.reshape(-1, 1)}, tie=1e-6)


class LearnsAnother(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.learner_ = UnconfusedLogisticRegression().fit(X, y)
        self.classes_ = self.learner_.classes_
        return self


def test_of_a_classifier_that_trains_another_the_other_is_exported():
    inner = LearnsAnother().fit(X, Y).learner_
    agrees(inner, to_onnx(LearnsAnother().fit(X, Y)), X, {"X": X})
    model = make_pipeline(StandardScaler(), LearnsAnother()).fit(X, Y)
    graph = to_onnx(model)
    np.testing.assert_allclose(
        run(graph, {"X": X}).probabilities,
        model[-1].learner_.predict_proba(model[0].transform(X)),
        atol=1e-5,
    )
    assert isinstance(model[-1], LearnsAnother), "the model in memory is left alone"


def test_a_graph_in_a_file(tmp_path):
    model = UMAClassifier().fit(X, Y)
    path = tmp_path / "model.onnx"
    graph = to_onnx(model, path)
    assert path.read_bytes() == graph.SerializeToString()
    with pytest.raises(ExportError, match="exists already"):
        to_onnx(model, path)
    to_onnx(model, path, force=True, target_opset=15)
    with pytest.raises(ExportError, match="no folder"):
        to_onnx(model, tmp_path / "missing" / "m.onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_graph_that_says_something_else_is_not_handed_out():
    """skl2onnx leaves the indicators of missing cells out, without a word."""
    rows = np.where(np.random.RandomState(0).rand(*X.shape) < 0.2, np.nan, X).astype(np.float32)
    model = make_pipeline(SimpleImputer(add_indicator=True), UMAClassifier()).fit(rows, Y)
    for example in (None, rows):
        with pytest.raises(ExportError, match=r"SimpleImputer > UMAClassifier cannot be exported"):
            to_onnx(model, example=example)
    far = X.astype(np.float64) + 1e7
    model = make_pipeline(StandardScaler(), UMAClassifier()).fit(far, Y)
    with pytest.raises(ExportError, match="too large for float32"):
        to_onnx(model, example=far)


def test_what_cannot_be_exported():
    with pytest.raises(ExportError, match="Only scikit-learn"):
        to_onnx({"a": 1})
    with pytest.raises(ExportError, match="not fitted"):
        to_onnx(UMAClassifier())
    with pytest.raises(ExportError, match="not a classifier"):
        to_onnx(StandardScaler().fit(X))
    with pytest.raises(ExportError, match="integers or text"):
        to_onnx(UMAClassifier().fit(X, (Y % 2).astype(float)))
    kernel = make_pipeline(kernel_projection(5), UMAClassifier()).fit(X, Y)
    with pytest.raises(ExportError, match="KernelProjection > UMAClassifier cannot be exported"):
        to_onnx(kernel)
    frame = frame_of_columns()
    model = make_pipeline(columns_of(words=False), UMAClassifier()).fit(frame, Y)
    with pytest.raises(ExportError, match="pass example="):
        to_onnx(model)
    texts = frame["text"].to_numpy(dtype=object)
    with pytest.raises(ExportError, match="pass example=, a list of a few texts"):
        to_onnx(make_pipeline(TfidfVectorizer(), UMAClassifier(tol=0.0)).fit(texts, Y % 2))
    with pytest.raises(ExportError, match="no column 'age'"):
        to_onnx(model, example=frame.drop(columns="age"))


def test_without_skl2onnx_the_extra_is_named():
    code = (
        "import sys; sys.modules['skl2onnx'] = None\n"
        "from unconfused import UMAClassifier, persistence\n"
        "try:\n"
        "    persistence.to_onnx(UMAClassifier())\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert pip_install("onnx") in said.stdout
