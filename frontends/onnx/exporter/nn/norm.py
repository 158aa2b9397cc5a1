"""Emitters of normalisation, bias and losses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BoolAttr, FloatAttr
from xdsl.ir import SSAValue

from xrelay.dialects.nn import loss, norm
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    FLOAT64,
    INT64,
    DType,
    EmitterTable,
    Exported,
    OutputGraph,
    Tensor,
)
from xrelay.frontends.onnx.exporter.numbers import computing_dtype, real_attribute
from xrelay.frontends.onnx.exporter.tensor.reduce import reduce


def bias_add(graph: OutputGraph, op: norm.BiasAddOp) -> Tensor:
    """Add of the bias, shaped to stand along the axis."""
    bias = graph.along(graph.tensor(op.bias), op.channel_axis, op.data.type.get_num_dims())
    return graph.node("Add", graph.tensor(op.data), bias)


def _is_exact(epsilon: FloatAttr, dtype: DType) -> bool:
    """Whether nodes with an attribute of f32 compute what relay does."""
    return dtype != FLOAT64 or float(np.float32(epsilon.value.data)) == epsilon.value.data


def _scaled(
    graph: OutputGraph,
    op: norm.StandardizingOp | norm.BatchNormOp,
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
) -> Tensor:
    """Normalised data times gamma plus beta, as far as these count."""
    if op.scale.value.data:
        data = graph.node("Mul", data, gamma)
    if op.center.value.data:
        data = graph.node("Add", data, beta)
    return data


def _vector(graph: OutputGraph, value: SSAValue, counts: BoolAttr, number: int) -> Tensor:
    """A parameter of channels; one number for each where it does not count."""
    tensor = graph.tensor(value)
    if counts.value.data:
        return tensor
    return graph.filled(graph.scalar(number, tensor.dtype), graph.shape(value, "gamma"))


def batch_norm(graph: OutputGraph, op: norm.BatchNormOp) -> Exported:
    """BatchNormalization, whose channels are axis 1; for others, what it computes."""
    data, rank = graph.tensor(op.data), op.data.type.get_num_dims()
    mean, variance = graph.tensor(op.moving_mean), graph.tensor(op.moving_var)
    if op.channel_axis == 1 and _is_exact(op.epsilon, data.dtype):
        gamma = _vector(graph, op.gamma, op.scale, 1)
        beta = _vector(graph, op.beta, op.center, 0)
        result = graph.node(
            "BatchNormalization", data, gamma, beta, mean, variance, epsilon=op.epsilon.value.data
        )
        return result, mean, variance
    dtype = computing_dtype(data.dtype)
    gamma, beta, own_mean, own_variance = (
        graph.along(graph.cast(graph.tensor(value), dtype), op.channel_axis, rank)
        for value in (op.gamma, op.beta, op.moving_mean, op.moving_var)
    )
    centred = graph.node("Sub", graph.cast(data, dtype), own_mean)
    result = _scaled(
        graph, op, _divided_by_deviation(graph, centred, own_variance, op.epsilon), gamma, beta
    )
    return graph.cast(result, data.dtype), mean, variance


def _divided_by_deviation(
    graph: OutputGraph, data: Tensor, variance: Tensor, epsilon: FloatAttr
) -> Tensor:
    number = graph.scalar(epsilon.value.data, data.dtype)
    return graph.node("Div", data, graph.node("Sqrt", graph.node("Add", variance, number)))


def _standardized(
    graph: OutputGraph, data: Tensor, axes: Sequence[int], epsilon: FloatAttr
) -> Tensor:
    """Data minus the mean along some axes, divided by the standard deviation."""
    mean = reduce(graph, "ReduceMean", data, axes, keepdims=True)
    centred = graph.node("Sub", data, mean)
    squares = graph.node("Mul", centred, centred)
    variance = reduce(graph, "ReduceMean", squares, axes, keepdims=True)
    return _divided_by_deviation(graph, centred, variance, epsilon)


def _decomposed(
    graph: OutputGraph, op: norm.StandardizingOp, axes: Sequence[int], shape: Sequence[int] | None
) -> Tensor:
    """What a normalisation computes: statistics over axes of the data, in another shape if given."""
    data, rank = graph.tensor(op.data), op.data.type.get_num_dims()
    dtype = computing_dtype(data.dtype)
    wide = graph.cast(data, dtype)
    if shape is not None:
        wide = graph.reshape(wide, shape)
    result = _standardized(graph, wide, axes, op.epsilon)
    if shape is not None:
        result = graph.reshape(result, graph.shape(op.data))
    gamma, beta = (
        graph.along(graph.cast(graph.tensor(value), dtype), op.channel_axis, rank)
        for value in (op.gamma, op.beta)
    )
    return graph.cast(_scaled(graph, op, result, gamma, beta), data.dtype)


def layer_norm(graph: OutputGraph, op: norm.LayerNormOp) -> Tensor:
    """LayerNormalization of the last axis; of others and of f64, what it computes."""
    data, rank = graph.tensor(op.data), op.data.type.get_num_dims()
    # The statistics of LayerNormalization and GroupNormalization are numbers of f32.
    if op.channel_axis != rank - 1 or data.dtype == FLOAT64:
        return _decomposed(graph, op, [op.channel_axis], None)
    gamma = _vector(graph, op.gamma, op.scale, 1)
    beta = graph.tensor(op.beta) if op.center.value.data else None
    inputs = (data, gamma) if beta is None else (data, gamma, beta)
    return graph.node("LayerNormalization", *inputs, axis=-1, epsilon=op.epsilon.value.data)


def instance_norm(graph: OutputGraph, op: norm.InstanceNormOp) -> Tensor:
    """InstanceNormalization of images; of others, what it computes."""
    data, rank = graph.tensor(op.data), op.data.type.get_num_dims()
    if op.channel_axis != 1 or rank < 3 or not _is_exact(op.epsilon, data.dtype):
        return _decomposed(graph, op, op.reduced_axes, None)
    gamma = _vector(graph, op.gamma, op.scale, 1)
    beta = _vector(graph, op.beta, op.center, 0)
    epsilon = op.epsilon.value.data
    return graph.node("InstanceNormalization", data, gamma, beta, epsilon=epsilon)


def group_norm(graph: OutputGraph, op: norm.GroupNormOp) -> Tensor:
    """GroupNormalization of channels along axis 1; of others, what it computes."""
    data, groups, axis = graph.tensor(op.data), op.num_groups.value.data, op.channel_axis
    if axis == 1 and data.dtype != FLOAT64 and op.data.type.get_num_dims() > 2:
        gamma = _vector(graph, op.gamma, op.scale, 1)
        beta = _vector(graph, op.beta, op.center, 0)
        epsilon = op.epsilon.value.data
        inputs = data, gamma, beta
        return graph.node("GroupNormalization", *inputs, num_groups=groups, epsilon=epsilon)
    shape = graph.shape(op.data)
    channels = shape[axis] // groups
    grouped = [*shape[:axis], groups, channels, *shape[axis + 1 :]]
    return _decomposed(graph, op, range(axis + 1, len(grouped)), grouped)


def rms_norm(graph: OutputGraph, op: norm.RmsNormOp) -> Tensor:
    """What RMSNormalization computes, which operator set 21 does not have."""
    data, rank = graph.tensor(op.data), op.data.type.get_num_dims()
    dtype = computing_dtype(data.dtype)
    wide = graph.cast(data, dtype)
    squares = graph.node("Mul", wide, wide)
    mean = reduce(graph, "ReduceMean", squares, [op.channel_axis], keepdims=True)
    result = _divided_by_deviation(graph, wide, mean, op.epsilon)
    if op.scale.value.data:
        gamma = graph.cast(graph.tensor(op.gamma), dtype)
        result = graph.node("Mul", result, graph.along(gamma, op.channel_axis, rank))
    return graph.cast(result, data.dtype)


def local_response_norm(graph: OutputGraph, op: norm.LrnOp) -> Tensor:
    """LRN, whose channels are axis 1."""
    data, rank = graph.tensor(op.data), op.data.type.get_num_dims()
    axis = op.axis.value.data % rank
    numbers: dict[str, Any] = {
        name: real_attribute(number, data.dtype, name)
        for name, number in (("alpha", op.alpha), ("beta", op.beta), ("bias", op.bias))
    }
    order = list(range(rank))
    if axis != 1:
        if rank < 2:
            raise NotExpressible(
                "'data' has one axis, ONNX's LRN has its channels along the second"
            )
        order[1], order[axis] = axis, 1
    moved = graph.node("LRN", graph.transpose(data, order), size=op.size.value.data, **numbers)
    return graph.transpose(moved, order)


def l2_normalize(graph: OutputGraph, op: norm.L2NormalizeOp) -> Tensor:
    """Data divided by the root of its sum of squares, which is at least `eps`."""
    data = graph.tensor(op.data)
    dtype = computing_dtype(data.dtype)
    wide = graph.cast(data, dtype)
    squares = graph.node("Mul", wide, wide)
    total = reduce(graph, "ReduceSum", squares, op.normalized_axes, keepdims=True)
    floor = graph.node("Max", total, graph.scalar(op.eps.value.data, dtype))
    return graph.cast(graph.node("Div", wide, graph.node("Sqrt", floor)), data.dtype)


def cross_entropy(graph: OutputGraph, op: loss.CrossEntropyFamilyOp) -> Tensor:
    """The sum of products with logarithms, divided by the number of examples."""
    data, targets, shape = graph.tensor(op.x), graph.tensor(op.y), graph.shape(op.x, "x")
    dtype = computing_dtype(data.dtype)
    wide = graph.cast(data, dtype)
    if isinstance(op, loss.CrossEntropyOp):
        wide = graph.node("Log", wide)
    products = graph.node("Mul", wide, graph.cast(targets, dtype))
    total = graph.node("Neg", reduce(graph, "ReduceSum", products, (0, 1), keepdims=False))
    return graph.cast(graph.node("Div", total, graph.scalar(shape[0], dtype)), data.dtype)


def nll_loss(graph: OutputGraph, op: loss.NllLossOp) -> Tensor:
    """NegativeLogLikelihoodLoss, with classes out of range moved to the nearest one."""
    targets = graph.cast(graph.tensor(op.targets), INT64)
    ignored = op.ignore_index.value.data
    last = graph.shape(op.predictions, "predictions")[1] - 1
    nearest = graph.node("Clip", targets, graph.scalar(0, INT64), graph.scalar(last, INT64))
    skipped = graph.node("Equal", targets, graph.scalar(ignored, INT64))
    classes = graph.node("Where", skipped, targets, nearest)
    inputs = graph.tensor(op.predictions), classes, graph.tensor(op.weights)
    return graph.node(
        "NegativeLogLikelihoodLoss", *inputs, reduction=op.reduction.data, ignore_index=ignored
    )


EMITTERS: EmitterTable = {
    loss.CrossEntropyOp: cross_entropy,
    loss.CrossEntropyWithLogitsOp: cross_entropy,
    loss.NllLossOp: nll_loss,
    norm.BatchNormOp: batch_norm,
    norm.BiasAddOp: bias_add,
    norm.GroupNormOp: group_norm,
    norm.InstanceNormOp: instance_norm,
    norm.L2NormalizeOp: l2_normalize,
    norm.LayerNormOp: layer_norm,
    norm.LrnOp: local_response_norm,
    norm.RmsNormOp: rms_norm,
}
