"""Quantised tensors: conversions, and products of 8-bit integers."""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.dialects.qnn.parameters import BYTES, QUANTIZED, ui8
from xrelay.dialects.qnn.products import QnnBatchMatmulOp, QnnConv2DOp
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import (
    AddOp,
    DivideOp,
    EqualOp,
    MaximumOp,
    MinimumOp,
    MultiplyOp,
    SubtractOp,
)
from xrelay.dialects.tensor.reduce import MaxOp, MinOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import RepeatOp, StridedSliceOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, RoundOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.conv.conv import spatial
from xrelay.frontends.onnx.importer.conv.windows import Window
from xrelay.frontends.onnx.importer.emitting import cast, matrix_product, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.tensors import ElementType, element_type_of
from xrelay.interpreters.arrays import dtype_of


def quantize(node: Node) -> SSAValue:
    """
    QuantizeLinear: x / scale rounded, halves to even, plus the zero point, within the range of its
    type. There is one scale, one for each index of an axis, or one for each block along it.
    """
    node.ignore("saturate", "precision")
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    dtype: ElementType = ui8
    if node.has_attribute("output_dtype") and node.integer("output_dtype"):
        dtype = element_type_of(node.integer("output_dtype"), "attribute 'output_dtype'")
    if node.has_input(2):
        dtype = node.element_type(node.input(2))
    if dtype not in QUANTIZED:
        raise UnsupportedNode(f"its result has elements of type {dtype}")
    data, scale = cast(node, node.input(0), f32), cast(node, node.input(1), f32)
    zero_point = _zero_point(node, 2, scale)
    axis = _parameter_axis(node, data, scale, axis)
    if len(node.shape_of(scale)) <= 1:
        scale, zero_point = (_one_or_vector(node, value) for value in (scale, zero_point))
        return node.emit(QnnQuantizeOp(data, scale, zero_point, out_dtype=dtype, axis=axis))
    scale, zero_point = (
        _for_each(node, value, node.shape_of(data), axis, block) for value in (scale, zero_point)
    )
    rounded = node.emit(RoundOp(node.emit(DivideOp(data, scale))))
    moved = node.emit(AddOp(rounded, cast(node, zero_point, f32)))
    limits = np.iinfo(dtype_of(dtype))
    return node.emit(CastOp(node.emit(ClipOp(moved, limits.min, limits.max)), dtype))


def dynamically_quantize(node: Node) -> list[SSAValue]:
    """
    DynamicQuantizeLinear: the range of the data, and 0, becomes that of `ui8`. The scale of zeros
    alone, for which ONNX's formula divides by 0, is 1.
    """
    data = node.input(0)
    zero = node.scalar(0, data)
    low = node.emit(MinimumOp(node.emit(MinOp(data)), zero))
    high = node.emit(MaximumOp(node.emit(MaxOp(data)), zero))
    extent = node.emit(SubtractOp(high, low))
    scale = node.emit(DivideOp(extent, node.scalar(255, data)))
    empty = node.emit(EqualOp(extent, zero))
    scale = node.emit(WhereOp(empty, node.scalar(1, data), scale))
    place = node.emit(SubtractOp(zero, node.emit(DivideOp(low, scale))))
    place = node.emit(RoundOp(node.emit(ClipOp(place, 0, 255))))
    zero_point = cast(node, place, i32)
    quantized = node.emit(QnnQuantizeOp(data, scale, zero_point, out_dtype=ui8))
    return [quantized, scale, cast(node, zero_point, ui8)]


def dequantize(node: Node) -> SSAValue:
    """DequantizeLinear: (x - zero point) * scale, in the type of the scale."""
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    data, scale = node.input(0), node.input(1)
    dtype = node.element_type(scale)
    if node.has_attribute("output_dtype") and node.integer("output_dtype"):
        dtype = element_type_of(node.integer("output_dtype"), "attribute 'output_dtype'")
    scale = cast(node, scale, f32)
    zero_point = _zero_point(node, 2, scale)
    axis = _parameter_axis(node, data, scale, axis)
    if len(node.shape_of(scale)) <= 1:
        scale, zero_point = (_one_or_vector(node, value) for value in (scale, zero_point))
        return cast(node, node.emit(QnnDequantizeOp(data, scale, zero_point, axis=axis)), dtype)
    scale, zero_point = (
        _for_each(node, value, node.shape_of(data), axis, block) for value in (scale, zero_point)
    )
    moved = node.emit(SubtractOp(cast(node, data, i32), zero_point))
    return cast(node, node.emit(MultiplyOp(cast(node, moved, f32), scale)), dtype)


