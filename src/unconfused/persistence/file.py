"""Models in files, without pickle: `save`, `load`, `read_header`.

A saved model is a skops file (a zip of arrays and a description of the objects that hold them)
with one more member, a header in JSON. Loading builds objects of known types, from attributes that
such an object has when it is fitted; there is no step at which a file could have its own code
run, now or when the model predicts.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED

from sklearn.base import BaseEstimator

from unconfused._atomic import os_errors_as, refuse_target, whole_file
from unconfused._text import import_extra, one_line, printable
from unconfused.persistence.archive import (
    MOST_INFLATION,
    ModelHeader,
    describe,
    digest_of,
    estimator_name,
    header_of,
    inflation,
    open_archive,
    with_header,
    write_header,
)
from unconfused.persistence.checks import ModelFileError, refuse_unfitted
from unconfused.persistence.labelled import without_frames
from unconfused.persistence.nodes import Reader, parse_schema, unknown_types


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    metadata: dict[str, Any] | None = None,
    allow: Collection[str] = (),
) -> Path:
    """Write a fitted model, or a pipeline that ends in one, to a file.

    The file is written completely or not at all. A loaded model predicts exactly what the saved one
    does, and can be continued with `partial_fit` or ``warm_start=True``. DataFrames among its
    parameters become arrays; a confusion matrix keeps its labels.

    Parameters
    ----------
    model : fitted estimator of this package, or of scikit-learn around one, such as a Pipeline
    path : output file, usually with the extension ``.skops``
    force : whether to overwrite an existing file
    metadata : anything that JSON can represent, to be saved with the model
    allow : full names of additional types or functions that the model may contain, such as
        ``"mypackage.steps.Shorten"`` for a custom step of a pipeline; `load` needs them as well

    Returns
    -------
    The path.

    Raises
    ------
    ModelFileError : if the model contains something `load` would refuse (a custom function, an
        estimator that is not on its list), or the file cannot be written

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
    refuse_unfitted(model, ModelFileError, "saved")
    with os_errors_as(ModelFileError):
        refuse_target(target, force=force)  # before the work, not after it
        content = _pack(model, metadata, _names(allow))
        with whole_file(target, force=force) as scratch:
            scratch.write_bytes(content)
    return target


def load(path: str | os.PathLike[str], *, allow: Collection[str] = ()) -> Any:
    """Load a model that `save` wrote.

    A file cannot run code, neither on loading nor on prediction: only types on a short list are
    built, and only with the attributes of a fitted object; see ``docs/saved_models.md``. A model
    saved with another version of scikit-learn is loaded with scikit-learn's warning, or refused if
    that version has other attributes.

    Parameters
    ----------
    path : the file
    allow : full names of additional types or functions that the file may contain. **They are not
        checked**: their modules are imported, and objects are built from whatever the file says.
        Many types of scikit-learn can then be made to write files or to crash the process. A type
        on the list that is named here is no longer checked either. Use this only for files from
        people whose code you would run

    Returns
    -------
    The model, as it was saved.

    Raises
    ------
    ModelFileError : if the file is missing, truncated, modified, of another kind or of a newer
        format, or holds a type or an attribute that is not allowed

    Examples
    --------
    See `save`.
    """
    allowed = _names(allow)
    content = _read(Path(path))
    with _refusing(f"{path} cannot be loaded: "):
        return _unpack(content, allowed)


def read_header(path: str | os.PathLike[str]) -> ModelHeader:
    """Read the description of a saved model without building it.

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
    with _refusing(f"{path} cannot be loaded: "):
        return header_of(open_archive(content))[0]


def _names(allow: Collection[str]) -> frozenset[str]:
    """Return the names of types to allow; refuse what could mean more than was meant."""
    listed = isinstance(allow, Collection) and not isinstance(allow, str)
    if not listed or any(not isinstance(one, str) or "." not in one for one in allow):
        raise ModelFileError(
            "allow must be a list of full names, with the module each type is in, such as "
            f"['mypackage.steps.Shorten']; got {allow!r}."
        )
    return frozenset(allow)


def _pack(model: Any, metadata: dict[str, Any] | None, allow: frozenset[str]) -> bytes:
    """Return the content of a file, after loading it: what is saved can be loaded."""
    skops = import_extra("skops.io", "save", "Saving a model")
    plain = without_frames(model)
    refused = f"This {type(model).__name__} cannot be saved: "
    try:
        payload = skops.dumps(plain, compression=ZIP_DEFLATED)
        # Weights of zeros are packed too well for a file that must not fill the memory.
        if inflation(payload) > MOST_INFLATION:
            payload = skops.dumps(plain, compression=ZIP_STORED)
    except Exception as error:  # whatever skops makes of objects it has never seen
        raise ModelFileError(f"{refused}{one_line(error)}.") from error
    content = with_header(payload, write_header(describe(model, metadata), digest_of(payload)))
    archive = open_archive(content)
    schema = parse_schema(archive)
    if unknown := unknown_types(schema, allow):
        raise ModelFileError(
            f"{refused}it holds {', '.join(unknown)}, and a file may hold only types that "
            "`load` can check: estimators of this package, linear models, trees and column "
            "steps of scikit-learn, arrays, numbers and text. Name a strategy instead of "
            "passing a function; of a search, save the best_estimator_. For steps of your own "
            f"pass {_as_argument(unknown)}, to load as well."
        )
    with warnings.catch_warnings(action="ignore"), _refusing(f"{refused}load would refuse it, as "):
        Reader(archive, schema, allow).read(schema)
    return content


def _read(path: Path) -> bytes:
    """Return the content of an ordinary file; a pipe or a device might have no end."""
    # Opening a pipe would otherwise wait until someone writes to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_dir():
            raise ModelFileError(f"{path} is a folder, not a saved model.")
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ModelFileError(f"{path} is not an ordinary file.")
            return file.read(found.st_size)
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path}.") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror or error}).") from None
    except ModelFileError:
        raise
    except ValueError as error:  # a NUL in the name
        raise ModelFileError(f"{str(path)!r} cannot be a file name ({error}).") from None


@contextmanager
def _refusing(why: str) -> Iterator[None]:
    """Raise one kind of error that says why a file is refused, whatever error damage causes."""
    try:
        yield
    except ImportError:
        raise
    except ModelFileError as error:
        raise ModelFileError(f"{why}{error}.") from None
    except Exception as error:
        raise ModelFileError(f"{why}it is damaged or cut short ({one_line(error)}).") from error


def _unpack(content: bytes, allow: frozenset[str]) -> Any:
    archive = open_archive(content)
    header, digest = header_of(archive)
    if digest != digest_of(content):
        raise ModelFileError("its content is not what was saved (the checksum differs)")
    schema = parse_schema(archive)
    if unknown := [printable(name) for name in unknown_types(schema, allow)]:
        raise ModelFileError(
            f"it holds {', '.join(unknown)}, which is not among the types a model may hold; it "
            "may have been made to do harm. If you know them, and who made the file, load it "
            f"in Python with {_as_argument(unknown)}"
        )
    model = Reader(archive, schema, allow).read(schema)
    if not isinstance(model, BaseEstimator) or estimator_name(model) != header.estimator:
        raise ModelFileError(
            f"it does not hold the {printable(header.estimator)} that its header names"
        )
    return model


def _as_argument(unknown: list[str]) -> str:
    return f"allow=[{', '.join(map(repr, unknown))}]"
