"""JSON lines: one object per line."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from unconfused._files import DataFileError, TableFile, find_encoding, open_text
from unconfused._files.types import as_words, column_names, dates_of, refuse_nul

NESTED = {dict, list}

LONGEST_LINE = 64 * 2**20
"""Maximum characters per line; a longer one is no line."""


def iter_records(source: TableFile, encoding: str | None) -> Iterator[dict[str, Any]]:
    """Yield one dictionary per line."""
    with open_text(source, find_encoding(source, encoding)) as stream:
        lines = iter(lambda: stream.readline(LONGEST_LINE), "")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _record(line, number)


def frame_of(records: list[dict[str, Any]], as_text: Collection[str] = ()) -> Any:
    """Return records as a frame; a name that some lines lack is missing there.

    JSON has no dates: columns of text that are all dates become dates, unless in `as_text`.
    """
    import pandas as pd

    if not records:
        raise DataFileError("it holds no rows.")
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise DataFileError("its objects are all empty.")
    columns = {name: [record.get(name) for record in records] for name in names}
    series = {name: _series(values, name, name in as_text) for name, values in columns.items()}
    return pd.DataFrame(dict(zip(column_names(names), series.values(), strict=True)))


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        found = DECODER.decode(line)
    except DataFileError as error:
        raise DataFileError(f"line {number}: {error}") from None
    except RecursionError:
        raise DataFileError(f"line {number} is nested too deeply.") from None
    except ValueError as error:
        raise DataFileError(
            f"line {number} is not JSON ({error}); there must be one object per line."
        ) from None
    if not isinstance(found, dict):
        raise DataFileError(
            f"line {number} holds {str(found)[:40]!r}; it must be an object such as "
            '{"size": 3, "label": "cat"}.'
        )
    if NESTED.isdisjoint(map(type, found.values())):
        return found
    name = next(name for name, value in found.items() if type(value) in NESTED)
    raise DataFileError(
        f"line {number}: {name!r} is not a single value; give each of its parts a name."
    )


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise DataFileError("a name occurs twice in one object.")
    return found


def _constant(word: str) -> float:
    if word == "NaN":
        return float("nan")
    raise ValueError(f"{word} is no number")


DECODER = json.JSONDecoder(object_pairs_hook=_without_twins, parse_constant=_constant)


def _series(values: list[Any], name: str, as_text: bool) -> Any:
    """Return one column; numbers mixed with text become text."""
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return pd.Series(_numbers(values, kinds, name))
    if kinds == {bool}:
        return pd.Series(values, dtype="object" if None in values else "bool")
    if len(kinds) > 1:
        values = [value if value is None else _text(value) for value in values]
    refuse_nul(values, name)
    dates = None if as_text else dates_of(values)
    return as_words(values) if dates is None else dates


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _numbers(values: list[Any], kinds: set[type], name: str) -> Any:
    """Return int64 if all are there and fit, else floats."""
    whole = kinds == {int} and None not in values and -(2**63) <= min(values) <= max(values) < 2**63
    with contextlib.suppress(OverflowError):
        found = np.array(values, dtype=np.int64 if whole else np.float64)  # None becomes NaN
        if not np.isinf(found).any():
            return found
    raise DataFileError(f"{name!r} holds a number beyond the largest there is (1.8e308).")
