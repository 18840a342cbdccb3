"""A review in progress: which row is asked about, what is answered, what is taken back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unconfused._typing import FloatArray
from unconfused.review.checked import (
    DRAWN_WITHIN_LABELS,
    FEWEST_DRAWN,
    CheckedRows,
    place_verdicts,
)
from unconfused.review.drawing import RANDOM_SHARE, By, next_to_check
from unconfused.review.serve.judged import Judged
from unconfused.review.serve.rows import ReviewRows
from unconfused.review.stopping import MORE, wrong_left
from unconfused.review.verdicts import Verdict, Verdicts, append_verdicts, read_verdicts

BATCH = 50
"""Rows drawn at a time; a fit to the verdicts so far is made as often."""

NEAR = 3
"""Rows shown to compare with, of each class."""

Judge = Callable[[CheckedRows], Iterator[Judged]]
"""Judges all rows in the light of verdicts, and may add reasons to its judgements later."""


class ReviewError(ValueError):
    """A request that cannot be carried out, and why."""


class Asked(NamedTuple):
    """A row to ask about, and how it was drawn."""

    row: int
    drawn_by: str
    probability: float | None = None

    @property
    def hidden(self) -> bool:
        """Whether the suggestion stays hidden until there is an answer."""
        return self.drawn_by in DRAWN_WITHIN_LABELS


class Session:
    """One review of one file; several tabs may take part.

    The verdict file is read first, and only ever appended to. `judge` fits models to the verdicts
    so far: in the `background`, or else the next row waits for them. At the beginning, only its
    first judgements are waited for.
    """

    def __init__(
        self,
        rows: ReviewRows,
        path: Path,
        judge: Judge,
        *,
        by: By = "mix",
        random_share: float = RANDOM_SHARE,
        reviewer: str = "",
        seed: int = 0,
        background: bool = True,
    ) -> None:
        self.rows, self.path, self._judge = rows, path, judge
        self.by, self.random_share, self.reviewer, self.seed = by, random_share, reviewer, seed
        self._background = background
        self._lock = threading.RLock()
        self._place = {key: row for row, key in enumerate(rows.keys)}
        self._labels = np.array(rows.labels, dtype=object)
        self._read()
        judgements = judge(self.checked)
        self.judged = next(judgements)
        self._since_fit, self._fitting, self._rounds = 0, False, 0
        self._queue: list[Asked] = []
        self._trouble: list[str] = []
        self._asked: dict[str, Asked] = {}
        """The row each tab is asked about: no other tab is."""

        self._done: dict[str, list[Verdict]] = {}
        """Verdicts of each tab that can be taken back, the last one last."""

        self._take(judgements)

    def _read(self) -> None:
        """Read the file again: another process may have written to it."""
        self.verdicts = read_verdicts(self.path) if self.path.exists() else Verdicts([])
        wanted = [self._place[key] for key in self.verdicts.by_key if key in self._place]
        hashes = {row: self.rows.hash_of(row) for row in wanted}
        self.checked = place_verdicts(self.verdicts, self._labels, self._place, hashes)

    def _append(self, lines: list[Verdict]) -> None:
        if lines:
            append_verdicts(self.path, lines)
            self._read()

    @property
    def classes(self) -> list[str]:
        """The classes one may choose from."""
        answered = {one.verdict for one in self.verdicts.settled.values()}
        return sorted({*self.judged.classes, *answered} - {""})

    def ask(self, tab: str) -> dict[str, Any]:
        """Return the row a tab is asked about, and how things stand."""
        with self._lock:
            current = self._asked.get(tab)
            if current is None or self._is_settled(current):
                current = self._next(tab)
            return self._page(current)

    def _is_settled(self, one: Asked) -> bool:
        key = self.rows.keys[one.row]
        if one.drawn_by == "conflict":
            return key not in self.verdicts.conflicts
        return key in self.verdicts.by_key

    def _next(self, tab: str) -> Asked | None:
        """Return the next row for a tab: a conflict, or what was drawn."""
        self._asked.pop(tab, None)
        taken = {one.row for one in self._asked.values()}
        places = [self._place[key] for key in self.verdicts.conflicts if key in self._place]
        open_ = [Asked(row, "conflict") for row in places if row not in taken]
        if not open_:
            queue = self._left(self._queue, taken) or self._left(self._draw(taken), taken)
            open_, self._queue = queue[:1], queue[1:]
        if open_:
            self._asked[tab] = open_[0]
        return self._asked.get(tab)

    def _left(self, queue: list[Asked], taken: set[int]) -> list[Asked]:
        return [one for one in queue if not self._is_settled(one) and one.row not in taken]

    def _draw(self, taken: set[int]) -> list[Asked]:
        """Draw the next rows, if there are any."""
        self._rounds += 1
        known = self.checked.known
        known[list(taken)] = True
        if not (~known & (self.judged.observed >= 0)).any():
            return []
        found = next_to_check(
            self.judged,  # only its classes are asked for: the posterior is there
            self.judged.features,
            self.judged.classes_.astype(object)[self.judged.observed],
            BATCH,
            by=self.by,
            checked=self.checked,
            posterior=self.judged.ranking,
            random_share=self.random_share,
            missing_label=None,
            random_state=self.seed + self._rounds,
        )
        chances = [None if np.isnan(one) else float(one) for one in found.probability]
        drawn = list(map(Asked, found.row.tolist(), found.drawn_by.tolist(), chances))
        # Rows drawn at random whose verdict is there belong to the sample from now on.
        again = [one for one, known in zip(drawn, found.known, strict=True) if known]
        settled = [(one, self.verdicts.settled.get(self.rows.keys[one.row])) for one in again]
        self._append([
            Verdict(
                old.key, old.row_hash, old.label, "label", old.verdict, one.drawn_by,
                one.probability, old.suggested, old.shown, reviewer=old.reviewer,
                replaces=(old.id,),
            )
            for one, old in settled if old is not None
        ])  # fmt: skip
        return [one for one in drawn if one not in again]

    def answer(self, tab: str, row: int, action: str, verdict: str) -> dict[str, Any]:
        """Write a verdict to disk, and only then go on to the next row."""
        with self._lock:
            current = self._asked.get(tab)
            if current is None or current.row != row:
                raise ReviewError("This row is not the one being asked about; reload the page.")
            if action not in ("label", "skip") or (action == "label") != bool(verdict):
                raise ReviewError("An answer is a class, or to skip the row.")
            key, judged = self.rows.keys[row], self.judged
            # An answer that resolves a conflict is of a random row if one of its verdicts was.
            before = self.verdicts.conflicts.get(key, []) if current.drawn_by == "conflict" else []
            drawn = max(before, key=lambda one: one.probability or 0.0, default=current)
            suggested = judged.classes[judged.suggested(row)]
            line = Verdict(
                key, self.rows.hash_of(row), self.rows.labels[row], action,  # type: ignore[arg-type]
                verdict.strip(), drawn.drawn_by, drawn.probability, suggested, not current.hidden,
                reviewer=self.reviewer, replaces=tuple(one.id for one in before),
            )  # fmt: skip
            self._append([line])
            self._done.setdefault(tab, []).append(line)
            self._since_fit += 1
            self._fit_again()
            return self._page(self._next(tab)) | {"before": self._told(row, line)}

    def undo(self, tab: str) -> dict[str, Any]:
        """Take back the last verdict of a tab, and ask about its row again."""
        with self._lock:
            if not self._done.get(tab):
                raise ReviewError("There is nothing to undo in this tab.")
            last = self._done[tab].pop()
            undone = Verdict(last.key, last.row_hash, last.label, "undo", reviewer=self.reviewer,
                             replaces=(last.id,))  # fmt: skip
            self._append([undone])
            if tab in self._asked:
                self._queue.insert(0, self._asked[tab])
            how = "conflict" if last.key in self.verdicts.conflicts else last.drawn_by
            self._asked[tab] = Asked(self._place[last.key], how, last.probability)
            return self._page(self._asked[tab]) | {"before": f"Undone: row {last.key}."}

    def _told(self, row: int, line: Verdict) -> str:
        if line.action == "skip":
            said = f"Skipped row {line.key}."
        elif line.verdict == line.label:
            said = f"Kept {line.verdict} for row {line.key}."
        else:
            said = f"Row {line.key}: {line.label} is now {line.verdict}."
        if not line.shown:
            chance = float(self.judged.posterior[row, self.judged.suggested(row)])
            said += f" The model would have said {line.suggested} ({chance:.0%})."
        return said

    def _fit_again(self) -> None:
        if self._since_fit < BATCH or self._fitting:
            return
        self._since_fit = 0
        self._take(self._judge(self.checked))

    def _take(self, judgements: Iterator[Judged]) -> None:
        """Go by new judgements, as they come."""
        self._fitting = True
        if self._background:
            threading.Thread(target=self._fit, args=(judgements,), daemon=True).start()
        else:
            self._fit(judgements)

    def _fit(self, judgements: Iterator[Judged]) -> None:
        try:
            for judged in judgements:
                with self._lock:
                    if judged.ranking is not self.judged.ranking:
                        self._queue = []
                    self.judged, self._trouble = judged, []
        except Exception as error:  # the review goes on with the model it has
            self._trouble = [f"The last fit failed, and rows are ranked by the one before: {error}"]
        finally:
            self._fitting = False

    def _page(self, current: Asked | None) -> dict[str, Any]:
        page: dict[str, Any] = {"classes": self.classes, "progress": self.progress(), "row": None}
        if current is None:
            return page
        row, judged = current.row, self.judged
        key = self.rows.keys[row]
        page |= {
            "row": row,
            "key": key,
            "label": self.rows.labels[row],
            "votes": [{"who": who, "vote": vote} for who, vote in self.rows.votes(row)],
            "cells": self.rows.cells(row),
            "drawn_by": current.drawn_by,
            "hidden": current.hidden,
            "conflict": [
                {"verdict": one.verdict, "reviewer": one.reviewer, "time": one.time}
                for one in self.verdicts.conflicts.get(key, [])
            ],
        }
        if not current.hidden:
            best, label = judged.suggested(row), int(judged.observed[row])
            page |= {
                "suggested": judged.classes[best],
                "chance": float(judged.posterior[row, best]),
                "why": judged.why(row),
                "near": [
                    {"class": judged.classes[code], "rows": [self._near(one) for one in near]}
                    for code in dict.fromkeys((best, label))
                    if code >= 0 and (near := judged.nearest(row, code, NEAR))
                ],
            }
        return page

    def _near(self, row: int) -> dict[str, Any]:
        return {"row": row, "key": self.rows.keys[row], "cells": self.rows.cells(row)[:6]}

    def _coming(self, wrong: FloatArray) -> FloatArray:
        """Return how likely the next labels are wrong; rows drawn at random as the mean."""
        open_ = ~self.checked.known & (self.judged.observed >= 0)
        wrong = np.sort(wrong[open_])[::-1]
        by_chance = {"mix": self.random_share, "random": 1.0, "confusion": 1.0}.get(self.by, 0.0)
        n_rows = min(MORE, len(wrong))
        n_random = round(by_chance * n_rows)
        mean = np.full(n_random, wrong.mean() if n_rows else 0.0)
        return np.concatenate([wrong[: n_rows - n_random], mean])

    def progress(self) -> dict[str, Any]:
        """Return the live line: checked, share wrong left, expected gain of the next fifty."""
        checked = self.checked
        wrong = self.judged.wrong_given(checked.known, checked.y_true != self._labels)
        counted = checked.representative.sum() >= FEWEST_DRAWN
        # Without a matrix there are votes: the fit saw the verdicts.
        unseen = None if self.judged.matrix is None else self.judged.wrong
        left = wrong_left(checked, self._labels, unseen if counted else wrong)
        chances = self._coming(wrong)
        return {
            "checked": int(checked.known.sum()),
            "skipped": len(self.verdicts.skipped),
            "conflicts": len(self.verdicts.conflicts),
            "total": len(self._labels),
            "mended": left.mended,
            "left": left.share,
            "low": left.low,
            "high": left.high,
            "random": left.n_random,
            "next": len(chances),
            "gain": float(chances.sum()),
            "gain_spread": float(np.sqrt((chances * (1 - chances)).sum())),
            "notes": [*checked.notes, *self._trouble],
            "sentence": left.sentence,
        }
