"""Operators on bits, and tests of numbers."""

from math import inf

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import BitwiseXorOp, EqualOp, NotEqualOp
from xrelay.dialects.tensor.bits import IsInfOp, ReinterpretOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.narrow import UI8


def bit_cast(node: Node) -> SSAValue:
    """BitCast: the same bits as another type of the same width."""
    dtype = node.stated_type("to")
    data = node.input(0)
    if node.element_type(data) == i1:  # Its bits are those of a byte that is 0 or 1.
        data = node.emit(CastOp(data, UI8))
    if dtype == i1 and node.element_dtype(data).itemsize == 1:
        return node.emit(NotEqualOp(data, node.scalar(0, data)))
    return node.emit(ReinterpretOp(data, dtype))


def bitwise_not(node: Node) -> SSAValue:
    """BitwiseNot: exclusive or with all bits set."""
    data = node.input(0)
    if is_float(node.element_type(data)):
        raise OnnxImportError(f"its input has elements of type {node.element_type(data)}")
    ones = np.invert(np.zeros((), node.element_dtype(data)))
    return node.emit(BitwiseXorOp(data, node.constant(ones)))


def is_nan(node: Node) -> SSAValue:
    """IsNaN: only NaN differs from itself."""
    data = node.input(0)
    return node.emit(NotEqualOp(data, data))


def is_infinite(node: Node) -> SSAValue:
    """IsInf: of one sign, or of both."""
    negative = node.flag("detect_negative", default=True)
    positive = node.flag("detect_positive", default=True)
    data = node.input(0)
    if negative and positive:
        return node.emit(IsInfOp(data))
    if not (negative or positive):
        return node.constant(np.broadcast_to(np.array(False), node.shape_of(data)))
    return node.emit(EqualOp(data, node.scalar(inf if positive else -inf, data)))


CONVERTERS: ConverterTable = {
    "BitCast": {26: bit_cast},
    "BitwiseNot": {18: bitwise_not},
    "IsInf": {10: is_infinite},
    "IsNaN": {9: is_nan},
}
