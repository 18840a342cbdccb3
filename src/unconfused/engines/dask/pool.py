"""Which worker holds which rows, and how a question reaches all of them."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.dask.fingerprint import Fingerprint
from unconfused.engines.dask.parts import Part, ask_without, build_part

SHARE_OF_MEMORY = 0.5
"""Without a cluster, rows are kept in memory while they fit into this share of it."""

PATIENCE = 5.0
"""Seconds to wait for answers before looking whether workers that hold rows are gone."""

NO_WORKERS = 600.0
"""Seconds without any worker after which nobody is waited for any longer."""

MOST_LOSSES = 3
"""So often may the workers with the same rows be lost while one question is asked; as in Dask."""


class Pool(Protocol):
    """Parts of the rows, wherever they are."""

    kept: bool
    """Whether parts stay, and with them what they remember, from one question to the next."""

    def __len__(self) -> int:
        """Return the number of parts."""
        ...

    def ask(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Call ``function(part, argument)`` for every part, where that part is."""
        ...

    def ask_all(self, function: Callable[..., Any], argument: Any) -> list[Any]:
        """Call ``function(part, argument)`` with the same argument for every part."""
        ...

    def find_homes(self) -> None:
        """See where the parts are now: some moved, or were made again elsewhere."""
        ...


class PartPool:
    """The rows as one part per worker thread.

    Parameters
    ----------
    blocks : one Delayed (rows, codes, weights) per block
    homes : for each block, the worker that has it already; None if none has
    n_rows : rows of every block; NaN where not known
    n_bytes : size of all rows; NaN where not known
    build : makes a part of a list of blocks

    With a cluster the parts stay on its workers while this object lives, as results that Dask
    makes again from the blocks if their worker dies. Without one they stay in memory if they fit,
    and are otherwise made again for every pass.
    """

    def __init__(
        self,
        blocks: Sequence[Any],
        homes: Sequence[str | None],
        n_rows: FloatArray,
        n_bytes: float,
        build: Callable[[Sequence[Any]], Any],
    ) -> None:
        import dask

        self._client = active_client()
        groups = _groups(homes, n_rows, _slots(self._client))
        self.groups = [group for _, group in groups]
        """Numbers of the blocks that each part is made of, in order."""

        self.n_rows = n_rows
        self._homes = [home for home, _ in groups]
        self._blocks, self._build = blocks, dask.delayed(build, pure=False)
        self._fingerprints: list[Fingerprint | None] = [None] * len(groups)
        if self._client is not None:
            self.kept = True
            self._parts = [self._made_at(i, home) for i, home in enumerate(self._homes)]
        else:
            self.kept = _same_process() and not n_bytes > SHARE_OF_MEMORY * _memory()
            self._parts = [self._recipe(i) for i in range(len(groups))]
            if self.kept:
                self._parts = list(dask.persist(*self._parts))

    def _recipe(self, place: int) -> Any:
        """Return a part that is not made yet, with a key of its own."""
        return self._build([self._blocks[i] for i in self.groups[place]])

    def _made_at(self, place: int, home: str | None) -> Any:
        assert self._client is not None
        return self._client.compute(self._recipe(place), **_placed(home))

    def __len__(self) -> int:
        return len(self._parts)

    def ask(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Call ``function(part, argument)`` for every part, where that part is."""
        import dask

        if self._client is None:
            call = dask.delayed(_identified, pure=False, traverse=False)
            tasks = [call(p, function, a) for p, a in zip(self._parts, arguments, strict=True)]
            answers = list(dask.compute(*tasks, optimize_graph=False, traverse=False))
        else:
            answers = self._ask_workers(function, arguments)
        for place, (found, _) in enumerate(answers):
            first = self._fingerprints[place]
            if first is None:
                self._fingerprints[place] = found
            elif first.differs_from(found):
                raise ValueError(
                    "Rows were computed a second time and came out different, so the model would "
                    "be fitted to a mixture of data sets. Make the Dask collections deterministic "
                    "(seeded chance, files that do not change), or write them to disk first."
                )
        return [answer for _, answer in answers]

    def _ask_workers(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Ask until all have answered; parts whose worker is gone are placed anew."""
        from distributed import wait

        assert self._client is not None
        n_losses, alone_since = 0, None
        futures = [self._submit(i, function, argument) for i, argument in enumerate(arguments)]
        while True:
            try:
                wait(futures, timeout=PATIENCE)
                return list(self._client.gather(futures))
            except TimeoutError:
                workers = self._client.nthreads()
            if not workers:
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > NO_WORKERS:
                    raise RuntimeError(
                        f"The Dask cluster has had no worker for {NO_WORKERS:.0f} seconds: see why "
                        "they ended, and start others."
                    )
                continue
            alone_since, lost = None, self._lost_parts(workers)
            if not lost:
                continue
            n_losses += 1
            if n_losses > MOST_LOSSES:
                raise RuntimeError(
                    f"Workers that held rows were lost {n_losses} times in one pass over them. "
                    "They may have run out of memory: see their logs, and give them more of it or "
                    "cut the collections into smaller blocks."
                )
            waiting = [i for i in lost if not futures[i].done()]
            self._client.cancel([futures[i] for i in waiting])
            self._make_anew(lost)
            for i in waiting:
                futures[i] = self._submit(i, function, arguments[i])

    def _submit(self, place: int, function: Callable[..., Any], argument: Any) -> Any:
        import dask

        assert self._client is not None
        # Weights go with the tasks: data scattered beforehand would die with its worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(
                _identified,
                self._parts[place],
                function,
                argument,
                pure=False,
                **_placed(self._homes[place]),
            )

    def _lost_parts(self, workers: Collection[str]) -> list[int]:
        """Return the parts that are nowhere and were meant for a worker that is gone.

        Dask makes them again itself while any worker is left. Where all died at once, tasks that
        prefer one of these wait for it for ever, whatever workers come in their place.
        """
        self.find_homes()
        return [i for i, home in enumerate(self._homes) if home is not None and home not in workers]

    def _make_anew(self, lost: Sequence[int]) -> None:
        """Make parts again on the workers that there are now."""
        assert self._client is not None
        # First of all forgotten: as long as they are known, they and what they are made of wait.
        self._client.cancel([self._parts[i] for i in lost])
        slots = _slots(self._client)
        for turn, i in enumerate(lost):
            self._homes[i] = slots[turn % len(slots)]
            self._parts[i] = self._made_at(i, self._homes[i])

    def find_homes(self) -> None:
        """See where the parts are now: some moved, or were made again elsewhere."""
        if self._client is None:
            return
        holders = self._client.who_has(self._parts)
        # One that is nowhere is being made where it was meant to be, if that worker lives.
        self._homes = [
            next(iter(holders.get(part.key, ())), home)
            for part, home in zip(self._parts, self._homes, strict=True)
        ]

    def ask_all(self, function: Callable[..., Any], argument: Any) -> list[Any]:
        """Call ``function(part, argument)`` with the same argument for every part."""
        return self.ask(function, [argument] * len(self))


