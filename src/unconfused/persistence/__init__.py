"""Saved models: files without pickle, and export to ONNX."""

from unconfused.persistence.errors import ExportError, ModelFileError, import_extra
from unconfused.persistence.file import load, read_header, save
from unconfused.persistence.header import ModelHeader
from unconfused.persistence.onnx import to_onnx

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
