"""A task whose rows do not fit into memory: read in chunks, features kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from unconfused._columns.kinds import require as require_columns
from unconfused._columns.prepare import columns_as_text, prepare_frame
from unconfused._columns.streamed import ColumnsInBlocks
from unconfused._files.disk_rows import DiskRows, scratch_file
from unconfused._files.errors import DataFileError
from unconfused._files.formats import LabelledRows, find_source
from unconfused._files.sparse import iter_svmlight, plain_labels
from unconfused._files.types import kinds_of
from unconfused._typing import IntArray
from unconfused.cli.input.label_columns import code_labels
from unconfused.cli.input.open_task import (
    checked_in_parts,
    refuse_unknown_columns,
    task_of_rows,
    task_of_table,
)
from unconfused.cli.input.task import Task
from unconfused.cli.learners import make_learner
from unconfused.cli.model import Plan, Sample, refuse_as_is, refuse_column_options
from unconfused.cli.scaling import SparseColumns, as_they_are

if TYPE_CHECKING:
    from unconfused.cli.input.label_options import ReadOptions
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
            if len(here):
                # A line of JSON may lack a name that others have.
                some = part if columns is None else part.reindex(columns=columns)
                found.append(some.loc[here].astype(object))
        return pd.concat(found).loc[list(rows)]

    def first_row(self) -> Any:
        """Return a frame with the first row only."""
        return next(self._frames(1, ()))

    def _frames(self, rows: int, as_text: Collection[str]) -> Iterator[Any]:
        return self._reading.parts(self.path, rows, as_text)


class CodedColumn:
    """A column of labels as integer codes, collected chunk by chunk."""

    def __init__(self) -> None:
        self._codes: list[Any] = []
        self._texts: dict[str, int] = {}

    def add(self, column: Any) -> None:
        """Add a chunk."""
        codes, texts = code_labels(column)
        new = [self._texts.setdefault(text, len(self._texts)) for text in texts]
        self._codes.append(np.array([*new, -1], dtype=np.int32)[codes])

    def series(self) -> Any:
        """Return the column as a pandas categorical."""
        import pandas as pd

        found = pd.Categorical.from_codes(np.concatenate(self._codes), pd.Index(list(self._texts)))
        return pd.Series(found)


class FirstPass:
    """The result of the first pass.

    Attributes
    ----------
    labels : a frame of the columns asked for that are there, all rows
    words : columns that must be read as text, as not all their parts are numbers or dates
    """

    def __init__(self, parts: Parts, wanted: list[str], as_text: list[str]) -> None:
        import pandas as pd

        coded: dict[str, CodedColumn] = {}
        sorts: dict[str, set[str]] = {}
        for part in parts(as_text):
            for name in part.columns:
                sorts.setdefault(str(name), set()).update(kinds_of(part[name]))
            for name in wanted:
                if name in part.columns:
                    if name not in coded:
                        coded[name] = CodedColumn()
                        coded[name].add([None] * parts.n_rows)
                    coded[name].add(part[name])
                elif name in coded:
                    coded[name].add([None] * len(part))
            parts.n_rows += len(part)
        parts.names = list(sorts)
        self.labels = pd.DataFrame({name: one.series() for name, one in coded.items()})
        self.words = [name for name, found in sorts.items() if len(found) > 1 or "words" in found]


SAMPLE = 50_000
"""Maximum number of rows in a report."""

ENTRIES = 2**22
"""Entries of a sparse matrix scaled at a time."""


class Stream:
    """A file to stream; its features go to temporary files, removed when its source is closed."""

    def __init__(self, source: TaskSource) -> None:
        self.path, self.known, self.reading = source.data, source.known, source.reading
        self.settings, self.scratch, self.files = source.settings, source.scratch, source.files
        self.stage = source.stage
        self.format = find_source(self.path, self.reading.format).format

    def open(self) -> tuple[Task, Plan]:
        """Read the file in chunks."""
        if self.format == "svmlight":
            return self._open_svmlight()
        refuse_as_is(self.settings)
        parts = Parts(self.path, self.reading, self.stage.rows)
        task, words = self._labels(parts)
        self.stage("Looking at the columns")
        kept = np.zeros(parts.n_rows, dtype=bool)
        kept[task.place] = True
        return task, self._features(parts, kept, task, words)

    def open_labels(self) -> Task | None:
        """Read the labels only; None if the features are needed too."""
        known = self.known
        counted = known.truth or known.verdicts or known.annotators or known.votes
        if not counted or self.format == "svmlight":
            return None
        return self._labels(Parts(self.path, self.reading, self.stage.rows))[0]

    def _labels(self, parts: Parts) -> tuple[Task, list[str]]:
        """Read the label columns; also return the columns to be read as text."""
        import pandas as pd

        known, chosen = self.known, [*self.settings.text, *self.settings.categories]
        if self.format != "jsonl":
            # A line of JSON may lack a name that others have; elsewhere the first row tells all.
            self._refuse_names(parts.first_row())
        self.stage(f"Reading the labels of {self.path.name}")
        names = known.columns()
        # Names of rows are many, and needed here only to find the answers that belong to them.
        wanted = [n for n in names if known.votes is not None or n != known.identity]
        first = FirstPass(parts, wanted, [*names, *chosen])
        self._refuse_names(pd.DataFrame(columns=parts.names))
        checked = None
        if known.verdicts is not None:
            labels = None if known.label is None else first.labels.get(known.label)
            checked = checked_in_parts(parts, labels, known)
        if known.votes is not None:
            task = task_of_table(self.path, first.labels, known, self.reading, checked)
        else:
            nameless = replace(known, identity=None)
            task = task_of_table(self.path, first.labels, nameless, self.reading, checked)
            identity = [] if known.identity is None else [known.identity]
            task = replace(task, reserved=[*task.reserved, *identity])
        return task, [*names, *chosen, *first.words]

    def _refuse_names(self, table: Any) -> None:
        refuse_unknown_columns(self.path, table, self.known)
        settings = self.settings
        named = [*settings.text, *settings.categories, *settings.numbers, *settings.ignore]
        require_columns(table, named)

    def _features(self, parts: Parts, kept: Any, task: Task, words: list[str]) -> Plan:
        import pandas as pd

        settings = self.settings
        with scratch_file(self.scratch) as file:
            columns = ColumnsInBlocks(
                pd.DataFrame(columns=parts.names),
                file,
                reserved=[*task.reserved, *settings.ignore],
                text=settings.text,
                categories=settings.categories,
                numbers=settings.numbers,
            )
            for part in parts(words, kept):
                columns.add(part)
            transformer, plan = columns.finish()
        self.stage("Making features")
        model = Pipeline([("columns", transformer), ("learner", make_learner(task, settings))])
        n_nonzero = columns.n_nonzero(plan) if transformer.sparse_output_ else None
        width = len(transformer.get_feature_names_out())
        rows = self.files.enter_context(DiskRows(self.scratch, width, n_nonzero))
        shown = [name for name in (self.known.identity, *plan.text[:1]) if name is not None]
        chosen, cells, begun = self._sample(len(task.place)), [], 0
        for part in parts([*columns_as_text(model), *shown], kept):
            rows.append(transformer.transform(prepare_frame(model, part)))
            here = chosen[(chosen >= begun) & (chosen < begun + len(part))] - begun
            cells.append(part[shown].iloc[here])
            begun += len(part)
        return Plan(model, rows.matrix(), plan, Sample(chosen, pd.concat(cells)))

    def _sample(self, n_rows: int) -> IntArray:
        if n_rows <= SAMPLE:
            return np.arange(n_rows)
        rng = np.random.RandomState(self.settings.seed)
        return np.sort(rng.choice(n_rows, SAMPLE, replace=False))

    def _open_svmlight(self) -> tuple[Task, Plan]:
        refuse_column_options(self.settings)
        source = find_source(self.path, self.reading.format)
        self.stage(f"Reading the labels of {self.path.name}")
        labels, lowest, highest, n_nonzero = [], 1, -1, 0
        for X, y in iter_svmlight(source):
            labels.append(y)
            if X.nnz:
                lowest, highest = min(lowest, X.indices.min()), max(highest, X.indices.max())
            n_nonzero += X.nnz
            self.stage.rows(len(y))
        if not labels:
            raise DataFileError(f"{self.path}: it holds no rows.")
        y = plain_labels(np.concatenate(labels))
        task = task_of_rows(self.path, LabelledRows(np.empty((len(y), 0)), y), self.known)
        kept = np.zeros(len(y), dtype=bool)
        kept[task.place] = True
        self.stage("Making features")
        counts_from = 1 if lowest > 0 and n_nonzero else 0
        width = int(highest) + 1 - counts_from
        rows = self.files.enter_context(DiskRows(self.scratch, width, n_nonzero))
        columns, begun = SparseColumns(width), 0
        for X, y in iter_svmlight(source):
            shape = (X.shape[0], width)
            X = sparse.csr_matrix((X.data, X.indices - counts_from, X.indptr), shape=shape)
            X = X[kept[begun : begun + len(y)]]
            columns.add(X)
            rows.append(X)
            begun += len(y)
            self.stage.rows(len(y))
        scaler = as_they_are().fit(X) if self.settings.as_is else columns.scaler()
        matrix = rows.matrix()
        if hasattr(scaler, "scale_"):
            _scale(matrix, scaler.scale_)
        model = Pipeline([("scale", scaler), ("learner", make_learner(task, self.settings))])
        return task, Plan(model, matrix, None, Sample(self._sample(len(task.place)), None))


def _scale(rows: Any, scale: Any) -> None:
    """Scale the columns in place, a block of entries at a time."""
    for start in range(0, rows.nnz, ENTRIES):
        some = slice(start, start + ENTRIES)
        rows.data[some] *= 1.0 / scale[rows.indices[some]]
