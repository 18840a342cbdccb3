"""Models in files, without pickle: `save`, `load`, `read_header`.

A saved model is a skops file (a zip of arrays and a description of the objects that hold them)
with one more member, a header in JSON. Loading builds objects of known types and fills in their
attributes; there is no step at which a file could have code of its own run.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from unconfused._atomic import refuse_target, whole_file
from unconfused.persistence._allowed import allowed_types
from unconfused.persistence._archive import (
    MOST_INFLATION,
    digest_of,
    inflation,
    open_archive,
    with_header,
)
from unconfused.persistence._errors import ModelFileError, import_extra, in_words
from unconfused.persistence._header import ModelHeader, describe, estimator_name, write_header
from unconfused.persistence._labelled import without_frames


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    metadata: dict[str, Any] | None = None,
    trusted: Collection[str] = (),
) -> Path:
    """Write a fitted model, or a pipeline that ends in one, to a file.

    The file is written whole or not at all. A loaded model predicts exactly what the saved one
    does, and goes on from where it stood with `partial_fit` or ``warm_start=True``. Frames among
    its parameters are kept as arrays; a confusion matrix keeps its labels.

    Parameters
    ----------
    model : fitted estimator of this package, or of scikit-learn around one (a Pipeline, say)
    path : where to; the customary ending is ``.skops``
    force : replace a file that is there already
    metadata : what to keep with it, anything that JSON can hold
    trusted : full names of further types or functions that the model may hold, such as
        ``"mypackage.steps.Shorten"`` for a step of your own in a pipeline; `load` needs them too

    Returns
    -------
    The path.

    Raises
    ------
    ModelFileError : if the model holds something `load` would refuse (a function of your own, an
        estimator of another package), or the file cannot be written

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import unconfused
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = unconfused.UMAClassifier().fit(X, y)
    >>> path = unconfused.save(clf, Path(tempfile.mkdtemp()) / "iris.skops")
    >>> bool((unconfused.load(path).predict(X) == clf.predict(X)).all())
    True
    """
    target = Path(path)
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(
            f"Only scikit-learn estimators can be saved; this is a {type(model).__name__}."
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ModelFileError(
            f"This {type(model).__name__} is not fitted; fit it before you save it."
        ) from None
    try:
        refuse_target(target, force=force)  # before the work, not after it
        content = _pack(model, metadata, allowed_types() | _names(trusted))
        with whole_file(target, force=force) as scratch:
            scratch.write_bytes(content)
    except OSError as error:
        raise ModelFileError(str(error)) from None
    return target


def load(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """Read a model that `save` wrote.

    Loading can run no code of the file's: only known types are built. A model saved with another
    version of scikit-learn is loaded with scikit-learn's warning about that.

    Parameters
    ----------
    path : the file
    trusted : full names of further types or functions that it may hold. Name only what you know:
        loading imports their modules, and calls them with what the file says

    Returns
    -------
    The model, as it was saved.

    Raises
    ------
    ModelFileError : if the file is missing, cut short, changed, of another kind, of a newer
        format, or holds a type that is not known

    Examples
    --------
    See `save`.
    """
    allowed = allowed_types() | _names(trusted)
    content = _read(Path(path))
    try:
        return _unpack(content, allowed)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}.") from None


def read_header(path: str | os.PathLike[str]) -> ModelHeader:
    """Read what a file says of the model in it, and build nothing.

    Parameters
    ----------
    path : a file that `save` wrote

    Returns
    -------
    Estimator, classes, feature names, versions and the metadata given to `save`.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from unconfused import UMAClassifier, persistence
    >>> clf = UMAClassifier().fit(*load_iris(return_X_y=True))
    >>> path = persistence.save(clf, tempfile.mkdtemp() + "/iris.skops", metadata={"by": "Ann"})
    >>> header = persistence.read_header(path)
    >>> header.estimator, header.classes, header.metadata
    ('UMAClassifier', [0, 1, 2], {'by': 'Ann'})
    """
    content = _read(Path(path))
    try:
        return open_archive(content)[0]
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}.") from None


def _names(trusted: Collection[str]) -> frozenset[str]:
    """Return the names of types to trust; refuse what could mean more than was meant."""
    if isinstance(trusted, str) or not isinstance(trusted, Collection):
        raise ModelFileError(
            f"trusted must be a list of full names such as ['mypackage.steps.Shorten']; got "
            f"{trusted!r}."
        )
    wrong = [one for one in trusted if not isinstance(one, str) or "." not in one]
    if wrong:
        raise ModelFileError(
            f"trusted holds {wrong[0]!r}; a type needs its full name, with the module it is in."
        )
    return frozenset(trusted)


def _pack(model: Any, metadata: dict[str, Any] | None, allowed: frozenset[str]) -> bytes:
    skops = import_extra("skops.io", "save", "Saving a model")
    plain = without_frames(model)
    try:
        payload = skops.dumps(plain, compression=ZIP_DEFLATED)
        unknown = _unknown_types(payload, allowed)
    except Exception as error:  # whatever skops makes of objects it has never seen
        raise ModelFileError(
            f"This {type(model).__name__} cannot be saved: {in_words(error)}."
        ) from error
    if unknown:
        raise ModelFileError(
            f"This {type(model).__name__} cannot be saved: it holds {', '.join(unknown)}, and a "
            "file may hold only what loads without running code: estimators of this package and "
            "of scikit-learn, arrays, numbers and text. Name a strategy instead of passing a "
            "function; of a search, save the best_estimator_. For steps of your own pass "
            f"{_as_argument(unknown)}, to load as well."
        )
    if inflation(payload) > MOST_INFLATION:
        payload = skops.dumps(plain, compression=ZIP_STORED)
    return with_header(payload, write_header(describe(model, metadata), digest_of(payload)))


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder, not a saved model.")
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path}.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror or error}).") from None
    except ValueError as error:  # a NUL in the name
        raise ModelFileError(f"{str(path)!r} cannot be a file name ({error}).") from None


def _unpack(content: bytes, allowed: frozenset[str]) -> Any:
    header, digest = open_archive(content)
    if digest != digest_of(content):
        raise ModelFileError("its content is not what was saved (the checksum differs)")
    skops = import_extra("skops.io", "save", "Loading a model")
    untrusted = import_extra("skops.io.exceptions", "save", "Loading a model")
    try:
        model = skops.loads(content, trusted=sorted(allowed))
    except untrusted.UntrustedTypesFoundException:
        unknown = _unknown_types(content, allowed)
        raise ModelFileError(
            f"it holds {', '.join(unknown)}, which is not among the types a model may hold; it may "
            "have been made to run code. If you know them, and who made the file, load it in "
            f"Python with {_as_argument(unknown)}"
        ) from None
    except Exception as error:  # a description that does not fit together fails anywhere
        raise ModelFileError(f"it is damaged ({in_words(error)})") from error
    if not isinstance(model, BaseEstimator) or estimator_name(model) != header.estimator:
        raise ModelFileError(f"it does not hold the {header.estimator} it speaks of")
    return model


def _unknown_types(content: bytes, allowed: frozenset[str]) -> list[str]:
    skops = import_extra("skops.io", "save", "Saving a model")
    return sorted(set(skops.get_untrusted_types(data=content)) - allowed)


def _as_argument(unknown: list[str]) -> str:
    return f"trusted=[{', '.join(map(repr, unknown))}]"
