"""From the description in a file to objects: `Reader`.

The description is that of skops: a tree of nodes in JSON, each with a type, the reader that skops
has for it, and its content. There are few readers here, and each builds certain types only. A node
cannot refer to another, so the work is proportional to the text.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable, Collection, Iterator
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.tree._tree import Tree

from unconfused import steps
from unconfused._text import import_extra
from unconfused.persistence.allowed import check_object, table
from unconfused.persistence.archive import Archive, read_array, read_sparse
from unconfused.persistence.checks import (
    LARGEST_INTEGER,
    SCALAR_TYPES,
    ModelFileError,
    full_name,
    name_in,
)
from unconfused.persistence.learners import LOSSES, MADE_ANEW, make_tree

SCHEMA = "schema.json"
DEEPEST = 100
"""Nodes within nodes; a pipeline in a column transformer in a pipeline takes about twenty."""

FREE_NODES = 10_000
"""Nodes a file may have beyond one for each of its bytes."""

Node = dict[str, Any]


FUNCTIONS = {full_name(rule.loop): rule.loop for rule in steps.STEPS.values()}
"""The functions a file may name: the loops of our own step rules."""


def _named(*types: type) -> dict[str, type]:
    return {full_name(one): one for one in types}


_SCALARS = _named(*SCALAR_TYPES)
_LOSSES = _named(*LOSSES)
_MADE_ANEW = _named(*MADE_ANEW)
_SPARSE = {
    f"scipy.sparse.{module}{way}_{kind}"
    for way in ("csr", "csc")
    for kind in ("matrix", "array")
    for module in ("", f"_{way}.")
}


def name_of(node: Node) -> str:
    """Return the full name of the type a node stands for."""
    return name_in(node["__module__"], node["__class__"])


def is_known(node: Node) -> bool:
    """Return whether a node is of a type that is built without being asked for."""
    name, loader = name_of(node), node["__loader__"]
    if loader == "ObjectNode":
        return name in table() or name in _MADE_ANEW
    return loader in READERS and name in READERS[loader][0]


def unknown_types(schema: Node, allow: frozenset[str]) -> list[str]:
    """Return the names of all types and functions in a description that are not known."""
    parts = _parts_in(schema, skip=_MADE_ANEW.keys() - allow)  # what is allowed is read inside
    nodes = (part for part in parts if "__loader__" in part)
    return sorted({name_of(node) for node in nodes if not is_known(node)} - allow)


def _parts_in(schema: Any, skip: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield all dictionaries in a description, except those inside nodes of some types."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            yield part
            if not (skip and "__loader__" in part and name_of(part) in skip):
                waiting += part.values()


def parse_schema(archive: Archive) -> Node:
    """Return the description of a file, which may not be much larger than the file."""
    content = archive.read(SCHEMA)
    # Counted in the text, before there is an object for each of them.
    if content.count(b"{") + content.count(b"[") > FREE_NODES + archive.file_size:
        raise ModelFileError("it describes more parts than a file of its size can hold")
    schema = json.loads(content)
    if not isinstance(schema, dict) or type(schema.get("protocol")) is not int:
        raise ModelFileError("its description is not that of a model")
    return schema


class Reader:
    """Builds what the nodes of a file's `schema` stand for.

    All of its types must be known, or named in full by `allow`: see `unknown_types`.
    """

    def __init__(self, archive: Archive, schema: Node, allow: frozenset[str]) -> None:
        self._archive, self._schema, self._allow = archive, schema, allow
        self._members: dict[str, Any] = {}
        self._depth = 0

    def read(self, node: Node) -> Any:
        """Return what a node stands for."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise ModelFileError("its parts are nested too deeply")
        try:
            if name_of(node) in self._allow:
                return self._asked_for(node)
            if node["__loader__"] == "ObjectNode":
                return self._object(node)
            return READERS[node["__loader__"]][1](self, node)
        finally:
            self._depth -= 1

    def dictionary(self, node: Node) -> dict[Any, Any]:
        """Return a dictionary; its keys are numbers or text."""
        types = [_SCALARS[name_of(one)] for one in node["key_types"]["content"]]
        pairs = zip(types, node["content"].items(), strict=True)
        return {kind(key): self.read(value) for kind, (key, value) in pairs}

    def array(self, node: Node) -> Any:
        """Return an array, or a number of NumPy's."""
        if node["type"] == "json":
            return self._objects(node)
        array = self._member(node["file"], read_array)
        if name_of(node) == "numpy.ndarray":
            return array
        if array.shape != () or array.dtype.kind not in "biufUS":
            raise ModelFileError("it holds an invalid number")
        return _SCALARS[name_of(node)](array[()])

    def _objects(self, node: Node) -> Any:
        """Return an array of labels; of other objects only if they have been asked for."""
        shape, items = self.read(node["shape"]), [self.read(one) for one in node["content"]]
        rows = items if len(shape) == 1 else [one for row in items for one in row]
        array = np.empty(len(rows), dtype=object)
        for place, one in enumerate(rows):
            good = one is None or isinstance(one, bool | int | float | str)
            if not good and full_name(type(one)) not in self._allow:
                raise ModelFileError("it holds an array of something else than labels")
            array[place] = one
        return array.reshape(shape)

    def sparse(self, node: Node) -> Any:
        """Return a sparse matrix, each member of the file read once."""
        return self._member(
            node["file"], lambda content: read_sparse(content, self._archive.budget)
        )

    def _member(self, name: str, read: Callable[[bytes], Any]) -> Any:
        if name not in self._members:
            self._members[name] = read(self._archive.read(name))
        return self._members[name]

    def loss(self, node: Node) -> Any:
        """Return a loss, rebuilt from its numbers."""
        arguments = self.read(node["__reduce__"]["args"]) or ()
        if not all(isinstance(one, float | int) for one in arguments):
            raise ModelFileError("it holds an unknown loss")
        return _LOSSES[name_of(node)](*arguments)

    def tree(self, node: Node) -> Any:
        """Return a tree, checked."""
        return make_tree(self.read(node["__reduce__"]["args"]), self.read(node["content"]))

    def _object(self, node: Node) -> Any:
        name = name_of(node)
        if name in _MADE_ANEW:
            n_classes = node["content"]["content"].get("n_classes")
            return MADE_ANEW[_MADE_ANEW[name]](None if n_classes is None else _scalar(n_classes))
        held = self._attributes(node)
        check_object(name, held, self._allow)
        return _with_attributes(table()[name].made, held)

    def _attributes(self, node: Node) -> dict[str, Any]:
        held = self.read(node["content"]) if "content" in node else None
        if held is not None and type(held) is not dict:
            raise ModelFileError("it holds an object without attributes")
        return held or {}

    def _asked_for(self, node: Node) -> Any:
        """Return what a user has allowed, unchecked; its parts are read as any others are."""
        loader = node["__loader__"]
        if loader not in ("ObjectNode", "FunctionNode", "TypeNode"):
            return self._by_skops(node)
        found = importlib.import_module(node["__module__"])
        for part in node["__class__"].split("."):
            found = getattr(found, part)
        if loader != "ObjectNode":
            return found
        assert isinstance(found, type)
        return _with_attributes(found, self._attributes(node))

    def _by_skops(self, node: Node) -> Any:
        """Return what a node stands for, built by skops from a file of its own."""
        skops = import_extra("skops.io", "save", "Loading this part of a model")
        about = {n: self._schema[n] for n in ("protocol", "_skops_version") if n in self._schema}
        files = {one["file"] for one in _parts_in(node) if isinstance(one.get("file"), str)}
        buffer = io.BytesIO()
        with ZipFile(buffer, "w") as target:
            target.writestr("schema.json", json.dumps(node | about))
            for name in files:
                target.writestr(name, self._archive.read(name))
        content = buffer.getvalue()
        return skops.loads(content, trusted=skops.get_untrusted_types(data=content))


