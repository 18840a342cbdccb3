"""From the columns of a frame to features: a pipeline for the command line."""

from unconfused._columns._dates import DateParts
from unconfused._columns._kinds import ColumnError, ColumnPlan
from unconfused._columns._kinds import require as require_columns
from unconfused._columns._named import Named
from unconfused._columns._pipeline import build_pipeline
from unconfused._columns._prepare import check_columns, columns_as_text, prepare_frame
from unconfused._columns._streamed import ColumnsInBlocks

__all__ = [
    "ColumnError",
    "ColumnPlan",
    "ColumnsInBlocks",
    "DateParts",
    "Named",
    "build_pipeline",
    "check_columns",
    "columns_as_text",
    "prepare_frame",
    "require_columns",
]
