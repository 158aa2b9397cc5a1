"""Activation functions that Relay composes of simpler operators."""

from math import pi, prod, sqrt

from xdsl.ir import SSAValue

from xrelay.dialects.shapes import normalize_axis
from xrelay.dialects.tensor.binary import AddOp, DivideOp, GreaterOp, LessOp, MultiplyOp, SubtractOp
from xrelay.dialects.tensor.creation import OneHotOp
from xrelay.dialects.tensor.reduce import ArgmaxOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import (
    AbsOp,
    ClipOp,
    ErfOp,
    ExpOp,
    LogOp,
    NegativeOp,
    ReluOp,
    SigmoidOp,
    TanhOp,
)
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import as_matrix, reshaped
from xrelay.frontends.onnx.importer.node import ConverterTable, Node
from xrelay.frontends.onnx.importer.tensor.unary import in_floating_point


def times(node: Node, value: SSAValue, factor: float) -> SSAValue:
    """value * factor"""
    return value if factor == 1 else node.emit(MultiplyOp(value, node.scalar(factor, value)))


def plus(node: Node, value: SSAValue, number: float) -> SSAValue:
    """value + number"""
    return node.emit(AddOp(value, node.scalar(number, value)))


def _times_sum(node: Node, value: SSAValue, number: float, other: SSAValue) -> SSAValue:
    """value * (number + other)"""
    return node.emit(MultiplyOp(value, plus(node, other, number)))


def _below_zero(node: Node, data: SSAValue, below: SSAValue) -> SSAValue:
    """Another value where x is below 0, x itself elsewhere: where it is -0 or NaN too."""
    negative = node.emit(LessOp(data, node.scalar(0, data)))
    return node.emit(WhereOp(negative, below, data))


def exponential_below_zero(
    node: Node, data: SSAValue, alpha: float, divisor: float = 1.0
) -> SSAValue:
    """alpha * (exp(x / divisor) - 1) below 0, x above."""
    scaled = data if divisor == 1 else node.emit(DivideOp(data, node.scalar(divisor, data)))
    below = node.emit(SubtractOp(node.emit(ExpOp(scaled)), node.scalar(1, data)))
    return _below_zero(node, data, times(node, below, alpha))


def elu(node: Node) -> SSAValue:
    """Elu: alpha * (exp(x) - 1) below 0, x above."""
    return exponential_below_zero(node, node.input(0), node.real("alpha", 1.0))


def celu(node: Node) -> SSAValue:
    """Celu: alpha * (exp(x / alpha) - 1) below 0, x above."""
    alpha = node.real("alpha", 1.0)
    return exponential_below_zero(node, node.input(0), alpha, alpha)


def selu(node: Node) -> SSAValue:
    """Selu: gamma times Elu."""
    alpha = node.real("alpha", 1.67326319217681884765625)
    gamma = node.real("gamma", 1.05070102214813232421875)
    return times(node, exponential_below_zero(node, node.input(0), alpha), gamma)


def parametric_relu(node: Node) -> SSAValue:
    """PRelu: slope * x below 0, x above; the slopes broadcast."""
    data, slope = node.input(0), node.input(1)
    return _below_zero(node, data, node.emit(MultiplyOp(slope, data)))


def parametric_relu_of_channels(node: Node) -> SSAValue:
    """PRelu before operator set 7: one slope, or one for each channel, which is the second axis."""
    data, slope = node.input(0), node.input(1)
    shape, count = node.shape_of(data), prod(node.shape_of(slope))
    if count == 1:
        slope = reshaped(node, slope, ())
    elif len(shape) > 1 and count == shape[1]:
        slope = reshaped(node, slope, (count, *[1] * (len(shape) - 2)))
    else:
        raise OnnxImportError(
            f"there are {count} slopes for data of the shape {list(shape)}, expected one for each channel"
        )
    return _below_zero(node, data, node.emit(MultiplyOp(slope, data)))


def thresholded_relu(node: Node) -> SSAValue:
    """ThresholdedRelu: x above alpha, else 0."""
    alpha = node.real("alpha", 1.0)
    return thresholded(node, node.input(0), alpha)


def thresholded(node: Node, data: SSAValue, alpha: float) -> SSAValue:
    """x above alpha, else 0"""
    above = node.emit(GreaterOp(data, node.scalar(alpha, data)))
    return node.emit(WhereOp(above, data, node.scalar(0, data)))


def clipped_line(node: Node, data: SSAValue, alpha: float, beta: float) -> SSAValue:
    """alpha * x + beta, between 0 and 1"""
    return node.emit(ClipOp(plus(node, times(node, data, alpha), beta), 0.0, 1.0))


def hard_sigmoid(node: Node) -> SSAValue:
    """HardSigmoid: alpha * x + beta, between 0 and 1."""
    alpha, beta = node.real("alpha", 0.2), node.real("beta", 0.5)
    return clipped_line(node, node.input(0), alpha, beta)