READERS: dict[str, tuple[Collection[str], Callable[[Reader, Node], Any]]] = {
    "JsonNode": ({"builtins.str"}, lambda reader, node: _scalar(node)),
    "DictNode": ({"builtins.dict"}, Reader.dictionary),
    "ListNode": ({"builtins.list"}, lambda reader, node: [*map(reader.read, node["content"])]),
    "TupleNode": ({"builtins.tuple"}, lambda reader, node: (*map(reader.read, node["content"]),)),
    "SliceNode": ({"builtins.slice"}, lambda reader, node: _slice(node)),
    "TypeNode": (_SCALARS, lambda reader, node: _SCALARS[name_of(node)]),
    "DTypeNode": ({"numpy.dtype"}, lambda reader, node: reader.read(node["content"]).dtype),
    "NdArrayNode": ({"numpy.ndarray", *_SCALARS}, Reader.array),
    "SparseMatrixNode": (_SPARSE, Reader.sparse),
    "RandomStateNode": (
        {"numpy.random.mtrand.RandomState"},
        lambda reader, node: _random_state(reader.read(node["content"])),
    ),
    "RandomGeneratorNode": (
        {"numpy.random._generator.Generator"},
        lambda reader, node: _generator(reader.read(node["content"]["bit_generator"])),
    ),
    "LossNode": (_LOSSES, Reader.loss),
    "TreeNode": ({full_name(Tree)}, Reader.tree),
    "FunctionNode": (FUNCTIONS, lambda reader, node: FUNCTIONS[name_of(node)]),
}
"""What is read of each kind of node, besides objects: the names of types, and how."""


def _with_attributes(made: Any, held: dict[str, Any]) -> Any:
    instance = made.__new__(made)
    restore = getattr(instance, "__setstate__", None)
    if held and restore is not None:
        restore(held)
    elif held:
        vars(instance).update(held)
    return instance


def _scalar(node: Node) -> Any:
    value = json.loads(node["content"])
    if type(value) is int and abs(value) < LARGEST_INTEGER:
        return value
    if value is None or type(value) in (bool, float, str):
        return value
    raise ModelFileError("it holds something where there should be a number or text")


def _slice(node: Node) -> slice:
    ends = [node["content"][name] for name in ("start", "stop", "step")]
    if not all(one is None or type(one) is int for one in ends):
        raise ModelFileError("it holds an invalid slice")
    return slice(*ends)


def _random_state(state: Any) -> np.random.RandomState:
    """Return a generator in this state; one whose place lies beyond its keys reads past them."""
    key, place = state["state"]["key"], state["state"]["pos"]
    good = (
        state["bit_generator"] == "MT19937"
        and key.dtype == np.uint32
        and key.shape == (624,)
        and type(place) is int
        and 0 <= place <= 624
        and state["has_gauss"] in (0, 1)
        and isinstance(state["gauss"], float | int)
    )
    if not good:
        raise ModelFileError("it holds an invalid random state")
    made = np.random.RandomState(0)
    made.set_state(("MT19937", key, place, state["has_gauss"], float(state["gauss"])))
    return made


def _generator(state: Any) -> np.random.Generator:
    made = np.random.PCG64(0)
    try:
        made.state = state
    except Exception:  # NumPy checks every number of it
        raise ModelFileError("it holds an invalid random state") from None
    return np.random.Generator(made)
