"""Which worker holds which rows, and how a question reaches all of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from unconfused._typing import FloatArray, IntArray
from unconfused.engines.dask.parts import Part, ask_without, build_part

SHARE_OF_MEMORY = 0.5
"""Without a cluster, rows are kept in memory while they fit into this share of it."""


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
        make = dask.delayed(build, pure=False)
        parts = [make([blocks[i] for i in group]) for _, group in groups]
        if self._client is not None:
            self.kept = True
            parts = [
                self._client.compute(part, **_placed(home))
                for part, home in zip(parts, self._homes, strict=True)
            ]
        else:
            self.kept = _same_process() and not n_bytes > SHARE_OF_MEMORY * _memory()
            if self.kept:
                parts = list(dask.persist(*parts))
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def ask(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Call ``function(part, argument)`` for every part, where that part is."""
        import dask

        if self._client is None:
            call = dask.delayed(function, pure=False, traverse=False)
            tasks = list(map(call, self._parts, arguments))
            return list(dask.compute(*tasks, optimize_graph=False, traverse=False))
        # Weights go with the tasks: data scattered beforehand would die with its worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            futures = [
                self._client.submit(function, part, argument, pure=False, **_placed(home))
                for part, argument, home in zip(self._parts, arguments, self._homes, strict=True)
            ]
        return list(self._client.gather(futures))

    def find_homes(self) -> None:
        """See where the parts are now: some moved, or were made again elsewhere."""
        if self._client is None:
            return
        holders = self._client.who_has(self._parts)
        self._homes = [next(iter(holders.get(part.key, ())), None) for part in self._parts]

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
