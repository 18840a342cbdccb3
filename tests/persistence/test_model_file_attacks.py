"""Files made to do harm when they are loaded, or when the model in them predicts.

Each is a file with its checksum put right, tried in a process of its own, under a limit of memory
and of time, that reports every file written and every process started.
"""

import io
from functools import partial

import numpy as np
import pytest
from crafted_models import (
    add_attribute,
    crafted,
    find,
    harmed,
    node,
    saved,
    scalar,
    set_array,
    set_scalar,
    try_files,
)
from model_corpus import ON_LEVELS, ON_NUMBERS, ON_WORDS, ROWS, WORDS, X, Y, small_uma
from scipy import sparse
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import all_estimators

import unconfused
from unconfused.persistence import ModelFileError
from unconfused.persistence.allowed import table
from unconfused.persistence.checks import full_name

pytestmark = pytest.mark.slow

GOOD = ON_NUMBERS["uma"]()
BILLION = 10**9


def stacked():
    """Return a pipeline whose first steps call a method they name on an object they hold.

    With `__deepcopy__` and `tofile` on arrays, that writes any bytes to any path.
    """

    def step(method, value):
        made = StackingClassifier([("a", LogisticRegression())])
        made.estimators_, made.stack_method_ = [value], [method]
        made.classes_, made._label_encoder = np.arange(2), None
        made.final_estimator_ = LogisticRegression().fit(X, Y)
        return made

    first, second = step("__deepcopy__", np.array("path")), step("tofile", np.arange(4))
    return Pipeline([("a", first), ("b", second), ("c", LogisticRegression().fit(X, Y))])


def with_sparse_index(schema, parts):
    weights = sparse.csr_matrix(np.ones((4, 4)))
    weights.indices[3] = BILLION
    buffer = io.BytesIO()
    sparse.save_npz(buffer, weights)
    find(schema, "coef_")["coef_"] = node(
        "SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="w.npz"
    )
    parts["w.npz"] = buffer.getvalue()


def with_loss_of_a_dtype(schema, parts):
    arguments = node("TupleNode", "builtins.tuple", [scalar("O8"), scalar(False), scalar(True)])
    state = [scalar(one) for one in (3, "|", None, None, None, -1, -1, 63)]
    find(schema, "verbose")["verbose"] = node(
        "LossNode",
        "numpy.dtype",
        node("TupleNode", "builtins.tuple", state),
        __reduce__={"args": arguments},
    )


def change_nodes(name, place=0):
    """Return a change to the nodes of a tree: a field of one node gets another value."""

    def change_to(value):
        def change(nodes):
            nodes = nodes.copy()
            nodes[name][place] = value
            return nodes

        return set_array("nodes", change)

    return change_to


def entry(place, value):
    """Return a function that changes one entry of an array."""

    def change(array):
        array = array.copy()
        array.flat[place] = value
        return array

    return change


def truth_values_of_seven(schema, parts):
    array = np.lib.format.header_data_from_array_1_0(np.zeros(4, bool))
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, array)
    parts["flags.npy"] = buffer.getvalue() + b"\7\7\7\7"
    find(schema, "classes")["classes"] = node(
        "NdArrayNode", "numpy.ndarray", type="numpy", file="flags.npy"
    )


def text_beyond_unicode(schema, parts):
    bad = saved(np.array(["a", "b", "c", "d"])).replace(b"a\0\0\0", b"\xff\xff\xff\x7f")
    parts["text.npy"] = bad
    find(schema, "classes_")["classes_"]["file"] = "text.npy"


def steps_of_five(schema, parts):
    find(schema, "steps")["steps"] = scalar(5)


def vocabulary_of(value):
    def change(schema, parts):
        words = find(schema, "vocabulary_")["vocabulary_"]["content"]
        words[next(iter(words))] = scalar(value)

    return change


def widths_of(value):
    def change(schema, parts):
        find(schema, "_n_features_outs")["_n_features_outs"]["content"][0] = scalar(value)

    return change


def a_billion_outputs(schema, parts):
    find(schema, "args")["args"]["content"][2] = scalar(BILLION)


def generator_of(value):
    def change(schema, parts):
        find(schema, "pos")["pos"] = scalar(value)

    return change


