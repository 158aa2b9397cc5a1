"""What the importer and the exporter raise."""

from xdsl.utils.exceptions import DiagnosticException

from xrelay.runtime.signature import UnknownDimensions


class OnnxImportError(DiagnosticException):
    """A model file is broken, or holds something that the importer does not support."""


class UnknownInputs(OnnxImportError, UnknownDimensions):
    """The model leaves dimensions of its inputs open, and the caller states none."""


class BodiesTooDeep(OnnxImportError):
    """Bodies of nodes lie in each other too deep; the message needs no names of nodes around it."""


class UnsupportedNode(Exception):
    """
    A converter refuses a node; the message is the reason. The importer collects these, so that
    one `OnnxImportError` names every such node of a model.
    """


class UnknownOperand(Exception):
    """A converter asked for an input that an unsupported node would have computed."""


class OnnxExportError(DiagnosticException):
    """A program cannot be written as an ONNX model."""


class NotExpressible(Exception):
    """
    An emitter refuses an operation; the message is the reason. The exporter collects these, so that
    one `OnnxExportError` names every such operation of a program.
    """
