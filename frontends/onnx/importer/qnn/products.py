"""Products and convolutions of 8-bit integers."""

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp, QnnRequantizeOp
from xrelay.dialects.qnn.parameters import BYTES
from xrelay.dialects.qnn.products import QnnBatchMatmulOp, QnnConv2DOp
from xrelay.dialects.shapes import same_shape
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp, SqueezeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.frontends.onnx.errors import UnsupportedNode
from xrelay.frontends.onnx.importer.conv.conv import spatial
from xrelay.frontends.onnx.importer.conv.windows import Window
from xrelay.frontends.onnx.importer.emitting import cast, matrix_product, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.qnn.conversion import one_or_vector, positive_scale, zero_point


def integer_matmul(node: Node) -> SSAValue:
    """MatMulInteger: the product of integers without their zero points, as i32."""
    zero_points = (node.optional(index) for index in (2, 3))
    return product_of_integers(node, node.input(0), node.input(1), *zero_points)


def quantized_matmul(node: Node) -> SSAValue:
    """QLinearMatMul: the product of two quantised tensors, quantised itself."""
    a, b = node.input(0), node.input(3)
    total = product_of_integers(node, a, b, node.input(2), node.input(5))
    scales = [cast(node, positive_scale(node, index), f32) for index in (1, 4)]
    if node.shape_of(scales[0]) in ((), (1,)) and len(node.shape_of(scales[1])) <= 1:
        scale = node.emit(MultiplyOp(*(one_or_vector(node, each) for each in scales)))
        return requantized(node, total, scale, positive_scale(node, 6), node.input(7), axis=-1)
    # The scales of rows and columns are axes of the result.
    rows, columns = (
        _aligned(node, scale, len(node.shape_of(value)), last=last)
        for scale, value, last in ((scales[0], a, False), (scales[1], b, True))
    )
    numbers = node.emit(MultiplyOp(cast(node, total, f32), node.emit(MultiplyOp(rows, columns))))
    scale, zero = cast(node, positive_scale(node, 6), f32), node.input(7)
    parameters = (one_or_vector(node, each) for each in (scale, cast(node, zero, i32)))
    dtype = node.element_type(zero)
    return node.emit(QnnQuantizeOp(numbers, *parameters, out_dtype=dtype, axis=-1))


def product_of_integers(
    node: Node, a: SSAValue, b: SSAValue, zero_a: SSAValue | None, zero_b: SSAValue | None
) -> SSAValue:
    """The matrix product of two tensors of 8-bit integers; zero points of `a` are those of rows."""
    for value in (a, b):
        if node.element_type(value) not in BYTES:
            raise UnsupportedNode(f"it multiplies elements of type {node.element_type(value)}")
    zero_a, zero_b = (_one_number(node, zero) for zero in (zero_a, zero_b))
    single = all(zero is None or node.shape_of(zero) in ((), (1,)) for zero in (zero_a, zero_b))
    one = node.constant(np.array(1, np.float32))
    if single:
        zero_x, zero_y = (_zero_point(node, zero) for zero in (zero_a, zero_b))
        return matrix_product(
            node, a, b, lambda x, y: QnnBatchMatmulOp(x, y, zero_x, zero_y, one, one)
        )
    left, right = _without(node, a, zero_a, last=False), _without(node, b, zero_b, last=True)
    return matrix_product(node, left, right)


def _without(node: Node, value: SSAValue, zero: SSAValue | None, *, last: bool) -> SSAValue:
    """Integers as i32 without their zero point, which is one of rows, or of columns if `last`."""
    whole = cast(node, value, i32)
    if zero is None:
        return whole
    zero = _aligned(node, cast(node, zero, i32), len(node.shape_of(value)), last=last)
    return node.emit(SubtractOp(whole, zero))


def _zero_point(node: Node, zero: SSAValue | None) -> SSAValue:
    """A zero point as i32, a scalar or a vector; 0 where it is absent."""
    if zero is None:
        return node.constant(np.array(0, np.int32))
    return one_or_vector(node, cast(node, zero, i32))


def _one_number(node: Node, zero: SSAValue | None) -> SSAValue | None:
    """A zero point; one number where all are known to be the same."""
    known = None if zero is None else node.known_value(zero)
    if known is None or known.size < 2 or np.any(known != known.flat[0]):
        return zero
    return node.constant(known.reshape(-1)[:1])


