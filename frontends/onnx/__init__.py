"""The ONNX importer and exporter."""

from xrelay.frontends.onnx.errors import OnnxExportError, OnnxImportError
from xrelay.frontends.onnx.exporter.model import export_model, reason_not_exported
from xrelay.frontends.onnx.importer.loading import load_model
from xrelay.frontends.onnx.importer.model import import_every_value, import_model

__all__ = [
    "OnnxExportError",
    "OnnxImportError",
    "export_model",
    "import_every_value",
    "import_model",
    "load_model",
    "reason_not_exported",
]
