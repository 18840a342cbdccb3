"""One pass of the likelihood that reads float32 rows once: few classes, few columns, new cards."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from unconfused._typing import FloatArray
from unconfused.engines.base import LikelihoodPass
from unconfused.engines.cuda.tiles import TILE as TILE_OF_A_CODE

if TYPE_CHECKING:
    from unconfused.engines.cuda.engine import TorchEngine

MOST_CLASSES, MOST_COLUMNS = 16, 256
TILE, CLASSES_STRIDE = 32, 20
GROUPS, SCORE_WARPS, SLOPE_WARPS, STAGES, FLUSH = 2, 4, 8, 4, 128
"""What measured best; see `one_read.cu` for what they are."""

NEEDS_CAPABILITY = 9
"""Rows are fetched by a unit that earlier cards do not have."""


def can_read_once(engine: TorchEngine, n_classes: int) -> bool:
    """Whether the kernel is for such rows, and can be compiled here."""
    X, columns = engine.X, engine.n_columns
    fits = n_classes <= MOST_CLASSES and columns <= MOST_COLUMNS
    fetched = columns % 4 == 0 and X.data_ptr() % 16 == 0  # in pieces of 16 bytes
    if not (fits and fetched and X.is_cuda):
        return False
    return _kernel(_filled_up(columns), X.device.index) is not None


def measure_in_one_read(
    engine: TorchEngine, weights: FloatArray, mixing: FloatArray, code_weights: FloatArray
) -> LikelihoodPass:
    """Make one pass over the rows; see `Engine.likelihood`."""
    columns, n_classes = engine.n_columns, len(weights)
    plan = engine.plans.get(mixing.shape)
    if plan is None:
        plan = engine.plans[mixing.shape] = Plan(engine, *mixing.shape)
    offsets = weights[:, columns] if engine.intercept else np.zeros(n_classes)
    answer = plan.run(weights[:, :columns], offsets, mixing, code_weights)
    loss, slope, offset_slope, table = np.split(answer, np.cumsum(plan.sizes_back[:-1]))
    gradient = slope.reshape(n_classes, columns)
    if engine.intercept:
        gradient = np.column_stack([gradient, offset_slope])
    return LikelihoodPass(float(loss[0]), gradient, table.reshape(mixing.shape))


class Plan:
    """The pass over one engine's rows, with its memory, recorded so that a call starts it whole.

    To start copies and kernel one by one takes the host a good part of the time of the pass.
    """

    def __init__(self, engine: TorchEngine, n_codes: int, n_classes: int) -> None:
        columns, device = engine.n_columns, engine.X.device
        sizes = [n_classes * columns, n_classes, n_codes * n_classes, n_codes]
        self.sizes_back = [1, n_classes * columns, n_classes, n_codes * n_classes]
        self._there = torch.empty(sum(sizes), dtype=torch.float32, device=device)
        self._back = torch.empty(sum(self.sizes_back), dtype=torch.float64, device=device)
        self._sent = torch.empty_like(self._there, device="cpu", pin_memory=True)
        self._got = torch.empty_like(self._back, device="cpu", pin_memory=True)
        self._device, self._kernel = device, _kernel(_filled_up(columns), device.index)
        by_class, offsets, chances, counted = self._there.split(sizes)
        order, tile_codes = engine.tiles_by_code
        self._arguments = [
            engine.X, by_class, offsets, order, tile_codes, engine.row_weights, chances, counted,
            *self._back.split(self.sizes_back), len(order) // TILE, columns, n_classes,
        ]  # fmt: skip
        self._n_blocks = torch.cuda.get_device_properties(device).multi_processor_count
        self._shared = _shared_bytes(_filled_up(columns))
        with torch.cuda.device(device):
            self._start()  # what is set up on first use must not be recorded
            torch.cuda.synchronize()
            self._recorded = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._recorded, capture_error_mode="thread_local"):
                self._start()

    def run(self, *arrays: FloatArray) -> FloatArray:
        """Send arrays, pass over the rows, and return what came back, in one array."""
        np.concatenate(
            [array.ravel() for array in arrays], out=self._sent.numpy(), casting="same_kind"
        )
        with torch.cuda.device(self._device):
            self._recorded.replay()
            torch.cuda.current_stream().synchronize()
        return np.array(self._got.numpy())

    def _start(self) -> None:
        self._there.copy_(self._sent, non_blocking=True)
        self._back.zero_()
        self._kernel(
            grid=(self._n_blocks, 1, 1),
            block=(32 * (GROUPS * SCORE_WARPS + SLOPE_WARPS + 1), 1, 1),
            args=self._arguments,
            shared_mem=self._shared,
        )
        self._got.copy_(self._back, non_blocking=True)


def _filled_up(columns: int) -> int:
    return -(-columns // 64) * 64


def _shared_bytes(columns: int) -> int:
    """Return what `one_read.cu` lays out in shared memory."""
    pulls = TILE * CLASSES_STRIDE
    floats = STAGES * TILE * (columns + 4 + 1) + (2 * GROUPS * SCORE_WARPS + 4) * pulls
    return 4 * floats + 16 * 8 * columns + 8 * (2 * STAGES + 4)


@cache
def _kernel(columns: int, device: int) -> Any:
    """Compile the kernel for rows of so many columns; None where that cannot be done."""
    compile_kernel = getattr(torch.cuda, "_compile_kernel", None)
    if compile_kernel is None or torch.cuda.get_device_capability(device)[0] < NEEDS_CAPABILITY:
        return None
    settings = {
        "COLUMNS": columns,
        "GROUPS": GROUPS,
        "SCORE_WARPS": SCORE_WARPS,
        "SLOPE_WARPS": SLOPE_WARPS,
        "STAGES": STAGES,
        "FLUSH": FLUSH,
        "TILES_OF_A_CODE": TILE_OF_A_CODE // TILE,
    }
    lines = [f"#define {name} {value}" for name, value in settings.items()]
    source = files(__package__).joinpath("one_read.cu").read_text(encoding="utf-8")
    try:
        with torch.cuda.device(device):
            kernel = compile_kernel("\n".join([*lines, source]), "one_read")
            kernel.set_shared_memory_config(_shared_bytes(columns))
    except (RuntimeError, OSError):
        return None  # no compiler, or too little shared memory: there are kernels for such cards
    return kernel
