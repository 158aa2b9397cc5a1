"""
Operators that use elementary functions, against their formulas in float64: activation functions on
numbers, softmax and its like on rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from float_errors import erf_of, sigmoid
from onnx import ModelProto, helper, numpy_helper

Array = Any

OPSET = 24
"""The first one that has Swish."""

SELU = (1.67326319217681884765625, 1.05070102214813232421875)
"""The alpha and gamma of Selu."""


Size = Callable[[Array, float], Any]


def _result(_: Array, tiny: float) -> Any:
    return tiny


def _unit(x: Array, _: float) -> Any:
    return np.ones((len(x), *[1] * (x.ndim - 1)))


def _argument(x: Array, _: float) -> Any:
    return np.abs(x)


def _subnormal_factor(x: Array, tiny: float) -> Any:
    """x times what is rounded as the smallest normal number is."""
    return np.abs(x) * tiny


@dataclass(frozen=True)
class Activation:
    """An ONNX operator with one input, and what its results may differ from."""

    op: str
    exact: Callable[[Array], Array]
    f32: float
    """The largest error in f32, in units of the last place of the result or of `size`."""
    f16: float
    f64: float
    """Of which the formula in f64 has a part."""
    size: Size = _result
    """Of inputs and the smallest normal number: what is rounded on the way to smaller results."""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inputs: Sequence[str] = ("x",)

    @property
    def label(self) -> str:
        """The operator and its attributes."""
        return " ".join([self.op, *(f"{name}={value}" for name, value in self.attributes.items())])

    def largest(self, dtype: Any) -> float:
        """The bound for a type."""
        return {np.float16: self.f16, np.float32: self.f32, np.float64: self.f64}[dtype]


def gelu(x: Array) -> Array:
    """x / 2 (1 + erf(x / sqrt(2)))"""
    return x / 2 * (1 + erf_of(x * sqrt(0.5)))


def gelu_by_tanh(x: Array) -> Array:
    """The approximation of it."""
    return x / 2 * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x: Array, alpha: float = 1.0, divisor: float = 1.0) -> Array:
    """alpha * (exp(x / divisor) - 1) below 0, x above."""
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0) / divisor), x)


ACTIVATIONS = (
    Activation("Gelu", gelu, 1.7, 0.6, 3, _argument),
    Activation("Gelu", gelu_by_tanh, 2.3, 0.55, 4, _argument, {"approximate": "tanh"}),
    Activation("Swish", lambda x: x * sigmoid(x), 3.3, 0.51, 5, _subnormal_factor),
    Activation("Sigmoid", sigmoid, 2.5, 0.51, 4),
    Activation("Softplus", softplus, 2.5, 0.51, 5),
    Activation("Mish", lambda x: x * np.tanh(softplus(x)), 4.6, 0.51, 7, _subnormal_factor),
    Activation("Elu", elu, 0.6, 0.3, 1, _unit),
    Activation("Elu", lambda x: elu(x, 0.5), 0.4, 0.15, 1, _unit, {"alpha": 0.5}),
    Activation("Selu", lambda x: SELU[1] * elu(x, SELU[0]), 1.7, 0.85, 3, _unit),
    Activation("Celu", lambda x: elu(x, 2.0, 2.0), 1.1, 0.51, 2, _unit, {"alpha": 2.0}),
    Activation(
        "HardSigmoid", lambda x: np.clip(float(np.float32(0.2)) * x + 0.5, 0, 1), 0.5, 0.5, 1, _unit
    ),
    Activation("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), 1.2, 0.7, 2, _argument),
    Activation("Softsign", lambda x: x / (1 + np.abs(x)), 1.6, 0.51, 2),
    Activation("Reciprocal", lambda x: 1 / x, 0.51, 0.51, 1),
)
"""Those on numbers."""


def log_sum(x: Array) -> Array:
    """log of the sum of exponentials of rows."""
    largest = np.max(x, -1, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    return np.log(np.exp(x - largest).sum(-1, keepdims=True)) + largest


def softmax(x: Array) -> Array:
    """exp(x) of rows over their sum."""
    below = np.exp(x - np.max(x, -1, keepdims=True))
    return below / below.sum(-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    """The logarithm of it."""
    below = x - np.max(x, -1, keepdims=True)
    return below - np.log(np.exp(below).sum(-1, keepdims=True))


def _distance(x: Array, _: float) -> Any:
    """The distance from the largest element, of which e is raised; the smallest results become 0."""
    with np.errstate(all="ignore"):
        below = np.max(x, -1, keepdims=True) - x
        return np.maximum(np.nan_to_num(below * softmax(x)), 2.0**-100)


ROWS = (
    Activation("Softmax", softmax, 2.5, 0.51, 4, _distance),
    Activation("LogSoftmax", log_softmax, 1.7, 0.51, 4, _unit),
    Activation("ReduceLogSumExp", log_sum, 1.1, 0.51, 2, _unit, inputs=("x", "axes")),
)
"""Those on rows."""


def model(activations: Sequence[Activation], x: Array) -> ModelProto:
    """A model with one result for each."""
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    results = [f"y{i}" for i in range(len(activations))]
    nodes = [
        helper.make_node(each.op, each.inputs, [result], **each.attributes)
        for each, result in zip(activations, results, strict=True)
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", dtype, x.shape)],
        [helper.make_empty_tensor_value_info(result) for result in results],
        [numpy_helper.from_array(np.array([-1]), "axes")],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


ENDS = (
    *(0, 1e-38, 2.0**-25, 2.0**-24, 1e-4, 1, 2.5, 3, 3.9192, 5.5426, 6, 8.66, 9.0109, 1e10),
    *(16.6355, 17.3287, 18.0218, 87.3365, 88.3763, 88.7228, 103.279, 103.972, 3.4e38, np.inf),
)
"""f32 numbers near which a function reaches a limit, overflows or underflows."""

ENDS_OF_F64 = (
    *(1e-320, 2.3e-308, 2.0**-54, 5.9216, 8.3744, 18.715, 19.062, 36.043, 37.43),
    *(708.396, 709.782, 744.44, 745.133, 1e155, 1.7e308),
)
"""The same in f64."""


def numbers(dtype: Any, step: int) -> Array:
    """
    All f16 numbers; every `step`th f32 number and the neighbourhoods of ends; in f64 the f16 numbers
    and what is near the ends of both.
    """
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    if dtype == np.float16:
        return halves
    near = np.array(ENDS, np.float32).view(np.int32)[:, None] + np.arange(-200, 201)
    if dtype == np.float64:
        size = np.abs([*ENDS, *ENDS_OF_F64, *(x * (1 - 2.0**-40) for x in ENDS_OF_F64)])
        return np.concatenate([halves.astype(np.float64), size, -size])
    near = near.clip(0, 0x7F800001).ravel()
    bits = np.concatenate([np.arange(0, 1 << 32, step), near, near | 1 << 31])
    return bits.astype(np.uint32).view(np.float32)


def rows(x: Array) -> Array:
    """Each number in a row with others, and rows of one number."""
    result = np.tile(np.array([0, -1, 0, 2.5], x.dtype), (len(x), 1))
    result[:, 0] = x
    limit = np.finfo(x.dtype).max
    same = np.array([[0, -0.0, 1, np.inf, -np.inf, np.nan, limit, -limit]], x.dtype)
    return np.concatenate([result, np.tile(same.T, 4)])


def units(found: Array, exact: Array, size: Any) -> Array:
    """
    Errors in units of the last place of the exact value or of `size`, the larger one counting;
    infinite for wrong special values and zeros of the wrong sign.
    """
    info = np.finfo(found.dtype)
    with np.errstate(all="ignore"):
        # What is rounded to infinity is as far from the largest number as the next one would be.
        limit = np.ldexp(1.0, info.maxexp)
        value, goal = (np.clip(each.astype(np.float64), -limit, limit) for each in (found, exact))
        place = np.maximum(np.maximum(np.abs(goal), size), info.tiny)
        unit = np.spacing(np.minimum(place, info.max).astype(found.dtype)).astype(np.float64)
        result = np.where(value == goal, 0, np.abs(value - goal) / unit)
    wrong = np.isnan(found) != np.isnan(exact)
    wrong |= np.isinf(exact) & (found != exact)
    wrong |= (exact == 0) & (found == 0) & (np.signbit(found) != np.signbit(exact))
    return np.where(wrong, np.inf, np.where(np.isnan(exact), 0, result))


def largest_error(activation: Activation, x: Array, found: Array) -> tuple[float, Any]:
    """The largest error among results for `x`, in units, and where it is."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        exact, size = activation.exact(wide), activation.size(wide, float(np.finfo(x.dtype).tiny))
    sizes = units(found, exact, size)
    place = np.unravel_index(np.argmax(sizes), sizes.shape)
    return float(sizes[place]), x[place[0]]
