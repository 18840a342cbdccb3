"""Changes at random to the description and the arrays of a model, of the kinds that do harm."""

import io
import json
import zipfile
from contextlib import suppress

import numpy as np
from crafted_models import saved, scalar

VALUES = [None, True, False, 0, 1, -1, 2, 7, 255, 2**31, 2**63 - 1, -(2**63), 10**9, 2**127, 1e308]
VALUES += [float("nan"), float("inf"), -0.5, "", "x", "auto", "filename", "precomputed", "\x1b[2J"]
VALUES += ["passthrough", "drop", "a" * 5000, "/etc/passwd", "rbf", "random"]
NUMBERS = [0, 1, -1, 3, 127, 255, 2**31 - 1, -(2**31), 10**9, 2**62, -(2**62)]
TYPES = ["f8", "f4", "i8", "i4", "u4", "u1", "?", "U3", "S3", ">f8", "M8[s]", "c16", "f2"]
NAMES = ["predict", "transform", "__class__", "__dict__", "_in_fit", "coef_", "classes_", "steps"]


def places(schema):
    """Return where each node of a description stands: in what, and under which key."""
    found, waiting = [], [schema]
    while waiting:
        part = waiting.pop()
        items = part.items() if isinstance(part, dict) else enumerate(part)
        for key, one in list(items):
            if isinstance(one, dict | list):
                waiting.append(one)
            if isinstance(one, dict) and "__loader__" in one:
                found.append((part, key))
    return found


def mutate(rng, schema, parts, donor):
    """Change a description and its arrays in place, in one to three ways."""
    for _ in range(rng.randint(1, 4)):
        with suppress(IndexError):  # nothing of the kind is left
            _pick(rng, CHANGES)(rng, schema, parts, donor)


def _pick(rng, things):
    return things[rng.randint(max(len(things), 1))]


def _scalar(rng, schema, parts, donor):
    found = [(part, key) for part, key in places(schema) if part[key]["__loader__"] == "JsonNode"]
    part, key = _pick(rng, found)
    part[key] = scalar(_pick(rng, VALUES))


def _array(rng, schema, parts, donor):
    names = [name for name in parts if name.endswith(".npy")]
    if names:
        name = _pick(rng, names)
        parts[name] = _changed(rng, parts[name])


def _changed(rng, content):
    array = np.load(io.BytesIO(content), allow_pickle=False)
    way = rng.randint(6)
    if array.dtype.names and way < 4:
        field = _pick(rng, array.dtype.names)
        array[field][rng.randint(len(array))] = _clipped(rng, array.dtype[field])
    elif way < 2 and array.size and array.dtype.kind in "biuf":
        array.reshape(-1)[rng.randint(array.size)] = _clipped(rng, array.dtype)
    elif way == 2 and not array.dtype.names:
        with np.errstate(all="ignore"):
            array = np.zeros(array.shape, _pick(rng, TYPES))
    elif way == 3 and array.ndim:
        array = array[: rng.randint(len(array) + 1)]
    elif way == 4 and array.ndim:
        array = np.concatenate([array, array])
    else:
        array = array.reshape(_pick(rng, [(-1,), (1, *array.shape), (*array.shape, 1)]))
    return saved(array)


def _clipped(rng, dtype):
    value = _pick(rng, NUMBERS)
    if dtype.kind == "f":
        return _pick(rng, [float(value), np.nan, np.inf])
    if dtype.kind == "b":
        return bool(value)
    limits = np.iinfo(dtype)
    return min(max(value, limits.min), limits.max)


def _sparse(rng, schema, parts, donor):
    names = [name for name in parts if name.endswith(".npz")]
    name = _pick(rng, names)
    with zipfile.ZipFile(io.BytesIO(parts[name])) as archive:
        inner = {one: archive.read(one) for one in archive.namelist()}
    changed = _pick(rng, sorted(inner))
    inner[changed] = _changed(rng, inner[changed])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, part in inner.items():
            archive.writestr(one, part)
    parts[name] = buffer.getvalue()


def _swap(rng, schema, parts, donor):
    found = places(schema)
    (part, key), (other, name) = _pick(rng, found), _pick(rng, found)
    part[key], other[name] = json.loads(json.dumps([other[name], part[key]]))


def _donate(rng, schema, parts, donor):
    other, members = donor
    (part, key), (given, name) = _pick(rng, places(schema)), _pick(rng, places(other))
    part[key] = json.loads(json.dumps(given[name]))
    for one, content in members.items():
        parts.setdefault(one, content)


def _rename(rng, schema, parts, donor):
    found = [
        part for part, _ in places(schema) if isinstance(part, dict) and "__loader__" not in part
    ]
    part = _pick(rng, found)
    old = _pick(rng, sorted(part))
    new = _pick(rng, NAMES + sorted(places_by_name(donor[0])))
    part[new] = part.pop(old)


def places_by_name(schema):
    return {key for _, key in places(schema) if isinstance(key, str)}


def _file(rng, schema, parts, donor):
    found = [part[key] for part, key in places(schema) if "file" in part[key]]
    if found and parts:
        _pick(rng, found)["file"] = _pick(rng, sorted(parts))


def _kind(rng, schema, parts, donor):
    part, key = _pick(rng, places(schema))
    other, name = _pick(rng, places(donor[0]))
    for word in ("__loader__", "__class__", "__module__"):
        if rng.rand() < 0.7:
            part[key][word] = other[name][word]


CHANGES = [_scalar, _scalar, _array, _array, _array, _sparse, _swap, _donate, _rename, _file, _kind]
