"""Data files: their formats, checked against the first bytes, encodings, and errors in words."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from unconfused._text import one_line
from unconfused._typing import Labels, Rows


class DataFileError(ValueError):
    """A data file cannot be read or written; the message says why and what to do."""


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
        said = getattr(error, "strerror", None) or one_line(error)
        raise DataFileError(f"{path} cannot be read as {kind}: {said}.") from error
    except Exception as error:  # parsers have many ways of not understanding a file
        raise DataFileError(f"{path} cannot be read as {kind}: {one_line(error)}") from error


WRONG_ENCODING = (
    "the text is not UTF-8. Say which encoding it has (often cp1252 or latin-1), or convert it."
)

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npz": "npz",
}
"""Formats by extension."""

TEXT = {"csv", "tsv", "jsonl", "svmlight"}
"""Formats that may be compressed with gzip or bzip2."""

NAMES = {
    "csv": "CSV",
    "tsv": "TSV",
    "jsonl": "JSON lines",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "svmlight": "svmlight",
    "npz": "NPZ",
}

PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}

SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"FEA1": "a Feather file of the first version",
    b"PK\x03\x04": "a zip file (a workbook, or NPZ)",
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF",
    b"SQLite format 3": "a SQLite database",
}
"""First bytes of files that are not text."""


MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, longer ones before their prefixes."""


@dataclass(frozen=True)
class TableFile:
    """An existing file with its format and compression."""

    path: Path
    format: str
    packing: str | None = None

    @property
    def name(self) -> str:
        """The format's usual name."""
        return NAMES[self.format]

    def open(self) -> BinaryIO:
        """Open the file for reading bytes, decompressed."""
        if self.packing is None:
            return open(self.path, "rb")
        return cast(BinaryIO, PACKED[self.packing](self.path, "rb"))


@dataclass(frozen=True)
class LabelledRows:
    """Features without names, and labels if the file has any.

    Attributes
    ----------
    X : (n, d) array or CSR matrix
    y : (n,) labels, or None
    """

    X: Rows
    y: Labels | None = None


def find_format(path: Path, chosen: str | None = None) -> tuple[str, str | None]:
    """Return format and compression, from the name or as the user says."""
    endings = [ending.lower() for ending in path.suffixes]
    packing = endings.pop() if endings and endings[-1] in PACKED else None
    if chosen is not None and chosen not in NAMES:
        raise DataFileError(f"There is no format {chosen!r}; there are {', '.join(NAMES)}.")
    found = chosen or (FORMATS.get(endings[-1]) if endings else None)
    if found is None:
        hint = " For JSON, write one object per line into a .jsonl file." * (".json" in endings)
        hint += " Save a spreadsheet as CSV." * bool({".xlsx", ".xls", ".ods"} & set(endings))
        raise DataFileError(
            f"{path}: the extension is not known. Use {', '.join(FORMATS)}, text also as .gz or "
            f".bz2; or name the format.{hint}"
        )
    if packing is not None and found not in TEXT:
        raise DataFileError(
            f"{path}: {NAMES[found]} cannot be compressed further; unpack the {packing} file."
        )
    return found, packing


def find_source(path: str | os.PathLike[str], chosen: str | None = None) -> TableFile:
    """Return a readable file; raise if it is missing, empty or of another format."""
    target = Path(path)
    try:
        if target.is_dir():
            raise DataFileError(f"{target} is a folder; name a file in it.")
        if not target.exists():
            remote = " Download it first." if re.match(r"\w{2,}:/", str(target)) else ""
            raise DataFileError(f"There is no file {target}.{remote}")
        if not target.is_file():
            raise DataFileError(f"{target} is not an ordinary file.")
    except (OSError, ValueError) as error:
        if isinstance(error, DataFileError):
            raise
        raise DataFileError(f"{str(target)!r} cannot be read ({error}).") from None
    source = TableFile(target, *find_format(target, chosen))
    with reading(target, source.name), source.open() as stream:
        head = stream.read(64)
    if not head:
        raise DataFileError(f"{target} is empty.")
    _refuse_other_content(source, head)
    return source


def _refuse_other_content(source: TableFile, head: bytes) -> None:
    for signature, what in SIGNATURES.items():
        if source.format in TEXT and head.startswith(signature):
            raise DataFileError(
                f"{source.path} is not {source.name}: it looks like {what}. Give it the ending it "
                f"should have, or export it as CSV."
            )
    if source.format == "parquet" and not head.startswith(b"PAR1"):
        raise DataFileError(f"{source.path} is not a Parquet file, or its beginning is damaged.")
    if source.format == "npz" and not head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        raise DataFileError(f"{source.path} is not an NPZ file, or its beginning is damaged.")


def find_encoding(source: TableFile, chosen: str | None) -> str:
    """Return the encoding: the one given, that of a byte order mark, or UTF-8."""
    with source.open() as stream:
        head = stream.read(4096)
    if chosen is not None:
        try:
            known = codecs.lookup(chosen)
        except LookupError:
            raise DataFileError(f"There is no encoding {chosen!r}.") from None
        if not getattr(known, "_is_text_encoding", True):
            raise DataFileError(f"{chosen!r} is not an encoding of text.")
        return "utf-8-sig" if known.name == "utf-8" else known.name
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise DataFileError(
            "it holds NUL bytes: it is not text, or text in UTF-16 without a byte order mark. Say "
            "which encoding it has, or convert it to UTF-8."
        )
    return "utf-8-sig"


def open_text(source: TableFile, encoding: str) -> TextIO:
    """Open a file for reading text, without newline translation: quoted cells keep theirs."""
    return io.TextIOWrapper(source.open(), encoding=encoding, newline="")
