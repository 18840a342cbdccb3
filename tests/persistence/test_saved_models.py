"""Models that went through a file: the same predictions, the same way on."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from crafted_models import crafted, drop_attribute
from problems import make_problem
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import unconfused
from unconfused import (
    UltraconservativeClassifier,
    UMAClassifier,
    UnconfusedLogisticRegression,
    confusion,
    persistence,
)
from unconfused.kernels import kernel_projection
from unconfused.persistence.allowed import table
from unconfused.selection import ByConfusion
from unconfused.steps import STEPS

pytestmark = pytest.mark.slow

PROBLEM = make_problem(n=300)
X, Y, C = PROBLEM.X, PROBLEM.y, PROBLEM.C
TRUTH = np.where(np.arange(len(Y)) % 5 == 0, PROBLEM.true, -1)
NAMES = np.array(["ant", "bee", "cat", "dog"])


def through_a_file(model, tmp_path):
    return unconfused.load(unconfused.save(model, tmp_path / "model.skops", force=True))


MODELS = {
    "uma": lambda: UMAClassifier(C).fit(X, Y),
    "uma, no update": lambda: UMAClassifier(C, init="means", tol=1e9).fit(X, Y),
    "uma, averaged, at random": lambda: UMAClassifier(
        C, average=True, selection="random", random_state=np.random.RandomState(0)
    ).fit(X, Y),
    "uma, parts as objects": lambda: UMAClassifier(
        C, selection=ByConfusion(), step=STEPS["mira"]
    ).fit(X, Y),
    "uma, trusted rows": lambda: UMAClassifier().fit(X, Y, y_true=TRUTH),
    "uma, float32": lambda: UMAClassifier(C).fit(X.astype(np.float32), Y),
    "uma, two classes": lambda: UMAClassifier().fit(X, Y > 1),
    "uma, object labels": lambda: UMAClassifier(C).fit(X, NAMES.astype(object)[Y]),
    "uma, an estimate": lambda: UMAClassifier(confusion.from_trusted(PROBLEM.true, Y)).fit(X, Y),
    "logistic": lambda: UnconfusedLogisticRegression(C).fit(X, NAMES[Y]),
    "logistic, trusted rows": lambda: UnconfusedLogisticRegression().fit(X, Y, y_true=TRUTH),
    "logistic, votes": lambda: UnconfusedLogisticRegression().fit(X, np.column_stack([Y, Y[::-1]])),
    "online": lambda: UltraconservativeClassifier(average=True, random_state=0).fit(X, Y),
    "scaled": lambda: make_pipeline(StandardScaler(), UMAClassifier(C)).fit(X, Y),
    "nystroem": lambda: make_pipeline(
        Nystroem(n_components=9, random_state=0), UMAClassifier(C)
    ).fit(X, Y),
    "kernel": lambda: make_pipeline(kernel_projection(9), UMAClassifier(C)).fit(X, Y),
    "kernel, many rows": lambda: make_pipeline(
        kernel_projection(9, exact_limit=50, random_state=0), UMAClassifier(C)
    ).fit(X, Y),
}


@pytest.mark.filterwarnings("ignore:UMA made no update")
@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model = MODELS[name]()
    loaded = through_a_file(model, tmp_path)
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert list(loaded.get_params()) == list(model.get_params())
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(
            loaded.label_posterior(X, model.predict(X)), model.label_posterior(X, model.predict(X))
        )


def test_columns_of_all_kinds(tmp_path):
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(300) % 7 == 0, np.nan, X[:, 0]),
            "colour": np.array(["red", "blue", None], dtype=object)[np.arange(300) % 3],
            "text": NAMES[Y],
        }
    )
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
            ("names", OneHotEncoder(handle_unknown="ignore"), ["colour"]),
            ("words", TfidfVectorizer(), "text"),
        ]
    )
    model = make_pipeline(columns, UMAClassifier()).fit(frame, NAMES[Y])
    loaded = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    header = persistence.read_header(tmp_path / "model.skops")
    assert header.feature_names == ["size", "colour", "text"]
    assert header.classes == NAMES.tolist()
    assert header.estimator == "Pipeline(ColumnTransformer, UMAClassifier)"


@pytest.mark.parametrize("seed", [0, None])
def test_chance_goes_on_where_it_stood(seed, tmp_path):
    model = UMAClassifier(
        C, selection="random", warm_start=True, max_iter=5, tol=0.0, random_state=seed
    ).fit(X, Y)
    loaded = through_a_file(model, tmp_path)
    for one in (model, loaded):
        one.fit(X, Y)
    assert loaded.n_iter_ == model.n_iter_ == 10
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    for name, column in model.history_.items():
        np.testing.assert_array_equal(loaded.history_[name], column)
        assert loaded.history_[name].dtype == column.dtype


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("make", [UMAClassifier, UltraconservativeClassifier])
def test_chunks_go_on_after_loading(make, average, tmp_path):
    model = make(average=average).partial_fit(X[:150], Y[:150], classes=[0, 1, 2, 3])
    loaded = through_a_file(model, tmp_path)
    for one in (model, loaded):
        one.partial_fit(X[150:], Y[150:])
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_the_likelihood_goes_on_after_loading(tmp_path):
    model = UnconfusedLogisticRegression(C, warm_start=True, tol=1e-3).fit(X, Y)
    loaded = through_a_file(model, tmp_path)
    for one in (model, loaded):
        one.set_params(tol=1e-6).fit(X, Y)
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.history_["objective"], model.history_["objective"])


def test_a_file_does_not_grow_with_the_rows_behind_votes(tmp_path):
    votes = np.column_stack([Y, Y[::-1]])
    sizes = []
    for repeats in (1, 20):
        rows = np.tile(X, (repeats, 1)), np.tile(votes, (repeats, 1))
        model = UnconfusedLogisticRegression(l2=1e-4, max_iter=5).fit(*rows)
        sizes.append(unconfused.save(model, tmp_path / "m", force=True).stat().st_size)
    assert sizes[1] < 1.2 * sizes[0]


def test_a_labelled_frame_keeps_its_labels(tmp_path):
    order = [2, 0, 3, 1]
    frame = pd.DataFrame(C, index=NAMES, columns=NAMES).iloc[order, order[::-1]]
    model = make_pipeline(StandardScaler(), UMAClassifier(frame, max_iter=20)).fit(X, NAMES[Y])
    loaded = through_a_file(model, tmp_path)
    assert model[-1].confusion is frame, "the model in memory is left alone"
    assert loaded[-1].confusion.classes.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(loaded[-1].confusion_, model[-1].confusion_)
    np.testing.assert_array_equal(loaded.fit(X, NAMES[Y])[-1].coef_, model[-1].coef_)


def test_classes_given_as_a_series(tmp_path):
    model = UMAClassifier(classes=pd.Series(range(4))).fit(X, Y)
    assert through_a_file(model, tmp_path).classes.tolist() == [0, 1, 2, 3]


def test_classes_given_as_a_range(tmp_path):
    model = UMAClassifier(classes=range(4)).partial_fit(X, Y)
    loaded = through_a_file(model, tmp_path)
    assert loaded.classes == [0, 1, 2, 3] and model.classes == range(4)
    for one in (model, loaded):
        one.partial_fit(X, Y)
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_a_parameter_that_a_file_does_not_know_yet(tmp_path):
    """Files by a version in which it was not there get its default."""
    model = UMAClassifier(C, average=True).fit(X, Y)
    (tmp_path / "m").write_bytes(
        crafted(model, lambda schema, parts: drop_attribute(schema, "n_jobs"))
    )
    loaded = unconfused.load(tmp_path / "m")
    assert list(loaded.get_params()) == list(model.get_params()) and loaded.n_jobs is None


def test_a_file_outlasts_the_modules_its_types_were_in(tmp_path):
    model = UMAClassifier(C, step="mira", max_iter=3).fit(X, Y)

    def by_an_older_version(schema, parts):
        text = json.dumps(schema)
        moved = re.sub(r'"unconfused\.[\w.]+"', '"unconfused.where.it.was"', text)
        assert moved != text
        schema.update(json.loads(moved))

    (tmp_path / "m").write_bytes(crafted(model, by_an_older_version))
    loaded = unconfused.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_types_of_this_package_have_names_of_their_own():
    ours = [name for name in table() if name.startswith("unconfused.")]
    made = {kind.made for kind in table().values() if kind.made.__module__.startswith("unconfused")}
    assert len(ours) == len(made) > 20


def test_what_is_kept_with_a_model(tmp_path):
    model = UMAClassifier(C).fit(X, Y)
    metadata = {"trained by": "Ann", "rows": 300, "tags": ["a", "b"]}
    path = unconfused.save(model, tmp_path / "model.skops", metadata=metadata)
    header = persistence.read_header(path)
    assert header.metadata == metadata
    assert header.classes == [0, 1, 2, 3] and header.n_features == 4
    assert header.versions["unconfused"] == unconfused.__version__
    assert set(header.versions) >= {"scikit-learn", "numpy"}


def test_a_saved_model_is_a_skops_file(tmp_path):
    import skops.io

    model = UMAClassifier(C).fit(X, Y)
    path = unconfused.save(model, tmp_path / "model.skops")
    loaded = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_a_vocabulary_is_not_a_file_for_every_word(tmp_path):
    texts = [f"word{i} word{i + 1}" for i in range(60)]
    model = make_pipeline(TfidfVectorizer(max_features=50), UMAClassifier(tol=0.0))
    model.fit(texts, Y[:60])
    assert type(next(iter(model[0].vocabulary_.values()))) is not int
    path = unconfused.save(model, tmp_path / "model.skops")
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) < 40
    np.testing.assert_array_equal(unconfused.load(path).predict(texts), model.predict(texts))


def test_the_page_about_it_runs(tmp_path, monkeypatch):
    page = Path(__file__).resolve().parents[2] / "docs" / "saved_models.md"
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["iris.onnx", "iris.skops"]


def test_large_empty_weights_can_be_loaded_again(tmp_path):
    model = UltraconservativeClassifier(max_iter=1).fit(np.eye(2, 200_000), [0, 1])
    assert through_a_file(model, tmp_path).predict(np.eye(2, 200_000)).tolist() == [0, 1]
