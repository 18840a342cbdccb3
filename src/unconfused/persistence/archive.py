"""The zip file of a model and its header, read within limits before anything is built.

No claim of a zip file about itself is trusted. Only stored and deflated members are read, since
those can be decompressed up to a limit. Together they may not be larger than `MOST_INFLATION` times
the file, and each is read once, however many parts of the model refer to it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import scipy
import sklearn
from scipy import sparse

from unconfused._text import printable
from unconfused._version import __version__
from unconfused.persistence.checks import NUMBERS, SIMPLE, ModelFileError

HEADER = "unconfused.json"

MOST_INFLATION = 100
"""Largest ratio of unpacked to packed size; a file beyond it is refused as a bomb."""

TOO_LARGE = "it would fill the memory; no saved model is packed like that"

ENCRYPTED = 0x1


class Archive:
    """A zip file in memory, whose members cannot be larger than it declares.

    Together they may take `budget` bytes, by default `MOST_INFLATION` times the file's.
    """

    def __init__(self, content: bytes, budget: int | None = None) -> None:
        self.file_size = len(content)
        self.budget = MOST_INFLATION * len(content) if budget is None else budget
        self._zip = ZipFile(io.BytesIO(content))
        members = self._zip.infolist()
        self._members = {one.filename: one for one in members}
        self.names = list(self._members)
        if len(self.names) != len(members):
            raise ModelFileError("it holds two members of one name")
        if any(one.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for one in members):
            raise ModelFileError("it is compressed in a way that saved models are not")
        if any(one.flag_bits & ENCRYPTED for one in members):
            raise ModelFileError("it is encrypted")
        if sum(one.file_size for one in members) > self.budget:
            raise ModelFileError(TOO_LARGE)

    def is_stored(self, name: str) -> bool:
        """Return whether a member is not compressed."""
        return self._members[name].compress_type == ZIP_STORED

    def read(self, name: str) -> bytes:
        """Return a member, which must have the declared length and checksum."""
        member = self._members[name]
        with self._zip.open(member) as stream:
            # One more, so that the end is seen and the checksum compared.
            part = stream.read(member.file_size + 1)
        if len(part) != member.file_size:
            raise ModelFileError("it is damaged: a member is shorter than it is said to be")
        return part


def with_header(payload: bytes, header: bytes) -> bytes:
    """Return a zip file with the header as one more member."""
    buffer = io.BytesIO(payload)
    with ZipFile(buffer, "a", compression=ZIP_STORED) as archive:
        archive.writestr(HEADER, header)
    return buffer.getvalue()


def open_archive(content: bytes) -> Archive:
    """Check that this is a file of ours, from the outside in."""
    if not content:
        raise ModelFileError("it is empty")
    if content[:1] == b"\x80":
        raise ModelFileError(
            "it looks like a pickle, which can run code when it is read. Load it where you trust "
            "it, and save the model again with unconfused.save"
        )
    if content[:2] != b"PK":
        raise ModelFileError("it is not a saved model")
    archive = Archive(content)
    if HEADER not in archive.names:
        raise ModelFileError("it is a zip file, but not one that unconfused.save wrote")
    return archive


def header_of(archive: Archive) -> tuple[ModelHeader, str]:
    """Return the header of a file, and the checksum in it of the rest; refuse what is unknown."""
    # Stored, so that text from a small file is small too.
    if not archive.is_stored(HEADER):
        raise ModelFileError(TOO_LARGE)
    text = archive.read(HEADER)
    if len(text) > LONGEST:
        raise ModelFileError(TOO_LARGE)
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelFileError("its header is not JSON") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ModelFileError("its header is not that of a model")
    version = said.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFileError(
            f"its format version is {printable(repr(version))[:80]}, which is invalid"
        )
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"it has format version {version}, and this release ({__version__}) knows versions up "
            f"to {FORMAT_VERSION}: it was saved with a newer one. Upgrade unconfused"
        )
    kinds: dict[str, Any] = {"estimator": str, "classes": list | None, "feature_names": list | None}
    kinds |= {"n_features": int | None, "versions": dict, "metadata": dict}
    if not all(isinstance(said.get(name), kind) for name, kind in kinds.items()):
        raise ModelFileError("its header is incomplete")
    known: dict[str, Any] = {name: said.get(name) for name in kinds}
    return ModelHeader(**known), str(said.get("sha256"))


def inflation(content: bytes) -> float:
    """Return how many times larger the members are than the file."""
    with ZipFile(io.BytesIO(content)) as archive:
        return sum(one.file_size for one in archive.infolist()) / len(content)


def digest_of(content: bytes) -> str:
    """Return a checksum of all members but the header, by name and bytes."""
    digest, archive = hashlib.sha256(), Archive(content)
    for name in sorted(set(archive.names) - {HEADER}):
        part = archive.read(name)
        digest.update(f"{name}\0{len(part)}\0".encode())
        digest.update(part)
    return digest.hexdigest()


FORMAT = "unconfused model"

FORMAT_VERSION = 1
"""Increased when older readers can no longer read a file."""

LONGEST = 64 * 2**20
"""Maximum size of a header in bytes."""


@dataclass(frozen=True)
class ModelHeader:
    """Description of a saved model.

    Attributes
    ----------
    estimator : type of the model; of a pipeline, the types of its steps
    classes : its classes, None if it has none
    feature_names : names of the columns it was fitted with, None if they had none
    n_features : number of columns
    versions : versions of the packages it was saved with
    metadata : the metadata given to `save`
    """

    estimator: str
    classes: list[Any] | None = None
    feature_names: list[str] | None = None
    n_features: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)


def describe(model: Any, metadata: dict[str, Any] | None) -> ModelHeader:
    """Return the header for a fitted model."""
    names, width = getattr(model, "feature_names_in_", None), getattr(model, "n_features_in_", None)
    classes = getattr(model, "classes_", None)
    return ModelHeader(
        estimator=estimator_name(model),
        classes=None if classes is None else [_plain(one) for one in np.asarray(classes).tolist()],
        feature_names=None if names is None else [str(name) for name in names],
        n_features=None if width is None else int(width),
        versions={
            "unconfused": __version__,
            "scikit-learn": sklearn.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
        metadata=dict(metadata or {}),
    )


def estimator_name(model: Any) -> str:
    """Return the name of a model's type; of a pipeline, those of its steps."""
    steps = getattr(model, "steps", None)
    if steps is None:
        return type(model).__name__
    names = (step if isinstance(step, str) else type(step).__name__ for _, step in steps)
    return f"{type(model).__name__}({', '.join(names)})"


