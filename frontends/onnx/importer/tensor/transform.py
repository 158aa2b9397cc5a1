"""Operators that move, repeat or join elements."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import is_open
from xrelay.dialects.shapes import broadcast_shapes, normalize_axes, normalize_axis, same_shape
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    SplitOp,
    StridedSliceOp,
    TileOp,
    TransposeOp,
    WhereOp,
)
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.core.parts import slices
from xrelay.frontends.onnx.importer.emitting import fields, joined
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.tensor.moving import moving_slice


def transpose(node: Node) -> SSAValue:
    """Transpose: all axes are reversed without `perm`."""
    return node.emit(TransposeOp(node.input(0), node.integers("perm")))


def concat(node: Node) -> SSAValue:
    """Concat; `axis` may be left out before operator set 4."""
    axis = node.integer("axis", 1 if node.opset < 4 else None)
    return joined(node, node.inputs(), axis)


def split_by_attribute(node: Node) -> list[SSAValue]:
    """Split before operator set 13; operator set 1 also has an input for the lengths."""
    axis, lengths = node.integer("axis", 0), node.integers("split")
    if node.has_input(1):
        lengths = node.known_integers(1, "split")
    return _split(node, axis, lengths)


def split(node: Node) -> list[SSAValue]:
    """Split by an optional input, since operator set 18 also into parts that are not equal."""
    axis = node.integer("axis", 0)
    lengths = node.known_integers(1, "split") if node.has_input(1) else None
    if node.has_attribute("num_outputs"):
        count = node.integer("num_outputs")
        if lengths is not None or count != node.output_count:
            raise OnnxImportError(
                f"'num_outputs' is {count}, it has {node.output_count} outputs"
                + (" and the input 'split'" if lengths is not None else "")
            )
    return _split(node, axis, lengths)


def _split(node: Node, axis: int, lengths: list[int] | None) -> list[SSAValue]:
    data = node.input(0)
    count = node.output_count
    shape = node.shape_of(data)
    total = shape[normalize_axis(axis, len(shape))]
    if lengths is None:
        longest = -(-total // count)
        if longest * (count - 1) > total or (node.opset < 18 and total % count):
            raise OnnxImportError(
                f"axis {axis} of length {total} does not divide into {count} parts"
            )
        lengths = [longest] * (count - 1) + [total - longest * (count - 1)]
    negative = any(length < 0 for length in lengths)
    if len(lengths) != count or sum(lengths) != total or negative:
        raise OnnxImportError(
            f"'split' is {lengths}, it has {count} output{'' if count == 1 else 's'} and axis {axis} the length {total}"
        )
    if count == 1:
        return [data]
    starts = [sum(lengths[:part]) for part in range(1, count)]
    if any(map(is_open, lengths)):
        return slices(node, data, axis, (0, *starts, total))
    equal = len(set(lengths)) == 1
    parts = node.emit(SplitOp(data, count if equal else starts, axis=axis))
    return fields(node, parts, count)


def slice_by_attributes(node: Node) -> SSAValue:
    """Slice before operator set 10."""
    starts, ends = node.integers("starts"), node.integers("ends")
    if starts is None or ends is None:
        raise OnnxImportError("attribute 'starts' or 'ends' is missing")
    return node.emit(StridedSliceOp(node.input(0), starts, ends, axes=node.integers("axes")))


def slice_by_inputs(node: Node) -> SSAValue:
    """Slice at constant positions, or at those that a loop moves."""
    if node.known_value(node.input(1)) is None:
        moving = moving_slice(node)
        if moving is not None:
            return moving
    starts, ends = node.known_integers(1, "starts"), node.known_integers(2, "ends")
    axes = node.known_integers(3, "axes") if node.has_input(3) else None
    steps = node.known_integers(4, "steps") if node.has_input(4) else None
    data = node.input(0)
    if steps is not None and len(steps) == len(starts):
        starts = _clamped(node.shape_of(data), starts, steps, axes)
    return node.emit(StridedSliceOp(data, starts, ends, steps, axes=axes))


def _clamped(
    shape: Sequence[int], starts: Sequence[int], steps: Sequence[int], axes: Sequence[int] | None
) -> list[int]:
    """
    Starts of slices, in which those before an axis that is walked backwards are its first element;
    Relay, like NumPy, takes nothing from there.
    """
    named = range(len(starts)) if axes is None else normalize_axes(axes, len(shape), "axes")
    if len(named) != len(starts) or len(named) > len(shape):
        raise OnnxImportError(
            f"'starts' is {list(starts)} for the axes {list(named)} of the shape {list(shape)}"
        )
    return [
        max(start, -shape[axis]) if step < 0 else start
        for start, step, axis in zip(starts, steps, named, strict=True)
    ]


def tile_one_axis(node: Node) -> SSAValue:
    """Tile before operator set 6: scalar inputs for the number of tiles and their axis."""
    data = node.input(0)
    tiles, axis = node.known_lengths(1, "tiles"), node.known_integers(2, "axis")
    if len(tiles) != 1 or len(axis) != 1:
        raise OnnxImportError("inputs 'tiles' and 'axis' must have one element")
    rank = len(node.shape_of(data))
    reps = [1] * rank
    reps[normalize_axis(axis[0], rank)] = tiles[0]
    return node.emit(TileOp(data, reps))


def tile(node: Node) -> SSAValue:
    """Tile by constant numbers."""
    data, repeats = node.input(0), node.known_lengths(1, "repeats")
    rank = len(node.shape_of(data))
    if len(repeats) != rank:
        raise OnnxImportError(
            f"input 1 ('repeats') is {repeats}, expected {rank} numbers, one for each axis"
        )
    return node.emit(TileOp(data, repeats))


def expand(node: Node) -> SSAValue:
    """Expand: the input and a constant shape broadcast in both directions."""
    data = node.input(0)
    old, stated = node.shape_of(data), node.known_lengths(1, "shape")
    new = broadcast_shapes(old, stated, ("input", "shape"))
    return data if same_shape(new, old) else node.emit(BroadcastToOp(data, new))


def where(node: Node) -> SSAValue:
    """Where: all three inputs broadcast."""
    return node.emit(WhereOp(node.input(0), node.input(1), node.input(2)))


CONVERTERS: ConverterTable = {
    "Concat": {1: concat},
    "Expand": {8: expand},
    "Slice": {1: slice_by_attributes, 10: slice_by_inputs},
    "Split": {1: split_by_attribute, 13: split},
    "Tile": {1: tile_one_axis, 6: tile},
    "Transpose": {1: transpose},
    "Where": {9: where},
}
