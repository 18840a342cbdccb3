"""The header of a saved model, read before anything in the file is built."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy
import sklearn

from unconfused._text import printable
from unconfused._version import __version__
from unconfused.persistence.errors import ModelFileError

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


def read_header_bytes(text: bytes) -> tuple[ModelHeader, str]:
    """Return the header and the digest of the rest; refuse what this release does not know."""
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
        made_with = _version_of(said)
        raise ModelFileError(
            f"it has format version {version}, and this release ({__version__}) knows "
            f"versions up to {FORMAT_VERSION}: it was saved with a newer one{made_with}. Upgrade "
            "unconfused"
        )
    return _checked(said), str(said.get("sha256"))


def _version_of(said: dict[str, Any]) -> str:
    versions = said.get("versions")
    ours = versions.get("unconfused") if isinstance(versions, dict) else None
    return f" ({printable(ours)})" if isinstance(ours, str) else ""


def _checked(said: dict[str, Any]) -> ModelHeader:
    kinds: dict[str, Any] = {"estimator": str, "classes": list | None, "feature_names": list | None}
    kinds |= {"n_features": int | None, "versions": dict, "metadata": dict}
    if not all(isinstance(said.get(name), kind) for name, kind in kinds.items()):
        raise ModelFileError("its header is incomplete")
    known: dict[str, Any] = {name: said.get(name) for name in kinds}
    return ModelHeader(**known)