def _zero_point(node: Node, index: int, scale: SSAValue) -> SSAValue:
    """A zero point as i32, by default 0 in the shape of its scale."""
    if node.has_input(index):
        return cast(node, node.input(index), i32)
    return node.constant(np.zeros(node.shape_of(scale), np.int32))


def _one_or_vector(node: Node, parameter: SSAValue) -> SSAValue:
    """A parameter of one element as a scalar, a vector as it is."""
    return reshaped(node, parameter, ()) if node.shape_of(parameter) == (1,) else parameter


def _parameter_axis(node: Node, data: SSAValue, scale: SSAValue, axis: int) -> int:
    """The axis of the scales from the front; without meaning where there is one scale."""
    rank, shape = len(node.shape_of(data)), node.shape_of(scale)
    return -1 if shape in ((), (1,)) else normalize_axis(axis, rank)


def _for_each(
    node: Node, parameter: SSAValue, shape: Sequence[int], axis: int, block: int
) -> SSAValue:
    """A parameter of blocks along `axis`, repeated to have one element for each of the data."""
    blocks = node.shape_of(parameter)
    count = blocks[axis] if len(blocks) == len(shape) else 0
    if block < 1 or not (count - 1) * block < shape[axis] <= count * block:
        raise OnnxImportError(
            f"'block_size' is {block}, the data have the shape {list(shape)} and their scales "
            f"{list(blocks)}"
        )
    repeated = node.emit(RepeatOp(parameter, block, axis=axis))
    if count * block == shape[axis]:
        return repeated
    return node.emit(StridedSliceOp(repeated, [0], [shape[axis]], axes=[axis]))


def integer_matmul(node: Node) -> SSAValue:
    """MatMulInteger: the product of integers without their zero points, as i32."""
    zero_points = (node.optional(index) for index in (2, 3))
    return _product(node, node.input(0), node.input(1), *zero_points)


def quantized_matmul(node: Node) -> SSAValue:
    """QLinearMatMul: the product of two quantised tensors, quantised itself."""
    a, b = node.input(0), node.input(3)
    total = _product(node, a, b, node.input(2), node.input(5))
    scales = [cast(node, node.input(index), f32) for index in (1, 4, 6)]
    # The scales of rows and columns are axes of the result.
    rows, columns = (
        _aligned(node, scale, len(node.shape_of(value)), last=last)
        for scale, value, last in ((scales[0], a, False), (scales[1], b, True))
    )
    numbers = node.emit(MultiplyOp(cast(node, total, f32), node.emit(MultiplyOp(rows, columns))))
    return _quantized(node, numbers, scales[2], node.input(7))


def _product(
    node: Node, a: SSAValue, b: SSAValue, zero_a: SSAValue | None, zero_b: SSAValue | None
) -> SSAValue:
    """The matrix product of two tensors of 8-bit integers; zero points of `a` are those of rows."""
    for value in (a, b):
        if node.element_type(value) not in BYTES:
            raise UnsupportedNode(f"it multiplies elements of type {node.element_type(value)}")
    single = all(zero is None or node.shape_of(zero) in ((), (1,)) for zero in (zero_a, zero_b))
    one = node.constant(np.array(1, np.float32))
    if single:
        zero_x, zero_y = (
            node.constant(np.array(0, np.int32))
            if zero is None
            else reshaped(node, cast(node, zero, i32), ())
            for zero in (zero_a, zero_b)
        )
        return matrix_product(
            node, a, b, lambda x, y: QnnBatchMatmulOp(x, y, zero_x, zero_y, one, one)
        )
    left, right = (
        cast(node, value, i32)
        if zero is None
        else node.emit(
            SubtractOp(
                cast(node, value, i32),
                _aligned(node, cast(node, zero, i32), len(node.shape_of(value)), last=last),
            )
        )
        for value, zero, last in ((a, zero_a, False), (b, zero_b, True))
    )
    return matrix_product(node, left, right)


