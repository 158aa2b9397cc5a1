"""
Emitters of operators on quantised tensors.

Zero points are i32 in relay and have the dtype of the quantised tensor in ONNX, so they have to be
constants, and in its range; where relay computes in fixed-point numbers, so are the scales.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from xrelay.dialects.qnn import conversion as qnn
from xrelay.dialects.qnn.parameters import fixed_point
from xrelay.frontends.onnx.errors import NotExpressible
from xrelay.frontends.onnx.exporter.graph import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    DType,
    EmitterTable,
    OutputGraph,
    Tensor,
    accepts,
    dtype_of,
)
from xrelay.frontends.onnx.exporter.tensor.binary import divided_by
from xrelay.frontends.onnx.exporter.tensor.unary import truncated
from xrelay.interpreters.arrays import Array


def elements_of(graph: OutputGraph, value: SSAValue, what: str) -> Array:
    """The elements of a constant; `what` names it in the refusal of other values."""
    known = graph.known(graph.tensor(value))
    if known is None:
        raise NotExpressible(f"its {what.replace('_', ' ')} is not a constant")
    return known


def zero_point_of(graph: OutputGraph, value: SSAValue, dtype: DType, what: str) -> Array:
    """A zero point as an element of the quantised dtype."""
    zero = elements_of(graph, value, what)
    info = np.iinfo(dtype)
    if not bool(np.all((zero >= info.min) & (zero <= info.max))):
        raise NotExpressible(f"its {what.replace('_', ' ')} has numbers that {dtype} cannot hold")
    return zero.astype(dtype)


def _parameters(
    graph: OutputGraph, scale: SSAValue, zero: Array, channels: int
) -> tuple[Tensor, Tensor]:
    """A scale and a zero point of one shape: both numbers, or both vectors of channels."""
    tensor = graph.tensor(scale)
    shape = graph.shape(scale, "scale")
    if channels == 1 or (int(np.prod(shape)) == 1 and zero.size == 1):
        return graph.reshape(tensor, ()), graph.constant(zero.reshape(()))
    if shape != (channels,):
        tensor = graph.filled(tensor, [channels])
    return tensor, graph.constant(np.ascontiguousarray(np.broadcast_to(zero, (channels,))))


def _channels(graph: OutputGraph, data: SSAValue, axis: int) -> int:
    """How many channels data have along an axis."""
    shape = graph.shape(data)
    return shape[axis] if shape else 1


def quantize(graph: OutputGraph, op: qnn.QnnQuantizeOp) -> Tensor:
    """QuantizeLinear."""
    dtype = dtype_of(op.result.type, "the result")
    if not accepts("QuantizeLinear", dtype, 2):
        raise NotExpressible(f"'out_dtype' is {dtype}, to which ONNX does not quantise")
    zero = zero_point_of(graph, op.output_zero_point, dtype, "output_zero_point")
    channels = _channels(graph, op.data, op.channel_axis)
    parameters = _parameters(graph, op.output_scale, zero, channels)
    axis = op.channel_axis if op.data.type.get_num_dims() else None
    return graph.node("QuantizeLinear", graph.tensor(op.data), *parameters, axis=axis)


def _along(graph: OutputGraph, value: SSAValue, axis: int, rank: int) -> Tensor:
    """A parameter shaped to broadcast along an axis."""
    tensor = graph.tensor(value)
    if int(np.prod(graph.shape(value, "parameter"))) == 1:
        return graph.reshape(tensor, ())
    return graph.along(tensor, axis, rank)


def dequantize(graph: OutputGraph, op: qnn.QnnDequantizeOp) -> Tensor:
    """DequantizeLinear; for i32, which has no zero point there, what it computes."""
    data, axis = graph.tensor(op.data), op.channel_axis
    if data.dtype == INT32:
        rank = len(graph.shape(op.data))
        difference = graph.node("Sub", data, _along(graph, op.input_zero_point, axis, rank))
        factor = _along(graph, op.input_scale, axis, rank)
        return graph.node("Mul", graph.cast(difference, FLOAT32), factor)
    zero = zero_point_of(graph, op.input_zero_point, data.dtype, "input_zero_point")
    channels = _channels(graph, op.data, axis)
    parameters = _parameters(graph, op.input_scale, zero, channels)
    return graph.node(
        "DequantizeLinear", data, *parameters, axis=axis if op.data.type.get_num_dims() else None
    )


# Another scale


def _fixed_point_product(
    graph: OutputGraph, data: Tensor, ratio: Array, *, rounds_up: bool
) -> Tensor:
    """
    Integers of i32 times fixed-point numbers of 31 bits, in i64, rounded to i32. `ratio` broadcasts
    with the data.
    """
    pairs = [fixed_point(float(number)) for number in ratio.reshape(-1)]
    if any(not -31 <= shift <= 31 for _, shift in pairs):
        raise NotExpressible("the ratio of the scales is not between 2**-32 and 2**31")

    def numbers(values: Sequence[int]) -> Tensor:
        return graph.constant(np.array(values, np.int64).reshape(ratio.shape))

    left = numbers([2 ** max(shift, 0) for _, shift in pairs])
    right = [31 + max(-shift, 0) for _, shift in pairs]
    moved = graph.node("Mul", graph.cast(data, INT64), left)
    product = graph.node("Mul", moved, numbers([size for size, _ in pairs]))
    bias = numbers([2 ** (bits - 1) for bits in right])
    if not rounds_up:
        below = graph.node("Less", product, graph.scalar(0, INT64))
        bias = graph.node("Sub", bias, graph.cast(below, INT64))
    total = graph.node("Add", product, bias)
    return graph.cast(divided_by(graph, total, numbers([2**bits for bits in right])), INT32)


def clamped(graph: OutputGraph, data: Tensor, dtype: DType) -> Tensor:
    """Integers of i32 in the range of a dtype."""
    if dtype == INT32:
        return data
    info = np.iinfo(dtype)
    low, high = (graph.scalar(number, INT32) for number in (info.min, info.max))
    return graph.cast(graph.node("Clip", data, low, high), dtype)


def _ratio(graph: OutputGraph, scale: SSAValue, new_scale: SSAValue, axis: int, rank: int) -> Array:
    """The ratio of two scales, in f64, shaped to broadcast along an axis."""
    scales = scale, new_scale
    old, new = (elements_of(graph, each, "scale").astype(np.float64) for each in scales)
    if not (
        bool(np.all(np.isfinite(old) & (old >= 0))) and bool(np.all(np.isfinite(new) & (new > 0)))
    ):
        raise NotExpressible("the scales are not positive finite numbers")
    quotient = np.asarray(old / new.reshape(()))
    if quotient.size == 1:
        return quotient.reshape(())
    return quotient.reshape([-1 if d == axis else 1 for d in range(rank)])


def requantized(
    graph: OutputGraph,
    data: SSAValue,
    scale: SSAValue,
    zero: SSAValue,
    new: tuple[SSAValue, SSAValue],
    axis: int,
    rank: int,
) -> Tensor:
    """Quantised numbers with another scale and zero point, as i32, in fixed-point numbers."""
    own = _along(graph, zero, axis, rank)
    centred = graph.node("Sub", graph.cast(graph.tensor(data), INT32), own)
    ratio = _ratio(graph, scale, new[0], axis, rank)
    moved = _fixed_point_product(graph, centred, ratio, rounds_up=True)
    return graph.node("Add", moved, graph.reshape(graph.tensor(new[1]), ()))


def _rounded(
    graph: OutputGraph, op: qnn.QnnRequantizeOp, scaled: Tensor, new_zero: Tensor
) -> Tensor:
    """Whole numbers, moved by a zero point before or after they are rounded."""
    if op.rounds_to_even:
        return graph.node("Add", graph.node("Round", scaled), new_zero)
    exact, half = graph.node("Add", scaled, new_zero), graph.scalar(0.5, scaled.dtype)
    if op.rounds_up:
        return graph.node("Floor", graph.node("Add", exact, half))
    inner = truncated(graph, exact)
    rest = graph.node("Abs", graph.node("Sub", exact, inner))
    zero = graph.scalar(0, scaled.dtype)
    away = graph.node("Where", graph.node("Less", rest, half), zero, graph.node("Sign", exact))
    return graph.node("Add", inner, away)


def requantize(graph: OutputGraph, op: qnn.QnnRequantizeOp) -> Tensor:
    """Integer arithmetic, or that of floating point, as `compute_dtype` asks."""
    rank, axis = len(graph.shape(op.data)), op.channel_axis
    dtype = dtype_of(op.result.type, "the result")
    zero = _along(graph, op.input_zero_point, axis, rank)
    new_zero = graph.reshape(graph.tensor(op.output_zero_point), ())
    ratio = _ratio(graph, op.input_scale, op.output_scale, axis, rank)
    data = graph.tensor(op.data)
    if op.float_dtype is None:
        centred = graph.node("Sub", graph.cast(data, INT32), zero)
        moved = _fixed_point_product(graph, centred, ratio, rounds_up=op.rounds_up)
        return clamped(graph, graph.node("Add", moved, new_zero), dtype)
    compute = FLOAT32 if op.compute_dtype.data == "float32" else FLOAT64
    centred = graph.node("Sub", graph.cast(data, compute), graph.cast(zero, compute))
    scaled = graph.node("Mul", centred, graph.constant(ratio.astype(compute)))
    whole = _rounded(graph, op, scaled, graph.cast(new_zero, compute))
    if dtype == INT32:
        raise NotExpressible(
            "'out_dtype' is i32: ONNX leaves open what Cast makes of large numbers"
        )
    info = np.iinfo(dtype)
    bounds = (graph.scalar(number, compute) for number in (info.min, info.max))
    return graph.cast(graph.node("Clip", whole, *bounds), dtype)


EMITTERS: EmitterTable = {
    qnn.QnnDequantizeOp: dequantize,
    qnn.QnnQuantizeOp: quantize,
    qnn.QnnRequantizeOp: requantize,
}
