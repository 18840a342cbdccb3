"""Parts of a model that skops builds, because a user has allowed their types by name."""

from __future__ import annotations

import io
import json
from typing import Any
from zipfile import ZipFile

from unconfused._text.extras import import_extra
from unconfused.persistence.archive import Archive
from unconfused.persistence.errors import ModelFileError


def by_skops(
    node: dict[str, Any], schema: dict[str, Any], archive: Archive, unknown: list[str]
) -> Any:
    """Return what a node stands for, built by skops from a file of its own.

    Only for nodes all of whose types are known or allowed: skops trusts more than that by itself.
    """
    if unknown:
        raise ModelFileError(f"it holds {', '.join(unknown)}")
    skops = import_extra("skops.io", "save", "Loading this part of a model")
    about = {name: schema[name] for name in ("protocol", "_skops_version") if name in schema}
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as target:
        target.writestr("schema.json", json.dumps(node | about))
        for name in _members(node):
            target.writestr(name, archive.read(name))
    content = buffer.getvalue()
    return skops.loads(content, trusted=skops.get_untrusted_types(data=content))


def _members(node: dict[str, Any]) -> set[str]:
    names, waiting = set(), [node]
    while waiting:
        part: Any = waiting.pop()
        if isinstance(part, dict):
            if isinstance(part.get("file"), str):
                names.add(part["file"])
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return names