ON_ROWS = {
    "a billionth column of sparse weights": ("logistic", with_sparse_index),
    "a loss that is a dtype": ("uma", with_loss_of_a_dtype),
    "support vectors of one class": ("machine", set_array("_n_support", entry(0, BILLION))),
    "support vectors, fewer than none": ("machine", set_array("_n_support", entry(0, -5))),
    "support vectors of too few classes": ("machine", set_array("_n_support", lambda n: n[:2])),
    "weights of fewer vectors": ("machine", set_array("_dual_coef_", lambda w: w[:, :3])),
    "weights of fewer classes": ("machine", set_array("_dual_coef_", lambda w: w[:1])),
    "intercepts of fewer pairs": ("machine", set_array("_intercept_", lambda w: w[:1])),
    "a kernel of precomputed rows": ("machine", set_scalar("kernel", "precomputed")),
    "a random state past its keys": ("uma", generator_of(BILLION)),
    "a random state before its keys": ("uma", generator_of(-1)),
    "a random state of few keys": ("uma", set_array("key", lambda key: key[:5])),
    "a tree's child beyond its nodes": ("tree", change_nodes("left_child")(BILLION)),
    "a tree's other child": ("tree", change_nodes("right_child")(BILLION)),
    "a tree's child before its nodes": ("tree", change_nodes("left_child")(-BILLION)),
    "a tree that is its own child": ("tree", change_nodes("left_child")(0)),
    "a tree's feature beyond the row": ("tree", change_nodes("feature")(BILLION)),
    "a tree's feature before the row": ("tree", change_nodes("feature")(-BILLION)),
    "a tree of more nodes than it has": ("tree", set_scalar("node_count", BILLION)),
    "a tree less deep than it is": ("tree", set_scalar("max_depth", 0)),
    "a tree of fewer values": ("tree", set_array("values", lambda values: values[:1])),
    "a tree of other nodes": ("tree", set_array("nodes", lambda nodes: np.zeros(len(nodes)))),
    "a tree of a billion outputs": ("tree", a_billion_outputs),
    "a boosted child beyond its nodes": ("boosting", change_nodes("left")(BILLION)),
    "a boosted tree that is its own child": ("boosting", change_nodes("right")(0)),
    "a boosted feature beyond the row": ("boosting", change_nodes("feature_idx")(BILLION)),
    "a boosted category": ("boosting", change_nodes("is_categorical")(1)),
    "a boosted tree without nodes": ("boosting", set_array("nodes", lambda nodes: nodes[:0])),
    "boosting that is still in fit": ("boosting", add_attribute("_in_fit", scalar(True))),
    "boosting of a billion classes": ("boosting", set_scalar("n_trees_per_iteration_", BILLION)),
    "weights that go on elsewhere": ("online", set_array("weights", lambda w: w[:1])),
    "averages that go on elsewhere": ("online", set_array("lag", lambda w: w[:1])),
    "a method that is data": ("uma", add_attribute("predict", scalar("x"))),
    "a method that is a setting": ("discriminant", add_attribute("predict", scalar("x"))),
    "a cache in a folder of the file's": ("uma", set_scalar("memory", "cache")),
    "a million processes": ("likelihood", set_scalar("n_jobs", 10**6)),
    "truth values of seven": ("discriminant", truth_values_of_seven),
    "text beyond Unicode": ("discriminant", text_beyond_unicode),
    "numbers of the other byte order": ("logistic", set_array("coef_", lambda w: w.astype(">f8"))),
    "steps that are a number": ("uma", steps_of_five),
    "no steps": ("uma", lambda schema, parts: find(schema, "steps")["steps"]["content"].clear()),
    "a setting that is a type": (
        "uma",
        lambda schema, parts: find(schema, "selection").update(
            selection=node("TypeNode", "numpy.float64")
        ),
    ),
    "a setting that is a part": (
        "uma",
        lambda schema, parts: find(schema, "confusion").update(
            confusion=find(schema, "_state")["_state"]
        ),
    ),
}

ON_TEXT = {
    "a word in a billionth column": ("words", vocabulary_of(BILLION)),
    "a word in a column before the first": ("counts", vocabulary_of(-1)),
    "two words in one column": ("counts", vocabulary_of(1)),
    "texts that are names of files": ("words", set_scalar("input", "filename")),
    "texts that are files": ("counts", set_scalar("input", "file")),
    "a pattern that never ends": ("words", set_scalar("token_pattern", "(a|a|b+)+$")),
    "weights of other words": ("words", set_array("idf_", lambda w: w[:2])),
    "an encoding that is a module": ("words", set_scalar("encoding", "os.path")),
}

ON_COLOURS = {
    "levels in fewer columns": ("levels", widths_of(1)),
    "levels in a billion columns": ("levels", widths_of(BILLION)),
    "levels in columns below none": ("levels", widths_of(-3)),
    "a level that is dropped": ("levels", set_scalar("drop", "first")),
}


