"""Data files for the command line: read whole or in chunks, written atomically."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class DataFileError(ValueError):
    """A data file cannot be read or written; the message says why and what to do."""


def in_words(error: BaseException, longest: int = 200) -> str:
    """Return the message of an error on one line."""
    text = " ".join(str(error).split())
    return (text or type(error).__name__)[:longest]


@contextlib.contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn parser errors into a DataFileError that names the file."""
    try:
        yield
    except DataFileError as error:
        message = str(error)
        raise DataFileError(
            message if str(path) in message else f"{path}: {message}"
        ) from error.__cause__
    except ImportError:  # an extra that is not installed
        raise
    except UnicodeDecodeError as error:
        raise DataFileError(f"{path}: {WRONG_ENCODING}") from error
    except MemoryError as error:
        raise DataFileError(
            f"{path} does not fit into memory; read it in parts, or keep fewer columns."
        ) from error
    except (EOFError, OSError) as error:
        said = getattr(error, "strerror", None) or in_words(error)
        raise DataFileError(f"{path} cannot be read as {kind}: {said}.") from error
    except Exception as error:  # parsers have many ways of not understanding a file
        raise DataFileError(f"{path} cannot be read as {kind}: {in_words(error)}") from error


@contextlib.contextmanager
def writing(target: Path) -> Iterator[None]:
    """Turn OS errors into a DataFileError that names the file."""
    try:
        yield
    except OSError as error:
        # Errors of our own have no number, and name the file already.
        said = f"{target} cannot be written: {error.strerror}." if error.strerror else str(error)
        raise DataFileError(" ".join(said.split())) from None


WRONG_ENCODING = (
    "the text is not UTF-8. Say which encoding it has (often cp1252 or latin-1), or convert it."
)
