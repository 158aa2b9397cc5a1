"""The ONNX importer."""

from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer import import_model
from xrelay.frontends.onnx.loading import load_model

__all__ = ["OnnxImportError", "import_model", "load_model"]
