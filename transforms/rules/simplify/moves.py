"""Rules on operators that only move elements: reshapes, transposes, slices, copies, known choices."""

from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import is_empty, same_shape, same_type, shape_of
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.layout import Layout, LayoutTransformOp
from xrelay.dialects.tensor.reshape import (
    BatchFlattenOp,
    ExpandDimsOp,
    ReshapeOp,
    ReverseReshapeOp,
    SqueezeOp,
)
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import CopyOp
from xrelay.interpreters.constants import known_array
from xrelay.transforms.rules.emitting import reshaped
from xrelay.transforms.rules.rewriting import Emitter, has_static_type

STATED_RESHAPES = (ReshapeOp, ReverseReshapeOp)
"""Operators that state the new shape."""
RESHAPES = (*STATED_RESHAPES, SqueezeOp, ExpandDimsOp, BatchFlattenOp)
"""Operators that only change the shape."""
TRANSPOSES = (TransposeOp, LayoutTransformOp)
"""Operators that only change the order of axes, or of parts of them."""


def consecutive_reshapes(op: ReshapeOp | ReverseReshapeOp, emit: Emitter) -> SSAValue | None:
    """reshape(reshape(x)) ──► reshape(x)"""
    inner = op.data.owner
    if not isinstance(inner, STATED_RESHAPES) or not has_static_type(op.result):
        return None
    return reshaped(emit, inner.data, shape_of(op.result))


def merged_reshapes(op: Operation, emit: Emitter) -> SSAValue | None:
    """reshape(reshape(x)) ──► reshape(x), and a reshape to the same shape ──► x"""
    (data,) = op.operands
    result = op.results[0]
    if same_type(data.type, result.type) and has_static_type(data):
        return data
    inner = data.owner
    if not isinstance(inner, RESHAPES) or not has_static_type(result):
        return None
    source = inner.data
    if same_type(source.type, result.type):
        return source
    return reshaped(emit, source, shape_of(result))


def _permutation(op: TransposeOp | LayoutTransformOp) -> tuple[int, ...] | None:
    """The axis of the data that each axis of the result is, where none is split or joined."""
    if isinstance(op, TransposeOp):
        return op.permutation
    source, target = op.layouts
    if source.blocks != target.blocks:
        return None
    return tuple(map(source.axes.index, target.axes))


def _layouts(inner: Operation, outer: Operation) -> tuple[Layout, Layout] | None:
    """
    The layouts from and to which two operators change, one after the other, one of which is a
    layout_transform that splits axes.
    """
    match inner, outer:
        case LayoutTransformOp(), LayoutTransformOp():
            (first, between), (stated, last) = inner.layouts, outer.layouts
            return (first, last) if between == stated else None
        case LayoutTransformOp(), TransposeOp():
            first, between = inner.layouts
            last = Layout(tuple(between.axes[axis] for axis in outer.permutation))
        case TransposeOp(), LayoutTransformOp():
            between, last = outer.layouts
            order = inner.permutation
            first = Layout(tuple(between.axes[order.index(axis)] for axis in range(len(order))))
        case _:
            return None
    # There are no operators on layouts whose blocks lie elsewhere.
    return None if between.blocks else (first, last)


def consecutive_transposes(op: TransposeOp | LayoutTransformOp, emit: Emitter) -> SSAValue | None:
    """transpose(transpose(x)) ──► transpose(x) or x, and the same with layout_transform"""
    inner = op.data.owner
    if not isinstance(inner, TRANSPOSES):
        return None
    first, second = _permutation(inner), _permutation(op)
    if first is not None and second is not None:
        order = tuple(first[axis] for axis in second)
        in_order = order == tuple(range(len(order)))
        return inner.data if in_order else emit(TransposeOp(inner.data, order))
    # Padding of blocks shows in the types, when these are known.
    layouts = _layouts(inner, op)
    if layouts is None or not has_static_type(inner.data):
        return None
    if layouts[0] == layouts[1]:
        return inner.data
    return emit(LayoutTransformOp(inner.data, *map(str, layouts)))


def idle_transpose(op: TransposeOp, emit: Emitter) -> SSAValue | None:
    """A transpose that moves nothing ──► x, and one that moves axes of length 1 only ──► reshape(x)"""
    order = op.permutation
    if list(order) == sorted(order):
        return op.data
    # A transpose behind it merges with it, not with a reshape.
    if any(isinstance(use.operation, TRANSPOSES) for use in op.result.uses):
        return None
    if not has_static_type(op.data):
        return None
    shape = shape_of(op.data)
    moved = [axis for axis in order if not certainly(shape[axis], 1)]
    return reshaped(emit, op.data, shape_of(op.result)) if moved == sorted(moved) else None


def whole_slice(op: StridedSliceOp, emit: Emitter) -> SSAValue | None:
    """A slice that takes everything ──► x"""
    same = same_shape(shape_of(op.data), shape_of(op.result))
    if not same or not has_static_type(op.data):
        return None
    whole = all(certainly(taken.start, 0) and taken.step == 1 for taken in op.slices)
    return op.data if whole else None


def slice_of_one(op: TakeOp, emit: Emitter) -> SSAValue | None:
    """take(x, constant index) ──► strided_slice and reshape"""
    axis, indices = op.normalized_axis, known_array(op.indices)
    if axis is None or op.batch_dims.value.data or indices is None or indices.size != 1:
        return None
    if not has_static_type(op.data) or is_empty(shape_of(op.data)):
        return None
    length, index = shape_of(op.data)[axis], int(indices.flat[0])
    index = index % length if op.mode.data == "wrap" else min(max(index, 0), length - 1)
    part = emit(StridedSliceOp(op.data, [index], [index + 1], axes=[axis]))
    return emit(ReshapeOp(part, shape_of(op.result)))


def known_choice(op: WhereOp, emit: Emitter) -> SSAValue | None:
    """where(true, x, y) ──► x, where x has the shape of the result"""
    condition = number_of(op.condition)
    if condition is None:
        return None
    chosen = op.x if condition else op.y
    return chosen if same_type(chosen.type, op.result.type) and has_static_type(chosen) else None


def copied(op: CopyOp, emit: Emitter) -> SSAValue | None:
    """copy(x) ──► x"""
    return op.data
