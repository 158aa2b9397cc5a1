"""Normalisation, softmax and dropout."""

from collections.abc import Sequence
from math import prod

from onnx import TensorProto
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleGetItemOp
from xrelay.dialects.nn.norm import (
    BatchNormOp,
    GroupNormOp,
    InstanceNormOp,
    LayerNormOp,
    LogSoftmaxOp,
    LrnOp,
    RmsNormOp,
    SoftmaxOp,
)
from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import AddOp, DivideOp, GreaterEqualOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.creation import OnesLikeOp, OnesOp
from xrelay.dialects.tensor.reduce import MeanOp, VarianceOp
from xrelay.dialects.tensor.transform import BroadcastToOp, RepeatOp, WhereOp
from xrelay.dialects.tensor.unary import CastOp, SqrtOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import as_matrix, reshaped
from xrelay.frontends.onnx.importer.node import Converter, ConverterTable, Node
from xrelay.frontends.onnx.importer.tensor.random import uniform
from xrelay.frontends.onnx.importer.tensor.unary import converted


def batch_normalization(node: Node) -> SSAValue | list[SSAValue]:
    """BatchNormalization with stored statistics; in training with those of the data, which it also returns."""
    node.ignore("is_test")
    spatial, momentum = node.flag("spatial", default=True), node.real("momentum", 0.9)
    epsilon = node.real("epsilon", 1e-5)
    data = node.input(0)
    if not spatial and len(node.shape_of(data)) > 2:
        raise UnsupportedNode("'spatial' is 0: statistics for each element are not supported")
    if node.flag("training_mode"):
        return _batch_normalization_in_training(node, data, epsilon, momentum)
    result = node.emit(
        BatchNormOp(data, *(node.input(index) for index in range(1, 5)), epsilon=epsilon)
    )
    return node.emit(TupleGetItemOp(result, 0))


def _batch_normalization_in_training(
    node: Node, data: SSAValue, epsilon: float, momentum: float
) -> list[SSAValue]:
    """The normalised data, and the running means and variances, moved towards those of the data."""
    axes = [axis for axis in range(len(node.shape_of(data))) if axis != 1]
    mean = node.emit(MeanOp(data, axes))
    variance = node.emit(VarianceOp(data, node.emit(MeanOp(data, axes, keepdims=True)), axis=axes))
    statistics = mean, variance
    result = node.emit(
        BatchNormOp(data, node.input(1), node.input(2), *statistics, epsilon=epsilon)
    )
    moved = [
        node.emit(
            AddOp(
                node.emit(MultiplyOp(old, node.scalar(momentum, old))),
                node.emit(MultiplyOp(new, node.scalar(1 - momentum, new))),
            )
        )
        for old, new in zip((node.input(3), node.input(4)), statistics, strict=True)
    ]
    return [node.emit(TupleGetItemOp(result, 0)), *moved]


def _require_single_precision(node: Node) -> None:
    """Reads `stash_type`, the type of the statistics: what narrower types compute in anyway."""
    if node.integer("stash_type", TensorProto.FLOAT) != TensorProto.FLOAT:
        raise UnsupportedNode("'stash_type' is not 1: statistics are computed in single precision")


def layer_normalization(node: Node) -> SSAValue | list[SSAValue]:
    """
    LayerNormalization over all axes from `axis` on, as rows. The optional second and third output
    are the mean and the inverse of the standard deviation.
    """
    _require_single_precision(node)
    epsilon = node.real("epsilon", 1e-5)
    data, gamma, beta = node.input(0), node.input(1), node.optional(2)
    shape = node.shape_of(data)
    axis = normalize_axis(node.integer("axis", -1), len(shape))
    length = prod(shape[axis:])
    # The vectors may lack leading axes or have axes of length 1.
    gamma, beta = (
        node.zeros((length,), data) if vector is None else _as_vector(node, vector, shape[axis:])
        for vector in (gamma, beta)
    )
    rows = reshaped(node, data, (*shape[:axis], length))
    result = node.emit(LayerNormOp(rows, gamma, beta, epsilon=epsilon, center=node.has_input(2)))
    result = reshaped(node, result, shape)
    if node.output_count < 2:
        return result
    mean, variance = _statistics(node, data, range(axis, len(shape)))
    deviation = node.emit(SqrtOp(node.emit(AddOp(variance, node.scalar(epsilon, variance)))))
    inverse = node.emit(DivideOp(node.scalar(1, deviation), deviation))
    return [result, mean, inverse][: node.output_count]


