"""Save models to files that cannot run code, and export them to ONNX."""

from typing import TYPE_CHECKING, Any

from unconfused.persistence.archive import ModelHeader
from unconfused.persistence.checks import ExportError, ModelFileError
from unconfused.persistence.file import load, read_header, save

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name != "to_onnx":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from unconfused.persistence.onnx import to_onnx  # what few need, when they need it

    return to_onnx
