"""Tensors that indices or shapes describe."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import is_float, normalize_axis
from xrelay.dialects.tensor.binary import AddOp, EqualOp
from xrelay.dialects.tensor.creation import ArangeOp, OneHotOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import SplitOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import along, cast, fields, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.shape_arithmetic import exact_numbers_of, has_lengths
from xrelay.frontends.onnx.importer.sizes import MAX_ELEMENTS, require_size, require_table
from xrelay.frontends.onnx.importer.tensor.indexing import from_start
from xrelay.interpreters.arrays import Array, dtype_of


def one_hot(node: Node) -> SSAValue:
    """OneHot of a constant depth; indices below 0 count from the end."""
    axis = node.integer("axis", -1)
    depth = node.known(1, "depth")
    if depth.size != 1 or not 0 < depth.item() <= MAX_ELEMENTS:
        raise OnnxImportError(
            f"input 1 ('depth') is {depth.tolist()}, expected one number in [1, {MAX_ELEMENTS}]"
        )
    length: int = depth.item() if is_open(depth.item()) else int(depth.item())
    indices, values = node.input(0), node.shaped(2, "values", (2,))
    if is_float(node.element_type(indices)):
        indices = node.emit(CastOp(indices, i64))
    if node.element_dtype(indices).kind == "i":
        if is_open(length) or np.iinfo(node.element_dtype(indices)).max < length:
            indices = node.emit(CastOp(indices, i64))
        indices = from_start(node, indices, length)
    known = node.known_value(values)
    if known is None:
        halves = node.emit(SplitOp(values, 2, axis=0))
        off, on = (reshaped(node, half, ()) for half in fields(node, halves, 2))
    else:
        off, on = (node.constant(known[part]) for part in range(2))
    if not is_open(length):
        return node.emit(OneHotOp(indices, on, off, length, axis=axis))
    rank = len(node.shape_of(indices)) + 1
    place = normalize_axis(axis, rank)
    indices = cast(node, indices, i64)
    numbers = along(node, node.counting(length), place, rank)
    chosen = node.emit(EqualOp(node.emit(ExpandDimsOp(indices, place)), numbers))
    return node.emit(WhereOp(chosen, on, off))


def eye_like(node: Node) -> SSAValue:
    """EyeLike: ones on a diagonal of a matrix of the shape of the input."""
    data = node.input(0)
    shape = node.shape_of(data)
    element_type = node.element_type(data)
    if node.has_attribute("dtype"):
        element_type = node.stated_type("dtype")
    dtype = dtype_of(element_type)
    if len(shape) != 2:
        raise OnnxImportError(f"its input has the shape {list(shape)}, expected a matrix")
    diagonal = node.integer("k", 0)
    if any(map(is_open, shape)):
        rows, columns = (node.counting(length) for length in shape)
        places = node.emit(AddOp(rows, node.scalar(diagonal, rows)))
        ones = node.emit(EqualOp(node.emit(ExpandDimsOp(places, 1)), columns))
        return cast(node, ones, element_type)
    require_table(shape, "the result", dtype.itemsize)
    return node.constant(np.eye(*shape, k=diagonal, dtype=dtype))


def constant_of_shape(node: Node) -> SSAValue:
    """ConstantOfShape: all elements are one number, which is stored once."""
    value = node.tensor("value")
    if value is None:
        value = np.zeros(1, np.float32)
    if value.size != 1:
        raise OnnxImportError(f"attribute 'value' has {value.size} elements, expected one")
    shape = node.known_lengths(0, "input")
    require_size(shape, "the result")
    return node.filled(value.reshape(()), shape)


def number_range(node: Node) -> SSAValue:
    """Range: the numbers from start to limit in steps of delta."""
    node.ignore("stash_type")
    dtype = node.element_type(node.input(0))
    numbers = [exact_numbers_of(node.input(index).owner) for index in range(3)]
    if is_float(dtype) and any(number is not None for number in numbers):
        return _range_of_reals(node, numbers)
    bounds = [node.known(index, name) for index, name in enumerate(("start", "limit", "delta"))]
    if any(map(has_lengths, bounds)):
        return node.emit(ArangeOp(node.input(0), node.input(1), node.input(2), dtype))
    start, limit, delta = (_scalar(bound) for bound in bounds)
    if delta == 0 or not all(map(isfinite, (start, limit, delta))):
        raise OnnxImportError(f"it is the range from {start} to {limit} in steps of {delta}")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    require_table((count,), "the result")
    numbers = start + delta * np.arange(count, dtype=type(start))
    return node.constant(np.asarray(numbers).astype(bounds[0].dtype))


def _range_of_reals(node: Node, numbers: Sequence[Array | None]) -> SSAValue:
    """The whole numbers from and to lengths, in floating point."""
    ends: list[SSAValue] = []
    for index, number in enumerate(numbers):
        known = node.known(index, "limit") if number is None else number
        if number is None and not all(float(each).is_integer() for each in known.reshape(-1)):
            raise OnnxImportError(f"input {index} is {known.tolist()} beside a length")
        whole = known if number is not None else known.astype(np.int64)
        ends.append(node.constant(whole.reshape(())))
    start, end, step = ends
    whole_numbers = node.emit(ArangeOp(start, end, step, i64))
    return cast(node, whole_numbers, node.element_type(node.input(0)))


def _scalar(array: Array) -> int | float:
    """The one element of an array as a Python number."""
    if array.size != 1:
        raise OnnxImportError(f"an input has {array.size} elements, expected one")
    element = array.reshape(-1)[0]
    return int(element) if array.dtype.kind in "iu" else float(element)


CONVERTERS: ConverterTable = {
    "EyeLike": {9: eye_like},
    "OneHot": {9: one_hot},
    "ConstantOfShape": {9: constant_of_shape},
    "Range": {11: number_range},
}
