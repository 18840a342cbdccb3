"""Reviews from and to other tools: Label Studio's JSON, Hugging Face data sets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unconfused._atomic import whole_file
from unconfused._columns.row_hash import row_hashes
from unconfused._labels import is_missing
from unconfused._typing import ArrayLike, FloatArray
from unconfused.review.checked import as_text
from unconfused.review.verdicts import Verdict

LABEL = "label"
"""Name of the choice in Label Studio's configuration, unless said otherwise."""


def write_label_studio(
    path: str | os.PathLike[str],
    rows: Any,
    *,
    suggested: ArrayLike | None = None,
    score: ArrayLike | None = None,
    keys: ArrayLike | None = None,
    label: str | None = None,
    from_name: str = LABEL,
    to_name: str = "text",
    model_version: str = "unconfused",
    force: bool = False,
) -> Path:
    """Write rows as tasks that Label Studio imports, with suggestions as predictions.

    Parameters
    ----------
    path : a .json file
    rows : frame; each row becomes a task, its columns the task's data
    suggested : a class for each row, shown as a prediction
    score : probability of the suggestion
    keys : key of each row, kept as ``unconfused_key``; by default its number
    label : column of `rows` with the labels; it is no part of a row's content
    from_name, to_name : names of the Choices tag and of what it labels, as in the labelling
        configuration
    model_version : name of the predictions
    force : replace an existing file

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> path = Path(tempfile.mkdtemp()) / "tasks.json"
    >>> frame = pd.DataFrame({"text": ["woof", "meow"]})
    >>> _ = write_label_studio(path, frame, suggested=["dog", "cat"], score=[0.9, 0.8])
    >>> json.loads(path.read_text())[0]["predictions"][0]["result"][0]["value"]
    {'choices': ['dog']}
    """
    if not hasattr(rows, "to_json"):
        raise ValueError("rows must be a frame with named columns.")
    records = json.loads(rows.to_json(orient="records", date_format="iso"))
    hashes = row_hashes(rows, [] if label is None else [label])
    names = list(map(as_text, range(len(records)) if keys is None else np.asarray(keys, object)))
    if len(names) != len(records):
        raise ValueError(f"There are {len(names)} keys for {len(records)} rows.")
    tasks: list[dict[str, Any]] = [
        {"data": record | {"unconfused_key": key, "unconfused_hash": digest}}
        for record, key, digest in zip(records, names, hashes, strict=True)
    ]
    for place, one in enumerate([] if suggested is None else np.asarray(suggested, object)):
        result = {"from_name": from_name, "to_name": to_name, "type": "choices",
                  "value": {"choices": [as_text(one)]}}  # fmt: skip
        prediction: dict[str, Any] = {"model_version": model_version, "result": [result]}
        if score is not None:
            prediction["score"] = float(np.asarray(score)[place])
        tasks[place]["predictions"] = [prediction]
    with whole_file(path, force=force) as scratch:
        scratch.write_text(json.dumps(tasks, ensure_ascii=False, indent=1), encoding="utf-8")
    return Path(path)


def read_label_studio(
    path: str | os.PathLike[str], *, from_name: str = LABEL, label: str | None = None
) -> tuple[Any, list[Verdict]]:
    """Read Label Studio's JSON export: the tasks' data as a frame, annotations as verdicts.

    Cancelled (skipped) annotations become skips, and contradictory annotations of a task become a
    conflict. It is unknown how the tasks were selected, so models learn from these verdicts, but
    they do not count in estimates of the noise.

    Parameters
    ----------
    path : file made by Label Studio's export as JSON
    from_name : name of the Choices tag
    label : column with the label a row had before

    Returns
    -------
    frame, verdicts
        Append the verdicts to a file with `append_verdicts`.
    """
    import pandas as pd

    try:
        tasks = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not JSON ({error}).") from None
    if not isinstance(tasks, list) or not all(isinstance(t, dict) and "data" in t for t in tasks):
        raise ValueError(
            f"{path} is not a list of tasks with 'data': export from Label Studio as JSON, not "
            "JSON-MIN or CSV."
        )
    rows = [dict(task["data"]) for task in tasks]
    keys = [str(row.pop("unconfused_key", place)) for place, row in enumerate(rows)]
    told = [row.pop("unconfused_hash", None) for row in rows]
    frame = pd.DataFrame(rows)
    hashes = row_hashes(frame, [] if label is None else [label])
    verdicts = []
    for place, task in enumerate(tasks):
        before = "" if label is None else as_text(rows[place].get(label))
        for one in task.get("annotations", []):
            skipped = bool(one.get("was_cancelled"))
            choice = None if skipped else _choice(one, from_name)
            if not skipped and choice is None:
                continue
            who = one.get("completed_by", "")
            who = who.get("email", who.get("id", "")) if isinstance(who, dict) else who
            more: dict[str, Any] = {"id": f"label-studio-{one['id']}"} if "id" in one else {}
            if one.get("created_at"):
                more["time"] = str(one["created_at"])
            verdicts.append(Verdict(
                keys[place], str(told[place] or hashes[place]), before,
                "skip" if skipped else "label", choice or "", "label-studio",
                reviewer=str(who), **more,
            ))  # fmt: skip
    return frame, verdicts