def _as_vector(node: Node, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
    """`value`, which broadcasts to `shape`, with one element for each of it, as a vector."""
    if prod(node.shape_of(value)) != prod(shape):
        value = node.emit(BroadcastToOp(value, shape))
    return reshaped(node, value, (prod(shape),))


def mean_variance_normalization(node: Node) -> SSAValue:
    """
    MeanVarianceNormalization: the distance from the mean, divided by the standard deviation and
    1e-9. As in `_statistics`, narrow types are computed in single precision.
    """
    given = node.integers("axes")
    axes = [0, 2, 3] if given is None else given
    data = node.input(0)
    mean, variance = _statistics(node, data, axes)
    wide = converted(node, data, node.element_type(mean))
    deviation = node.emit(SqrtOp(variance))
    divisor = node.emit(AddOp(deviation, node.scalar(1e-9, deviation)))
    result = node.emit(DivideOp(node.emit(SubtractOp(wide, mean)), divisor))
    return converted(node, result, node.element_type(data))


def _statistics(node: Node, data: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Mean and variance over some axes, which stay with length 1, in single precision or more."""
    if node.element_dtype(data).itemsize < 4:
        data = node.emit(CastOp(data, f32))
    mean = node.emit(MeanOp(data, axes, keepdims=True))
    centered = node.emit(SubtractOp(data, mean))
    square = node.emit(MultiplyOp(centered, centered))
    return mean, node.emit(MeanOp(square, axes, keepdims=True))


def rms_normalization(node: Node) -> SSAValue:
    """
    RMSNormalization over all axes from `axis` on, as rows; also onnxruntime's
    SimplifiedLayerNormalization, the same operator before ONNX had it.
    """
    _require_single_precision(node)
    if node.output_count > 1:
        raise UnsupportedNode("the second output, the inverse root mean square, is not supported")
    data, scale = node.input(0), node.input(1)
    shape = node.shape_of(data)
    axis = normalize_axis(node.integer("axis", -1), len(shape))
    rows = reshaped(node, data, (*shape[:axis], prod(shape[axis:])))
    gamma = _as_vector(node, scale, shape[axis:])
    return reshaped(
        node, node.emit(RmsNormOp(rows, gamma, epsilon=node.real("epsilon", 1e-5))), shape
    )


def instance_normalization(node: Node) -> SSAValue:
    """InstanceNormalization, of the channels along axis 1."""
    epsilon = node.real("epsilon", 1e-5)
    data, gamma, beta = node.input(0), node.input(1), node.input(2)
    return node.emit(InstanceNormOp(data, gamma, beta, epsilon=epsilon))


def group_normalization(node: Node) -> SSAValue:
    """GroupNormalization, of the channels along axis 1."""
    _require_single_precision(node)
    return _group_normalization(node, node.input(1), node.input(2))


def group_normalization_by_group(node: Node) -> SSAValue:
    """GroupNormalization before operator set 21, with one scale and bias for each group."""
    groups = node.integer("num_groups")
    shape = node.shape_of(node.input(0))
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise OnnxImportError(f"'num_groups' is {groups}, the input has the shape {list(shape)}")
    gamma, beta = (
        node.emit(RepeatOp(node.input(index), shape[1] // groups, axis=0)) for index in (1, 2)
    )
    return _group_normalization(node, gamma, beta)


def _group_normalization(node: Node, gamma: SSAValue, beta: SSAValue) -> SSAValue:
    groups = node.integer("num_groups")
    epsilon = node.real("epsilon", 1e-5)
    return node.emit(GroupNormOp(node.input(0), gamma, beta, num_groups=groups, epsilon=epsilon))


def local_response_normalization(node: Node) -> SSAValue:
    """LRN across channels."""
    return node.emit(
        LrnOp(
            node.input(0),
            size=node.integer("size"),
            bias=node.real("bias", 1.0),
            alpha=node.real("alpha", 1e-4),
            beta=node.real("beta", 0.75),
        )
    )


def softmax(op: type[SoftmaxOp] | type[LogSoftmaxOp]) -> Converter:
    """Converts Softmax or LogSoftmax along one axis."""

    def convert(node: Node) -> SSAValue:
        axis = node.integer("axis", -1)
        return node.emit(op(node.input(0), axis=axis))

    return convert


def flat_softmax(op: type[SoftmaxOp] | type[LogSoftmaxOp]) -> Converter:
    """Converts Softmax or LogSoftmax before operator set 13, over all axes from `axis` on."""

    def convert(node: Node) -> SSAValue:
        axis = node.integer("axis", 1)
        data = node.input(0)
        shape = node.shape_of(data)
        axis = normalize_axis(axis, len(shape))
        long = [position for position in range(axis, len(shape)) if shape[position] != 1]
        if len(long) <= 1:
            return node.emit(op(data, axis=long[0] if long else axis))
        return reshaped(node, node.emit(op(as_matrix(node, data, axis), axis=-1)), shape)

    return convert


def dropout(node: Node) -> list[SSAValue]:
    """Dropout before operator set 12: nothing is dropped, and the mask is all ones."""
    node.ignore("ratio", "is_test")
    return _undropped(node)


def dropout_with_mode(node: Node) -> list[SSAValue]:
    """Dropout, which the input `training_mode` may switch on: elements are dropped by random numbers then."""
    if not node.has_input(2) or not node.known(2, "training_mode").any():
        node.ignore("seed")
        return _undropped(node)
    ratio = float(node.known_number(1, "ratio")) if node.has_input(1) else 0.5
    if not 0 <= ratio < 1:
        raise OnnxImportError(f"input 1 ('ratio') is {ratio}, expected a number in [0, 1)")
    data = node.input(0)
    numbers = uniform(node, node.shape_of(data), f32)
    mask = node.emit(GreaterEqualOp(numbers, node.scalar(ratio, numbers)))
    kept = node.emit(MultiplyOp(data, node.scalar(1 / (1 - ratio), data)))
    return [node.emit(WhereOp(mask, kept, node.scalar(0, data))), mask]


def _undropped(node: Node) -> list[SSAValue]:
    data = node.input(0)
    if node.output_count < 2:
        return [data]
    mask = OnesLikeOp(data) if node.opset < 10 else OnesOp(node.shape_of(data), i1)
    return [data, node.emit(mask)]


CONVERTERS: ConverterTable = {
    "BatchNormalization": {1: batch_normalization},
    "Dropout": {1: dropout, 12: dropout_with_mode},
    "GroupNormalization": {18: group_normalization_by_group, 21: group_normalization},
    "InstanceNormalization": {1: instance_normalization},
    "LRN": {1: local_response_normalization},
    "LayerNormalization": {17: layer_normalization},
    "LogSoftmax": {1: flat_softmax(LogSoftmaxOp), 13: softmax(LogSoftmaxOp)},
    "MeanVarianceNormalization": {9: mean_variance_normalization},
    "RMSNormalization": {23: rms_normalization},
    "SimplifiedLayerNormalization": {1: rms_normalization},
    "Softmax": {1: flat_softmax(SoftmaxOp), 13: softmax(SoftmaxOp)},
}
