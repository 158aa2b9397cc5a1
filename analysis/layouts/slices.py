"""Layouts around operators that take or add elements at the ends of axes."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerType
from xdsl.ir import Attribute

from xrelay.analysis.layouts.inference import Inferred, Seen, following, moved_axis, refines
from xrelay.dialects.lengths import certainly, length_array
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.shapes import int_array, normalize_axes, shape_of
from xrelay.dialects.slicing import SLICE_BY_SIZE
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.tensor.like import SliceLikeOp
from xrelay.dialects.tensor.transform import StridedSliceOp


@following
def strided_slice(op: StridedSliceOp, before: Layout, layout: Layout) -> Inferred | None:
    """The numbers follow their axes; those of an axis that is split then count blocks, when these are whole."""
    if layout == before:
        return Inferred((layout,), (layout,))
    if not refines(before, layout):
        return None
    if len(layout.axes) > len(before.axes):
        properties = _of_blocks(op, before, layout)
    else:
        properties = _of_moved_axes(op, before, layout)
    return None if properties is None else Inferred((layout,), (layout,), properties)


def _of_moved_axes(
    op: StridedSliceOp, before: Layout, layout: Layout
) -> dict[str, Attribute] | None:
    """The properties for the same axes in another order."""
    rank = len(before.axes)
    if op.axes is not None:
        axes = [
            moved_axis(axis, before, layout)
            for axis in normalize_axes(op.axes.get_values(), rank, "axes")
        ]
        return {"axes": int_array(axis for axis in axes if axis is not None)}
    order = [before.axes.index(axis) for axis in layout.axes]
    shape = shape_of(op.data)
    strides = () if op.strides is None else op.strides.get_values()
    begins, ends = op.begin.get_values(), op.end.get_values()
    rows: list[tuple[int, int, int]] = []
    for axis in order:
        step = strides[axis] if axis < len(strides) else 1
        lacking = (0, shape[axis]) if step > 0 else (shape[axis], 0)
        begin = begins[axis] if axis < len(begins) else lacking[0]
        end = ends[axis] if axis < len(ends) else lacking[1]
        if axis >= min(len(begins), len(ends)) and shape[axis] == DYNAMIC_INDEX:
            return None
        rows.append((begin, end, step))
    begin, end, step = zip(*rows, strict=True)
    return {"begin": length_array(begin), "end": length_array(end), "strides": int_array(step)}


def _of_blocks(op: StridedSliceOp, before: Layout, layout: Layout) -> dict[str, Attribute] | None:
    """The properties where axes are split, and the others stay where they are."""
    rank = len(before.axes)
    if layout.axes[:rank] != before.axes:
        return None
    begin, end = list(op.begin.get_values()), list(op.end.get_values())
    named = range(max(len(begin), len(end))) if op.axes is None else op.axes.get_values()
    axes = normalize_axes(named, rank, "axes")
    for i, axis in enumerate(axes):
        block = layout.blocks.get(before.axes[axis].name)
        if block is None:
            continue
        taken = op.slices[axis]
        last = taken.start + taken.length
        if taken.length == DYNAMIC_INDEX or taken.step != 1 or taken.start % block or last % block:
            return None
        if i < len(begin):
            begin[i] = taken.start // block
        if i < len(end):
            length = taken.length if op.slice_mode.data == SLICE_BY_SIZE else last
            end[i] = length // block
    properties: dict[str, Attribute] = {"begin": length_array(begin), "end": length_array(end)}
    return properties if op.axes is None else properties | {"axes": int_array(axes)}


def slice_like(op: SliceLikeOp, old: Sequence[Seen], new: Sequence[Seen] | None) -> Inferred | None:
    """The named axes follow the layout when both operands have the same one, before and now."""
    before, other = old
    if not isinstance(before, Layout) or not isinstance(other, Layout):
        return None
    if new is None or (new[0], new[1]) == (before, other):
        return Inferred((before, other), (before,))
    layout = new[0]
    if not isinstance(layout, Layout) or layout != new[1] or before != other or op.axes is None:
        return None
    named = normalize_axes(op.axes.get_values(), len(before.axes), "axes")
    if not named or not refines(before, layout):
        return None
    axes = [layout.index(before.axes[axis].name) for axis in named]
    return Inferred((layout, layout), (layout,), {"axes": int_array(axes)})


@following
def pad(op: PadOp, before: Layout, layout: Layout) -> Inferred | None:
    """Widths follow their axes. An axis that is padded is not split."""
    properties: dict[str, Attribute] = {}
    if layout != before and refines(before, layout):
        widths: list[DenseArrayBase[IntegerType]] = []
        for axis in layout.axes:
            place = before.find(axis.name, block=axis.block is not None)
            width = op.widths[before.index(axis.name) if place is None else place]
            splits = axis.name in layout.blocks and axis.name not in before.blocks
            if splits and not all(certainly(each, 0) for each in width):
                return Inferred((before, None), (before,))
            widths.append(length_array(width))
        properties["pad_width"] = ArrayAttr(widths)
    elif layout != before:
        return None
    return Inferred((layout, None), (layout,), properties)
