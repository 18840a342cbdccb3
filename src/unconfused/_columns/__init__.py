"""From the columns of a frame to features: a pipeline for the command line."""

from unconfused._columns.dates import DateParts
from unconfused._columns.kinds import ColumnError, ColumnPlan
from unconfused._columns.kinds import require as require_columns
from unconfused._columns.named import Named
from unconfused._columns.pipeline import build_pipeline
from unconfused._columns.prepare import check_columns, columns_as_text, prepare_frame
from unconfused._columns.streamed import ColumnsInBlocks

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
