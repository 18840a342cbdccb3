"""Tables in files, for the command line: read, read in parts, write whole or not at all."""

from unconfused._files._append import open_table
from unconfused._files._errors import DataFileError
from unconfused._files._read import iter_tables, read_table
from unconfused._files._sparse import LabelledRows
from unconfused._files._write import check_table_target, write_table

__all__ = [
    "DataFileError",
    "LabelledRows",
    "check_table_target",
    "iter_tables",
    "open_table",
    "read_table",
    "write_table",
]
