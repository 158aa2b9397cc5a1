"""Layouts around operators that name axes of their operand."""

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute

from xrelay.analysis.layouts.inference import (
    Inferred,
    Known,
    Rule,
    Seen,
    broadcast_like,
    following,
    moved_axis,
    refines,
)
from xrelay.dialects.lengths import certainly
from xrelay.dialects.nn.norm import BatchNormOp, InstanceNormOp, L2NormalizeOp, StandardizingOp
from xrelay.dialects.qnn.conversion import QnnConcatenateOp
from xrelay.dialects.shapes import int_array, integer, normalize_axes, normalize_axis, shape_of
from xrelay.dialects.tensor.layout import Layout, LayoutAxis
from xrelay.dialects.tensor.reduce import ArgReductionOp, ReductionOp, VarianceOp
from xrelay.dialects.tensor.reshape import SqueezeOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.dialects.tensor.transform import ConcatenateOp, SplitOp, TransposeOp

AxisOp: TypeAlias = BatchNormOp | StandardizingOp | TopkOp
"""Operators on `data` with one `axis`."""


def along_axis(*others: None) -> Rule:
    """
    The rule of operators with a property `axis`, which follows the layout unless this splits it. `others` are the
    results after the first, which have no layout.
    """

    def rule(op: AxisOp, before: Layout, layout: Layout) -> Inferred | None:
        properties = _axis_in(op, before, layout)
        if properties is None:
            return None
        operands = layout, *[None] * (len(op.operands) - 1)
        return Inferred(operands, (layout, *others), properties)

    return following(rule)


def _axis_in(op: AxisOp, before: Layout, layout: Layout) -> dict[str, Attribute] | None:
    """`axis` in another layout of the first operand; nothing when that is as before."""
    if layout == before:
        return {}
    axis = normalize_axis(op.axis.value.data, len(shape_of(op.data)))
    moved = moved_axis(axis, before, layout)
    return None if moved is None else {"axis": integer(moved)}


@following
def instance_norm(op: InstanceNormOp, before: Layout, layout: Layout) -> Inferred | None:
    """As `along_axis`; the batch, which has statistics of its own, stays the first axis."""
    properties = _axis_in(op, before, layout)
    if properties is None or layout.axes[0] != before.axes[0]:
        return None
    return Inferred((layout, None, None), (layout,), properties)


@following
def topk(op: TopkOp, before: Layout, layout: Layout) -> Inferred | None:
    """As `along_axis`, for values and indices."""
    properties = _axis_in(op, before, layout)
    if properties is None:
        return None
    count = 2 if op.ret_type.data == "both" else 1
    return Inferred((layout,), (layout,) * count, properties)