def _aligned(node: Node, parameter: SSAValue, rank: int, *, last: bool) -> SSAValue:
    """A parameter of rows, or of columns if `last`, in a shape that broadcasts to the matrices."""
    shape = node.shape_of(parameter)
    if shape in ((), (1,)):
        return reshaped(node, parameter, ())
    if len(shape) == 1 and rank > 1 and not last:
        return reshaped(node, parameter, (shape[0], 1))
    return parameter


def _quantized(
    node: Node, numbers: SSAValue, scale: SSAValue, zero_point: SSAValue, axis: int = -1
) -> SSAValue:
    """Numbers of f32 quantised to the type of the zero point."""
    parameters = (_one_or_vector(node, each) for each in (scale, cast(node, zero_point, i32)))
    dtype = node.element_type(zero_point)
    return node.emit(QnnQuantizeOp(numbers, *parameters, out_dtype=dtype, axis=axis))


def integer_convolution(node: Node) -> SSAValue:
    """ConvInteger: convolution of integers without their zero points, as i32."""
    return _convolution(node, node.input(0), node.input(1), node.optional(2), node.optional(3))


def quantized_convolution(node: Node) -> SSAValue:
    """QLinearConv: convolution of a quantised tensor, quantised itself, with a bias of i32."""
    total = _convolution(node, node.input(0), node.input(3), node.input(2), node.input(5))
    if node.has_input(8):
        total = node.emit(BiasAddOp(total, node.input(8)))
    scale, weight_scale = (
        _one_or_vector(node, cast(node, node.input(index), f32)) for index in (1, 4)
    )
    scales = node.emit(MultiplyOp(scale, weight_scale))
    zero_point = node.constant(np.zeros(node.shape_of(scales), np.int32))
    numbers = node.emit(QnnDequantizeOp(total, scales, zero_point, axis=1))
    return _quantized(node, numbers, cast(node, node.input(6), f32), node.input(7))


def _convolution(
    node: Node,
    data: SSAValue,
    weight: SSAValue,
    zero_data: SSAValue | None,
    zero_weight: SSAValue | None,
) -> SSAValue:
    """The convolution of 8-bit integers; lines are taken for images of height 1."""
    image, kernel = spatial(node, data, weight)
    axes = len(image)
    if axes > 2:
        raise UnsupportedNode(f"its input has {axes} spatial axes: expected lines or images")
    window = Window.of(node, axes)
    padding = window.padding(image, kernel)
    strides, dilations = window.strides, window.dilations
    if axes == 1:
        data, weight = (node.emit(ExpandDimsOp(value, 2)) for value in (data, weight))
        strides, dilations = [1, *strides], [1, *dilations]
        padding = [0, padding[0], 0, padding[1]]
    zero_x, zero_w = (
        node.constant(np.array(0, np.int32))
        if zero is None
        else _one_or_vector(node, cast(node, zero, i32))
        for zero in (zero_data, zero_weight)
    )
    one = node.constant(np.array(1, np.float32))
    result = node.emit(
        QnnConv2DOp(
            data,
            weight,
            zero_x,
            zero_w,
            one,
            one,
            strides=strides,
            padding=padding,
            dilation=dilations,
            groups=node.integer("group", 1),
        )
    )
    return node.emit(SqueezeOp(result, (2,))) if axes == 1 else result


QUANTIZED_CONVERTERS: ConverterTable = {
    "ConvInteger": {10: integer_convolution},
    "DequantizeLinear": {10: dequantize},
    "DynamicQuantizeLinear": {11: dynamically_quantize},
    "MatMulInteger": {10: integer_matmul},
    "QLinearConv": {10: quantized_convolution},
    "QLinearMatMul": {10: quantized_matmul},
    "QuantizeLinear": {10: quantize},
}
