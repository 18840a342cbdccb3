"""Tables in files, for the command line: read, read in parts, write whole or not at all."""

from unconfused._files.append import open_table
from unconfused._files.disk_rows import DiskRows, scratch_file
from unconfused._files.errors import DataFileError
from unconfused._files.formats import find_source
from unconfused._files.formulas import escape_cell, unescape_cell
from unconfused._files.read import iter_tables, read_table
from unconfused._files.sparse import LabelledRows, plain_labels
from unconfused._files.svmlight_parts import iter_svmlight
from unconfused._files.types import clean_name
from unconfused._files.write import check_table_target, write_table

__all__ = [
    "DataFileError",
    "DiskRows",
    "LabelledRows",
    "check_table_target",
    "clean_name",
    "escape_cell",
    "find_source",
    "iter_svmlight",
    "iter_tables",
    "open_table",
    "plain_labels",
    "read_table",
    "scratch_file",
    "unescape_cell",
    "write_table",
]