class RestPool:
    """The parts of another pool without some of their rows, whose places go with each question.

    Parameters
    ----------
    pool : all rows
    without : for every block, the places in it of the rows to leave out
    """

    def __init__(self, pool: PartPool, without: Sequence[IntArray]) -> None:
        self._pool, self.kept = pool, pool.kept
        self._name = uuid.uuid4().hex
        self._rows = [_places(group, pool.n_rows, without) for group in pool.groups]

    def __len__(self) -> int:
        return len(self._pool)

    def ask(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Call ``function(part, argument)`` for every part, where that part is."""
        tasks = [
            (function, argument, self._name, rows)
            for argument, rows in zip(arguments, self._rows, strict=True)
        ]
        return self._pool.ask(ask_without, tasks)

    def ask_all(self, function: Callable[..., Any], argument: Any) -> list[Any]:
        """Call ``function(part, argument)`` with the same argument for every part."""
        return self.ask(function, [argument] * len(self))

    def find_homes(self) -> None:
        """See where the parts are now: some moved, or were made again elsewhere."""
        self._pool.find_homes()


def _identified(part: Any, function: Callable[..., Any], argument: Any) -> tuple[Any, Any]:
    """Call a function, and say with its answer by what the rows can be told from others."""
    return part.fingerprint, function(part, argument)


def _places(group: Sequence[int], n_rows: FloatArray, rows: Sequence[IntArray]) -> IntArray:
    """Turn places in blocks into places in the part that is made of these blocks."""
    starts = np.cumsum([0.0, *n_rows[list(group)]])[:-1].astype(np.intp)
    return np.concatenate([start + rows[i] for start, i in zip(starts, group, strict=True)])


def part_builder(n_columns: int, n_codes: int, intercept: bool) -> Callable[[Sequence[Any]], Part]:
    """Return the function that makes a part of blocks."""
    return partial(build_part, n_columns=n_columns, n_codes=n_codes, intercept=intercept)


def active_client() -> Any | None:
    """Return the client of the cluster that Dask would use now, None if it would use none."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None


def _placed(home: str | None) -> dict[str, Any]:
    """Keep a task on this worker while it lives: what the part remembers is there."""
    return {"workers": [home], "allow_other_workers": True} if home else {}


def _slots(client: Any | None) -> list[str | None]:
    """Return one place per worker thread."""
    if client is not None:
        threads = sorted(client.nthreads().items())
        return [address for address, n in threads for _ in range(n)] or [None]
    import dask
    from dask.base import get_scheduler
    from dask.local import get_sync
    from dask.system import CPU_COUNT

    if get_scheduler() is get_sync:
        return [None]
    return [None] * int(dask.config.get("num_workers", None) or CPU_COUNT)


def _same_process() -> bool:
    from dask.base import get_scheduler
    from dask.multiprocessing import get as in_processes

    return get_scheduler() is not in_processes


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not every system can say
        return np.inf


def _groups(
    homes: Sequence[str | None], n_rows: FloatArray, slots: Sequence[str | None]
) -> list[tuple[str | None, list[int]]]:
    """Deal the blocks out: to the worker that has them, the others evenly and in runs."""
    sizes = np.where(np.isnan(n_rows), 1.0, n_rows)
    filled = np.flatnonzero(sizes > 0)
    loads = np.zeros(len(slots))
    groups: list[list[int]] = [[] for _ in slots]

    def give(block: int, places: Sequence[int]) -> None:
        place = min(places, key=lambda one: loads[one])
        groups[place].append(block)
        loads[place] += sizes[block]

    free = []
    for block in filled.tolist():
        places = [s for s, slot in enumerate(slots) if slot is not None and slot == homes[block]]
        if places:
            give(block, places)
        else:
            free.append(block)
    fair, place = sizes.sum() / len(slots), 0
    for block in free:
        # Half of a block over is better than half of a block short.
        while place < len(slots) - 1 and loads[place] + sizes[block] / 2 > fair:
            place += 1
        give(block, [place])
    return [(slot, group) for slot, group in zip(slots, groups, strict=True) if group]
