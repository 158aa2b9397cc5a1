"""Where the axis of channels goes that have scales of their own, in operators that move integers as they are."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from xrelay.dialects.image.resize import Resize2DOp
from xrelay.dialects.nn.space import DepthToSpaceOp, SpaceToDepthOp
from xrelay.dialects.pool.adaptive import (
    AdaptiveAvgPool1DOp,
    AdaptiveMaxPool1DOp,
    AdaptiveMaxPool2DOp,
    AdaptiveMaxPool3DOp,
)
from xrelay.dialects.pool.pool import (
    AvgPool2DOp,
    GlobalAvgPool2DOp,
    GlobalMaxPool2DOp,
    MaxPool1DOp,
    MaxPool2DOp,
    MaxPool3DOp,
)
from xrelay.dialects.shapes import shape_of
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reduce import MaxOp, MeanOp, MinOp, ReductionOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import BroadcastToOp, SplitOp, StridedSliceOp, TransposeOp

Moves = Callable[[Any, int], int | None]
"""The axis of the result that an axis of the operand becomes; None where channels mix, or some are missing."""


def _reshaped(op: ReshapeOp | BatchFlattenOp | SqueezeOp | ExpandDimsOp, axis: int) -> int | None:
    """The axis of the same length, longer than 1, with as many elements before it."""
    old, new = shape_of(op.data), shape_of(op.result)
    if {0, DYNAMIC_INDEX} & {*old, *new}:
        return None
    before = prod(old[:axis])
    places = [i for i, n in enumerate(new) if n == old[axis] and prod(new[:i]) == before]
    return places[0] if places else None


def _transposed(op: TransposeOp, axis: int) -> int:
    return op.permutation.index(axis)


def _broadcast(op: BroadcastToOp, axis: int) -> int | None:
    old, new = shape_of(op.data), shape_of(op.result)
    place = axis + len(new) - len(old)
    return place if new[place] == old[axis] else None


def _sliced(op: StridedSliceOp, axis: int) -> int | None:
    taken = op.slices[axis]
    whole = taken.start == 0 and taken.step == 1 and taken.length == shape_of(op.data)[axis]
    return axis if whole else None


def _not_spatial(op: MaxPool2DOp, axis: int) -> int | None:
    """Images keep their batch and their channels."""
    layout = op.data_layout
    return axis if not layout.blocks and layout.names[axis] in "NC" else None


def _not_resized(op: Resize2DOp, axis: int) -> int | None:
    return axis if op.layout.data[axis] in "NC" else None


def _batch_only(op: DepthToSpaceOp, axis: int) -> int | None:
    layout = op.data_layout
    return axis if not layout.blocks and layout.names[axis] == "N" else None


def _not_reduced(op: ReductionOp, axis: int) -> int | None:
    if axis in op.reduced_axes:
        return None
    return axis if op.keepdims.value.data else axis - sum(each < axis for each in op.reduced_axes)


def _other(op: TopkOp | SplitOp, axis: int) -> int | None:
    return None if axis == op.normalized_axis else axis


def _taken(op: TakeOp, axis: int) -> int | None:
    along = op.normalized_axis
    return axis if along is not None and axis < along else None


RELAY_MOVES: Mapping[type[Operation], Moves] = {
    BatchFlattenOp: _reshaped,
    BroadcastToOp: _broadcast,
    DepthToSpaceOp: _batch_only,
    ExpandDimsOp: _reshaped,
    MaxOp: _not_reduced,
    MaxPool2DOp: _not_spatial,
    MinOp: _not_reduced,
    ReshapeOp: _reshaped,
    Resize2DOp: _not_resized,
    SplitOp: _other,
    SqueezeOp: _reshaped,
    StridedSliceOp: _sliced,
    TopkOp: _other,
    TransposeOp: _transposed,
}
"""Operators that do the same with integers as with the numbers that they stand for."""

MORE_MOVES: Mapping[type[Operation], Moves] = {
    AdaptiveMaxPool1DOp: _not_spatial,
    AdaptiveMaxPool2DOp: _not_spatial,
    AdaptiveMaxPool3DOp: _not_spatial,
    GlobalMaxPool2DOp: _not_spatial,
    MaxPool1DOp: _not_spatial,
    MaxPool3DOp: _not_spatial,
    SpaceToDepthOp: _batch_only,
    TakeOp: _taken,
}
"""Others of this kind, which the original does not know."""

AVERAGED: Mapping[type[Operation], Moves] = {
    AdaptiveAvgPool1DOp: _not_spatial,
    AvgPool2DOp: _not_spatial,
    GlobalAvgPool2DOp: _not_spatial,
    MeanOp: _not_reduced,
}
"""Operators of which the rules ask where the axis goes."""
