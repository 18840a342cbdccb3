"""A task whose rows do not fit into memory: read in chunks, features kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from unconfused._columns.kinds import require_columns
from unconfused._columns.steps import columns_as_text, prepare_frame
from unconfused._columns.streamed import ColumnsInBlocks
from unconfused._files import DataFileError, LabelledRows, find_source
from unconfused._files.disk_rows import DiskRows, scratch_file
from unconfused._files.sparse import iter_svmlight, plain_labels
from unconfused._files.types import kinds_of
from unconfused._typing import IntArray
from unconfused.cli.input.open_task import (
    checked_in_parts,
    refuse_unknown_columns,
    task_of_rows,
    task_of_table,
)
from unconfused.cli.input.task import Plan, Sample, Task, label_texts
from unconfused.cli.model import SparseColumns, as_they_are, make_learner
from unconfused.cli.options import ReadOptions

if TYPE_CHECKING:
    from unconfused.cli.input.source import TaskSource

CELLS = 2**22
"""Cells per chunk, roughly: 32 MB of numbers."""

FEWEST_ROWS, MOST_ROWS = 2**8, 2**16
"""Bounds on the rows per chunk."""


class Parts:
    """The chunks of a file as frames with the same columns, indexed by row number."""

    def __init__(
        self, path: Path, reading: ReadOptions, count: Callable[[int], None] | None = None
    ) -> None:
        self.path, self._reading, self._count = path, reading, count
        self._rows, self.names, self.n_rows = 0, list[str](), 0
        """Known after the first pass."""

    def __call__(
        self, as_text: Collection[str] = (), kept: np.ndarray[Any, Any] | None = None
    ) -> Iterator[Any]:
        """Yield the chunks; with `kept`, a mask over the rows of the file, only those rows."""
        if not self._rows:
            self._rows = int(np.clip(CELLS // self.first_row().shape[1], FEWEST_ROWS, MOST_ROWS))
        for part in self._frames(self._rows, as_text):
            if self._count is not None:  # of the rows read, for those who wait
                self._count(len(part))
            if kept is None:
                yield part
            elif (rows := kept[part.index]).any():
                # Names that no line of this part has are those of other lines (JSON).
                yield part.reindex(columns=self.names)[rows]

    def rows(
        self, rows: Collection[int], as_text: Collection[str] = (), columns: Any = None
    ) -> Any:
        """Return the rows with these numbers as a frame, in this order; all columns, or some."""
        import pandas as pd

        wanted = np.unique(np.asarray(rows, dtype=np.int64))
        found = []
        for part in self(as_text):
            here = wanted[(wanted >= part.index[0]) & (wanted <= part.index[-1])]
            # A line of JSON may lack a name that others have: parts without a row count for theirs.
            some = part if columns is None else part[part.columns.intersection(columns)]
            found.append(some.loc[here].astype(object))
        return pd.concat(found).loc[list(rows)]

    def first_row(self) -> Any:
        """Return a frame with the first row only."""
        return next(self._frames(1, ()))

    def _frames(self, rows: int, as_text: Collection[str]) -> Iterator[Any]:
        return self._reading.parts(self.path, rows, as_text)


def first_pass(parts: Parts, wanted: list[str], as_text: list[str]) -> tuple[Any, list[str]]:
    """Return the columns asked for that are there, as text, and the names of columns of words.

    The latter are columns of which not all parts are numbers, or dates.
    """
    import pandas as pd

    found: dict[str, list[str | None]] = {}
    kinds: dict[str, set[str]] = {}
    same: dict[str | None, str | None] = {}  # one object for each text: labels repeat
    for part in parts(as_text):
        for name in part.columns:
            kinds.setdefault(str(name), set()).update(kinds_of(part[name]))
        for name in wanted:
            if name in part.columns:
                cells = found.setdefault(name, [])
                cells += [None] * (parts.n_rows - len(cells))  # a line of JSON may lack a name
                cells += [same.setdefault(text, text) for text in label_texts(part[name])]
        parts.n_rows += len(part)
    parts.names = list(kinds)
    for cells in found.values():
        cells += [None] * (parts.n_rows - len(cells))
    words = [name for name, sorts in kinds.items() if len(sorts) > 1 or "words" in sorts]
    return pd.DataFrame(found, index=range(parts.n_rows), dtype=object), words


SAMPLE = 50_000
"""Maximum number of rows in a report."""

ENTRIES = 2**22
"""Entries of a sparse matrix scaled at a time."""


def open_stream(source: TaskSource) -> tuple[Task, Plan]:
    """Read a file in chunks; its features go to files that are removed when `source` is closed."""
    if _format_of(source) == "svmlight":
        return _open_svmlight(source)
    source.settings.refuse_unsuitable(named=True)
    parts = source.parts()
    task, words = _labels(source, parts)
    source.stage("Looking at the columns")
    kept = np.zeros(parts.n_rows, dtype=bool)
    kept[task.place] = True
    return task, _features(source, parts, kept, task, words)


def open_labels(source: TaskSource) -> Task | None:
    """Read the labels only; None if the features are needed too."""
    known = source.known
    counted = known.truth or known.verdicts or known.annotators or known.votes
    if not counted or _format_of(source) == "svmlight":
        return None
    return _labels(source, source.parts())[0]


def _format_of(source: TaskSource) -> str:
    return find_source(source.data, source.reading.format).format


def _labels(source: TaskSource, parts: Parts) -> tuple[Task, list[str]]:
    """Read the label columns; also return the columns to be read as text."""
    import pandas as pd

    known, settings = source.known, source.settings
    as_text = [*known.columns(), *settings.text, *settings.categories]
    if _format_of(source) != "jsonl":
        # A line of JSON may lack a name that others have; elsewhere the first row tells all.
        _refuse_names(source, parts.first_row())
    source.stage(f"Reading the labels of {source.data.name}")
    # Names of rows are many, and needed here only to find the answers that belong to them.
    wanted = [n for n in known.columns() if known.votes is not None or n != known.identity]
    labels, words = first_pass(parts, wanted, as_text)
    _refuse_names(source, pd.DataFrame(columns=parts.names))
    checked = None
    if known.verdicts is not None:
        given = None if known.label is None else labels.get(known.label)
        checked = checked_in_parts(parts, given, known)
    nameless = known if known.votes is not None else replace(known, identity=None)
    task = task_of_table(source.data, labels, nameless, source.reading, checked)
    if nameless.identity != known.identity:
        task.reserved.append(str(known.identity))
    return task, [*as_text, *words]


def _refuse_names(source: TaskSource, table: Any) -> None:
    refuse_unknown_columns(source.data, table, source.known)
    settings = source.settings
    named = [*settings.text, *settings.categories, *settings.numbers, *settings.ignore]
    require_columns(table, named)


def _features(source: TaskSource, parts: Parts, kept: Any, task: Task, words: list[str]) -> Plan:
    import pandas as pd

    settings = source.settings
    with scratch_file(source.scratch) as file:
        names = pd.DataFrame(columns=parts.names)
        columns = ColumnsInBlocks(names, file, settings.roles(task.reserved))
        for part in parts(words, kept):
            columns.add(part)
        transformer, plan = columns.finish()
    source.stage("Making features")
    model = Pipeline([("columns", transformer), ("learner", make_learner(task, settings))])
    n_nonzero = columns.n_nonzero(plan) if transformer.sparse_output_ else None
    width = len(transformer.get_feature_names_out())
    rows = source.files.enter_context(DiskRows(source.scratch, width, n_nonzero))
    shown = [name for name in (source.known.identity, *plan.text[:1]) if name is not None]
    chosen, cells, begun = _sample(len(task.place), settings.seed), [], 0
    for part in parts([*columns_as_text(model), *shown], kept):
        rows.append(transformer.transform(prepare_frame(model, part)))
        here = chosen[(chosen >= begun) & (chosen < begun + len(part))] - begun
        cells.append(part[shown].iloc[here])
        begun += len(part)
    return Plan(model, rows.matrix(), plan, Sample(chosen, pd.concat(cells)))


def _sample(n_rows: int, seed: int) -> IntArray:
    if n_rows <= SAMPLE:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(seed).choice(n_rows, SAMPLE, replace=False))


def _open_svmlight(source: TaskSource) -> tuple[Task, Plan]:
    settings, stage = source.settings, source.stage
    settings.refuse_unsuitable(named=False)
    file = find_source(source.data, source.reading.format)
    stage(f"Reading the labels of {source.data.name}")
    labels, lowest, highest, n_nonzero = [], 1, -1, 0
    for X, y in iter_svmlight(file):
        labels.append(y)
        if X.nnz:
            lowest, highest = min(lowest, X.indices.min()), max(highest, X.indices.max())
        n_nonzero += X.nnz
        stage.rows(len(y))
    if not labels:
        raise DataFileError(f"{source.data}: it holds no rows.")
    y = plain_labels(np.concatenate(labels))
    task = task_of_rows(source.data, LabelledRows(np.empty((len(y), 0)), y), source.known)
    kept = np.zeros(len(y), dtype=bool)
    kept[task.place] = True
    stage("Making features")
    counts_from = 1 if lowest > 0 and n_nonzero else 0
    width = int(highest) + 1 - counts_from
    rows = source.files.enter_context(DiskRows(source.scratch, width, n_nonzero))
    columns, begun = SparseColumns(), 0
    for X, y in iter_svmlight(file):
        shape = (X.shape[0], width)
        X = sparse.csr_matrix((X.data, X.indices - counts_from, X.indptr), shape=shape)
        X = X[kept[begun : begun + len(y)]]
        columns.add(X)
        rows.append(X)
        begun += len(y)
        stage.rows(len(y))
    scaler = as_they_are().fit(X) if settings.as_is else columns.scaler(width)
    matrix = rows.matrix()
    if hasattr(scaler, "scale_"):
        for start in range(0, matrix.nnz, ENTRIES):  # in place
            some = slice(start, start + ENTRIES)
            matrix.data[some] *= 1.0 / scaler.scale_[matrix.indices[some]]
    model = Pipeline([("scale", scaler), ("learner", make_learner(task, settings))])
    return task, Plan(model, matrix, None, Sample(_sample(len(task.place), settings.seed), None))
