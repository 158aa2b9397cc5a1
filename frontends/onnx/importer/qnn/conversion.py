"""Conversions of quantised tensors."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import SSAValue

from xrelay.dialects.dtypes import ElementType
from xrelay.dialects.qnn.blocks import QnnDequantizeBlocksOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.dialects.qnn.parameters import BYTES, QUANTIZED, ui8
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
from xrelay.dialects.tensor.transform import RepeatOp, StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp, ClipOp, RoundOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import cast, reshaped
from xrelay.frontends.onnx.importer.narrow import narrowed, numbers
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.narrow import NARROW, Narrow
from xrelay.interpreters.arrays import Array, dtype_of
from xrelay.interpreters.qnn.blocks import packed


def quantize(node: Node) -> SSAValue:
    """
    QuantizeLinear: x / scale rounded, halves to even, plus the zero point, within the range of its
    type. There is one scale, one for each index of an axis, or one for each block along it.
    """
    node.ignore("precision")
    saturate = node.flag("saturate", default=True)
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    dtype: ElementType = ui8
    narrow: Narrow | None = None
    if node.integer("output_dtype", 0):
        narrow = NARROW.get(node.integer("output_dtype"))
        dtype = node.stated_type("output_dtype")
    if node.has_input(2):
        dtype, narrow = node.element_type(node.input(2)), node.narrow(node.input(2))
    if dtype not in QUANTIZED:
        raise UnsupportedNode(f"its result has elements of type {dtype}")
    data, scale = cast(node, node.input(0), f32), cast(node, positive_scale(node, 1), f32)
    if narrow is not None:
        axis = _parameter_axis(node, data, scale, axis)
        return _quantize_narrowly(node, narrow, data, scale, axis, block, saturate=saturate)
    zero_point = _zero_point(node, 2, scale)
    axis = _parameter_axis(node, data, scale, axis)
    if len(node.shape_of(scale)) <= 1:
        scale, zero_point = (one_or_vector(node, value) for value in (scale, zero_point))
        return node.emit(QnnQuantizeOp(data, scale, zero_point, out_dtype=dtype, axis=axis))
    scale, zero_point = (
        _for_each(node, value, node.shape_of(data), axis, block) for value in (scale, zero_point)
    )
    rounded = node.emit(RoundOp(node.emit(DivideOp(data, scale))))
    moved = node.emit(AddOp(rounded, cast(node, zero_point, f32)))
    limits = np.iinfo(dtype_of(dtype))
    return node.emit(CastOp(node.emit(ClipOp(moved, limits.min, limits.max)), dtype))


def _quantize_narrowly(
    node: Node,
    narrow: Narrow,
    data: SSAValue,
    scale: SSAValue,
    axis: int,
    block: int,
    *,
    saturate: bool,
) -> SSAValue:
    """QuantizeLinear to a type of 8 bits or fewer; of floating-point ones the zero point is 0."""
    shape = node.shape_of(data)
    quotient = node.emit(DivideOp(data, _spread(node, scale, shape, axis, block)))
    if narrow.is_float:
        return narrowed(node, quotient, narrow, saturate=saturate)
    zero_point = cast(node, _spread(node, _zero_point(node, 2, scale), shape, axis, block), f32)
    moved = node.emit(AddOp(node.emit(RoundOp(quotient)), zero_point))
    low = -(1 << narrow.bits - 1) if narrow.signed else 0
    clipped = node.emit(ClipOp(moved, low, low + narrow.mask))
    return narrowed(node, clipped, narrow)


def _spread(
    node: Node, parameter: SSAValue, shape: Sequence[int], axis: int, block: int
) -> SSAValue:
    """A parameter in a shape that data of `shape` broadcast with."""
    if len(node.shape_of(parameter)) > 1:
        return _for_each(node, parameter, shape, axis, block)
    parameter = one_or_vector(node, parameter)
    if not node.shape_of(parameter):
        return parameter
    return reshaped(node, parameter, (*node.shape_of(parameter), *[1] * (len(shape) - axis - 1)))


def dynamically_quantize(node: Node) -> list[SSAValue]:
    """
    DynamicQuantizeLinear: the range of the data, and 0, becomes that of `ui8`. The scale of zeros
    alone, for which ONNX's formula divides by 0, is 1. Where it rounds to 0, the zero point 0 / 0 is 0.
    """
    data = node.input(0)
    zero = node.scalar(0, data)
    low = node.emit(MinimumOp(node.emit(MinOp(data)), zero))
    high = node.emit(MaximumOp(node.emit(MaxOp(data)), zero))
    extent = node.emit(SubtractOp(high, low))
    # In f64 it rounds to the same number, whether it is divided or multiplied by the reciprocal.
    wide = cast(node, extent, f64)
    scale = cast(node, node.emit(DivideOp(wide, node.scalar(255, wide))), f32)
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
    data = node.input(0)
    many = len(node.shape_of(node.input(1))) > 1
    scale = finite_scales(node, 1) if many else positive_scale(node, 1)
    dtype = node.element_type(scale)
    if node.integer("output_dtype", 0):
        dtype = node.stated_type("output_dtype")
    scale = cast(node, scale, f32)
    narrow = node.narrow(data)
    if narrow is not None and narrow.is_float:
        axis = _parameter_axis(node, data, scale, axis)
        factor = _spread(node, scale, node.shape_of(data), axis, block)
        return cast(node, node.emit(MultiplyOp(numbers(node, data), factor)), dtype)
    zero_point = _zero_point(node, 2, scale)
    axis = _parameter_axis(node, data, scale, axis)
    if not many:
        scale, zero_point = (one_or_vector(node, value) for value in (scale, zero_point))
        return cast(node, node.emit(QnnDequantizeOp(data, scale, zero_point, axis=axis)), dtype)
    matrix = _matrix_of_blocks(node, data, node.input(1), zero_point, axis, block)
    if matrix is not None:
        # `cast` would compute it.
        return matrix if dtype == f32 else node.emit(CastOp(matrix, dtype))
    scale, zero_point = (
        _for_each(node, value, node.shape_of(data), axis, block) for value in (scale, zero_point)
    )
    moved = node.emit(SubtractOp(cast(node, data, i32), zero_point))
    return cast(node, node.emit(MultiplyOp(cast(node, moved, f32), scale)), dtype)


def _matrix_of_blocks(
    node: Node, data: SSAValue, scale: SSAValue, zero_point: SSAValue, axis: int, block: int
) -> SSAValue | None:
    """A constant matrix of bytes as one of as few bits as its numbers need; None for other data."""
    _require_blocks(node, scale, node.shape_of(data), axis, block)
    stored, scales, zeros = (node.known_value(value) for value in (data, scale, zero_point))
    if stored is None or scales is None or zeros is None or stored.ndim != 2:
        return None
    if stored.size == 0 or node.element_type(data) not in BYTES:
        return None
    low, high = int(stored.min()), int(stored.max())
    first = 0 if low >= 0 else -8 if low >= -8 else -128
    if not np.all((first <= zeros) & (zeros < first + 256)):
        return None
    if axis == 0:
        stored, scales, zeros = stored.T, scales.T, zeros.T
    zeros = (zeros - first).astype(np.uint8)
    if np.all(zeros == zeros[0, 0]):
        zeros = zeros[0, 0]
    length = stored.shape[1]
    # Kernels read blocks of whole words of 32 bits.
    whole = length <= block or block % 8 == 0
    bits = 4 if high < first + 16 and whole else 8
    weight = packed(stored.astype(np.int16) - first, bits)
    constants = [node.constant(np.array(each, order="C")) for each in (weight, scales, zeros)]
    matrix = node.emit(
        QnnDequantizeBlocksOp(*constants, length=length, block_size=block, bits=bits)
    )
    return node.emit(TransposeOp(matrix, [1, 0])) if axis == 0 else matrix


def zero_point(node: Node, index: int, like: SSAValue) -> SSAValue:
    """A zero point, which is 0 where it is absent."""
    given = node.optional(index)
    return node.constant(np.zeros((), node.element_dtype(like))) if given is None else given


def positive_scale(node: Node, index: int) -> SSAValue:
    """An input that is a scale. Raises OnnxImportError for one that is known and not positive and finite."""
    return _required(
        node, index, "positive numbers", lambda known: (known > 0) & np.isfinite(known)
    )


def finite_scales(node: Node, index: int) -> SSAValue:
    """
    The scales of blocks, which may be 0, and negative where the largest number of a block is. Raises
    OnnxImportError for known ones that are not finite.
    """
    return _required(node, index, "finite numbers", np.isfinite)


def _required(node: Node, index: int, what: str, accepted: Callable[[Array], Array]) -> SSAValue:
    scale = node.input(index)
    known = node.known_value(scale)
    if known is not None and not np.all(accepted(known)):
        wrong = known.reshape(-1)[np.argmin(accepted(known))]
        raise OnnxImportError(f"input {index} (a scale) has the element {wrong}, expected {what}")
    return scale


def _zero_point(node: Node, index: int, scale: SSAValue) -> SSAValue:
    """A zero point as i32, by default 0 in the shape of its scale."""
    if node.has_input(index):
        return cast(node, node.input(index), i32)
    return node.filled(np.zeros((), np.int32), node.shape_of(scale))


def one_or_vector(node: Node, parameter: SSAValue) -> SSAValue:
    """A vector of one element as a scalar; other parameters unchanged."""
    return reshaped(node, parameter, ()) if node.shape_of(parameter) == (1,) else parameter


def _parameter_axis(node: Node, data: SSAValue, scale: SSAValue, axis: int) -> int:
    """The axis of the scales from the front; without meaning where there is one scale."""
    rank, shape = len(node.shape_of(data)), node.shape_of(scale)
    return -1 if shape in ((), (1,)) else normalize_axis(axis, rank)


def _require_blocks(
    node: Node, parameter: SSAValue, shape: Sequence[int], axis: int, block: int
) -> None:
    """Raises OnnxImportError unless a parameter has an element for each block along `axis` of the data."""
    found = node.shape_of(parameter)
    expected = [*shape[:axis], -(-shape[axis] // max(block, 1)), *shape[axis + 1 :]]
    if block < 1 or list(found) != expected:
        raise OnnxImportError(
            f"'block_size' is {block}, the data have the shape {list(shape)} and their scales "
            f"{list(found)}"
        )


def _for_each(
    node: Node, parameter: SSAValue, shape: Sequence[int], axis: int, block: int
) -> SSAValue:
    """A parameter of blocks along `axis`, repeated to have one element for each of the data."""
    _require_blocks(node, parameter, shape, axis, block)
    repeated = node.emit(RepeatOp(parameter, block, axis=axis))
    if node.shape_of(parameter)[axis] * block == shape[axis]:
        return repeated
    return node.emit(StridedSliceOp(repeated, [0], [shape[axis]], axes=[axis]))


CONVERTERS: ConverterTable = {
    "DequantizeLinear": {10: dequantize},
    "DynamicQuantizeLinear": {11: dynamically_quantize},
    "QuantizeLinear": {10: quantize},
}

MICROSOFT: ConverterTable = {"DequantizeLinear": {1: dequantize}, "QuantizeLinear": {1: quantize}}
"""Of the domain `com.microsoft`; source: onnxruntime's ContribOperators.md."""
