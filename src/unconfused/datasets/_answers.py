"""Data sets that users supply as files: rows, and the answers of a crowd about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from unconfused._typing import Labels
from unconfused.datasets._home import (
    DataHome,
    TableFile,
    find_data_home,
    has_files,
    import_pandas,
    not_found,
    read_columns,
)

ANSWERS = "answers"
"""Key of the file of answers among a set's files."""


@dataclass(frozen=True)
class SuppliedSet:
    """A data set that cannot be downloaded.

    Parameters
    ----------
    folder : its folder in the data home
    title : its name in messages
    columns : header of the files of rows
    files : the files of rows by part, and that of `ANSWERS` if there is one
    origin : tells those who lack the files where the set comes from and what they should hold
    answer_columns : header of the answers: the annotator, the item and the label
    """

    folder: str
    title: str
    columns: list[str]
    files: dict[str, TableFile]
    origin: str
    answer_columns: tuple[str, str, str] = ("annotator", "item", "label")

    def read(self, data_home: DataHome, parts: list[str]) -> SuppliedRows:
        """Read the rows of some parts, after checking that no file is missing."""
        folder = find_data_home(data_home) / self.folder
        answered = ANSWERS in self.files and "train" in parts
        names = [self.files[part].name for part in (*parts, *[ANSWERS] * answered)]
        if not has_files(folder, names):
            raise FileNotFoundError(
                f"{not_found(self.title, folder, names)} It cannot be downloaded. {self.origin}"
            )
        tables = [read_columns(folder, self.files[part], self.columns) for part in parts]
        joined = {name: [cell for table in tables for cell in table[name]] for name in self.columns}
        # Parts may number their rows alike; only training rows have answers.
        items = tables[0]["id"] if answered else []
        return SuppliedRows(self, folder, joined, items)


@dataclass(frozen=True)
class SuppliedRows:
    """The rows of some parts of a data set, with access to the answers about them."""

    source: SuppliedSet
    folder: Path
    columns: dict[str, list[str]]
    items: list[str]
    """Identifiers of the rows with answers, which come first; empty without the training part."""

    @property
    def target(self) -> Labels:
        """The true classes."""
        return np.array(self.columns["class"])

    @property
    def texts(self) -> Labels:
        """The column ``text``."""
        return np.array(self.columns["text"], dtype=object)

    def votes(self, *, as_frame: bool = False) -> dict[str, Any]:
        """Read the answers: as a table of votes, and one per line. Empty without training rows."""
        if not self.items:
            return {}
        table, (_, item_name, _) = self.source.files[ANSWERS], self.source.answer_columns
        path = self.folder / table.name
        read = read_columns(self.folder, table, list(self.source.answer_columns))
        who, what, said = read.values()
        row_of = {identifier: row for row, identifier in enumerate(self.items)}
        if unknown := sorted(set(what) - set(row_of)):
            raise ValueError(
                f"{path} has votes on {item_name}s that train.csv lacks, such as {unknown[0]}."
            )
        item = np.array([row_of[identifier] for identifier in what], dtype=np.intp)
        annotator, label = _whole_numbers(np.array(who)), np.array(said)
        annotators, column = np.unique(annotator, return_inverse=True)
        votes = np.full((len(self.columns["id"]), len(annotators)), None, dtype=object)
        votes[item, column] = label.astype(object)
        if np.count_nonzero(votes != None) != len(item):  # noqa: E711 (elementwise)
            raise ValueError(f"{path} has two answers of one annotator on one {item_name}.")
        answers: Any = Bunch(item=item, annotator=annotator, label=label)
        if as_frame:
            pandas = import_pandas()
            answers = pandas.DataFrame(dict(answers))
            votes = pandas.DataFrame(votes, columns=annotators, dtype=object)
        return {"votes": votes, "annotators": annotators, "answers": answers}


def supplied_file(name: str, columns: list[str], sha256: str) -> TableFile:
    """Describe a file that people may well have made themselves."""
    return TableFile(name, len(columns), None, sha256, own_copies=True)


def _whole_numbers(names: Labels) -> Labels:
    """Annotators are numbered in the public files; names of another kind stay strings."""
    return names.astype(np.intp) if np.char.isdecimal(names).all() else names
