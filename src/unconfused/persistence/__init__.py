"""Saved models: files without pickle, and export to ONNX."""

from unconfused.persistence._errors import ExportError, ModelFileError, import_extra
from unconfused.persistence._file import load, read_header, save
from unconfused.persistence._header import ModelHeader
from unconfused.persistence._onnx import to_onnx

__all__ = [
    "ExportError",
    "ModelFileError",
    "ModelHeader",
    "import_extra",
    "load",
    "read_header",
    "save",
    "to_onnx",
]
