"""Arrays from a file, with validated sizes, values and indices."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
from scipy import sparse

from unconfused.persistence._table.checks import NUMBERS, SIMPLE
from unconfused.persistence.archive import Archive
from unconfused.persistence.errors import ModelFileError

LAST_CODE_POINT = 0x10FFFF
LONGEST_HEADER = 10_000


def read_array(content: bytes) -> Any:
    """Return the array in an ``.npy`` file; raise if its bytes do not match its header.

    NumPy's own reader allocates what the shape says before it reads, and does not check Booleans
    and characters: a Boolean of 7 is counted as seven.

    Examples
    --------
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.array([1.5, 2.5]))
    >>> read_array(buffer.getvalue())
    array([1.5, 2.5])
    """
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise ModelFileError("it holds an array of an unknown format")
    shape, by_columns, dtype = read_header(stream, max_header_size=LONGEST_HEADER)
    begin = stream.tell()
    size = math.prod(shape)
    if not _known(dtype):
        raise ModelFileError(f"it holds an array of type {dtype.str} that no model has")
    # Lengths one by one, too: of an empty array all but one can be anything.
    beyond = any(length < 0 or length > len(content) for length in shape)
    if beyond or dtype.itemsize * size != len(content) - begin:
        raise ModelFileError("it is damaged: an array is not as large as its bytes")
    array = np.frombuffer(content, dtype=dtype, count=size, offset=begin)
    _check_values(array)
    # A copy: what NumPy sees in the bytes of a file cannot be written to.
    return array.reshape(shape, order="F" if by_columns else "C").copy(order="K")


def _known(dtype: np.dtype[Any]) -> bool:
    if dtype.names is not None:  # nodes of trees; which ones is for the check of the tree
        return not dtype.hasobject and all(
            dtype.fields is not None and dtype.fields[name][0].kind in "iuf" for name in dtype.names
        )
    return dtype.kind in SIMPLE and dtype.itemsize > 0 and dtype.isnative


def _check_values(array: Any) -> None:
    if array.dtype.kind == "b" and np.any(array.view(np.uint8) > 1):
        raise ModelFileError("it holds truth values that are neither true nor false")
    if array.dtype.kind == "U" and np.any(array.view(np.uint32) > LAST_CODE_POINT):
        raise ModelFileError("it holds invalid text")


def read_sparse(content: bytes, budget: int) -> Any:
    """Return the matrix in an ``.npz`` file by SciPy, with every index inside its shape.

    SciPy's own reader does not check indices, and its products read whatever they point to.
    """
    with Archive(content, budget) as archive:
        part = {name.removesuffix(".npy"): read_array(archive.read(name)) for name in archive.names}
    named = part["format"].item()
    make = {
        (b"csr", False): sparse.csr_matrix,
        (b"csc", False): sparse.csc_matrix,
        (b"csr", True): sparse.csr_array,
        (b"csc", True): sparse.csc_array,
    }.get((named, bool(part.get("_is_array", False))))
    data, indices, indptr, shape = (part[name] for name in ("data", "indices", "indptr", "shape"))
    good = (
        make is not None
        and data.ndim == indices.ndim == indptr.ndim == shape.ndim == 1
        and data.dtype.kind in NUMBERS
        and {indices.dtype.kind, indptr.dtype.kind, shape.dtype.kind} == {"i"}
        and len(shape) == 2
        and np.all(shape >= 0)
    )
    if not good or make is None:
        raise ModelFileError("it holds a sparse matrix of a kind that no model has")
    matrix = make((data, indices, indptr), shape=tuple(int(length) for length in shape))
    matrix.check_format(full_check=True)
    return matrix
