"""
Cases of exported operators that work element by element, with which those of export.py begin; and the dtypes and
numbers of all of them.
"""

from itertools import product
from typing import Any

import numpy as np
from graphs import Graph
from xdsl.dialects.builtin import IntegerType, Signedness, f16, f32, f64, i1, i8, i16, i32, i64

from cases.kernel import INTEGERS, SHAPES, SIGNED, CaseTable
from xrelay.dialects.tensor import binary, bits, like, transform, unary
from xrelay.dialects.tensor.unary import FloatUnaryOp

ELEMENTS = CaseTable()
FLOATS = ("float16", "float32", "float64")
"""Not bfloat16: onnxruntime takes no arrays of it."""
DTYPES = (*FLOATS, *INTEGERS, "bool")
COMPUTED = (*FLOATS, "int8", "int16", "int32", "int64", "uint8", "uint32", "bool")
"""Dtypes for longer cases: onnxruntime has kernels of few operators for the others."""
ui8 = IntegerType(8, Signedness.UNSIGNED)


def finite(g: Graph, dtype: str, *shape: int) -> Any:
    """Numbers without NaN."""
    x = g.numbers(dtype, *shape)
    return np.where(np.isnan(x), np.ones_like(x), x) if x.dtype.kind == "f" else x


@ELEMENTS.each(
    tuple(
        op for op in unary.UNARY_OPS if issubclass(op, FloatUnaryOp) and op is not unary.LeakyReluOp
    ),
    FLOATS,
)
def functions(g: Graph, dtype: str) -> None:
    for op in (o for o in unary.UNARY_OPS if issubclass(o, FloatUnaryOp)):
        if op is unary.ErfOp and dtype == "float64":
            continue  # The reference evaluator computes it in f32.
        for shape in SHAPES:
            x = g.numbers(dtype, *shape)
            if op in (unary.SinOp, unary.CosOp):
                # Arguments whose reduction to a period is exact enough in every library.
                x = np.where(np.abs(x) < 1e3, x, np.ones_like(x))
            g.show(op(g.input(np.asarray(x, dtype))), 8)


