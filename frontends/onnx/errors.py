"""What the importer and the exporter raise."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from onnx import ModelProto
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.frontends.onnx.loaded import LoadedModel
from xrelay.runtime.signature import UnknownDimensions
from xrelay.runtime.staged import Stages


class OnnxImportError(DiagnosticException):
    """A model file is broken, or holds something that the importer does not support."""


Cut: TypeAlias = Callable[[bool], Stages[ModelProto] | None]
"""What makes two models of one; None where that is no way on."""


class UnknownInputs(OnnxImportError, UnknownDimensions):
    """
    The model leaves dimensions of its inputs open, or depends on their elements, and the caller states none. Where that
    depends on data, `cut` makes two models of it, with what is known of shapes, or with True for any shapes; `taken` says which
    branches it takes, by the places of If nodes in the graph, where these are in the way of a cut. `loaded` is the model, where
    that was read from a file and the import will be asked for again, with what is known then.
    """

    def __init__(
        self,
        *args: Any,
        cut: Cut | None = None,
        taken: Mapping[int, bool] | None = None,
        loaded: LoadedModel | None = None,
        **options: Any,
    ):
        super().__init__(*args, **options)
        self.cut, self.taken, self.loaded = cut, taken or {}, loaded


class ProgramTooLarge(OnnxImportError):
    """What a model becomes exceeds the limits; nothing more is imported."""


class BodiesTooDeep(OnnxImportError):
    """Bodies of nodes lie in each other too deep; the message needs no names of nodes around it."""


class UnsupportedNode(Exception):
    """
    A converter refuses a node; the message is the reason. The importer collects these, so that
    one `OnnxImportError` names every such node of a model.
    """


class DependsOnData(UnsupportedNode):
    """A converter refuses a node for nothing but sizes, or numbers of rounds, that depend on inputs of the graph: `inside` its bodies or not."""

    def __init__(self, reason: str, *, inside: bool = False):
        super().__init__(reason)
        self.inside = inside


class UnknownValue(DependsOnData):
    """
    A converter needs the elements of an operand that depends on inputs of the graph. With `decides_sizes` the
    operand is data, whose elements decide about the size of a result; else it is a shape, an axis, a number. With
    `takes_branch` it is a condition: what bodies of the node ask for, they may not once it is known. With `takes_rounds`
    it is what a loop takes, each of whose rounds may be a run of a model; where they may not, `otherwise` is what is in the way.
    """

    def __init__(
        self,
        reason: str,
        value: SSAValue,
        *,
        decides_sizes: bool = False,
        takes_branch: bool = False,
        takes_rounds: bool = False,
        otherwise: "UnknownValue | None" = None,
    ):
        super().__init__(reason)
        self.value = value
        self.decides_sizes, self.takes_branch = decides_sizes, takes_branch
        self.takes_rounds, self.otherwise = takes_rounds, otherwise


class UnknownOperand(Exception):
    """A converter asked for an input that an unsupported node would have computed."""


class OnnxExportError(DiagnosticException):
    """A program cannot be written as an ONNX model."""


class NotExpressible(Exception):
    """
    An emitter refuses an operation; the message is the reason. The exporter collects these, so that
    one `OnnxExportError` names every such operation of a program.
    """