UNLISTED = {full_name(kind): kind for _, kind in all_estimators() if full_name(kind) not in table()}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Try all files in one process; return what became of each."""
    models = {name: ON_NUMBERS[name]() for name in {name for name, _ in ON_ROWS.values()}}
    files = {
        what: (crafted(models[name], change), ROWS) for what, (name, change) in ON_ROWS.items()
    }
    words = ["a" * 40 + "!", *WORDS[:5].tolist()]
    for what, (name, change) in ON_TEXT.items():
        files[what] = crafted(ON_WORDS[name](), change), words
    levels = [["red"], ["blue"], ["grey"], ["green"]]
    for what, (name, change) in ON_COLOURS.items():
        files[what] = crafted(ON_LEVELS[name](), change), levels
    files["stacked"] = crafted(stacked()), ROWS
    for name in UNLISTED:
        unlisted = node("ObjectNode", name)
        files[name] = crafted(GOOD, partial(put_in_place_of_verbose, unlisted)), ROWS
    return try_files(files, tmp_path_factory.mktemp("attacks"), (crafted(GOOD), ROWS))


def put_in_place_of_verbose(value, schema, parts):
    find(schema, "verbose")["verbose"] = value


def all_refused(found):
    assert not harmed(found)
    not_refused = {name: said for name, said in found.items() if not said.startswith("refused")}
    assert not not_refused
    assert not any("\x1b" in said or "\n" in said for said in found.values())


@pytest.mark.parametrize("files", [ON_ROWS, ON_TEXT, ON_COLOURS], ids=["rows", "text", "levels"])
def test_what_harms_when_it_predicts_is_refused(files, found):
    all_refused({what: found[what] for what in files})


def test_methods_that_a_file_names_are_not_called(found, tmp_path):
    all_refused({"stacked": found["stacked"]})
    assert "sklearn.ensemble._stacking.StackingClassifier" in found["stacked"]
    with pytest.raises(ModelFileError, match=r"StackingClassifier.*allow=\["):
        unconfused.save(stacked(), tmp_path / "m")


def test_types_of_scikit_learn_that_are_not_listed(found):
    """Each is refused by its name, without being built."""
    assert len(UNLISTED) > 150
    all_refused({name: found[name] for name in UNLISTED})
    assert all(name in found[name] for name in UNLISTED)


@pytest.mark.parametrize(
    "model",
    [
        lambda: make_pipeline(CountVectorizer(input="filename"), small_uma()),
        lambda: make_pipeline(
            CountVectorizer(tokenizer=str.split, token_pattern=None), small_uma()
        ),
        lambda: make_pipeline(HashingVectorizer(), small_uma()),
    ],
)
def test_save_refuses_what_load_would(model, tmp_path):
    path = tmp_path / "text"
    path.write_text("ant bee")
    texts = [str(path), str(path)] * 20
    with pytest.raises(ModelFileError, match="cannot be saved"):
        unconfused.save(model().fit(texts, [0, 1] * 20), tmp_path / "m.skops")
    model = make_pipeline(FunctionTransformer(np.abs), small_uma()).fit(X, Y)
    with pytest.raises(ModelFileError, match="cannot be saved"):
        unconfused.save(model, tmp_path / "m.skops")


def test_an_allowed_type_is_taken_as_it_is(tmp_path):
    name = "sklearn.feature_extraction.text.TfidfVectorizer"
    (tmp_path / "m").write_bytes(
        crafted(ON_WORDS["words"](), set_scalar("token_pattern", r"(?u)\b\w\w\w+\b"))
    )
    with pytest.raises(ModelFileError, match="token_pattern"):
        unconfused.load(tmp_path / "m")
    assert unconfused.load(tmp_path / "m", allow=[name])[0].token_pattern == r"(?u)\b\w\w\w+\b"


def test_what_only_skops_can_build_needs_all_its_names(tmp_path):
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    with pytest.raises(ModelFileError, match="cannot be saved: it holds") as caught:
        unconfused.save(model, tmp_path / "m")
    names = eval(str(caught.value).split("allow=")[1].split("]")[0] + "]")
    path = unconfused.save(model, tmp_path / "m", allow=names)
    with pytest.raises(ModelFileError, match="which is not among"):
        unconfused.load(path, allow=names[1:])
    np.testing.assert_array_equal(unconfused.load(path, allow=names).predict(X), model.predict(X))


def test_an_escape_sequence_does_not_reach_the_message(tmp_path):
    for change in (
        partial(put_in_place_of_verbose, node("ObjectNode", "a.\x1b[2J")),
        add_attribute("\x1b[2J\u202e", scalar(1)),
        set_scalar("init", "\x1b[2J"),
    ):
        (tmp_path / "m").write_bytes(crafted(GOOD, change))
        with pytest.raises(ModelFileError) as caught:
            unconfused.load(tmp_path / "m")
        assert "\x1b" not in str(caught.value) and "\u202e" not in str(caught.value)
        assert "\\x1b[2J" in str(caught.value)
