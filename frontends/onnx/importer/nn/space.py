"""Padding, and blocks of channels that become pixels or the reverse."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.lengths import certainly, larger, smaller
from xrelay.dialects.nn.space import PadOp
from xrelay.dialects.shapes import normalize_axes
from xrelay.dialects.tensor.binary import SubtractOp
from xrelay.dialects.tensor.indexing import TakeOp
from xrelay.dialects.tensor.transform import StridedSliceOp, TransposeOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.sizes import MAX_ELEMENTS


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
    too_wide = any(pad > MAX_ELEMENTS or pad < -MAX_ELEMENTS for pad in pads)
    if len(pads) != 2 * len(named) or too_wide:
        raise OnnxImportError(f"the padding widths are {list(pads)} for {len(named)} axes")
    widths: list[tuple[int, int]] = [(0, 0)] * len(shape)
    for position, axis in enumerate(named):
        widths[axis] = pads[position], pads[position + len(named)]
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise UnsupportedNode(f"'mode' is \"{mode}\"")
    widths = [
        _possible_widths(axis, length, *width, mode)
        for axis, (length, width) in enumerate(zip(shape, widths, strict=True))
    ]
    if any(pad < 0 for pad in pads):
        begin = [larger(-before, 0) for before, _ in widths]
        end = [dim - larger(-after, 0) for dim, (_, after) in zip(shape, widths, strict=True)]
        data = node.emit(StridedSliceOp(data, begin, end))
        widths = [(larger(before, 0), larger(after, 0)) for before, after in widths]
    if all(certainly(width, 0) for both in widths for width in both):
        return data
    if mode == "wrap":
        return _wrapped(node, data, widths)
    return node.emit(PadOp(data, number, widths, pad_mode=mode))


def _wrapped(node: Node, data: SSAValue, widths: Sequence[tuple[int, int]]) -> SSAValue:
    """The data repeated in all directions."""
    for axis, (length, (before, after)) in enumerate(zip(node.shape_of(data), widths, strict=True)):
        if certainly(before, 0) and certainly(after, 0):
            continue
        count = before + length + after
        if count < 0 or not length:
            raise OnnxImportError(
                f"axis {axis} of {length} elements cannot be repeated to {count} elements"
            )
        places = node.counting(count)
        places = node.emit(SubtractOp(places, node.scalar(before, places)))
        data = node.emit(TakeOp(data, places, axis=axis, mode="wrap"))
    return data


def _possible_widths(axis: int, length: int, before: int, after: int, mode: str) -> tuple[int, int]:
    """
    The widths of one axis, of which those below 0 cut off no more than there is.

    Raises OnnxImportError when nothing would be left to repeat, or less than nothing.
    """
    total = length + before + after
    kept = length + smaller(before, 0) + smaller(after, 0)
    padded = f"axis {axis} of length {length} is padded by {before} and {after}"
    if total < 0:
        raise OnnxImportError(f"{padded}, which gives it the length {total}")
    cuts = not certainly(kept, length)
    if mode not in ("constant", "wrap") and cuts and kept <= 0 < length:
        raise OnnxImportError(f"{padded}, which leaves no element to repeat in the mode '{mode}'")
    return (before, after) if not cuts or kept >= 0 else (-length, total)


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


CONVERTERS: ConverterTable = {
    "DepthToSpace": {1: depth_to_space},
    "Pad": {1: pad_by_attributes, 11: pad},
    "SpaceToDepth": {1: space_to_depth},
}
