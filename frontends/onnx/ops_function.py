"""Operators that are imported as ONNX defines them: by the function in their schema."""

from functools import partial

from xrelay.frontends.onnx.functions import function_body
from xrelay.frontends.onnx.node import ConverterTable

FUNCTION_CONVERTERS: ConverterTable = {
    "AffineGrid": {20: function_body},
    "Attention": {23: function_body},
    "CausalConvWithState": {27: function_body},
    "CenterCropPad": {18: function_body},
    "DynamicQuantizeLinear": {11: function_body},
    "LinearAttention": {27: function_body},
    # Operator set 13 changed nothing but types.
    "MeanVarianceNormalization": {9: partial(function_body, version=13), 13: function_body},
    "NegativeLogLikelihoodLoss": {12: function_body},
    "RotaryEmbedding": {23: function_body},
    "Shrink": {9: function_body},
    "SoftmaxCrossEntropyLoss": {12: function_body},
    "SwiGLU": {28: function_body},
}