def hard_swish(node: Node) -> SSAValue:
    """HardSwish: x times the hard sigmoid of slope 1/6."""
    data = node.input(0)
    return node.emit(MultiplyOp(data, clipped_line(node, data, 1 / 6, 0.5)))


def swish(node: Node) -> SSAValue:
    """Swish: x * sigmoid(alpha * x)."""
    alpha = node.real("alpha", 1.0)
    data = node.input(0)
    return node.emit(MultiplyOp(data, node.emit(SigmoidOp(times(node, data, alpha)))))


def shrink(node: Node) -> SSAValue:
    """Shrink: x + bias below -lambd, x - bias above lambd, 0 between; without fractions for integers."""
    limit, bias = node.real("lambd", 0.5), node.real("bias", 0.0)

    def compute(data: SSAValue) -> SSAValue:
        high = node.emit(GreaterOp(data, node.scalar(limit, data)))
        low = node.emit(LessOp(data, node.scalar(-limit, data)))
        above = node.emit(WhereOp(high, plus(node, data, -bias), node.scalar(0, data)))
        return node.emit(WhereOp(low, plus(node, data, bias), above))

    return in_floating_point(node, node.input(0), compute)


def smooth_relu(node: Node, data: SSAValue) -> SSAValue:
    """
    max(x, 0) + log(1 + exp(-|x|)), in which no exp overflows. What 1 + exp(-|x|) lost when it was
    rounded is added to the logarithm: all of the result for small x.
    """
    exponential = node.emit(ExpOp(node.emit(NegativeOp(node.emit(AbsOp(data))))))
    total = plus(node, exponential, 1)
    # Subtracting 1 from the total would be merged with adding 1.
    lost = node.emit(AddOp(node.emit(SubtractOp(node.scalar(1, data), total)), exponential))
    rest = node.emit(AddOp(node.emit(LogOp(total)), lost))
    return node.emit(AddOp(node.emit(ReluOp(data)), rest))


def softplus(node: Node) -> SSAValue:
    """Softplus: log(1 + exp(x))."""
    return smooth_relu(node, node.input(0))


def mish(node: Node) -> SSAValue:
    """Mish: x * tanh(softplus(x))."""
    data = node.input(0)
    return node.emit(MultiplyOp(data, node.emit(TanhOp(smooth_relu(node, data)))))


def softsign(node: Node) -> SSAValue:
    """Softsign: x / (1 + |x|)."""
    return softened_sign(node, node.input(0))


def softened_sign(node: Node, data: SSAValue) -> SSAValue:
    """x / (1 + |x|)"""
    return node.emit(DivideOp(data, plus(node, node.emit(AbsOp(data)), 1)))


def gelu(node: Node) -> SSAValue:
    """Gelu: x / 2 * (1 + erf(x / sqrt(2))), or its approximation by tanh."""
    approximate = node.string("approximate", "none")
    data = node.input(0)
    half = times(node, data, 0.5)
    if approximate == "none":
        return _times_sum(node, half, 1, node.emit(ErfOp(times(node, data, sqrt(0.5)))))
    if approximate != "tanh":
        raise UnsupportedNode(f"'approximate' is \"{approximate}\"")
    square = node.emit(MultiplyOp(data, data))
    inner = _times_sum(node, data, 1, times(node, square, 0.044715))
    return _times_sum(node, half, 1, node.emit(TanhOp(times(node, inner, sqrt(2 / pi)))))


def hardmax(node: Node) -> SSAValue:
    """Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere."""
    return _hardmax(node, node.input(0), node.integer("axis", -1))


def flat_hardmax(node: Node) -> SSAValue:
    """Hardmax before operator set 13, over all axes from `axis` on."""
    data = node.input(0)
    axis = normalize_axis(node.integer("axis", 1), len(node.shape_of(data)))
    matrix = as_matrix(node, data, axis)
    return reshaped(node, _hardmax(node, matrix, -1), node.shape_of(data))


def _hardmax(node: Node, data: SSAValue, axis: int) -> SSAValue:
    shape = node.shape_of(data)
    axis = normalize_axis(axis, len(shape))
    if 0 in shape:
        return data
    place = node.emit(ArgmaxOp(data, [axis]))
    on, off = node.scalar(1, data), node.scalar(0, data)
    return node.emit(OneHotOp(place, on, off, shape[axis], axis=axis))


CONVERTERS: ConverterTable = {
    "Celu": {12: celu},
    "Elu": {1: elu},
    "Gelu": {20: gelu},
    "HardSigmoid": {1: hard_sigmoid},
    "HardSwish": {14: hard_swish},
    "Mish": {18: mish},
    "PRelu": {1: parametric_relu_of_channels, 7: parametric_relu},
    "Selu": {6: selu},
    "Shrink": {9: shrink},
    "Softplus": {1: softplus},
    "Softsign": {1: softsign},
    "Swish": {24: swish},
    "ThresholdedRelu": {10: thresholded_relu},
    "Hardmax": {1: flat_hardmax, 13: hardmax},
}
