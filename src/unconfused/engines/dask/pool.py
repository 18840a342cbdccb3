"""Placement of rows on workers, and calls to all of them."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from unconfused._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from unconfused.engines.base import RowMap
    from unconfused.engines.dask.parts import Fingerprint, Part

SHARE_OF_MEMORY = 0.5
"""Without a cluster, rows are kept in memory if they fit into this share of it."""

PATIENCE = 5.0
"""Seconds to wait for answers before checking for lost workers."""

NO_WORKERS = 600.0
"""Seconds without any worker after which a fit gives up."""

MOST_LOSSES = 3
"""How often workers that hold rows may be lost during one call, as in Dask."""


class PartPool:
    """Rows split into one part per worker thread.

    Parameters
    ----------
    blocks : one Delayed (rows, codes, weights) per block
    homes : for each block, the worker that already holds it, or None
    n_rows : number of rows of every block; NaN where unknown
    n_bytes : size of all rows; NaN if unknown
    build : makes a part from a list of blocks

    With a cluster the parts stay on its workers while this object lives, as results that Dask
    recomputes from the blocks if a worker dies. Without one they stay in memory if they fit, and
    are recomputed for every pass otherwise. `kept` says whether parts, and their caches, persist
    between calls.
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
        """Indices of the blocks of each part, in order."""

        self.n_rows = n_rows
        self._remake = partial(PartPool, blocks, homes, n_rows, n_bytes)
        self._build_part = build
        self._homes = [home for home, _ in groups]
        self._blocks, self._build = blocks, dask.delayed(build, pure=False)
        self._fingerprints: list[Fingerprint | None] = [None] * len(groups)
        self._left_out: list[tuple[str, IntArray] | None] = [None] * len(groups)
        if self._client is not None:
            self.kept = True
            self._parts = [self._made_at(i, home) for i, home in enumerate(self._homes)]
        else:
            self.kept = _same_process() and not n_bytes > SHARE_OF_MEMORY * _memory()
            self._parts = [self._recipe(i) for i in range(len(groups))]
            if self.kept:
                self._parts = list(dask.persist(*self._parts))

    def mapped(self, change: RowMap) -> PartPool:
        """Return a pool of changed copies of the rows, made where they are.

        Rows in memory are not read again; a cluster's parts need a recipe from the blocks, in case
        a worker dies.
        """
        if self._client is not None or not self.kept:
            pool = self._remake(partial(_build_mapped, self._build_part, change))
            pool._left_out = self._left_out
            return pool
        import dask

        pool = copy(self)
        call = dask.delayed(_mapped, pure=False, traverse=False)
        pool._parts = list(dask.persist(*(call(part, change) for part in self._parts)))
        pool._fingerprints = [None] * len(self)
        return pool

    def without(self, rows: Sequence[IntArray]) -> PartPool:
        """Return a pool that shares these parts but leaves out some rows of every block.

        Their positions are sent with each call, so that no part depends on them.
        """
        pool, name = copy(self), uuid.uuid4().hex
        starts = [
            np.cumsum([0.0, *self.n_rows[group]])[:-1].astype(np.intp) for group in self.groups
        ]
        pool._left_out = [
            (name, np.concatenate([at + rows[i] for at, i in zip(own, group, strict=True)]))
            for own, group in zip(starts, self.groups, strict=True)
        ]
        return pool

    def _recipe(self, place: int) -> Any:
        """Return a delayed part with a unique key."""
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
            asked = zip(self._parts, arguments, self._left_out, strict=True)
            tasks = [call(part, function, argument, rows) for part, argument, rows in asked]
            answers = list(dask.compute(*tasks, optimize_graph=False, traverse=False))
        else:
            answers = self._ask_workers(function, arguments)
        for place, (found, _) in enumerate(answers):
            first = self._fingerprints[place]
            if first is None:
                self._fingerprints[place] = found
            elif first.differs_from(found):
                raise ValueError(
                    "Rows came out different when they were computed a second time, so the model "
                    "would be fitted to a mixture of data sets. Make the Dask collections "
                    "deterministic (fixed seeds, unchanged files), or write them to disk first."
                )
        return [answer for _, answer in answers]

    def _ask_workers(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Wait for all answers; move parts of lost workers to others.

        A call keeps waiting for the worker it was sent to if all workers died at once, even when
        its part has been recomputed elsewhere: it is sent again.
        """
        from distributed import wait

        assert self._client is not None
        n_losses, alone_since, sent_to, patience = 0, None, list(self._homes), PATIENCE
        futures = [self._submit(i, function, argument) for i, argument in enumerate(arguments)]
        while True:
            try:
                wait(futures, timeout=PATIENCE)
                # A worker that dies before its answer is fetched would be waited for forever.
                fetch = partial(self._client.gather, futures, asynchronous=True)
                return list(self._client.sync(fetch, callback_timeout=patience))
            except TimeoutError:
                workers, patience = self._client.nthreads(), min(2 * patience, NO_WORKERS)
            if not workers:
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > NO_WORKERS:
                    raise RuntimeError(
                        f"The Dask cluster has had no worker for {NO_WORKERS:.0f} seconds. Check "
                        "why they ended, and start new ones."
                    )
                continue
            alone_since, lost = None, self._lost_parts(workers)
            gone = {i for i, home in enumerate(sent_to) if home is not None and home not in workers}
            waiting = [i for i in sorted(gone.union(lost)) if not futures[i].done()]
            if not lost and not waiting:
                continue
            n_losses += 1
            if n_losses > MOST_LOSSES:
                raise RuntimeError(
                    f"Workers that held rows were lost {n_losses} times in one pass over them. "
                    "They may have run out of memory: check their logs, and give them more memory "
                    "or use smaller blocks."
                )
            self._client.cancel([futures[i] for i in waiting])
            self._make_anew(lost)
            for i in waiting:
                futures[i], sent_to[i] = self._submit(i, function, arguments[i]), self._homes[i]

    def _submit(self, place: int, function: Callable[..., Any], argument: Any) -> Any:
        import dask

        assert self._client is not None
        # Weights are sent with the tasks: scattered data would be lost with its worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(
                _identified,
                self._parts[place],
                function,
                argument,
                self._left_out[place],
                pure=False,
                **_placed(self._homes[place]),
            )

    def _lost_parts(self, workers: Collection[str]) -> list[int]:
        """Return the parts that are nowhere and were assigned to a worker that is gone.

        Dask recomputes them by itself while any worker is left. If all died at once, tasks that
        prefer one of them wait for it forever, whatever workers replace them.
        """
        self.find_homes()
        return [i for i, home in enumerate(self._homes) if home is not None and home not in workers]

    def _make_anew(self, lost: Sequence[int]) -> None:
        """Recompute parts on the current workers."""
        assert self._client is not None
        # Cancelled first: while Dask knows them, they and their inputs keep waiting.
        self._client.cancel([self._parts[i] for i in lost])
        slots = _slots(self._client)
        for turn, i in enumerate(lost):
            self._homes[i] = slots[turn % len(slots)]
            self._parts[i] = self._made_at(i, self._homes[i])

    def find_homes(self) -> None:
        """Update the locations of parts that were moved or recomputed elsewhere."""
        if self._client is None:
            return
        holders = self._client.who_has(self._parts)
        # A part that is nowhere is being computed at its assigned worker, if that is alive.
        self._homes[:] = [  # shared with pools that leave out rows
            next(iter(holders.get(part.key, ())), home)
            for part, home in zip(self._parts, self._homes, strict=True)
        ]


def _mapped(part: Part, change: RowMap) -> Part:
    return part.mapped(change)


def _build_mapped(
    build: Callable[[Sequence[Any]], Part], change: RowMap, blocks: Sequence[Any]
) -> Part:
    return build(blocks).mapped(change)


def _identified(
    part: Any,
    function: Callable[..., Any],
    argument: Any,
    left_out: tuple[str, IntArray] | None,
) -> tuple[Any, Any]:
    """Call a function; return the fingerprint of the part along with the result."""
    own = part if left_out is None else part.without(*left_out)
    return part.fingerprint, function(own, argument)


def active_client() -> Any | None:
    """Return the client of the cluster that Dask would use, or None."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None


def _placed(home: str | None) -> dict[str, Any]:
    """Return options that keep a task on this worker, which has the part's caches."""
    return {"workers": [home], "allow_other_workers": True} if home else {}


def _slots(client: Any | None) -> list[str | None]:
    """Return the worker address of every worker thread."""
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
    except (AttributeError, ValueError, OSError):  # not available on every system
        return np.inf


def _groups(
    homes: Sequence[str | None], n_rows: FloatArray, slots: Sequence[str | None]
) -> list[tuple[str | None, list[int]]]:
    """Assign blocks to the worker that holds them, and the others evenly, in runs."""
    sizes = np.where(np.isnan(n_rows), 1.0, n_rows)
    loads, fair, turn = np.zeros(len(slots)), sizes.sum() / len(slots), 0
    groups: list[list[int]] = [[] for _ in slots]
    at_home = [[s for s, slot in enumerate(slots) if slot and slot == home] for home in homes]
    # Those that a worker holds first; sorting keeps the order of the others.
    for block in sorted(np.flatnonzero(sizes > 0).tolist(), key=lambda block: not at_home[block]):
        if not at_home[block]:
            # Rounded to the nearest block.
            while turn < len(slots) - 1 and loads[turn] + sizes[block] / 2 > fair:
                turn += 1
        place = min(at_home[block] or [turn], key=lambda one: loads[one])
        groups[place].append(block)
        loads[place] += sizes[block]
    return [(slot, group) for slot, group in zip(slots, groups, strict=True) if group]
