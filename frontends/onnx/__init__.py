"""The ONNX importer and exporter."""

from xrelay.frontends.onnx.errors import OnnxExportError, OnnxImportError
from xrelay.frontends.onnx.exporter import export_model, reason_not_exported
from xrelay.frontends.onnx.importer import import_model
from xrelay.frontends.onnx.loading import load_model

__all__ = [
    "OnnxExportError",
    "OnnxImportError",
    "export_model",
    "import_model",
    "load_model",
    "reason_not_exported",
]
