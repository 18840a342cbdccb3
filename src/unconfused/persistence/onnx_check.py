"""Comparison of a graph with its model: converters can be wrong without an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from unconfused._text.extras import import_extra
from unconfused._typing import FloatArray, Labels

MOST_ROWS = 200

TOLERANCE = 1e-3
"""Of probabilities, and of scores beside the largest: far beyond the rounding of float32."""

MISSING = "nan"
"""How a missing category is written where there is no missing text."""


def check_graph(model: Any, graph: Any, example: Any) -> None:
    """Run the graph on some rows, and raise if it does not predict what the model does."""
    runtime = import_extra("onnxruntime", "onnx", "Exporting to ONNX")
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4  # what fails is raised
    session = runtime.InferenceSession(
        graph.SerializeToString(), quiet, providers=["CPUExecutionProvider"]
    )
    rows = _rows(model, example)
    labels, values = session.run(None, _inputs(session, rows))
    expected = _expected(model, rows)
    scale = 1.0 if hasattr(model, "predict_proba") else max(float(np.abs(expected).max()), 1e-300)
    worst = float(np.abs(values - expected).max()) / scale
    first, second = np.sort(expected, axis=1)[:, [-1, -2]].T
    clear = first - second > 2 * TOLERANCE * scale
    right = np.asarray(labels)[clear] == np.asarray(model.predict(rows))[clear]
    if not worst <= TOLERANCE or not right.all():
        raise ValueError(
            f"the graph does not predict what the model does: on {len(expected)} rows they differ "
            f"by up to {worst:.2g}. A step is translated wrongly, or its numbers are too large "
            "for float32 (then scale them)."
        )


def _rows(model: Any, example: Any) -> Any:
    if example is not None:
        return example[:MOST_ROWS]
    rng = np.random.RandomState(0)
    rows = rng.standard_normal((MOST_ROWS, model.n_features_in_)).astype(np.float32)
    with_gaps = np.where(rng.uniform(size=rows.shape) < 0.1, np.nan, rows).astype(np.float32)
    try:
        model.predict(with_gaps)
    except ValueError:  # it takes no missing values
        return rows
    return with_gaps


def _inputs(session: Any, rows: Any) -> dict[str, Labels]:
    wanted = {one.name: one.type for one in session.get_inputs()}
    if set(wanted) == {"X"}:
        if "string" in wanted["X"]:
            return {"X": np.asarray(rows, dtype=object).reshape(-1, 1)}
        return {"X": np.ascontiguousarray(rows, dtype=np.float32)}
    return {name: _column(rows, name, kind) for name, kind in wanted.items()}


def _column(rows: Any, name: str, kind: str) -> Labels:
    if "string" in kind:
        return _text(rows[name])
    if "double" in kind and np.asarray(rows[name]).dtype.kind == "M":
        days = np.asarray(rows[name]).astype("datetime64[us]") - np.datetime64(0, "us")
        return np.asarray(days / np.timedelta64(1, "D")).reshape(-1, 1)
    return np.asarray(rows[[name]], dtype=np.float32)


def _text(column: Any) -> Labels:
    cells = [MISSING if cell is None or cell != cell else str(cell) for cell in column.tolist()]
    return np.array(cells, dtype=object).reshape(-1, 1)


def _expected(model: Any, rows: Any) -> FloatArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    scores = np.asarray(model.decision_function(rows))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