@following
def split(op: SplitOp, before: Layout, layout: Layout) -> Inferred | None:
    """`axis` follows the layout; parts along an axis in blocks are parts of whole blocks."""
    count = len(op.result.type.types.data)
    properties: dict[str, Attribute] = {}
    if layout != before:
        axis = before.axes[op.normalized_axis]
        place = layout.find(axis.name, block=axis.block is not None)
        if place is None or not refines(before, layout):
            return None
        properties["axis"] = integer(place)
        block = None if axis.name in before.blocks else layout.blocks.get(axis.name)
        if isinstance(op.indices_or_sections, DenseArrayBase) and block is not None:
            starts = op.part_starts()[1:]
            if any(start % block for start in starts):
                return None
            properties["indices_or_sections"] = int_array(start // block for start in starts)
    return Inferred((layout,), (layout,) * count, properties)


@following
def l2_normalize(op: L2NormalizeOp, before: Layout, layout: Layout) -> Inferred | None:
    """`axis` follows the layout, to the blocks of axes as well."""
    if not refines(before, layout):
        return None
    properties: dict[str, Attribute] = {}
    if layout != before:
        named = [before.axes[axis] for axis in op.normalized_axes]
        whole = [layout.index(axis.name, block=axis.block is not None) for axis in named]
        new_blocks = [
            layout.index(axis.name, block=True)
            for axis in named
            if axis.name in layout.blocks and axis.name not in before.blocks
        ]
        properties["axis"] = int_array([*whole, *new_blocks])
    return Inferred((layout,), (layout,), properties)


@following
def reduction(op: ReductionOp, before: Layout, layout: Layout) -> Inferred | None:
    """
    The axes follow the layout, to their blocks as well. Indices of extreme elements count along the reduced axes, which
    stay in order and are not split. A result without axes has no layout.
    """
    if not refines(before, layout):
        return None
    places = {before.axes[axis] for axis in op.reduced_axes}
    is_reduced = [
        axis in places or (axis not in before.axes and LayoutAxis(axis.name) in places)
        for axis in layout.axes
    ]
    if isinstance(op, ArgReductionOp) and [
        axis for axis, reduced in zip(layout.axes, is_reduced, strict=True) if reduced
    ] != [axis for axis in before.axes if axis in places]:
        return None
    kept: list[LayoutAxis] = []
    for axis, reduced in zip(layout.axes, is_reduced, strict=True):
        if not reduced:
            kept.append(axis)
        elif op.keepdims.value.data:
            kept.append(axis if axis.block is None else LayoutAxis(axis.name, 1))
    if not kept:
        return None
    properties: dict[str, Attribute] = {}
    if layout != before:
        named = op.exclude.value.data == 0
        axes = [i for i, reduced in enumerate(is_reduced) if bool(reduced) == named]
        properties["axis"] = int_array(axes)
    operands: list[Seen] = [layout]
    if isinstance(op, VarianceOp):
        mean = _mean_layout(op, before, layout)
        if mean is None:
            return None
        operands.append(mean)
    return Inferred(tuple(operands), (Layout(tuple(kept)),), properties)


def _mean_layout(op: VarianceOp, before: Layout, layout: Layout) -> Known:
    """The layout of the mean, which broadcasts to the data."""
    shape = shape_of(op.mean)
    return broadcast_like(before.last(len(shape)), shape, before, layout)


@following
def squeeze(op: SqueezeOp, before: Layout, layout: Layout) -> Inferred | None:
    """The axes follow the layout unless this splits one, and are missing in that of the result."""
    shape = shape_of(op.data)
    if op.axis is None:
        axes = [axis for axis, length in enumerate(shape) if certainly(length, 1)]
    else:
        axes = list(normalize_axes(op.axis.get_values(), len(shape)))
    properties: dict[str, Attribute] = {}
    if layout != before:
        moved = [moved_axis(axis, before, layout) for axis in axes]
        axes = [axis for axis in moved if axis is not None]
        if len(axes) < len(moved):
            return None
        properties["axis"] = int_array(axes)
    kept = tuple(axis for i, axis in enumerate(layout.axes) if i not in axes)
    return Inferred((layout,), (Layout(kept),), properties)


@following
def transpose(op: TransposeOp, before: Layout, layout: Layout) -> Inferred | None:
    """
    Takes axes from where they are, so that the result has its layout of the program. Blocks are joined before.
    """
    if not refines(before, layout):
        return None
    result = Layout(tuple(before.axes[axis] for axis in op.permutation))
    properties: dict[str, Attribute] = {}
    if layout != before:
        axes = [moved_axis(axis, before, layout) for axis in op.permutation]
        if len(axes) < len(layout.axes):
            layout = before
        else:
            properties["axes"] = int_array(axis for axis in axes if axis is not None)
    return Inferred((layout,), (result,), properties)


def concatenate(
    op: ConcatenateOp | QnnConcatenateOp, old: Sequence[Seen], new: Sequence[Seen] | None
) -> Inferred | None:
    """One layout for all fields: that which all have now, else that of the program. `axis` follows."""
    before, now = old[0], None if new is None else new[0]
    if not isinstance(before, tuple):
        return None
    layout = next((field for field in before if field is not None), None)
    axis = op.normalized_axis
    if layout is None or axis >= len(layout.axes) or layout.axes[axis].block is not None:
        return None
    properties: dict[str, Attribute] = {}
    if isinstance(now, tuple) and isinstance(now[0], Layout) and len(set(now)) == 1:
        first = before[0]
        if first is None or not refines(first, now[0]):
            return None
        if first != now[0]:
            properties["axis"] = integer(now[0].index(first.axes[axis].name))
        layout = now[0]
    others = [None] * (len(op.operands) - 1)
    return Inferred(((layout,) * len(before), *others), (layout,), properties)
