"""What people see while they wait: on a terminal only, and never on stdout."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from unconfused.cli.console import console


class Stages:
    """A bar that moves on with every stage of a command.

    Parameters
    ----------
    n_stages : how many there will be
    """

    def __init__(self, n_stages: int) -> None:
        stderr = console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=stderr,
            transient=True,
            disable=not stderr.is_terminal,
        )
        self._task = self._bar.add_task("Starting", total=n_stages)
        self._begun, self._what, self._rows = False, "", 0

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __call__(self, what: str) -> None:
        """Begin the next stage."""
        self._bar.update(self._task, description=what, advance=1 if self._begun else 0)
        self._begun, self._what, self._rows = True, what, 0

    def more(self, n_stages: int) -> None:
        """Reckon with more stages."""
        total = self._bar.tasks[0].total or 0
        self._bar.update(self._task, total=total + n_stages)

    def rows(self, more: int) -> None:
        """Show how many rows the stage has seen by now."""
        self._rows += more
        self._bar.update(self._task, description=f"{self._what} ({self._rows:,} rows)")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()


class RowCount:
    """How many rows of a file are done; how many there are is known at its end only."""

    def __init__(self, what: str) -> None:
        stderr = console(stderr=True)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f} rows"),
            TimeElapsedColumn(),
            console=stderr,
            transient=True,
            disable=not stderr.is_terminal,
        )
        self._task = self._bar.add_task(what, total=None)

    def __enter__(self) -> Self:
        """Show the count."""
        self._bar.start()
        return self

    def __call__(self, rows: int) -> None:
        """Add rows."""
        self._bar.update(self._task, advance=rows)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the count away."""
        self._bar.stop()
