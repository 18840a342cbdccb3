"""Model files as an adversary makes them: any content, the checksum put right."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io

from unconfused.persistence.archive import HEADER, describe, digest_of, write_header

SCHEMA = "schema.json"


def unpacked(model):
    """Return the description of a model as skops has it, and its arrays by name."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop(SCHEMA)), parts


def packed(model, schema, parts, compression=zipfile.ZIP_DEFLATED):
    """Return a file with this description and these arrays, and the header of the model."""
    parts = {SCHEMA: schema if isinstance(schema, bytes) else json.dumps(schema).encode()} | parts
    header = write_header(describe(model, None), _digest(_zipped(parts, compression)))
    buffer = io.BytesIO(_zipped(parts, compression))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(HEADER, header)
    return buffer.getvalue()


def _digest(content):
    try:
        return digest_of(content)
    except ValueError:  # refused before anyone looks at a checksum
        return "0" * 64


def _zipped(parts, compression):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=compression) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def crafted(model, change=lambda schema, parts: None):
    """Return a file of a model whose description and arrays have been changed in place."""
    schema, parts = unpacked(model)
    change(schema, parts)
    return packed(model, schema, parts)


def find(schema, name):
    """Return the dictionary of nodes in which an attribute stands, wherever it is."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if name in part and isinstance(part[name], dict) and "__loader__" in part[name]:
                return part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    raise KeyError(name)


def scalar(value):
    """Return the node of a number, text or None."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def node(loader, name, content=None, **more):
    """Return any node."""
    module, _, kind = name.rpartition(".")
    return {
        "__class__": kind,
        "__module__": module,
        "__loader__": loader,
        "content": content,
    } | more


def set_scalar(name, value):
    """Return a change that puts a value in the place of an attribute."""

    def change(schema, parts):
        find(schema, name)[name] = scalar(value)

    return change


def set_array(name, array):
    """Return a change that puts an array, or what a function makes of the old one, there."""

    def change(schema, parts):
        place = find(schema, name)[name]
        while "file" not in place:
            place = place["content"]
            place = place[0] if isinstance(place, list) else place
        file = place["file"]
        new = array(np.load(io.BytesIO(parts[file]))) if callable(array) else array
        parts[file] = saved(new)

    return change


def saved(array):
    """Return an array as a file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def add_attribute(name, value):
    """Return a change that gives the outermost object one attribute more."""

    def change(schema, parts):
        content = schema["content"]
        content["content"][name] = value
        content["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    return change


def drop_attribute(schema, name):
    """Take an attribute away from the outermost object."""
    content = schema["content"]
    content["key_types"]["content"].pop(list(content["content"]).index(name))
    del content["content"][name]


def try_files(files, folder, good):
    """Load and use files in a process of their own; return what became of each.

    Parameters
    ----------
    files : content and rows to predict of each, by name; rows are a list, or columns by name
    folder : where to put the files
    good : a file that loads, likewise, to import everything first
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("limits of memory and time are set as Linux has them")
    folder = Path(folder)
    tasks = []
    for number, (content, rows) in enumerate([good, *files.values()]):
        path = folder / f"{number}.skops"
        path.write_bytes(content)
        tasks.append({"path": str(path), "rows": rows})
    names = dict(zip((task["path"] for task in tasks[1:]), files, strict=True))
    found, waiting = {}, tasks[1:]
    while waiting:
        lines = "".join(json.dumps(task) + "\n" for task in [tasks[0], *waiting])
        script = Path(__file__).with_name("try_model_files.py")
        run = subprocess.run(
            [sys.executable, str(script)], input=lines, capture_output=True, text=True, cwd=folder,
            timeout=1800,  # one that waits for ever takes no CPU time
        )  # fmt: skip
        said = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        found |= {names[one["path"]]: one["said"] for one in said}
        waiting = waiting[len(said) :]
        if waiting:  # the process died of the next one
            what = run.stderr.strip().splitlines()[-1:] or [""]
            found[names[waiting[0]["path"]]] = f"DIED ({run.returncode}): {what[0]}"
            waiting = waiting[1:]
    for task in tasks:
        Path(task["path"]).unlink()
    return found


def harmed(found):
    """Return the files that did what a model file must not do."""
    bad = ("DIED", "ESCAPED")
    return {name: said for name, said in found.items() if said.startswith(bad)}