def _aligned(node: Node, parameter: SSAValue, rank: int, *, last: bool) -> SSAValue:
    """A parameter of rows, or of columns if `last`, in a shape that broadcasts to the matrices."""
    shape = node.shape_of(parameter)
    if shape in ((), (1,)):
        return reshaped(node, parameter, ())
    if len(shape) == 1 and rank > 1 and not last:
        return reshaped(node, parameter, (shape[0], 1))
    return parameter


def requantized(
    node: Node,
    total: SSAValue,
    scale: SSAValue,
    new_scale: SSAValue,
    new_zero_point: SSAValue,
    *,
    axis: int,
) -> SSAValue:
    """
    Sums of integers of a scale, or of one for each index of `axis`, as integers of another: multiplied by the quotient
    of the scales, rounded with halves to even, moved by the zero point, and clamped.
    """
    scale, new_scale = (one_or_vector(node, cast(node, each, f32)) for each in (scale, new_scale))
    zero_point = node.constant(np.zeros(node.shape_of(scale), np.int32))
    dtype = node.element_type(new_zero_point)
    new_zero_point = one_or_vector(node, cast(node, new_zero_point, i32))
    if node.shape_of(new_scale) or node.shape_of(new_zero_point):
        raise UnsupportedNode("its result has a scale or a zero point for each channel")
    return node.emit(
        QnnRequantizeOp(
            total,
            *(scale, zero_point, new_scale, new_zero_point),
            axis=axis,
            rounding="TONEAREST_EVEN",
            compute_dtype="float32",
            out_dtype=dtype,
        )
    )


def integer_convolution(node: Node) -> SSAValue:
    """ConvInteger: convolution of integers without their zero points, as i32."""
    return _convolution(node, node.input(0), node.input(1), node.optional(2), node.optional(3))


def quantized_convolution(node: Node) -> SSAValue:
    """QLinearConv: convolution of a quantised tensor, quantised itself, with a bias of i32."""
    total = _convolution(node, node.input(0), node.input(3), node.input(2), node.input(5))
    if node.has_input(8):
        total = node.emit(BiasAddOp(total, node.input(8)))
    scales = (one_or_vector(node, cast(node, positive_scale(node, i), f32)) for i in (1, 4))
    scale = node.emit(MultiplyOp(*scales))
    return requantized(node, total, scale, positive_scale(node, 6), node.input(7), axis=1)


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
    zero_x, zero_w = (_zero_point(node, zero) for zero in (zero_data, zero_weight))
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


def gemm(node: Node) -> SSAValue:
    """QGemm: alpha * A' * B' + C, where C is of 32 bits with the product's scale; without a scale of its own, f32."""
    alpha = node.real("alpha", 1.0)
    a, b = node.input(0), node.input(3)
    if node.flag("transA"):
        a = node.emit(TransposeOp(a, [1, 0]))
    if node.flag("transB"):
        b = node.emit(TransposeOp(b, [1, 0]))
    total = product_of_integers(node, a, b, node.optional(2), node.optional(5))
    if node.has_input(6):
        bias = node.input(6)
        vector = same_shape(node.shape_of(bias), node.shape_of(total)[1:])
        total = node.emit((BiasAddOp if vector else AddOp)(total, bias))
    scales = [one_or_vector(node, cast(node, positive_scale(node, index), f32)) for index in (1, 4)]
    scale = node.emit(MultiplyOp(*scales))
    if alpha != 1:
        scale = node.emit(MultiplyOp(scale, node.scalar(alpha, scale)))
    if not node.has_input(7):
        zero = node.constant(np.zeros(node.shape_of(scale), np.int32))
        return node.emit(QnnDequantizeOp(total, scale, zero, axis=1))
    return requantized(node, total, scale, positive_scale(node, 7), zero_point(node, 8, a), axis=1)


CONVERTERS: ConverterTable = {
    "ConvInteger": {10: integer_convolution},
    "MatMulInteger": {10: integer_matmul},
    "QLinearConv": {10: quantized_convolution},
    "QLinearMatMul": {10: quantized_matmul},
}

MICROSOFT: ConverterTable = {"QGemm": {1: gemm}}
"""Of the domain `com.microsoft`; source: onnxruntime's ContribOperators.md."""
