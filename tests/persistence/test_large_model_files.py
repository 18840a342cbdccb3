"""Small files made to take all memory or all time, tried under a limit of both."""

import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest
from crafted_models import (
    crafted,
    find,
    harmed,
    node,
    packed,
    saved,
    scalar,
    try_files,
    unpacked,
)
from model_corpus import ON_NUMBERS, ROWS

import unconfused
from unconfused import persistence
from unconfused.persistence import ModelFileError

pytestmark = pytest.mark.slow

GOOD = ON_NUMBERS["uma"]()


def bz2_bomb():
    """Return a header of 512 MB in a few bytes of bz2, which are said to be 100 bytes."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive,
        archive.open("unconfused.json", "w") as member,
    ):
        for _ in range(32):
            member.write(bytes(2**24))
    bomb = bytearray(buffer.getvalue())
    place = bomb.index(b"PK\1\2")
    bomb[place + 24 : place + 28] = struct.pack("<I", 100)
    assert len(bomb) < 3000
    return bytes(bomb)


def deflated_header():
    """Return a file whose header would be of 30 MB."""
    schema, parts = unpacked(GOOD)
    buffer = io.BytesIO(packed(GOOD, schema, parts | {"noise.bin": os.urandom(2**20)}))
    with zipfile.ZipFile(buffer) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(kept.pop("unconfused.json")) | {"metadata": {"a": [{}] * (8 * 10**6)}}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in kept.items():
            archive.writestr(name, part)
        archive.writestr("unconfused.json", json.dumps(header))
    return buffer.getvalue()


def in_place_of_classes(*nodes):
    def change(schema, parts):
        find(schema, "classes")["classes"] = node("ListNode", "builtins.list", list(nodes))

    return change


def one_member_many_times(schema, parts):
    """Name a member of 3 MB 300 times."""
    parts["zeros.npy"] = saved(np.zeros(400_000))
    parts["noise.bin"] = os.urandom(40_000)
    one = node("NdArrayNode", "numpy.ndarray", type="numpy", file="zeros.npy")
    in_place_of_classes(*[one] * 300)(schema, parts)


def arrays_within_an_archive(schema, parts):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("data", "indices", "indptr", "shape", "format"):
            archive.writestr(f"{name}.npy", saved(np.zeros(10 * 2**20)))
    parts["w.npz"] = inner.getvalue()
    one = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="w.npz")
    find(schema, "coef_")["coef_"] = one


def many_functions(schema, parts):
    numbers = np.random.RandomState(0).randint(10**9, size=150_000).tolist()  # not to be packed
    in_place_of_classes(*(node("FunctionNode", "numpy.add", __id__=n) for n in numbers))(
        schema, parts
    )


def lists_named_twice(schema, parts):
    """Thirty lists, each of which holds the next one twice, by its number."""
    inner = scalar(1)
    for number in range(30):
        again = node("CachedNode", "builtins.list", __id__=1000 + number - 1)
        inner = node("ListNode", "builtins.list", [inner, again], __id__=1000 + number)
    in_place_of_classes(inner)(schema, parts)


def lists_with_one_number(schema, parts):
    """Do the same without a node for it: skops takes a node whose number it knows for another."""
    inner = scalar(1)
    for number in range(30):
        again = node("ListNode", "builtins.list", [], __id__=1000 + number - 1)
        inner = node("ListNode", "builtins.list", [inner, again], __id__=1000 + number)
    find(schema, "verbose")["verbose"] = inner


def deep_lists(schema, parts):
    inner = scalar(1)
    for _ in range(200):
        inner = node("ListNode", "builtins.list", [inner])
    find(schema, "classes")["classes"] = inner


def array_larger_than_its_bytes(shape, kind="<f8"):
    def change(schema, parts):
        buffer = io.BytesIO()
        header = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, header)
        parts["large.npy"] = buffer.getvalue()
        find(schema, "classes")["classes"] = node(
            "NdArrayNode", "numpy.ndarray", type="numpy", file="large.npy"
        )

    return change


LARGE = {
    "one member named many times": one_member_many_times,
    "arrays within an archive": arrays_within_an_archive,
    "many functions": many_functions,
    "lists that are named twice": lists_named_twice,
    "lists with one number": lists_with_one_number,
    "lists within lists": deep_lists,
    "an array of a trillion": array_larger_than_its_bytes((10**12,)),
    "an array of nothing, a trillion times": array_larger_than_its_bytes((10**12, 0)),
    "an array of empty text": array_larger_than_its_bytes((10**12,), "<U0"),
    "an array of a negative size": array_larger_than_its_bytes((-1,)),
    "an array of objects": array_larger_than_its_bytes((1,), "|O"),
}


def nested_text(schema, parts):
    return b'{"protocol": 2, "a": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"


def many_brackets(schema, parts):
    parts["noise.bin"] = os.urandom(30_000)
    return b'{"protocol": 2, "a": [' + b"{}," * 10**6 + b"{}]}"


def test_small_files_that_would_take_all_memory(tmp_path):
    files = {what: crafted(GOOD, change) for what, change in LARGE.items()}
    files |= {"a false size": bz2_bomb(), "a packed header": deflated_header()}
    for text in (nested_text, many_brackets):
        schema, parts = unpacked(GOOD)
        files[text.__name__] = packed(GOOD, text(schema, parts), parts)
    assert max(map(len, files.values())) < 4 * 2**20
    files = {what: (content, ROWS) for what, content in files.items()}
    found = try_files(files, tmp_path, (crafted(GOOD), ROWS))
    assert not harmed(found)
    used = {name for name, said in found.items() if said == "used"}
    assert used <= {"one member named many times", "lists with one number"}  # no harm in these now
    assert len(found) == len(LARGE) + 4


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("read", [unconfused.load, persistence.read_header])
def test_what_has_no_end_is_not_read(read, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelFileError, match="not an ordinary file"):
            read(path)
    with pytest.raises(ModelFileError, match="is a folder"):
        read(tmp_path)
