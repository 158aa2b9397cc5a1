"""Operators that change the shape only."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.dialects.shapes import normalize_axes, normalize_axis
from xrelay.dialects.tensor.reshape import BatchFlattenOp, ExpandDimsOp, ReshapeOp, SqueezeOp
from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.importer.emitting import as_matrix
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def reshape_by_attribute(node: Node) -> SSAValue:
    """Reshape before operator set 5."""
    return _reshape(node, node.required_integers("shape"), False)


def reshape(node: Node) -> SSAValue:
    """Reshape to a constant shape."""
    allowzero = node.flag("allowzero")
    return _reshape(node, node.known_integers(1, "shape"), allowzero)


def _reshape(node: Node, shape: Sequence[int], allowzero: bool) -> SSAValue:
    # Relay has further codes below -1.
    if any(dim < -1 for dim in shape):
        raise OnnxImportError(f"the new shape {list(shape)} has a number below -1")
    return node.emit(ReshapeOp(node.input(0), shape, allowzero=allowzero))


def flatten(node: Node) -> SSAValue:
    """Flatten to a matrix whose rows are the axes before `axis`."""
    axis = node.integer("axis", 1)
    data = node.input(0)
    rank = len(node.shape_of(data))
    axis = axis if axis == rank else normalize_axis(axis, rank)
    return node.emit(BatchFlattenOp(data)) if axis == 1 else as_matrix(node, data, axis)


def unsqueeze_by_attribute(node: Node) -> SSAValue:
    """Unsqueeze before operator set 13."""
    return _unsqueeze(node, node.required_integers("axes"))


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


CONVERTERS: ConverterTable = {
    "Flatten": {1: flatten},
    "Reshape": {1: reshape_by_attribute, 5: reshape},
    "Squeeze": {1: squeeze_by_attribute, 13: squeeze},
    "Unsqueeze": {1: unsqueeze_by_attribute, 13: unsqueeze},
}
