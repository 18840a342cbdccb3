"""The zip file of a model, read within limits and checked before it is interpreted.

No claim of a zip file about itself is trusted. Only stored and deflated members are read, since
those can be decompressed up to a limit. Together they may not be larger than `MOST_INFLATION` times
the file, and each is read once, however many parts of the model refer to it.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from unconfused.persistence.errors import ModelFileError, in_words
from unconfused.persistence.header import LONGEST, ModelHeader, read_header_bytes

HEADER = "unconfused.json"

MOST_INFLATION = 100
"""Largest ratio of unpacked to packed size; a file beyond it is refused as a bomb."""

TOO_LARGE = "it would fill the memory; no saved model is packed like that"

ENCRYPTED = 0x1


class Archive:
    """A zip file in memory, whose members cannot be larger than it declares.

    Parameters
    ----------
    content : the file
    budget : bytes that all members may take together
    """

    def __init__(self, content: bytes, budget: int) -> None:
        self._zip = ZipFile(io.BytesIO(content))
        self._members = {one.filename: one for one in self._zip.infolist()}
        members = self._members.values()
        if len(self._members) != len(self._zip.infolist()):
            raise ModelFileError("it holds two members of one name")
        if any(one.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for one in members):
            raise ModelFileError("it is compressed in a way that saved models are not")
        if any(one.flag_bits & ENCRYPTED for one in members):
            raise ModelFileError("it is encrypted")
        self.size = sum(one.file_size for one in members)
        if self.size > budget:
            raise ModelFileError(TOO_LARGE)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The names of all members."""
        return list(self._members)

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


@contextmanager
def damage_in_words() -> Iterator[None]:
    """Turn the dozen ways in which zipfile does not understand a file into a ModelFileError."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"it is damaged or cut short ({in_words(error)})") from error


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
    with damage_in_words():
        archive = Archive(content, MOST_INFLATION * len(content))
    if HEADER not in archive.names:
        raise ModelFileError("it is a zip file, but not one that unconfused.save wrote")
    return archive


def header_of(archive: Archive) -> tuple[ModelHeader, str]:
    """Return the header of a file, and the checksum in it of the rest."""
    # Stored, so that text from a small file is small too.
    if not archive.is_stored(HEADER):
        raise ModelFileError(TOO_LARGE)
    with damage_in_words():
        text = archive.read(HEADER)
    if len(text) > LONGEST:
        raise ModelFileError(TOO_LARGE)
    return read_header_bytes(text)


def inflation(content: bytes) -> float:
    """Return how many times larger the members are than the file."""
    with ZipFile(io.BytesIO(content)) as archive:
        return sum(one.file_size for one in archive.infolist()) / len(content)


def digest_of(content: bytes) -> str:
    """Return a checksum of all members but the header, by name and bytes."""
    digest = hashlib.sha256()
    with damage_in_words(), Archive(content, MOST_INFLATION * len(content)) as archive:
        for name in sorted(set(archive.names) - {HEADER}):
            part = archive.read(name)
            digest.update(f"{name}\0{len(part)}\0".encode())
            digest.update(part)
    return digest.hexdigest()
