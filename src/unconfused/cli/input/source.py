"""A data file as a task, read whole or in chunks: `TaskSource`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from unconfused._files import find_source
from unconfused.cli.console import Stages
from unconfused.cli.input.label_options import LabelOptions, Settings
from unconfused.cli.input.task import Plan, Task
from unconfused.cli.options import ReadOptions, is_nameless

if TYPE_CHECKING:
    from unconfused.cli.input.stream import Parts

STREAM_ABOVE = 512 * 2**20
"""File size in bytes above which files are streamed by default."""


@dataclass
class TaskSource:
    """A data file, how to read it, and a folder for features that do not fit into memory.

    As a context it shows the stages of the work, and removes temporary files at the end.
    """

    data: Path
    known: LabelOptions
    reading: ReadOptions
    settings: Settings
    scratch: Path
    stream: bool | None
    files: ExitStack = field(default_factory=ExitStack)
    stage: Stages = field(default_factory=Stages)

    def __enter__(self) -> Self:
        """Show the first stage, before slow imports."""
        self.files.enter_context(self.stage)
        self.stage(f"Reading {self.data.name}")
        return self

    def __exit__(self, *error: object) -> None:
        """Remove temporary files."""
        self.files.close()

    def open(self) -> tuple[Task, Plan]:
        """Read the data, show what each column was taken for, and plan the fit."""
        from unconfused.cli.model import make_plan, trees_to_compare
        from unconfused.cli.summary import show_columns

        if self._is_streamed():
            from unconfused.cli.input.stream import open_stream

            task, plan = open_stream(self)
        else:
            task = self._whole()
            plan = make_plan(task, self.settings)
        show_columns(plan)
        trees = trees_to_compare(task, self.settings, plan)
        if trees is None:
            return task, plan
        from unconfused.cli.comparison import better_plan

        self.stage("Comparing a linear model with boosted trees")
        return task, better_plan(task, plan, trees, self.settings.seed)

    def open_labels(self) -> Task:
        """Read the labels, to count them."""
        if not self._is_streamed():
            return self._whole()
        from unconfused.cli.input.stream import open_labels

        return open_labels(self, self.parts())

    def parts(self) -> Parts:
        """Return the chunks of the file."""
        from unconfused.cli.input.stream import Parts

        return Parts(self.data, self.reading, self.stage.rows)

    def _is_streamed(self) -> bool:
        """Return whether the file is read in chunks: as the user says, else by its size."""
        found, whole = (
            find_source(self.data, self.reading.format),
            is_nameless(self.data, self.reading),
        )
        if self.stream and whole:
            raise ValueError(f"{self.data}: {found.name} cannot be read in parts; drop --stream.")
        if self.stream is not None:
            return self.stream
        return not whole and found.path.stat().st_size > STREAM_ABOVE

    def _whole(self) -> Task:
        from unconfused.cli.input.open_task import open_task

        columns = [*self.settings.text, *self.settings.categories]
        return open_task(self.data, self.known, self.reading, columns)