@ELEMENTS.each((unary.LeakyReluOp, unary.ClipOp), FLOATS)
def activations(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        x = g.input(g.numbers(dtype, *shape))
        for alpha in (0.25, 0.01, -1.5):
            g.show(unary.LeakyReluOp(x, alpha), 2)
        y = g.input(finite(g, dtype, *shape))
        for low, high in ((-1.5, 2), (0, np.inf), (3, 1)):
            g.show(unary.ClipOp(y, low, high))


@ELEMENTS.each(
    (
        unary.AbsOp,
        unary.CopyOp,
        unary.NegativeOp,
        unary.ReluOp,
        unary.SignOp,
        unary.ClipOp,
        bits.BitwiseNotOp,
    ),
    DTYPES,
)
def simple_functions(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        x = g.input(finite(g, dtype, *shape))
        for op in (unary.AbsOp, unary.CopyOp, unary.NegativeOp, unary.ReluOp, unary.SignOp):
            g.show(op(x))
        if dtype not in FLOATS:
            g.show(bits.BitwiseNotOp(x))
        g.show(unary.ClipOp(x, -3.4, 100.5))
        g.show(unary.ClipOp(x, -1000, 1e30))


@ELEMENTS.each((unary.CastOp, like.CastLikeOp, like.FullLikeOp), DTYPES)
def conversions(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        # From floating point, numbers that every dtype holds.
        wide = g.numbers(dtype, *shape)
        x = g.input(wide if dtype not in FLOATS else g.small(dtype, *shape, low=0))
        for other in (f16, f32, f64, i1, i8, i16, i32, i64, ui8):
            g.show(unary.CastOp(x, other))
        g.show(like.CastLikeOp(x, g.input(np.zeros(2, np.int16))))
    number = g.input(np.asarray(3).astype(dtype))
    g.show(like.FullLikeOp(g.input(g.numbers("float16", 3, 5)), number))


BINARY = (
    *(binary.AddOp, binary.SubtractOp, binary.MultiplyOp, binary.MaximumOp, binary.MinimumOp),
    *(binary.EqualOp, binary.NotEqualOp, binary.LessOp, binary.LessEqualOp, binary.GreaterOp),
    *(binary.GreaterEqualOp, binary.DivideOp, binary.FloorDivideOp, binary.FloorModOp),
    *(binary.ModOp, binary.TruncDivideOp, binary.TruncModOp),
)
PAIRS = (((17,), (17,)), ((3, 5), (5,)), ((), (2, 1, 16)), ((4, 1), (1, 0)), ((2, 3, 4), ()))


@ELEMENTS.each((*BINARY, binary.PowerOp, transform.WhereOp), COMPUTED)
def arithmetic(g: Graph, dtype: str) -> None:
    for op, (left, right) in product(BINARY, PAIRS):
        floored = op in (binary.FloorModOp, binary.ModOp, binary.TruncModOp)
        if dtype in FLOATS and floored:
            # Quotients that are not rounded to another whole number.
            lhs, rhs = g.small(dtype, *left), g.small(dtype, *right, low=1)
        else:
            lhs, rhs = g.numbers(dtype, *left), g.numbers(dtype, *right)
        g.show(op(g.input(lhs), g.input(rhs)))
    if dtype in FLOATS:
        for left, right in PAIRS:
            base = np.abs(finite(g, dtype, *left)).astype(dtype)
            g.show(binary.PowerOp(g.input(base), g.input(g.small(dtype, *right))), 8)
    for left, right in PAIRS:
        x, y = g.input(g.numbers(dtype, *left)), g.input(g.numbers(dtype, *right))
        for condition in ("bool", dtype):
            g.show(transform.WhereOp(g.input(g.numbers(condition, *right)), x, y))


@ELEMENTS.each((binary.LeftShiftOp, binary.RightShiftOp), INTEGERS)
def shifts(g: Graph, dtype: str) -> None:
    for op, (left, right) in product((binary.LeftShiftOp, binary.RightShiftOp), PAIRS):
        count = g.small("int64", *right, low=-3, high=70).astype(dtype)
        g.show(op(g.input(g.numbers(dtype, *left)), g.input(count)))


@ELEMENTS.each((binary.DivideOp, binary.FloorDivideOp, binary.FloorModOp), SIGNED)
def division_by_constants(g: Graph, dtype: str) -> None:
    x = g.input(g.numbers(dtype, 3, 16))
    for op in (binary.DivideOp, binary.FloorDivideOp, binary.FloorModOp, binary.ModOp):
        for divisors in ((3,), (-1,), (0,), (7, -2), (5, 0)):
            divisor = np.resize(np.array(divisors, dtype), 16)
            g.show(op(x, g.constant(divisor)))


@ELEMENTS.case(
    binary.BitwiseAndOp,
    binary.BitwiseOrOp,
    binary.BitwiseXorOp,
    binary.LogicalAndOp,
    binary.LogicalOrOp,
    binary.LogicalXorOp,
    unary.LogicalNotOp,
)
def logic(g: Graph) -> None:
    operators = binary.BitwiseAndOp, binary.BitwiseOrOp, binary.BitwiseXorOp
    for op, dtype in product(operators, (*INTEGERS, "bool")):
        g.show(op(g.input(g.numbers(dtype, 3, 5)), g.input(g.numbers(dtype, 5))))
    for op in (binary.LogicalAndOp, binary.LogicalOrOp, binary.LogicalXorOp):
        g.show(op(g.input(g.numbers("bool", 3, 5)), g.input(g.numbers("bool", 5))))
    g.show(unary.LogicalNotOp(g.input(g.numbers("bool", 3, 5))))