def _choice(one: Mapping[str, Any], from_name: str) -> str | None:
    """Return the class an annotation chose."""
    for result in one.get("result", []):
        chosen = result.get("value", {}).get("choices")
        if result.get("from_name", from_name) == from_name and chosen:
            if len(chosen) > 1:
                raise ValueError(
                    f"An annotation chose {len(chosen)} classes; a row has one. Set "
                    'choice="single" in the labelling configuration.'
                )
            return str(chosen[0])
    return None


def from_hugging_face(dataset: Any, *, label: str) -> tuple[Any, Any]:
    """Return a Hugging Face data set as a frame with labels as names.

    Parameters
    ----------
    dataset : a `datasets.Dataset`
    label : column with the labels; class numbers of a `ClassLabel` become names, -1 missing

    Returns
    -------
    frame, labels
        All columns but the label, and the labels.
    """
    if not hasattr(dataset, "features") or not hasattr(dataset, "to_pandas"):
        raise ValueError(f"A datasets.Dataset is needed, one split; got {type(dataset).__name__}.")
    if label not in dataset.features:
        raise ValueError(f"There is no column {label!r}; there are {list(dataset.features)}.")
    frame = dataset.to_pandas()
    labels = frame.pop(label).to_numpy(dtype=object, copy=True)
    labels[is_missing(labels)] = None
    names = getattr(dataset.features[label], "names", None)
    if names is not None:
        codes = [-1 if one is None else int(one) for one in labels]
        labels = np.array([*names, None], dtype=object)[codes]
    return frame, labels


def to_hugging_face(
    dataset: Any,
    *,
    label: str,
    verdicts: Sequence[Any] | None = None,
    suggested: ArrayLike | None = None,
    posterior: FloatArray | None = None,
) -> Any:
    """Return a copy of a Hugging Face data set with corrected labels, suggestions and posteriors.

    Parameters
    ----------
    dataset : a `datasets.Dataset`
    label : column with the labels; it becomes text where verdicts are written into it
    verdicts : the truth of each row, None where there is none (`CheckedRows.y_true`). The labels
        are corrected, and ``label_source`` says which
    suggested : a class for each row, as ``suggested_label``
    posterior : (n, Q), as ``label_posterior``
    """
    _, labels = from_hugging_face(dataset, label=label)
    columns: dict[str, Any] = {}
    if verdicts is not None:
        known = list(verdicts)
        if len(known) != len(labels):
            raise ValueError(f"There are {len(known)} verdicts for {len(labels)} rows.")
        before = list(map(as_text, labels))
        after = [as_text(new) or old for old, new in zip(before, known, strict=True)]
        columns[label] = [one or None for one in after]
        columns["label_source"] = [
            "given" if new is None else "confirmed" if now == old else "corrected"
            for old, now, new in zip(before, after, known, strict=True)
        ]
    if suggested is not None:
        columns["suggested_label"] = [as_text(one) for one in np.asarray(suggested, object)]
    if posterior is not None:
        columns["label_posterior"] = np.asarray(posterior).tolist()
    for name, values in columns.items():
        if name in dataset.column_names:
            dataset = dataset.remove_columns(name)
        dataset = dataset.add_column(name, values)
    return dataset
