"""
Arithmetic on constant shapes, done while importing: exporters compute the shape that a Reshape
takes with Shape, Gather, Concat and the like. Only small results are folded; work on weights is
left to the pass `fold-constant`.
"""

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import INLINE_ELEMENTS, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import element_count, is_tensor_type
from xrelay.dialects.tensor import binary, reshape, transform, unary
from xrelay.dialects.tensor import reduce as reduction
from xrelay.frontends.onnx.tensors import Array, as_type, is_element_type, numpy_type

FOLDED_ELEMENTS = 4096
"""Results with more elements stay operations."""

Known = Callable[[SSAValue], Array | None]

_BINARY: dict[type[Operation], Callable[[Array, Array], Array]] = {
    binary.AddOp: np.add,
    binary.SubtractOp: np.subtract,
    binary.MultiplyOp: np.multiply,
    binary.FloorModOp: np.mod,
    binary.ModOp: np.fmod,
    binary.MaximumOp: np.maximum,
    binary.MinimumOp: np.minimum,
    binary.EqualOp: np.equal,
    binary.NotEqualOp: np.not_equal,
    binary.LessOp: np.less,
    binary.LessEqualOp: np.less_equal,
    binary.GreaterOp: np.greater,
    binary.GreaterEqualOp: np.greater_equal,
    binary.LogicalAndOp: np.logical_and,
    binary.LogicalOrOp: np.logical_or,
    binary.LogicalXorOp: np.logical_xor,
}
_UNARY: dict[type[Operation], Callable[[Array], Array]] = {
    unary.NegativeOp: np.negative,
    unary.AbsOp: np.abs,
    unary.FloorOp: np.floor,
    unary.CeilOp: np.ceil,
    unary.RoundOp: np.round,
    unary.SqrtOp: np.sqrt,
    unary.LogicalNotOp: np.logical_not,
}


def fold(op: RelayOp, known: Known) -> Array | None:
    """The constant that `op` computes, None when it is not small or its operands not constant."""
    type_ = op.results[0].type
    if not is_tensor_type(type_) or not is_element_type(type_.element_type):
        return None
    count = element_count(type_.get_shape())
    small = FOLDED_ELEMENTS if isinstance(type_.element_type, IntegerType) else INLINE_ELEMENTS
    if not 0 <= count <= small:
        return None
    with np.errstate(all="ignore"):
        result = _evaluate(op, known)
    if result is None:
        return None
    dtype = numpy_type(type_.element_type)
    return as_type(result, dtype).reshape(type_.get_shape())


def _evaluate(op: RelayOp, known: Known) -> Array | None:
    if isinstance(op, transform.ConcatenateOp):
        return _concatenate(op, known)
    if isinstance(op, TupleGetItemOp):
        return _part(op, known)
    operands: list[Array] = []
    for operand in op.operands:
        array = known(operand)
        if array is None:
            return None
        operands.append(array)
    if isinstance(op, unary.NegativeOp | binary.SubtractOp) and operands[0].dtype == np.bool_:
        return None  # NumPy does not compute these.
    match op, operands:
        case (_, [x]) if type(op) in _UNARY:
            return _UNARY[type(op)](x)
        case (_, [x, y]) if type(op) in _BINARY:
            if isinstance(op, binary.FloorModOp | binary.ModOp) and not y.all():
                return None
            return _BINARY[type(op)](x, y)
        case binary.DivideOp(), [x, y]:
            return _divide(x, y)
        case unary.CastOp(), [x]:
            return x if _is_held(x, op.dtype) else None
        case reshape.ReshapeFamilyOp() | reshape.ExpandDimsOp(), [x]:
            return x
        case transform.TransposeOp(), [x]:
            return np.transpose(x, op.permutation)
        case transform.BroadcastToOp(), [x]:
            return np.broadcast_to(x, op.shape.get_values())
        case transform.TileOp(), [x]:
            return np.tile(x, op.reps.get_values())
        case transform.StridedSliceOp(), [x]:
            for axis, taken in enumerate(op.slices):
                positions = taken.start + taken.step * np.arange(taken.length)
                x = np.take(x, positions, axis)
            return x
        case transform.TakeOp(), [x, indices] if not op.batch_dims.value.data:
            return _take(x, indices, op.normalized_axis, op.mode.data)
        case transform.WhereOp(), [condition, x, y]:
            return np.where(condition, x, y)
        case reduction.SumOp(), [x]:
            return np.sum(x, op.reduced_axes, x.dtype)
        case reduction.ProdOp(), [x]:
            return np.prod(x, op.reduced_axes, x.dtype)
        case (reduction.MaxOp(), [x]) if x.size:
            return np.max(x, op.reduced_axes)
        case (reduction.MinOp(), [x]) if x.size:
            return np.min(x, op.reduced_axes)
        case _:
            return None


def _is_held(x: Array, element_type: Attribute) -> bool:
    """
    Whether numbers are in the range of an element type, if that is one of integers: what NumPy makes of
    others depends on the machine.
    """
    if not is_element_type(element_type):
        return False
    dtype = numpy_type(element_type)
    if dtype.kind not in "iu" or x.dtype.kind in "iub":
        return True
    info, whole = np.iinfo(dtype), np.trunc(x.astype(np.float64))
    # float(info.max) may round up to a number that is out of range.
    return bool(np.all((whole >= float(info.min)) & (whole < float(info.max + 1))))


def _take(x: Array, indices: Array, axis: int | None, mode: str) -> Array | None:
    """
    Elements at indices that may be out of range. (NumPy's own mode "wrap" subtracts the length as
    often as it takes; Python's integers hold indices of any type.)
    """
    length = x.size if axis is None else x.shape[axis]
    if not length:
        return None
    places = indices.astype(object)
    places = places % length if mode == "wrap" else np.clip(places, 0, length - 1)
    return np.take(x, np.asarray(places, np.int64), axis)


def _divide(x: Array, y: Array) -> Array | None:
    if x.dtype.kind == "f":
        return np.true_divide(x, y)
    if not y.all():
        return None
    quotient: Array = np.floor_divide(x, y)
    inexact = np.not_equal(np.multiply(quotient, y), x)
    return np.add(quotient, np.logical_and(inexact, np.less(quotient, 0)))


def _concatenate(op: transform.ConcatenateOp, known: Known) -> Array | None:
    fields = op.data.owner
    if not isinstance(fields, TupleOp):
        return None
    arrays: list[Array] = []
    for field in fields.fields:
        array = known(field)
        if array is None:
            return None
        arrays.append(array)
    return np.concatenate(arrays, op.normalized_axis)


def _part(op: TupleGetItemOp, known: Known) -> Array | None:
    """A part of a split constant."""
    split = op.tuple_value.owner
    array = known(split.data) if isinstance(split, transform.SplitOp) else None
    if array is None or not isinstance(split, transform.SplitOp):
        return None
    starts = split.part_starts()
    part = op.index.value.data
    end = starts[part + 1] if part + 1 < len(starts) else array.shape[split.normalized_axis]
    return np.take(array, range(starts[part], end), split.normalized_axis)
