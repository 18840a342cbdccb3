"""Save models to files that cannot run code, and export them to ONNX."""

from unconfused.persistence.archive import ModelHeader
from unconfused.persistence.checks import ExportError, ModelFileError
from unconfused.persistence.file import load, read_header, save
from unconfused.persistence.onnx import to_onnx

__all__ = [
    "ExportError",
    "ModelFileError",
    "ModelHeader",
    "load",
    "read_header",
    "save",
    "to_onnx",
]
