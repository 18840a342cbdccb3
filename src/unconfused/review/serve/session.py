"""A review in progress: which row is asked about, what is answered, what is taken back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unconfused.review.checked import CheckedRows, place_verdicts
from unconfused.review.drawing import By, next_to_check
from unconfused.review.serve.judged import Judged
from unconfused.review.serve.rows import ReviewRows
from unconfused.review.stopping import MORE, wrong_left
from unconfused.review.verdicts import Verdict, Verdicts, append_verdicts, read_verdicts

BATCH = 50
"""Rows drawn at a time; a fit to the verdicts so far is made as often."""

NEAR = 3
"""Rows shown to compare with, of each class."""

Judge = Callable[[CheckedRows], Judged]


class ReviewError(ValueError):
    """A request that cannot be carried out, and why."""


class Session:
    """One review of one file; several tabs may take part.

    Parameters
    ----------
    rows : the data
    path : the verdict file; it is read first, and only ever appended to
    judge : fits a model to the verdicts so far
    by : how to draw rows
    random_share : share of a mix that is drawn at random
    reviewer : who answers
    seed : of the draws
    background : whether to fit in the background; otherwise the next row waits for it
    """

    def __init__(
        self,
        rows: ReviewRows,
        path: Path,
        judge: Judge,
        *,
        by: By = "mix",
        random_share: float = 0.1,
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
        self.judged = judge(self.checked)
        self._since_fit, self._fitting, self._rounds = 0, False, 0
        self._queue: list[dict[str, Any]] = []
        self._trouble: list[str] = []
        self._asked: dict[str, dict[str, Any]] = {}
        """The row each tab is asked about: no other tab is."""

        self._done: dict[str, list[Verdict]] = {}
        """Verdicts of each tab that can be taken back, the last one last."""

    def _read(self) -> None:
        """Read the file anew: another process may have written to it."""
        self.verdicts = read_verdicts(self.path) if self.path.exists() else Verdicts([])
        wanted = [self._place[key] for key in self.verdicts.by_key if key in self._place]
        hashes = {row: self.rows.hash_of(row) for row in wanted}
        self.checked = place_verdicts(self.verdicts, self._labels, self._place, hashes)

    @property
    def classes(self) -> list[str]:
        """The classes one may choose from."""
        answered = {one.verdict for one in self.verdicts.settled.values()}
        return sorted({*self.judged.classes, *answered} - {""})

    def ask(self, tab: str) -> dict[str, Any]:
        """Return the row a tab is asked about, and how things stand."""
        with self._lock:
            current = self._asked.get(tab)
            if current is None or self._is_settled(current["row"], current["drawn_by"]):
                current = self._next(tab)
            return self._page(current)

    def _is_settled(self, row: int, drawn_by: str) -> bool:
        key = self.rows.keys[row]
        if drawn_by == "conflict":
            return key not in self.verdicts.conflicts
        return key in self.verdicts.by_key

    def _next(self, tab: str) -> dict[str, Any] | None:
        taken = {one["row"] for other, one in self._asked.items() if other != tab}
        self._asked.pop(tab, None)
        for key in self.verdicts.conflicts:
            row = self._place.get(key)
            if row is not None and row not in taken:
                self._asked[tab] = {"row": row, "drawn_by": "conflict", "probability": None}
                return self._asked[tab]
        for _ in range(2):
            while self._queue:
                one = self._queue.pop(0)
                if not self._is_settled(one["row"], one["drawn_by"]) and one["row"] not in taken:
                    self._asked[tab] = one
                    return one
            if not self._draw(taken):
                return None
        return None

    def _draw(self, taken: set[int]) -> bool:
        """Draw the next rows; return whether there were any."""
        self._rounds += 1
        known = self.checked.known
        known[list(taken)] = True
        if not (~known & (self.judged.observed >= 0)).any():
            return False
        found = next_to_check(
            self.judged.final,
            self.judged.features,
            self.judged.final.classes_.astype(object)[self.judged.observed],
            BATCH,
            by=self.by,
            checked=self.checked,
            posterior=self.judged.ranking,
            random_share=self.random_share,
            missing_label=None,
            random_state=self.seed + self._rounds,
        )
        self._count_as_random(found)
        self._queue = [
            {
                "row": int(row),
                "drawn_by": str(how),
                "probability": None if np.isnan(chance) else float(chance),
            }
            for row, how, chance, there in zip(
                found.row, found.drawn_by, found.probability, found.known, strict=True
            )
            if not there and int(row) not in taken
        ]
        return bool(self._queue)

    def _count_as_random(self, found: Any) -> None:
        """Record rows drawn by chance whose verdict is there: they belong to the sample now."""
        again = []
        for row, how, chance in zip(
            found.row[found.known], found.drawn_by[found.known], found.probability[found.known],
            strict=True,
        ):  # fmt: skip
            old = self.verdicts.settled.get(self.rows.keys[row])
            if old is not None:
                drawn = Verdict(
                    old.key, old.row_hash, old.label, "label", old.verdict, str(how), float(chance),
                    old.suggested, old.shown, reviewer=old.reviewer, replaces=(old.id,),
                )  # fmt: skip
                again.append(drawn)
        if again:
            self._append(again)

    def _append(self, lines: list[Verdict]) -> None:
        append_verdicts(self.path, lines)
        self._read()

    def answer(self, tab: str, row: int, action: str, verdict: str) -> dict[str, Any]:
        """Write a verdict to disk, and only then go on to the next row."""
        with self._lock:
            current = self._asked.get(tab)
            if current is None or current["row"] != row:
                raise ReviewError("This row is not the one being asked about; reload the page.")
            if action not in ("label", "skip") or (action == "label") != bool(verdict):
                raise ReviewError("An answer is a class, or to skip the row.")
            key, judged = self.rows.keys[row], self.judged
            how, chance = current["drawn_by"], current["probability"]
            replaces: tuple[str, ...] = ()
            if how == "conflict":
                before = self.verdicts.conflicts.get(key, [])
                replaces = tuple(one.id for one in before)
                drawn = max(before, key=lambda one: one.probability or 0.0, default=None)
                if drawn is not None:
                    how, chance = drawn.drawn_by, drawn.probability
            suggested = judged.classes[judged.suggested(row)]
            line = Verdict(
                key, self.rows.hash_of(row), self.rows.labels[row], action,  # type: ignore[arg-type]
                verdict.strip(), how, chance, suggested, not self._is_hidden(current),
                reviewer=self.reviewer, replaces=replaces,
            )  # fmt: skip
            self._append([line])
            self._done.setdefault(tab, []).append(line)
            self._asked.pop(tab)
            self._since_fit += 1
            self._fit_again()
            page = self._page(self._next(tab))
            page["before"] = self._told(row, line, suggested)
            return page

    def undo(self, tab: str) -> dict[str, Any]:
        """Take back the last verdict of a tab, and ask about its row again."""
        with self._lock:
            done = self._done.get(tab) or []
            if not done:
                raise ReviewError("There is nothing to undo in this tab.")
            last = done.pop()
            self._append([replace(Verdict(last.key, last.row_hash, last.label, "undo"),
                                  replaces=(last.id,), reviewer=self.reviewer)])  # fmt: skip
            current = self._asked.pop(tab, None)
            if current is not None:
                self._queue.insert(0, current)
            how = "conflict" if last.key in self.verdicts.conflicts else last.drawn_by
            self._asked[tab] = {
                "row": self._place[last.key], "drawn_by": how, "probability": last.probability,
            }  # fmt: skip
            page = self._page(self._asked[tab])
            page["before"] = f"Undone: row {last.key}."
            return page

    def _told(self, row: int, line: Verdict, suggested: str) -> str:
        if line.action == "skip":
            said = f"Skipped row {line.key}."
        elif line.verdict == line.label:
            said = f"Kept {line.verdict} for row {line.key}."
        else:
            said = f"Row {line.key}: {line.label} is now {line.verdict}."
        if not line.shown:
            chance = float(self.judged.posterior[row, self.judged.suggested(row)])
            said += f" The model would have said {suggested} ({chance:.0%})."
        return said

    @staticmethod
    def _is_hidden(current: dict[str, Any]) -> bool:
        return current["drawn_by"] in ("random", "confusion")

    def _fit_again(self) -> None:
        if self._since_fit < BATCH or self._fitting:
            return
        self._fitting, self._since_fit = True, 0
        if self._background:
            threading.Thread(target=self._fit, args=(self.checked,), daemon=True).start()
        else:
            self._fit(self.checked)

    def _fit(self, checked: CheckedRows) -> None:
        try:
            judged = self._judge(checked)
            with self._lock:
                self.judged, self._queue, self._trouble = judged, [], []
        except Exception as error:  # the review goes on with the model it has
            self._trouble = [f"The last fit failed, and rows are ranked by the one before: {error}"]
        finally:
            self._fitting = False

    def _page(self, current: dict[str, Any] | None) -> dict[str, Any]:
        page: dict[str, Any] = {"classes": self.classes, "progress": self.progress()}
        if current is None:
            return page | {"row": None}
        row, judged = current["row"], self.judged
        key = self.rows.keys[row]
        hidden = self._is_hidden(current)
        page |= {
            "row": row,
            "key": key,
            "label": self.rows.labels[row],
            "votes": [{"who": who, "vote": vote} for who, vote in self.rows.votes(row)],
            "cells": self.rows.cells(row),
            "drawn_by": current["drawn_by"],
            "hidden": hidden,
            "conflict": [
                {"verdict": one.verdict, "reviewer": one.reviewer, "time": one.time}
                for one in self.verdicts.conflicts.get(key, [])
            ],
        }
        if not hidden:
            best, label = judged.suggested(row), int(judged.observed[row])
            page["suggested"] = judged.classes[best]
            page["chance"] = float(judged.posterior[row, best])
            page["why"] = judged.why(row)
            page["near"] = [
                {"class": judged.classes[code], "rows": [self._near(one) for one in near]}
                for code in dict.fromkeys((best, label))
                if code >= 0 and (near := judged.nearest(row, code, NEAR))
            ]
        return page

    def _near(self, row: int) -> dict[str, Any]:
        return {"row": row, "key": self.rows.keys[row], "cells": self.rows.cells(row)[:6]}

    def _coming(self) -> Any:
        """Return how likely the next labels are wrong; rows drawn at random as the mean."""
        open_ = ~self.checked.known & (self.judged.observed >= 0)
        wrong = np.sort(self.judged.wrong[open_])[::-1]
        by_chance = {"mix": self.random_share, "random": 1.0, "confusion": 1.0}.get(self.by, 0.0)
        n_rows = min(MORE, len(wrong))
        n_random = round(by_chance * n_rows)
        mean = np.full(n_random, wrong.mean() if n_rows else 0.0)
        return np.concatenate([wrong[: n_rows - n_random], mean])

    def progress(self) -> dict[str, Any]:
        """Return the live line: checked, share wrong left, expected gain of the next fifty."""
        judged, checked = self.judged, self.checked
        left = wrong_left(checked, self._labels, judged.wrong)
        chances = self._coming()
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
            "fitting": self._fitting,
            "sentence": left.sentence,
        }