def _plain(label: Any) -> Any:
    return label if isinstance(label, (str, int, float, bool)) else str(label)


def write_header(header: ModelHeader, digest: str) -> bytes:
    """Return the header as JSON."""
    said = {"format": FORMAT, "format_version": FORMAT_VERSION, "sha256": digest}
    try:
        return json.dumps(said | asdict(header), indent=1, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"metadata must be what JSON can hold: text, numbers, lists, dictionaries ({error})."
        ) from None


LAST_CODE_POINT = 0x10FFFF
LONGEST_HEADER = 10_000


def read_array(content: bytes) -> Any:
    """Return the array in an ``.npy`` file; raise if its bytes do not match its header.

    NumPy's own reader allocates what the shape says before it reads, and does not check Booleans
    and characters: a Boolean of 7 is counted as seven.

    Examples
    --------
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.array([1.5, 2.5]))
    >>> read_array(buffer.getvalue())
    array([1.5, 2.5])
    """
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise ModelFileError("it holds an array of an unknown format")
    shape, _, dtype = read_header(stream, max_header_size=LONGEST_HEADER)
    if not _known(dtype):
        raise ModelFileError(f"it holds an array of type {dtype.str} that no model has")
    # Lengths one by one, too: of an empty array all but one can be anything.
    beyond = any(length < 0 or length > len(content) for length in shape)
    if beyond or dtype.itemsize * math.prod(shape) != len(content) - stream.tell():
        raise ModelFileError("it is damaged: an array is not as large as its bytes")
    array = np.load(io.BytesIO(content), max_header_size=LONGEST_HEADER)
    if array.dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ModelFileError("it holds booleans that are neither true nor false")
    if array.dtype.kind == "U" and np.any(array.ravel("K").view(np.uint32) > LAST_CODE_POINT):
        raise ModelFileError("it holds invalid text")
    return array


def _known(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:  # nodes of trees; which ones is for the check of the tree
        return not dtype.hasobject and all(
            dtype.fields is not None and dtype.fields[name][0].kind in "iuf" for name in dtype.names
        )
    return dtype.kind in SIMPLE and dtype.itemsize > 0 and dtype.isnative


def read_sparse(content: bytes, budget: int) -> Any:
    """Return the matrix in an ``.npz`` file by SciPy, with every index inside its shape.

    SciPy's own reader checks neither sizes nor indices, and its products read whatever these point
    to.
    """
    archive = Archive(content, budget)
    for name in archive.names:
        read_array(archive.read(name))
    matrix = sparse.load_npz(io.BytesIO(content))
    if matrix.format not in ("csr", "csc") or matrix.ndim != 2 or matrix.dtype.kind not in NUMBERS:
        raise ModelFileError("it holds a sparse matrix of a kind that no model has")
    matrix.check_format(full_check=True)
    return matrix
