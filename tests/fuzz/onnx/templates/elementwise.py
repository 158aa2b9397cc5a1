"""Nodes of operators that compute each element alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import helper

from tests.fuzz.onnx.growth import Growth, Tensor, Unfit, schema_of
from tests.fuzz.onnx.templates.template import Template
from tests.fuzz.onnx.values import DTYPES, Array

ATTRIBUTES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "Celu": {"alpha": (0.5, 1.0, 2.0)},
    "Elu": {"alpha": (0.5, 1.0, 2.0)},
    "Gelu": {"approximate": ("none", "tanh")},
    "HardSigmoid": {"alpha": (0.2, 0.5), "beta": (0.5, 0.1)},
    "IsInf": {"detect_negative": (0, 1), "detect_positive": (0, 1)},
    "LeakyRelu": {"alpha": (0.01, 0.3, -0.5, 2.0)},
    "Selu": {"alpha": (1.5,), "gamma": (1.1,)},
    "Shrink": {"bias": (0.0, 1.0), "lambd": (1.0, 2.0)},
    "Swish": {"alpha": (1.0, 0.5, -1.0)},
    "ThresholdedRelu": {"alpha": (1.0, 0.0, -0.5)},
}
"""What attributes of operators of one operand are drawn from; each is left out at times."""

RANGES: Mapping[str, tuple[float, float]] = {
    "Acos": (-1, 1),
    "Acosh": (1, np.inf),
    "Asin": (-1, 1),
    "Atanh": (-1, 1),
    "Log": (0, np.inf),
    "Sqrt": (0, np.inf),
}
"""Outside, these are NaN: not what is tried most."""


def unary(g: Growth, op: str) -> None:
    """One operand, attributes."""
    (formal,) = schema_of(op, g.opset).inputs
    low, high = RANGES.get(op, (-np.inf, np.inf))

    def within(array: Array) -> bool:
        with np.errstate(invalid="ignore"):
            return bool(((array >= low) & (array <= high)).all())

    where = within if op in RANGES and g.chance(0.8) else None
    attributes = {
        name: g.choice(*options)
        for name, options in ATTRIBUTES.get(op, {}).items()
        if g.chance(0.7)
    }
    g.node(op, **{formal.name: g.pick(op, formal.name, where=where)}, **attributes)


def binary(g: Growth, op: str) -> None:
    """Two operands of one dtype that are broadcast."""
    first, second = (formal.name for formal in schema_of(op, g.opset).inputs)
    kind = "iub" if op in ("And", "Or", "Xor", "Equal") and g.chance(0.8) else ""
    lhs = g.pick(op, first, kind=kind)
    rhs = lhs if g.chance(0.05) else g.partner(lhs)
    if g.chance(0.3) and op not in ("PRelu",):
        lhs, rhs = rhs, lhs
    g.node(op, **{first: lhs, second: rhs})


def divide(g: Growth, op: str) -> None:
    """Integers are divided by what is not zero."""
    lhs = g.pick(op, "A")
    rhs = g.partner(lhs)
    attributes: dict[str, Any] = {}
    if op == "Mod":
        attributes["fmod"] = 1 if lhs.dtype.kind == "f" else g.choice(0, 0, 1)
    if lhs.dtype.kind != "f":
        if not rhs.array.all() or g.chance(0.5):
            rhs = g.leaf(np.array(g.choice(1, 2, 3, 5, 7), lhs.dtype), 0.7)
        if np.any((lhs.array == _lowest(lhs)) & (rhs.array.astype(np.float64) == -1)):
            raise Unfit("the quotient overflows")
    g.node(op, A=lhs, B=rhs, **attributes)


def _lowest(tensor: Tensor) -> Any:
    return np.iinfo(tensor.dtype).min if tensor.dtype.kind == "i" else -1


def power(g: Growth, op: str) -> None:
    """Small exponents, of any dtype."""
    base = g.pick(op, "X", kind="f" if g.chance(0.8) else "")
    kind = base.dtype if g.chance(0.8) else g.choice("float32", "int64", "int32")
    if base.dtype.kind != "f":
        exponent: Any = np.array(g.choice(0, 1, 2, 3), kind)
    elif g.chance(0.6):
        exponent = np.array(g.choice(2, 0.5, 3, -1, -2, -0.5, 1, 0, 4, 0.75)).astype(kind)
    else:
        exponent = g.partner(base, kind)
    g.node(op, X=base, Y=exponent)


def variadic(g: Growth, op: str) -> None:
    """One or more operands that are broadcast."""
    (formal,) = schema_of(op, g.opset).inputs
    first = g.pick(op, formal.name)
    others = [g.partner(first, unidirectional=True) for _ in range(g.choice(0, 1, 1, 1, 2, 3))]
    operands = [first, *others]
    g.rng.shuffle(operands)
    g.raw_node(op, operands)


def clip(g: Growth, op: str) -> None:
    """Bounds are attributes before operator set 11, numbers of the data's dtype since."""
    data = g.pick(op, "input")
    low, high = g.choice((-1, 1), (0, 6), (None, 2), (0, None), (-3, 3), (2, -2), (1, 100))
    if data.dtype.kind == "u":
        low = None if low is None else abs(low)
        high = None if high is None else abs(high)
    bounds = {
        name: number if g.opset < 11 else np.array(number, data.dtype)
        for name, number in (("min", low), ("max", high))
        if number is not None
    }
    if g.opset < 11:
        g.node(op, input=data, **{key: float(number) for key, number in bounds.items()})
    else:
        g.node(op, input=data, **bounds)


