"""`unconfused predict`: labels for a file, chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unconfused._columns.kinds import require_columns
from unconfused._files.write import check_table_target, open_table
from unconfused.cli import options as opt
from unconfused.cli.console import Stages, tell
from unconfused.cli.errors import refuse_clash, refuse_same_target
from unconfused.cli.options import ReadOptions, is_nameless, split_names

EXAMPLES = [
    "predict model.skops new.csv -o labels.csv",
    "predict model.skops new.parquet -o labels.parquet --keep id --proba",
]

LABEL, PROBABILITY = "label", "probability"

OWN_LABELS = "y"
"""What the labels of a file without column names are called."""


def predict(
    model: opt.Model,
    data: opt.Data,
    *,
    output: Path = opt.output(f"Output file for the labels: {opt.TABLE_FILES}."),
    proba: bool = opt.plain("--proba", "Also write the probability of every class.", default=False),
    keep: list[str] = opt.columns("--keep", "Columns of DATA to copy, such as an id."),
    rows: int = opt.rows(),
    reading: ReadOptions,
    escape: bool = opt.escape(),
    force: bool = opt.force(),
    as_json: bool = opt.as_json(),
) -> None:
    """Predict the true class of every row of DATA.

    OUTPUT has a row for each row of DATA, with the predicted class in the column `label`. If the
    model has probabilities, the column `probability` has that of this class. DATA must have the
    columns that the model was fitted on; others are ignored.
    """
    refuse_same_target(data, output, model)
    check_table_target(output, force=force)
    from unconfused import load

    asked = Prediction(load(model), split_names(keep), proba)
    if not is_nameless(data, reading):
        refuse_clash("--keep", asked.keep, asked.made())
    shares: Counter[str] = Counter()
    with open_table(output, force=force, escape=escape) as append, Stages() as stage:
        stage(f"Labelling {data.name}")
        for part, kept in asked.inputs(data, reading, rows):
            frame = asked.label(part, kept)
            shares.update(frame[LABEL].astype(str).value_counts().to_dict())
            append(frame)
            stage.rows(len(frame))
    total = sum(shares.values())
    words = ", ".join(f"{label}: {times:,}" for label, times in shares.most_common(5))
    lines = [f"{total:,} rows labelled ({words}{' and others' * (len(shares) > 5)})."]
    some = ", ".join(map(repr, asked.extra[:6])) + ", ..." * (len(asked.extra) > 6)
    notes = [f"Columns the model does not use: {some}."] if asked.extra else []
    found = {"output": str(output), "rows": total, "labels": shares}
    found["columns_not_used"] = asked.extra
    tell(as_json, found, [*lines, f"Labels: {output}"], notes)


class Prediction:
    """What a model needs of a file, and what is made of it."""

    def __init__(self, model: Any, keep: list[str], every_class: bool) -> None:
        self.model, self.keep, self.every_class = model, keep, every_class
        self.has_probability = hasattr(model, "predict_proba")
        self.extra: list[str] = []
        """Columns of the data that are not used."""
        if every_class and not self.has_probability:
            raise ValueError(
                "This model has no probabilities (UMA predicts labels only); drop --proba."
            )

    def made(self) -> list[str]:
        """Return the columns of the output that are not copied from the data."""
        classes = self.model.classes_.tolist() if self.every_class else []
        made = [LABEL, PROBABILITY] if self.has_probability else [LABEL]
        return [*made, *(f"{PROBABILITY}_{one}" for one in classes)]

    def inputs(self, path: Path, reading: ReadOptions, rows: int) -> Iterator[tuple[Any, Any]]:
        """Yield the rows as the model takes them, and the columns to keep, in chunks."""
        from unconfused._columns.steps import check_columns, columns_as_text, prepare_frame

        if is_nameless(path, reading):
            yield self._unnamed(path, reading)
            return
        as_text = [*columns_as_text(self.model), *self.keep]
        for part in reading.parts(path, rows, as_text):
            require_columns(part, self.keep)
            extra = check_columns(self.model, part)
            self.extra = [name for name in extra if name not in self.keep]
            yield prepare_frame(self.model, part), part[self.keep] if self.keep else None

    def _unnamed(self, path: Path, reading: ReadOptions) -> tuple[Any, Any]:
        """Read rows without column names; pad sparse ones to the width of the model."""
        import pandas as pd
        from scipy import sparse

        names = getattr(self.model, "feature_names_in_", None)
        if names is not None:
            wanted = ", ".join(repr(str(name)) for name in names[:5])
            raise ValueError(f"{path} has no column names, but the model needs {wanted} ...")
        rows, width = reading.table(path, []), self.model.n_features_in_
        X, kept = rows.X, None
        if self.keep:
            if self.keep != [OWN_LABELS] or rows.y is None:
                raise ValueError(
                    f"{path} has no column names: its own labels, if it has any, are called "
                    f"{OWN_LABELS} (--keep {OWN_LABELS}, `evaluate --truth {OWN_LABELS}`)."
                )
            kept = pd.DataFrame({OWN_LABELS: rows.y})
        if X.shape[1] > width:
            raise ValueError(f"{path} has {X.shape[1]} columns; the model takes {width}.")
        if sparse.issparse(X) and X.shape[1] < width:
            # svmlight writes no zeros: the last columns may be missing in all rows.
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
        return X, kept

    def label(self, rows: Any, kept: Any) -> Any:
        """Return labels and probabilities of rows, after the columns that are kept."""
        import pandas as pd

        classes = self.model.classes_
        columns: dict[str, Any] = {} if kept is None else {str(n): kept[n] for n in kept.columns}
        if not self.has_probability:
            if hasattr(self.model, "decision_function"):
                finite_scores(self.model, rows, "decision_function")
            return pd.DataFrame({**columns, LABEL: self.model.predict(rows)})
        shares = finite_scores(self.model, rows, "predict_proba")
        made = [classes[shares.argmax(axis=1)], shares.max(axis=1), *shares.T]
        return pd.DataFrame(columns | dict(zip(self.made(), made, strict=False)))


def finite_scores(model: Any, rows: Any, method: str) -> Any:
    """Return the probabilities or scores of rows; if one is not finite, the error names the row."""
    with np.errstate(all="ignore"):
        scores = np.asarray(getattr(model, method)(rows))
    wrong = ~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Row {rows.index[row] if hasattr(rows, 'index') else row} (from 0) has no finite "
            "score, so it cannot be labelled: its numbers are too large. Correct them, or leave "
            "the cells empty."
        )
    return scores
