"""The derivatives of what takes elements at indices: gradients are added up where the elements come from."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue, TypeAttribute

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.tensor.binary import FloorModOp, MaximumOp, MinimumOp
from xrelay.dialects.tensor.creation import ZerosOp
from xrelay.dialects.tensor.indexing import GatherNDOp, ScatterNDOp, TakeOp
from xrelay.dialects.tensor.reshape import ExpandDimsOp
from xrelay.dialects.tensor.transform import ConcatenateOp, TransposeOp
from xrelay.transforms.derivatives.terms import Gradient, Rule, Term, static_shape
from xrelay.transforms.rules.emitting import cast


def take_rule(op: TakeOp, g: Term) -> Sequence[Gradient]:
    """The slices of the gradient, with the axis that they were taken along behind those of batches, and back."""
    shape, axis, batch = static_shape(op, op.data), op.normalized_axis, op.batch_dims.value.data
    if axis is None:
        places = _in_range(op, [prod(shape)], g)
        return [_added([prod(shape)], places, g).shaped_as(op.data), None]
    others = [*range(batch, axis), *range(axis + 1, len(shape))]
    moved = [*range(batch), axis, *others]
    behind = axis + op.indices.type.get_num_dims() - batch
    rest = range(behind, g.type.get_num_dims())
    front = [*range(batch), *range(axis, behind), *range(batch, axis), *rest]
    slices = g.new(TransposeOp(g.value, front))
    places = _of_batches(op, _in_range(op, [shape[axis]], g), g)
    added = _added([shape[each] for each in moved], places, slices)
    back = sorted(range(len(moved)), key=moved.__getitem__)
    return [added.new(TransposeOp(added.value, back)), None]


def gather_nd_rule(op: GatherNDOp, g: Term) -> Sequence[Gradient]:
    """The gradient at the same indices."""
    shape, batch = static_shape(op, op.data), op.batch_dims.value.data
    count = op.indices.type.get_shape()[0]
    places = _in_range(op, shape[batch : batch + count], g)
    return [_added(shape, _of_batches(op, places, g), g), None]


def _of_batches(op: TakeOp | GatherNDOp, places: SSAValue, g: Term) -> SSAValue:
    """Indices [M, …] with those of the axes of batches in front, which are the first ones behind M."""
    batch = op.batch_dims.value.data
    if not batch:
        return places
    own = np.indices(static_shape(op, places)[1:])[:batch]
    fields = g.emit(TupleOp([g.emit.constant(own.astype(np.int64)), places]))
    return g.emit(ConcatenateOp(fields, axis=0))


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
