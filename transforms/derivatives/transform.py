"""The derivatives of what moves, joins, takes and repeats elements."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from xdsl.ir import Operation

from xrelay.dialects.dyn.tensor import DynReshapeOp
from xrelay.dialects.shapes import tuple_fields
from xrelay.dialects.slicing import Slice
from xrelay.dialects.tensor.creation import ZerosLikeOp
from xrelay.dialects.tensor.indexing import StridedSetOp
from xrelay.dialects.tensor.like import (
    BroadcastToLikeOp,
    CastLikeOp,
    CollapseSumLikeOp,
    CollapseSumToOp,
    ReshapeLikeOp,
)
from xrelay.dialects.tensor.reshape import (
    BatchFlattenOp,
    ExpandDimsOp,
    ReshapeOp,
    ReverseReshapeOp,
    SqueezeOp,
)
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    ConcatenateOp,
    SplitOp,
    StackOp,
    StridedSliceOp,
    TransposeOp,
    WhereOp,
)
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, static_shape


def reshape_rule(op: Operation, g: Term) -> Sequence[Gradient]:
    """The same elements in the shape of the first operand."""
    return [g.shaped_as(op.operands[0]), *[None] * (len(op.operands) - 1)]


def repeat_rule(op: Operation, g: Term) -> Sequence[Gradient]:
    """What is repeated gets the sum of its repetitions."""
    return [g.summed_to(op.operands[0]), *[None] * (len(op.operands) - 1)]


def collapse_rule(op: Operation, g: Term) -> Sequence[Gradient]:
    """Each element is one summand."""
    return [g.new(BroadcastToLikeOp(g.value, op.operands[0])), None]


def transpose_rule(op: TransposeOp, g: Term) -> Sequence[Gradient]:
    """Back to the first order of the axes."""
    back = sorted(range(len(op.permutation)), key=op.permutation.__getitem__)
    return [g.new(TransposeOp(g.value, back))]


def where_rule(op: WhereOp, g: Term) -> Sequence[Gradient]:
    """Each operand has the gradient where it was chosen."""
    zero = g.emit.scalar(0, g.value)
    x = g.new(WhereOp(op.condition, g.value, zero))
    y = g.new(WhereOp(op.condition, zero, g.value))
    return [None, x.summed_to(op.x), y.summed_to(op.y)]


def concatenate_rule(op: ConcatenateOp, g: Term) -> Sequence[Gradient]:
    """The gradient is cut where the fields meet."""
    axis = op.normalized_axis
    static_shape(op, op.result)
    lengths = [field.get_shape()[axis] for field in tuple_fields(op.data, "'data'")]
    parts = g.new(SplitOp(g.value, list(accumulate(lengths[:-1])), axis=axis))
    return [tuple(parts.field(i) for i in range(len(lengths)))]


def stack_rule(op: StackOp, g: Term) -> Sequence[Gradient]:
    """The gradient is cut into slices, whose axis goes."""
    count, axis = len(tuple_fields(op.data, "'data'")), op.normalized_axis
    parts = g.new(SplitOp(g.value, count, axis=axis))
    slices = (parts.field(i) for i in range(count))
    return [tuple(each.new(SqueezeOp(each.value, [axis])) for each in slices)]


def slice_rule(op: StridedSliceOp, g: Term) -> Sequence[Gradient]:
    """The gradient where elements were taken, among zeros."""
    shape = static_shape(op, op.data)
    if not shape:
        return [g]
    zeros = g.new(ZerosLikeOp(op.data))
    bounds = [_bounds(each, length) for each, length in zip(op.slices, shape, strict=True)]
    begin, end, strides = (
        g.emit.constant(np.array(numbers, np.int64)) for numbers in zip(*bounds, strict=True)
    )
    return [g.new(StridedSetOp(zeros.value, g.value, begin, end, strides))]


def _bounds(taken: Slice, length: int) -> tuple[int, int, int]:
    """The begin, end and stride of a slice, none of which counts from the end by mistake."""
    end = taken.start + taken.step * taken.length
    return taken.start, end if end >= 0 else -length - 1, taken.step


RULES: Mapping[type[Operation], Rule] = {
    BatchFlattenOp: reshape_rule,
    BroadcastToLikeOp: repeat_rule,
    BroadcastToOp: repeat_rule,
    CastLikeOp: lambda op, g: [g.typed_as(op.data), None],
    CollapseSumLikeOp: collapse_rule,
    CollapseSumToOp: collapse_rule,
    ConcatenateOp: concatenate_rule,
    DynReshapeOp: reshape_rule,
    ExpandDimsOp: reshape_rule,
    ReshapeLikeOp: reshape_rule,
    ReshapeOp: reshape_rule,
    ReverseReshapeOp: reshape_rule,
    SqueezeOp: reshape_rule,
    StackOp: stack_rule,
    StridedSliceOp: slice_rule,
    TransposeOp: transpose_rule,
    WhereOp: where_rule,
}
