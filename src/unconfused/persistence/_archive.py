"""The zip file a model is in: what can be checked before any of it is understood."""

from __future__ import annotations

import hashlib
import io
from zipfile import ZIP_STORED, ZipFile

from unconfused.persistence._errors import ModelFileError, in_words
from unconfused.persistence._header import LONGEST, ModelHeader, read_header_bytes

HEADER = "unconfused.json"

MOST_INFLATION = 100
"""A file that would grow more than so many times in memory is refused: it is made to do that."""


def with_header(payload: bytes, header: bytes) -> bytes:
    """Return a zip file with the header as one more member."""
    buffer = io.BytesIO(payload)
    with ZipFile(buffer, "a", compression=ZIP_STORED) as archive:
        archive.writestr(HEADER, header)
    return buffer.getvalue()


def open_archive(content: bytes) -> tuple[ModelHeader, str]:
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
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            members = {one.filename: one for one in archive.infolist()}
            if HEADER not in members:
                raise ModelFileError("it is a zip file, but not one that unconfused.save wrote")
            if members[HEADER].file_size > LONGEST or inflation(content) > MOST_INFLATION:
                raise ModelFileError("it would fill the memory; no saved model is packed like that")
            return read_header_bytes(archive.read(HEADER))
    except ModelFileError:
        raise
    except Exception as error:  # zipfile has a dozen ways of not understanding a file
        raise ModelFileError(f"it is damaged or cut short ({in_words(error)})") from error


def inflation(content: bytes) -> float:
    """Return how many times larger the members are than the file."""
    with ZipFile(io.BytesIO(content)) as archive:
        return sum(one.file_size for one in archive.infolist()) / len(content)


def digest_of(content: bytes) -> str:
    """Return a checksum of all members but the header, by name and bytes."""
    digest = hashlib.sha256()
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            for name in sorted(set(archive.namelist()) - {HEADER}):
                part = archive.read(name)
                digest.update(f"{name}\0{len(part)}\0".encode())
                digest.update(part)
    except Exception as error:  # as in open_archive
        raise ModelFileError(f"it is damaged or cut short ({in_words(error)})") from error
    return digest.hexdigest()
