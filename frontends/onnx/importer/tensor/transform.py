"""Operators that move, repeat or select elements."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.shapes import broadcast_shapes, normalize_axes, normalize_axis
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.dialects.tensor.transform import (
    BroadcastToOp,
    ConcatenateOp,
    SplitOp,
    StridedSliceOp,
    TileOp,
    TransposeOp,
)
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import MAX_ELEMENTS, ConverterTable, Node


def reshape_by_attribute(node: Node) -> SSAValue:
    """Reshape before operator set 5."""
    shape = node.integers("shape")
    if shape is None:
        raise OnnxImportError("attribute 'shape' is missing")
    return _reshape(node, shape, False)


def reshape(node: Node) -> SSAValue:
    """Reshape to a constant shape."""
    allowzero = node.flag("allowzero")
    return _reshape(node, node.known_integers(1, "shape"), allowzero)


def _reshape(node: Node, shape: Sequence[int], allowzero: bool) -> SSAValue:
    # Relay has further codes below -1.
    if any(dim < -1 for dim in shape):
        raise OnnxImportError(f"the new shape {list(shape)} has a number below -1")
    return node.emit(ReshapeOp(node.input(0), shape, allowzero=allowzero))


def transpose(node: Node) -> SSAValue:
    """Transpose: all axes are reversed without `perm`."""
    return node.emit(TransposeOp(node.input(0), node.integers("perm")))


def flatten(node: Node) -> SSAValue:
    """Flatten to a matrix whose rows are the axes before `axis`."""
    axis = node.integer("axis", 1)
    data = node.input(0)
    shape = node.shape_of(data)
    axis = axis if axis == len(shape) else normalize_axis(axis, len(shape))
    if axis == 1:
        return node.emit(BatchFlattenOp(data))
    return reshaped(node, data, (prod(shape[:axis]), prod(shape[axis:])))


def unsqueeze_by_attribute(node: Node) -> SSAValue:
    """Unsqueeze before operator set 13."""
    axes = node.integers("axes")
    if axes is None:
        raise OnnxImportError("attribute 'axes' is missing")
    return _unsqueeze(node, axes)


def unsqueeze(node: Node) -> SSAValue:
    """Unsqueeze at constant axes."""
    return _unsqueeze(node, node.known_integers(1, "axes"))


def _unsqueeze(node: Node, axes: Sequence[int]) -> SSAValue:
    """One `relay.expand_dims` for each run of adjacent axes."""
    value = node.input(0)
    positions = sorted(normalize_axes(axes, len(node.shape_of(value)) + len(axes), "axes"))
    while positions:
        first, count = positions[0], 1
        while count < len(positions) and positions[count] == first + count:
            count += 1
        value = node.emit(ExpandDimsOp(value, first, num_newaxis=count))
        positions = positions[count:]
    return value


def squeeze_by_attribute(node: Node) -> SSAValue:
    """Squeeze before operator set 13."""
    return node.emit(SqueezeOp(node.input(0), node.integers("axes")))


def squeeze(node: Node) -> SSAValue:
    """Squeeze of constant axes, of all axes of length 1 without them."""
    axes = node.known_integers(1, "axes") if node.has_input(1) else None
    return node.emit(SqueezeOp(node.input(0), axes))


def concat(node: Node) -> SSAValue:
    """Concat; `axis` may be left out before operator set 4."""
    axis = node.integer("axis", 1 if node.opset < 4 else None)
    parts = node.inputs()
    if len(parts) == 1:
        return parts[0]
    return node.emit(ConcatenateOp(node.emit(TupleOp(parts)), axis=axis))


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
    if count == 1:
        return [data]
    if lengths is None:
        longest = -(-total // count)
        if longest * (count - 1) > total or (node.opset < 18 and total % count):
            raise OnnxImportError(
                f"axis {axis} of length {total} does not divide into {count} parts"
            )
        lengths = [longest] * (count - 1) + [total - longest * (count - 1)]
    if len(lengths) != count or sum(lengths) != total or min(lengths) < 0:
        raise OnnxImportError(
            f"'split' is {lengths}, it has {count} outputs and axis {axis} the length {total}"
        )
    equal = len(set(lengths)) == 1
    starts = [sum(lengths[:part]) for part in range(1, count)]
    parts = node.emit(SplitOp(data, count if equal else starts, axis=axis))
    return [node.emit(TupleGetItemOp(parts, part)) for part in range(count)]


def slice_by_attributes(node: Node) -> SSAValue:
    """Slice before operator set 10."""
    starts, ends = node.integers("starts"), node.integers("ends")
    if starts is None or ends is None:
        raise OnnxImportError("attribute 'starts' or 'ends' is missing")
    return node.emit(StridedSliceOp(node.input(0), starts, ends, axes=node.integers("axes")))


def slice_by_inputs(node: Node) -> SSAValue:
    """Slice at constant positions."""
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


def gather(node: Node) -> SSAValue:
    """Gather: a negative index counts from the end, which is the index modulo the length."""
    axis = node.integer("axis", 0)
    return node.emit(TakeOp(node.input(0), node.input(1), axis=axis, mode="wrap"))


def pad_by_attributes(node: Node) -> SSAValue:
    """Pad before operator set 11; operator set 1 calls the widths `paddings`."""
    pads = node.integers("paddings" if node.opset < 2 else "pads")
    mode, number = node.string("mode", "constant"), node.real("value", 0.0)
    if pads is None:
        raise OnnxImportError("the padding widths are missing")
    data = node.input(0)
    return _pad(node, pads, None, mode, node.scalar(number, data))


def pad(node: Node) -> SSAValue:
    """Pad by constant widths."""
    mode = node.string("mode", "constant")
    data = node.input(0)
    pads = node.known_integers(1, "pads")
    axes = node.known_integers(3, "axes") if node.has_input(3) else None
    number = node.input_as_scalar(2) if node.has_input(2) else node.scalar(0, data)
    return _pad(node, pads, axes, mode, number)


def _pad(
    node: Node, pads: Sequence[int], axes: Sequence[int] | None, mode: str, number: SSAValue
) -> SSAValue:
    """Widths below 0 cut elements off, which comes before the padding."""
    data = node.input(0)
    shape = node.shape_of(data)
    named = range(len(shape)) if axes is None else normalize_axes(axes, len(shape), "axes")
    if len(pads) != 2 * len(named) or max(map(abs, pads), default=0) > MAX_ELEMENTS:
        raise OnnxImportError(f"the padding widths are {list(pads)} for {len(named)} axes")
    widths = [(0, 0)] * len(shape)
    for position, axis in enumerate(named):
        widths[axis] = pads[position], pads[position + len(named)]
    if mode not in ("constant", "edge", "reflect"):
        raise UnsupportedNode(f"'mode' is \"{mode}\"")
    widths = [
        _possible_widths(axis, length, *width, mode)
        for axis, (length, width) in enumerate(zip(shape, widths, strict=True))
    ]
    if min(pads, default=0) < 0:
        begin = [max(-before, 0) for before, _ in widths]
        end = [dim - max(-after, 0) for dim, (_, after) in zip(shape, widths, strict=True)]
        data = node.emit(StridedSliceOp(data, begin, end))
        widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    return node.emit(PadOp(data, number, widths, pad_mode=mode))


def _possible_widths(axis: int, length: int, before: int, after: int, mode: str) -> tuple[int, int]:
    """
    The widths of one axis, of which those below 0 cut off no more than there is.

    Raises OnnxImportError when nothing would be left to repeat, or less than nothing.
    """
    total = length + before + after
    kept = length + min(before, 0) + min(after, 0)
    padded = f"axis {axis} of length {length} is padded by {before} and {after}"
    if total < 0:
        raise OnnxImportError(f"{padded}, which gives it the length {total}")
    if mode != "constant" and kept <= 0 < length:
        raise OnnxImportError(f"{padded}, which leaves no element to repeat in the mode '{mode}'")
    return (before, after) if kept >= 0 else (-length, total)


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
    return data if tuple(new) == old else node.emit(BroadcastToOp(data, new))


def depth_to_space(node: Node) -> SSAValue:
    """DepthToSpace: blocks of channels become blocks of pixels."""
    size, mode = node.integer("blocksize"), node.string("mode", "DCR")
    data = node.input(0)
    batch, channels, height, width = _image_shape(node, data)
    if size < 1 or channels % (size * size):
        raise OnnxImportError(f"'blocksize' is {size}, the input has {channels} channels")
    depth = channels // (size * size)
    if mode == "DCR":
        blocks, axes = (batch, size, size, depth, height, width), (0, 3, 4, 1, 5, 2)
    elif mode == "CRD":
        blocks, axes = (batch, depth, size, size, height, width), (0, 1, 4, 2, 5, 3)
    else:
        raise UnsupportedNode(f"'mode' is \"{mode}\"")
    moved = node.emit(TransposeOp(reshaped(node, data, blocks), axes))
    return reshaped(node, moved, (batch, depth, height * size, width * size))


def space_to_depth(node: Node) -> SSAValue:
    """SpaceToDepth: blocks of pixels become blocks of channels."""
    size, mode = node.integer("blocksize"), node.string("mode", "DCR")
    axes = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}.get(mode)
    if axes is None:
        raise UnsupportedNode(f"'mode' is \"{mode}\"")
    data = node.input(0)
    batch, channels, height, width = _image_shape(node, data)
    if size < 1 or height % size or width % size:
        raise OnnxImportError(f"'blocksize' is {size}, the image is {height} by {width}")
    rows, columns = height // size, width // size
    blocks = reshaped(node, data, (batch, channels, rows, size, columns, size))
    moved = node.emit(TransposeOp(blocks, axes))
    return reshaped(node, moved, (batch, channels * size * size, rows, columns))


def _image_shape(node: Node, data: SSAValue) -> tuple[int, ...]:
    shape = node.shape_of(data)
    if len(shape) != 4:
        raise OnnxImportError(f"its input has the shape {list(shape)}, expected a 4-D image")
    return shape


SHAPE_CONVERTERS: ConverterTable = {
    "Concat": {1: concat},
    "DepthToSpace": {1: depth_to_space},
    "Expand": {8: expand},
    "Flatten": {1: flatten},
    "Gather": {1: gather},
    "Pad": {1: pad_by_attributes, 11: pad},
    "Reshape": {1: reshape_by_attribute, 5: reshape},
    "SpaceToDepth": {1: space_to_depth},
    "Slice": {1: slice_by_attributes, 10: slice_by_inputs},
    "Split": {1: split_by_attribute, 13: split},
    "Squeeze": {1: squeeze_by_attribute, 13: squeeze},
    "Tile": {1: tile_one_axis, 6: tile},
    "Transpose": {1: transpose},
    "Unsqueeze": {1: unsqueeze_by_attribute, 13: unsqueeze},
}
