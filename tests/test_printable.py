"""Text from outside, on its way to a terminal."""

import pytest

from unconfused._text import printable


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("cat, dog: ünïcödé 漢字 🐈 \\x1b", "cat, dog: ünïcödé 漢字 🐈 \\x1b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\rd\0", "a\\nb\\tc\\rd\\x00"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202egpj.exe\u2066", "\\u202egpj.exe\\u2066"),
        ("\u2028\u200b", "\\u2028\\u200b"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_are_written_out(raw, shown):
    assert printable(raw) == shown


def test_every_control_character_is_escaped():
    for code in (*range(32), *range(0x7F, 0xA0), 0x202E, 0x2028, 0x2069, 0xDC80):
        shown = printable(f"a{chr(code)}b")
        assert shown.startswith("a\\") and shown.endswith("b"), code
        assert shown.isprintable() and shown.encode(), code
