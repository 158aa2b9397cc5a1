"""Operators that are imported as ONNX defines them: by the function in their schema."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.frontends.onnx.functions import function_body
from xrelay.frontends.onnx.node import Converter, ConverterTable, Node


def with_constant(index: int, what: str) -> Converter:
    """Converts an operator whose function needs one input to be a constant."""

    def convert(node: Node) -> Sequence[SSAValue | None]:
        node.known(index, what)
        return function_body(node)

    return convert


FUNCTION_CONVERTERS: ConverterTable = {
    "Attention": {23: function_body},
    "CausalConvWithState": {27: function_body},
    "CenterCropPad": {18: with_constant(1, "shape")},
    "DynamicQuantizeLinear": {11: function_body},
    "LinearAttention": {27: function_body},
    "NegativeLogLikelihoodLoss": {12: function_body},
    "RotaryEmbedding": {23: function_body},
    "SoftmaxCrossEntropyLoss": {12: function_body},
    "SwiGLU": {28: function_body},
}
