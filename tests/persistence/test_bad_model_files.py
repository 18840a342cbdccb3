"""Files that are no models, or no longer: each ends in one kind of error, and none runs code."""

import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from problems import make_problem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unconfused
from unconfused import UMAClassifier, persistence
from unconfused._text import pip_install
from unconfused.persistence import ModelFileError
from unconfused.persistence.archive import digest_of

pytestmark = pytest.mark.slow

N_MUTATIONS = int(os.environ.get("UNCONFUSED_FUZZ", "300"))
"""Damaged files of each kind; `make fuzz` tries more than ten thousand in all."""

PROBLEM = make_problem(n=120)
HEADER = "unconfused.json"


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), UMAClassifier(PROBLEM.C)).fit(PROBLEM.X, PROBLEM.y)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    return unconfused.save(model, tmp_path_factory.mktemp("m") / "model.skops").read_bytes()


def refused(content, tmp_path, match):
    path = tmp_path / "file.skops"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        unconfused.load(path)
    assert "file.skops" in str(caught.value)
    assert "\n" not in str(caught.value)


def rewritten(content, change):
    """Return the zip with its members changed by `change(name, bytes)`, the checksum put right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: change(name, archive.read(name)) for name in archive.namelist()}
    parts = {name: part for name, part in parts.items() if part is not None}

    def packed():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
        return buffer.getvalue()

    if HEADER in parts and parts[HEADER][-1:] == b"}":
        header = json.loads(parts[HEADER])
        header["sha256"] = digest_of(packed())
        parts[HEADER] = json.dumps(header).encode()
    return packed()


def with_header(content, **changes):
    def change(name, part):
        return json.dumps(json.loads(part) | changes).encode() if name == HEADER else part

    return rewritten(content, change)


def with_schema(content, change):
    def apply(name, part):
        return change(part.decode()).encode() if name == "schema.json" else part

    return rewritten(content, apply)


def test_no_file(tmp_path):
    with pytest.raises(ModelFileError, match="There is no file"):
        unconfused.load(tmp_path / "nothing.skops")
    with pytest.raises(ModelFileError, match="is a folder"):
        unconfused.load(tmp_path)
    with pytest.raises(ModelFileError, match=r"cannot be a file name|cannot be read"):
        unconfused.load("a\0b")
    with pytest.raises(ModelFileError, match="There is no file"):
        persistence.read_header(tmp_path / "nothing.skops")


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (b"", "it is empty"),
        (b"hello", "not a saved model"),
        (b"PK\x03\x04 nothing else", "damaged or cut short"),
        (pickle.dumps(UMAClassifier()), "looks like a pickle"),
    ],
)
def test_other_files(bad, match, tmp_path):
    refused(bad, tmp_path, match)


def test_files_of_others(tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros(3))
    refused(buffer.getvalue(), tmp_path, "zip file, but not one that unconfused.save wrote")
    refused(skops.io.dumps(StandardScaler()), tmp_path, "not one that unconfused.save wrote")


def test_a_pickle_is_not_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    refused(pickle.dumps(Trap()), tmp_path, "looks like a pickle")
    assert not (tmp_path / "trapped").exists()


def test_headers_that_cannot_be(content, tmp_path):
    refused(with_header(content, format_version=2), tmp_path, "format version 2.*Upgrade")
    refused(with_header(content, format_version="1"), tmp_path, "format version is '1'")
    refused(with_header(content, format_version=True), tmp_path, "format version is True")
    refused(with_header(content, format="recipe"), tmp_path, "not that of a model")
    refused(with_header(content, versions=None), tmp_path, "header is incomplete")
    refused(with_header(content, estimator="SVC"), tmp_path, "does not hold the SVC")
    for text in (b"{", b"[]", b"\xff\xfe", b"[" * 10**5):
        changed = rewritten(content, lambda n, part, text=text: text if n == HEADER else part)
        refused(changed, tmp_path, "its header is not")


def test_types_that_are_not_known(content, tmp_path):
    known = '"__class__": "StandardScaler"'
    assert known in rewritten(content, lambda n, p: p).decode("latin1")
    changed = with_schema(content, lambda text: text.replace(known, '"__class__": "Unheard"'))
    refused(changed, tmp_path, r"holds sklearn\.preprocessing\._data\.Unheard, which is not among")


@pytest.mark.parametrize("loader", ["FunctionNode", "TypeNode", "ObjectNode", "MethodNode"])
def test_calls_are_not_made(loader, content, tmp_path):
    """A file asks for os.mkdir through each way skops has of naming a callable."""
    trap = tmp_path / "trapped"
    call = {
        "__class__": "mkdir",
        "__module__": "os",
        "__loader__": loader,
        "__id__": 1,
        "content": {
            "func": "mkdir",
            "obj": {"__class__": "mkdir", "__module__": "os", "__loader__": "ObjectNode"},
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "content": [
                {
                    "__class__": "str",
                    "__module__": "builtins",
                    "__loader__": "JsonNode",
                    "content": json.dumps(str(trap)),
                }
            ],
        },
    }

    def change(text):
        schema = json.loads(text)
        schema["content"]["content"]["verbose"] = call
        return json.dumps(schema)

    refused(with_schema(content, change), tmp_path, "os.mkdir|damaged")
    assert not trap.exists()


def test_a_source_of_chance_that_is_none(content, tmp_path):
    """The class of a bit generator stands in a file as mere text; it must be one all the same."""
    generator = json.loads(
        zipfile.ZipFile(io.BytesIO(skops.io.dumps(np.random.default_rng(0)))).read("schema.json")
    )
    inner = generator["content"]["bit_generator"]["content"]["bit_generator"]
    assert inner["content"] == '"PCG64"'
    inner["content"] = '"seed"'

    def change(text):
        schema = json.loads(text)
        schema["content"]["content"]["verbose"] = generator
        return json.dumps(schema)

    refused(with_schema(content, change), tmp_path, "invalid random state")


def test_a_file_that_would_fill_the_memory(content, tmp_path):
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a", compression=zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.bin", bytes(30 * 2**20))
    refused(buffer.getvalue(), tmp_path, "would fill the memory")


def test_an_array_that_is_larger_than_its_file(content, tmp_path):
    def change(name, part):
        return (
            part.replace(b"'shape': (4", b"'shape': (4" + b"0" * 9) if name[-3:] == "npy" else part
        )

    changed = rewritten(content, change)
    assert changed != rewritten(content, lambda n, p: p)
    refused(changed, tmp_path, "damaged")


def test_missing_members(content, tmp_path):
    refused(rewritten(content, lambda n, p: None if n == "schema.json" else p), tmp_path, "damaged")
    refused(rewritten(content, lambda n, p: None if n[-3:] == "npy" else p), tmp_path, "damaged")


def test_content_that_was_exchanged(content, tmp_path):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = archive.read(HEADER)
    other = rewritten(content, lambda n, p: p + b" " if n == "schema.json" else p)
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(other)) as archive, zipfile.ZipFile(changed, "w") as target:
        for name in archive.namelist():
            target.writestr(name, header if name == HEADER else archive.read(name))
    refused(changed.getvalue(), tmp_path, "checksum differs")


def test_files_cut_short(content, tmp_path):
    for length in range(0, len(content), max(1, len(content) // N_MUTATIONS)):
        refused(content[:length], tmp_path, "empty|cut short|not a saved model")


def loads_alike_or_not_at_all(content, model, path):
    path.write_bytes(content)
    try:
        loaded = unconfused.load(path)
    except ModelFileError:
        return False
    np.testing.assert_array_equal(
        loaded.decision_function(PROBLEM.X), model.decision_function(PROBLEM.X)
    )
    return True


def test_bytes_flipped_at_random(content, model, tmp_path):
    """A flip in what zip files do not use (a date, say) may go unseen; it changes nothing."""
    rng = np.random.RandomState(0)
    unseen = 0
    for _ in range(N_MUTATIONS):
        damaged = bytearray(content)
        for place in rng.randint(len(content), size=rng.randint(1, 4)):
            damaged[place] ^= 1 << rng.randint(8)
        unseen += loads_alike_or_not_at_all(bytes(damaged), model, tmp_path / "f")
    assert unseen < 0.2 * N_MUTATIONS


@pytest.mark.filterwarnings("ignore")
def test_descriptions_changed_at_random(content, tmp_path):
    """With the checksum put right, so that the change reaches skops."""
    rng = np.random.RandomState(0)
    outcomes = set()
    for _ in range(N_MUTATIONS // 3):

        def change(text):
            damaged = list(text)
            for place in rng.randint(len(damaged), size=2):
                damaged[place] = chr(rng.randint(32, 127))
            return "".join(damaged)

        (tmp_path / "f").write_bytes(with_schema(content, change))
        try:
            unconfused.load(tmp_path / "f")
            outcomes.add("loaded")
        except ModelFileError as error:
            outcomes.add(str(error).removeprefix(str(tmp_path / "f"))[:40])
    assert len(outcomes) > 1


def test_nothing_is_overwritten_unasked(model, tmp_path):
    path = tmp_path / "model.skops"
    path.write_text("mine")
    with pytest.raises(ModelFileError, match="exists already; force=True replaces it"):
        unconfused.save(model, path)
    assert path.read_text() == "mine"
    unconfused.save(model, path, force=True)
    assert unconfused.load(path).n_features_in_ == 4


def test_places_that_cannot_be_written(model, tmp_path):
    with pytest.raises(ModelFileError, match="There is no folder"):
        unconfused.save(model, tmp_path / "missing" / "m")
    with pytest.raises(ModelFileError, match="is a folder"):
        unconfused.save(model, tmp_path, force=True)
    with pytest.raises(ModelFileError, match="not an ordinary file"):
        unconfused.save(model, "/dev/null", force=True)
    with pytest.raises(ModelFileError, match=r"Cannot write into|File name too long"):
        unconfused.save(model, tmp_path / ("a" * 300))


@pytest.mark.skipif(shutil.which("id") is None or os.geteuid() == 0, reason="root may write all")
def test_a_folder_without_permission(model, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(ModelFileError, match="Cannot write into"):
        unconfused.save(model, folder / "m")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk full"), MemoryError])
def test_an_interrupted_write_leaves_nothing(error, model, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    unconfused.save(model, path)
    before = path.read_bytes()

    def fail(*args):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    kind = ModelFileError if isinstance(error, OSError) else error
    with pytest.raises(kind):
        unconfused.save(model, path, force=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.skops"]


def test_a_link_is_followed(model, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    unconfused.save(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").is_file()


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(ModelFileError, match="Only scikit-learn estimators"):
        unconfused.save({"a": 1}, path)
    with pytest.raises(ModelFileError, match="not fitted"):
        unconfused.save(UMAClassifier(), path)
    own = UMAClassifier(step=lambda *a: unconfused.steps.STEPS["mira"](*a))
    with pytest.raises(ModelFileError, match=r"lambda.*Name a strategy"):
        unconfused.save(own.fit(PROBLEM.X, PROBLEM.y), path)
    fitted = UMAClassifier(PROBLEM.C).fit(PROBLEM.X, PROBLEM.y)
    with pytest.raises(ModelFileError, match="what JSON can hold"):
        unconfused.save(fitted, path, metadata={"a": object()})
    assert not list(tmp_path.iterdir())


def test_without_skops_the_extra_is_named(tmp_path):
    code = (
        "import sys; sys.modules['skops'] = None\n"
        "import unconfused\n"
        "clf = unconfused.UMAClassifier().fit([[0.0], [1.0]] * 20, [0, 1] * 20)\n"
        "try:\n"
        f"    unconfused.save(clf, {str(tmp_path / 'm')!r})\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert pip_install("save") in said.stdout