def cast(g: Growth, op: str) -> None:
    """Any dtype to any other; floating point to integers in the range of these."""
    data = g.pick(op, "input")
    to = np.dtype(g.choice(*DTYPES))
    if data.dtype.kind == "f" and to.kind in "iu":
        info = np.iinfo(to)
        wide = data.array.astype(np.float64)
        with np.errstate(invalid="ignore"):
            if not ((wide > info.min) & (wide < min(info.max, 2.0**62))).all():
                raise Unfit("numbers are out of range")
    if op == "CastLike":
        g.node(op, input=data, target_type=g.new(to, (g.choice(1, 2),)))
    else:
        g.node(op, input=data, to=helper.np_dtype_to_tensor_dtype(to))


def bit_cast(g: Growth, op: str) -> None:
    """Between types of as many bits."""
    data = g.pick(op, "input", kind="iuf")
    same = [each for each in DTYPES if np.dtype(each).itemsize == data.dtype.itemsize]
    to = np.dtype(g.choice(*(each for each in same if each != "bool")))
    g.node(op, input=data, to=helper.np_dtype_to_tensor_dtype(to))


def bit_shift(g: Growth, op: str) -> None:
    """By fewer bits than there are."""
    data = g.pick(op, "X")
    bits = 8 * data.dtype.itemsize
    by = np.random.default_rng(g.rng.getrandbits(32)).integers(0, bits, data.shape)
    g.node(op, X=data, Y=g.leaf(by.astype(data.dtype)), direction=g.choice("LEFT", "RIGHT"))


def where(g: Growth, op: str) -> None:
    """A condition and two operands, broadcast."""
    data = g.pick(op, "X")
    condition = g.partner(data, bool)
    g.node(op, condition=condition, X=data, Y=g.partner(data, unidirectional=True))


def prelu(g: Growth, op: str) -> None:
    """A slope that is broadcast to the data."""
    data = g.pick(op, "X", kind="f")
    g.node(op, X=data, slope=g.partner(data, unidirectional=True))


def swiglu(g: Growth, op: str) -> None:
    """Two operands of one shape."""
    data = g.pick(op, "A")
    g.node(op, A=data, B=g.new(data.dtype, data.shape), alpha=g.choice(1.0, 0.5))


UNARY = [
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitwiseNot",
    "Ceil",
    "Celu",
    "Cos",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Log",
    "Mish",
    "Neg",
    "Not",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
]
BINARY = [
    "Add",
    "And",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Mul",
    "Or",
    "Sub",
    "Xor",
]

ELEMENTWISE_TEMPLATES: Mapping[str, Template] = {
    **dict.fromkeys(UNARY, unary),
    **dict.fromkeys(BINARY, binary),
    **dict.fromkeys(("Div", "Mod"), divide),
    **dict.fromkeys(("Max", "Min", "Mean", "Sum"), variadic),
    **dict.fromkeys(("Cast", "CastLike"), cast),
    "BitCast": bit_cast,
    "BitShift": bit_shift,
    "Clip": clip,
    "PRelu": prelu,
    "Pow": power,
    "SwiGLU": swiglu,
    "Where": where,
}
