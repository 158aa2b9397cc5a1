"""Operators that are imported as ONNX defines them: by the function in their schema."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.shapes import normalize_axes
from xrelay.frontends.onnx.importer.functions import function_body
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def center_crop_pad(node: Node) -> Sequence[SSAValue | None]:
    """CenterCropPad; onnx makes its function for valid axes only, and does not end for others."""
    node.known(1, "shape")
    normalize_axes(node.integers("axes") or [], len(node.shape_of(node.input(0))), "axes")
    return function_body(node)


PREVIEW: ConverterTable = {
    "FlexAttention": {1: function_body},
}
"""Those of the domain ai.onnx.preview."""

CONVERTERS: ConverterTable = {
    "Attention": {23: function_body},
    "CausalConvWithState": {27: function_body},
    "CenterCropPad": {18: center_crop_pad},
    "LinearAttention": {27: function_body},
    "NegativeLogLikelihoodLoss": {12: function_body},
    "RotaryEmbedding": {23: function_body},
    "SoftmaxCrossEntropyLoss": {12: function_body},
    "SwiGLU": {28: function_body},
}
