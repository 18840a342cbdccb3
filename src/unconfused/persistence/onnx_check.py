"""Comparison of a graph with its model: converters can be wrong without an error."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from unconfused._text import import_extra
from unconfused._typing import BoolArray, FloatArray, Labels

MOST_ROWS = 200

TOLERANCE = 1e-3
"""Of probabilities, and of scores beside the largest: far beyond the rounding of float32."""

MISSING = "nan"
"""How a missing category is written where there is no missing text."""


def check_graph(model: Any, graph: Any, example: Any, columns: list[str]) -> None:
    """Run the graph on some rows, and raise if it does not predict what the model does.

    Its inputs are those of the `columns`, in their order; names with spaces have others there.
    """
    runtime = import_extra("onnxruntime", "onnx", "Exporting to ONNX")
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4  # what fails is raised
    session = runtime.InferenceSession(
        graph.SerializeToString(), quiet, providers=["CPUExecutionProvider"]
    )
    rows = _rows(model, example)
    labels, values = session.run(None, _inputs(session, rows, columns))
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


def _inputs(session: Any, rows: Any, columns: list[str]) -> dict[str, Labels]:
    values = [rows] if columns == ["X"] else [rows[name] for name in columns]
    pairs = zip(session.get_inputs(), values, strict=True)
    return {one.name: _as_input(column, one.type) for one, column in pairs}


def _as_input(column: Any, kind: str) -> Labels:
    if "string" in kind:
        cells = np.asarray(column, dtype=object).ravel().tolist()
        text = [MISSING if cell is None or cell != cell else str(cell) for cell in cells]
        return np.array(text, dtype=object).reshape(-1, 1)
    if "double" in kind:  # dates, in days
        since = np.asarray(column).astype("datetime64[us]") - np.datetime64(0, "us")
        return np.asarray(since / np.timedelta64(1, "D")).reshape(-1, 1)
    numbers = np.ascontiguousarray(column, dtype=np.float32)
    return numbers.reshape(len(numbers), -1)


def _expected(model: Any, rows: Any) -> FloatArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows))
    scores = np.asarray(model.decision_function(rows))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


N_ROWS = 25
WORDS = 6
"""Words in each text."""


def example_rows(model: Any) -> Any:
    """Return a frame to compare an exported graph with its model on; None for unnamed columns."""
    first = model.steps[0][1] if getattr(model, "steps", None) else None
    if not isinstance(first, ColumnTransformer):
        return None
    import pandas as pd

    rng = np.random.RandomState(0)
    columns: dict[str, Any] = {}
    known = model.feature_names_in_
    for _, part, places in first.transformers_:
        # A text is one column, named; of the others, their places are kept.
        columns |= _columns(part, places if isinstance(places, str) else known[places], rng)
    return pd.DataFrame({name: columns[name] for name in known})


def _columns(part: Any, names: Any, rng: np.random.RandomState) -> dict[str, Any]:
    if isinstance(part, CountVectorizer):
        words = sorted(part.vocabulary_)
        texts = [" ".join(rng.choice(words, WORDS)) for _ in range(N_ROWS)]
        return {names: np.array(texts, dtype=object)}
    if isinstance(part, OneHotEncoder):
        levels = [[one for one in some if isinstance(one, str)] for some in part.categories_]
        return {
            name: np.array(rng.choice(some, N_ROWS).tolist(), dtype=object)
            for name, some in zip(names, levels, strict=True)
        }
    scaler = part
    while isinstance(scaler, Pipeline):
        scaler = scaler.steps[-1][1]
    if isinstance(scaler, StandardScaler) and len(scaler.mean_) == len(names):
        drawn = rng.normal(scaler.mean_, scaler.scale_, size=(N_ROWS, len(names)))
        drawn[_gaps(drawn.shape)] = np.nan
        return {name: drawn[:, place] for place, name in enumerate(names)}
    # Dates: the first of each one's numbers is in days.
    width = len(scaler.mean_) // len(names)
    mean, scale = scaler.mean_[::width], scaler.scale_[::width]
    hours = (24 * rng.normal(mean, scale, size=(N_ROWS, len(names)))).astype("timedelta64[h]")
    dates = np.datetime64(0, "us") + hours
    dates[_gaps(dates.shape)] = np.datetime64("NaT")
    return {name: dates[:, place] for place, name in enumerate(names)}


def _gaps(shape: tuple[int, int]) -> BoolArray:
    """Return where to leave a gap: one in every column, in different rows while they last."""
    rows, columns = np.indices(shape)
    return np.asarray(rows == columns % shape[0])
