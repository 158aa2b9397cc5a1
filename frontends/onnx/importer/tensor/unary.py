"""Operators of one operand, element by element."""

from collections.abc import Callable
from math import inf

import numpy as np
from xdsl.dialects.builtin import f16, f32, f64
from xdsl.ir import SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import DivideOp, MaximumOp, MinimumOp
from xrelay.dialects.tensor.unary import (
    AbsOp,
    CastOp,
    CeilOp,
    ClipOp,
    CosOp,
    ErfOp,
    ExpOp,
    FloorOp,
    LeakyReluOp,
    LogicalNotOp,
    LogOp,
    NegativeOp,
    ReluOp,
    RoundOp,
    SigmoidOp,
    SignOp,
    SinOp,
    SqrtOp,
    TanhOp,
)
from xrelay.frontends.onnx.importer.narrow import narrowed, numbers
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.narrow import NARROW, Narrow
from xrelay.frontends.onnx.tensors import element_type_named, element_type_of

_FLOAT_MAX = 3.4028234663852886e38
"""The largest finite f32."""

Unary = Callable[[SSAValue], RelayOp]


def unary(op: Unary) -> Converter:
    """Converts a node with one input to one operation."""

    def convert(node: Node) -> SSAValue:
        return node.emit(op(node.input(0)))

    return convert


def in_floating_point(
    node: Node, data: SSAValue, compute: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """What `compute` gives; of integers, in f64, and without the fractions of the result."""
    element = node.element_type(data)
    if is_float(element):
        return compute(data)
    return node.emit(CastOp(compute(node.emit(CastOp(data, f64))), element))


def in_single_precision(
    node: Node, data: SSAValue, compute: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """
    What `compute` gives; of f16, in f32: sums, squares and powers can leave the range of f16 where
    their roots and logarithms do not.
    """
    if node.element_type(data) != f16:
        return compute(data)
    return node.emit(CastOp(compute(node.emit(CastOp(data, f32))), f16))


def error_function(node: Node) -> SSAValue:
    """Erf, which ONNX has of integers, too."""
    return in_floating_point(node, node.input(0), lambda data: node.emit(ErfOp(data)))


def reciprocal(node: Node) -> SSAValue:
    """Reciprocal: 1 / x."""
    data = node.input(0)
    return node.emit(DivideOp(node.scalar(1, data), data))


def converted(node: Node, value: SSAValue, dtype: ElementType) -> SSAValue:
    """`value` with elements of another type, itself when it has that type already."""
    return value if node.element_type(value) == dtype else node.emit(CastOp(value, dtype))


def cast(node: Node) -> SSAValue:
    """Cast to the element type `to`."""
    code = node.integer("to")
    return cast_to(node, element_type_of(code, "attribute 'to'"), NARROW.get(code))


def cast_to(node: Node, dtype: ElementType, narrow: Narrow | None) -> SSAValue:
    """The first input with another element type."""
    mode, saturate = node.string("round_mode", "up"), node.flag("saturate", default=True)
    data = node.input(0)
    if narrow is not None and node.narrow(data) == narrow:
        return data
    if narrow is not None:
        return narrowed(node, numbers(node, data), narrow, mode, saturate=saturate)
    if node.narrow(data) is not None and node.element_type(data) == dtype:
        return node.emit(CastOp(data, dtype))  # Another value, of another type of ONNX's.
    return converted(node, numbers(node, data), dtype)


def named_cast(node: Node) -> SSAValue:
    """Cast before operator set 6, where `to` is a name."""
    return converted(node, node.input(0), element_type_named(node.string("to", "")))


def cast_like(node: Node) -> SSAValue:
    """CastLike: the element type is that of the second input."""
    like = node.input(1)
    return cast_to(node, node.element_type(like), node.narrow(like))


def leaky_relu(node: Node) -> SSAValue:
    """LeakyRelu."""
    return node.emit(LeakyReluOp(node.input(0), node.real("alpha", 0.01)))


def clip_by_attributes(node: Node) -> SSAValue:
    """Clip before operator set 11."""
    low, high = node.real("min", -_FLOAT_MAX), node.real("max", _FLOAT_MAX)
    return node.emit(ClipOp(node.input(0), low, high))


def _finite_range(node: Node, data: SSAValue) -> tuple[float, float]:
    """The least and the largest finite number of the type of a value: the limits of Clip."""
    dtype = node.element_dtype(data)
    largest = float(np.nextafter(np.array(inf, dtype), np.array(0, dtype)))
    return -largest, largest


def clip_by_inputs(node: Node) -> SSAValue:
    """
    Clip to optional scalar inputs: `relay.clip` for floats when those are constants. Absent ones are
    the limits of the type, which infinite elements exceed.
    """
    data = node.input(0)
    limits = [node.input_as_scalar(index) if node.has_input(index) else None for index in (1, 2)]
    if is_float(node.element_type(data)):
        ends = [
            end if limit is None else node.known_scalar(index)
            for index, (limit, end) in enumerate(
                zip(limits, _finite_range(node, data), strict=True), start=1
            )
        ]
        if ends[0] is not None and ends[1] is not None:
            return node.emit(ClipOp(data, ends[0], ends[1]))
        limits = [
            node.scalar(end, data) if limit is None and end is not None else limit
            for limit, end in zip(limits, ends, strict=True)
        ]
    low, high = limits
    if low is not None:
        data = node.emit(MaximumOp(data, low))
    return data if high is None else node.emit(MinimumOp(data, high))


def identity(node: Node) -> SSAValue:
    """Identity: no operation at all."""
    return node.input(0)


CONVERTERS: ConverterTable = {
    "Abs": {1: unary(AbsOp)},
    "Cast": {1: named_cast, 6: cast},
    "CastLike": {15: cast_like},
    "Ceil": {1: unary(CeilOp)},
    "Clip": {1: clip_by_attributes, 11: clip_by_inputs},
    "Cos": {7: unary(CosOp)},
    "Erf": {9: error_function},
    "Exp": {1: unary(ExpOp)},
    "Floor": {1: unary(FloorOp)},
    "Identity": {1: identity},
    "LeakyRelu": {1: leaky_relu},
    "Log": {1: unary(LogOp)},
    "Neg": {1: unary(NegativeOp)},
    "Not": {1: unary(LogicalNotOp)},
    "Reciprocal": {1: reciprocal},
    "Relu": {1: unary(ReluOp)},
    "Round": {11: unary(RoundOp)},
    "Sigmoid": {1: unary(SigmoidOp)},
    "Sign": {9: unary(SignOp)},
    "Sin": {7: unary(SinOp)},
    "Sqrt": {1: unary(SqrtOp)},
    "Tanh": {1: unary(TanhOp)},
}
