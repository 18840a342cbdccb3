"""Progress bars, on stderr and on a terminal only."""

from __future__ import annotations

from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from unconfused.cli.console import console


class _Bar:
    """A progress bar that is shown while its block runs."""

    def __init__(self, what: str, total: int | None, count: ProgressColumn) -> None:
        stderr = console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            count,
            TimeElapsedColumn(),
            console=stderr,
            transient=True,
            disable=not stderr.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the bar."""
        self._bar.stop()


class Stages(_Bar):
    """A progress bar with one step per stage of a command."""

    def __init__(self, n_stages: int) -> None:
        super().__init__("Starting", n_stages, MofNCompleteColumn())
        self._begun, self._what, self._rows = False, "", 0

    def __call__(self, what: str) -> None:
        """Start the next stage."""
        self._bar.update(self._task, description=what, advance=1 if self._begun else 0)
        self._begun, self._what, self._rows = True, what, 0

    def more(self, n_stages: int) -> None:
        """Add stages to the total."""
        total = self._bar.tasks[0].total or 0
        self._bar.update(self._task, total=total + n_stages)

    def rows(self, more: int) -> None:
        """Add to the number of rows shown for this stage."""
        self._rows += more
        self._bar.update(self._task, description=f"{self._what} ({self._rows:,} rows)")


class RowCount(_Bar):
    """A counter of processed rows, for files whose length is not known."""

    def __init__(self, what: str) -> None:
        super().__init__(what, None, TextColumn("{task.completed:,.0f} rows"))

    def __call__(self, rows: int) -> None:
        """Add rows."""
        self._bar.update(self._task, advance=rows)
