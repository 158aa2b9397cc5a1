"""Operators of classical machine learning that are about numbers: the domain ai.onnx.ml."""

from math import prod

from xdsl.ir import SSAValue

from xrelay.dialects.tensor.binary import GreaterOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import require_range, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def binarizer(node: Node) -> SSAValue:
    """Binarizer: 1 above the threshold, else 0."""
    threshold, data = node.real("threshold", 0.0), node.input(0)
    above = node.emit(GreaterOp(data, node.scalar(threshold, data)))
    return node.emit(CastOp(above, node.element_type(data)))


def array_feature_extractor(node: Node) -> SSAValue:
    """ArrayFeatureExtractor: elements of the last axis."""
    data, places = node.input(0), node.input(1)
    shape = node.shape_of(data)
    if not shape:
        raise OnnxImportError("its input is a scalar, expected at least rank 1")
    if len(shape) == 1:
        data = reshaped(node, data, (1, *shape))
    require_range(node, 1, "Y", 0, shape[-1] - 1)
    flat = reshaped(node, places, (prod(node.shape_of(places)),))
    return node.emit(TakeOp(data, flat, axis=-1, mode="wrap"))


CONVERTERS: ConverterTable = {
    "ArrayFeatureExtractor": {1: array_feature_extractor},
    "Binarizer": {1: binarizer},
}
