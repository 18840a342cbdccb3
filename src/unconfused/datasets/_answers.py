"""Answers of a crowd, one per line of a file, as the votes of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from unconfused._typing import Labels
from unconfused.datasets._home import TableFile, import_pandas, read_columns


def read_answers(
    folder: Path, table: TableFile, columns: list[str], items: Labels, *, as_frame: bool = False
) -> dict[str, Any]:
    """Read answers on items: as a table of votes, and one answer per line.

    The file's columns are the annotator, the item, and the label; `items` are the identifiers of
    the rows of the data.
    """
    path = folder / table.name
    who, what, said = read_columns(folder, table, columns).values()
    row_of = {identifier: row for row, identifier in enumerate(items.tolist())}
    if unknown := sorted(set(what) - set(row_of)):
        raise ValueError(
            f"{path} has votes on {columns[1]}s that train.csv lacks, such as {unknown[0]}."
        )
    item = np.array([row_of[identifier] for identifier in what], dtype=np.intp)
    annotator, label = whole_numbers(np.array(who)), np.array(said)
    annotators, column = np.unique(annotator, return_inverse=True)
    votes = np.full((len(items), len(annotators)), None, dtype=object)
    votes[item, column] = label.astype(object)
    if np.count_nonzero(votes != None) != len(item):  # noqa: E711 (elementwise)
        raise ValueError(f"{path} has two answers of one annotator on one {columns[1]}.")
    answers: Any = Bunch(item=item, annotator=annotator, label=label)
    if as_frame:
        pandas = import_pandas()
        answers = pandas.DataFrame(dict(answers))
        votes = pandas.DataFrame(votes, columns=annotators, dtype=object)
    return {"votes": votes, "annotators": annotators, "answers": answers}


def whole_numbers(names: Labels) -> Labels:
    """Annotators are numbered in the public files; names of another kind stay strings."""
    return names.astype(np.intp) if np.char.isdecimal(names).all() else names
