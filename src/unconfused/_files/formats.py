"""File formats, by extension, checked against the first bytes."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from unconfused._files.errors import DataFileError, reading

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
    b"\x1f\x8b": "packed with gzip",
    b"BZh": "packed with bzip2",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF",
    b"SQLite format 3": "a SQLite database",
}
"""First bytes of files that are not text."""


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


def find_format(path: Path, chosen: str | None = None) -> tuple[str, str | None]:
    """Return format and compression, from the name or as the user says."""
    endings = [ending.lower() for ending in path.suffixes]
    packing = endings.pop() if endings and endings[-1] in PACKED else None
    if chosen is not None and chosen not in NAMES:
        raise DataFileError(f"There is no format {chosen!r}; there are {', '.join(NAMES)}.")
    found = chosen or (FORMATS.get(endings[-1]) if endings else None)
    if found is None:
        hint = " For JSON, write one object per line into a .jsonl file." * (".json" in endings)
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
            raise DataFileError(f"There is no file {target}.")
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
