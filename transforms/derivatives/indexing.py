"""The derivatives of what takes elements at indices: gradients are added up where the elements come from."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue, TypeAttribute

from xrelay.dialects.tensor.binary import FloorModOp, MaximumOp, MinimumOp
from xrelay.dialects.tensor.creation import ZerosOp
from xrelay.dialects.tensor.indexing import GatherNDOp, ScatterNDOp, TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, require, static_shape
from xrelay.transforms.rules.emitting import cast


def take_rule(op: TakeOp, g: Term) -> Sequence[Gradient]:
    """The slices of the gradient, with the axis that they were taken along in front, and back."""
    require(op.batch_dims.value.data == 0, op, "'batch_dims' is not 0")
    shape, axis = static_shape(op, op.data), op.normalized_axis
    if axis is None:
        places = _in_range(op, [prod(shape)], g)
        return [_added([prod(shape)], places, g).shaped_as(op.data), None]
    moved = [axis, *(each for each in range(len(shape)) if each != axis)]
    rank = op.indices.type.get_num_dims()
    front = [*range(axis, axis + rank), *range(axis), *range(axis + rank, g.type.get_num_dims())]
    slices = g.new(TransposeOp(g.value, front))
    places = _in_range(op, [shape[axis]], g)
    added = _added([shape[each] for each in moved], places, slices)
    back = sorted(range(len(moved)), key=moved.__getitem__)
    return [added.new(TransposeOp(added.value, back)), None]


def gather_nd_rule(op: GatherNDOp, g: Term) -> Sequence[Gradient]:
    """The gradient at the same indices."""
    require(op.batch_dims.value.data == 0, op, "'batch_dims' is not 0")
    shape = static_shape(op, op.data)
    count = op.indices.type.get_shape()[0]
    return [_added(shape, _in_range(op, shape[:count], g), g), None]


def _in_range(op: TakeOp | GatherNDOp, lengths: Sequence[int], g: Term) -> SSAValue:
    """Indices [M, …] of M axes as operators read them, those of one axis also without M."""
    indices = cast(g.emit, op.indices, i64)
    if isinstance(op, TakeOp):
        indices = g.emit(ExpandDimsOp(indices, 0))
        if op.mode.data == "wrap":
            return g.emit(FloorModOp(indices, g.emit.constant(np.array(lengths[0], np.int64))))
    assert g.of(indices).type.get_num_dims() > 0
    rest = [1] * (g.of(indices).type.get_num_dims() - 1)
    last = np.array(lengths, np.int64).reshape(len(lengths), *rest) - 1
    within = g.emit(MinimumOp(indices, g.emit.constant(last)))
    return g.emit(MaximumOp(within, g.emit.constant(np.array(0, np.int64))))


def _added(shape: Sequence[int], places: SSAValue, updates: Term) -> Term:
    """Zeros to which tensors are added at places [M, …]."""
    dtype = updates.type.element_type
    assert isinstance(dtype, TypeAttribute)
    zeros = updates.new(ZerosOp(shape, dtype))
    return updates.new(ScatterNDOp(zeros.value, places, updates.value, "add"))


RULES: Mapping[type[Operation], Rule] = {GatherNDOp: gather_nd_rule, TakeOp: take_rule}
