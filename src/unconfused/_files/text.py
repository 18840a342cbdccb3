"""Bytes to text: byte order marks and encodings."""

from __future__ import annotations

import codecs
import io
from typing import Any, BinaryIO, TextIO

from unconfused._files.errors import DataFileError
from unconfused._files.formats import TableFile

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks, longer ones before their prefixes."""


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


def open_utf8(source: TableFile, encoding: str) -> BinaryIO:
    """Open a file for reading its text as UTF-8 bytes."""
    if encoding == "utf-8-sig":
        return source.open()
    recoded: Any = _Recoded(open_text(source, encoding))
    return io.BufferedReader(recoded)


class _Recoded(io.RawIOBase):
    """Text, as a stream of UTF-8 bytes."""

    def __init__(self, text: TextIO) -> None:
        self._text, self._rest = text, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = self._text.read(2**16).encode()
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        self._text.close()
        super().close()
