"""Guards of simplify-expr: the order of quantised numbers, sums of constants, polynomials."""

import numpy as np
from graphs import BITS
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from guards.algebra import FLOATS
from guards.passes import GuardGraph, GuardTable
from xrelay.dialects.qnn.conversion import QnnDequantizeOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.reduce import ArgmaxOp, ArgminOp
from xrelay.dialects.tensor.sort import ArgsortOp
from xrelay.dialects.tensor.unary import CopyOp, TanhOp

RELAY = GuardTable("simplify-expr", units=2)
SUMS = GuardTable("simplify-expr{reassociate=true}", units=16, special=False)
CPU = GuardTable("simplify-expr{rules=cpu}", units=2)
POLYNOMIALS = GuardTable(
    "simplify-expr{rules=cpu factor-polynomials=true}", units=64, special=False
)

# -- the order of quantised numbers


def ordered(op, *, shape=(3, 4), dtype: str = "int8", scale=2.0, zero=-5, axis: int = -1):
    def build(g: GuardGraph) -> None:
        numbers = QnnDequantizeOp(
            g.x(*shape, dtype=dtype), g.c(scale), g.c(zero, "int32"), axis=axis
        )
        g.show(op(g.op(numbers)))

    return build


GONE = "-qnn.dequantize"
LARGEST = ArgmaxOp
for dtype in ("int8", "uint8", "int16", "uint16"):
    RELAY.changes(f"largest {dtype}", ordered(LARGEST, dtype=dtype), expects=GONE)
    RELAY.changes(
        f"smallest {dtype}",
        ordered(lambda x: ArgminOp(x, [1], keepdims=True), dtype=dtype),
        expects=GONE,
    )
    RELAY.changes(
        f"sorted {dtype}",
        ordered(lambda x: ArgsortOp(x, axis=0, is_ascend=False, dtype=i64), dtype=dtype),
        expects=GONE,
    )
for name, options in {
    "one scale in a vector": {"scale": [0.5]},
    "a far zero point": {"zero": 2**23},
    "a small scale": {"scale": 1e-45},
    "a large scale": {"scale": 1e36},
}.items():
    RELAY.changes(f"largest, {name}", ordered(LARGEST, **options), expects=GONE)
for name, options in {
    "of i32": {"dtype": "int32"},
    "a negative scale": {"scale": -2.0},
    "no scale": {"scale": 0.0},
    "an infinite scale": {"scale": np.inf},
    "no number as scale": {"scale": np.nan},
    "a scale that overflows": {"scale": 1e37, "zero": -100},
    "a zero point so far that numbers round": {"zero": 2**25},
    "a zero point that wraps around": {"zero": -(2**31) + 1},
    "scales of columns": {"scale": [1, 2, 3, 4], "axis": 1},
    "zero points of rows": {"zero": [1, 2, 3], "axis": 0},
}.items():
    RELAY.keeps(f"largest, {name}", ordered(LARGEST, **options))
for scale in ([1, 2, 3], [1, 2, -3]):
    for axes in ([1], [0]):
        RELAY.add(
            scale[-1] > 0 and axes == [1],
            f"largest along {axes} with the scales {scale}",
            ordered(lambda x, a=axes: ArgmaxOp(x, a), scale=scale, axis=0),
            expects=GONE,
        )
RELAY.changes(
    "all axes but that of the scales",
    ordered(lambda x: ArgminOp(x, [0], exclude=True), scale=[1, 2, 3], axis=0),
    expects=GONE,
)
RELAY.keeps(
    "sorted along the scales", ordered(lambda x: ArgsortOp(x, axis=-2), scale=[1, 2, 3], axis=-2)
)
RELAY.keeps(
    "a scale that is not known",
    lambda g: g.show(ArgmaxOp(g.op(QnnDequantizeOp(g.x(3, dtype="int8"), g.x(), g.c(0, "int32"))))),
)
RELAY.keeps("another function of the numbers", ordered(CopyOp))

# -- sums of constants


def sums(*numbers, shape=(3, 4), dtype: str = "float32", left: bool = False):
    def build(g: GuardGraph) -> None:
        value: SSAValue = g.x(*shape, dtype=dtype)
        for number in numbers:
            operands = value, g.c(number, dtype)
            value = g.op(AddOp(*(operands[::-1] if left else operands)))
        g.returns(value)

    return build


for dtype in ("int8", "uint64", "int32"):
    RELAY.changes(f"sums {dtype}", sums(3, 4, dtype=dtype), expects="<add")
    RELAY.changes(f"sums from the left {dtype}", sums(3, 4, dtype=dtype, left=True), expects="<add")
for dtype in FLOATS:
    RELAY.keeps(f"sums {dtype}", sums(3, 4, dtype=dtype))
    SUMS.changes(f"sums {dtype}", sums(3, 4, dtype=dtype), expects="<add")
SUMS.changes("three sums", sums(3, 4, 5), expects="<add")
SUMS.changes("many sums", sums(*range(3, 12)), expects="<add")
SUMS.changes("many sums of rows", sums(3, [4, 5, 6, 7], 5, [[3], [4], [5]], 6), expects="<add")
SUMS.changes("a row and a number", sums([3, 4, 5, 6], 5), expects="<add")
SUMS.keeps("a row and a column", sums([3, 4, 5, 6], [[3], [4], [5]]))
SUMS.keeps("one sum", sums(3))
SUMS.keeps("sums of constants", lambda g: g.show(AddOp(g.op(AddOp(g.c(3), g.c(4))), g.c([5, 6]))))
SUMS.keeps("another operator", lambda g: g.show(MultiplyOp(g.op(AddOp(g.x(3), g.c(4))), g.c(5))))

# -- polynomials


def polynomial(
    a: float,
    b: float,
    c: float,
    *,
    dtype: str = "float32",
    order=(0, 1, 2),
    form: int = 0,
    again: int | None = None,
    shapes=((3, 4), (3, 4)),
):
    """a * x * x + b * x * y + c * y * y, the terms in some order and form, one of which is used again."""

    def build(g: GuardGraph) -> None:
        x, y = (g.x(*shape, dtype=dtype) for shape in shapes)

        def term(number: float, one: SSAValue, other: SSAValue) -> SSAValue:
            if number == 1:
                return g.op(MultiplyOp(one, other))
            factor = g.c(number, dtype)
            if form == 0:
                return g.op(MultiplyOp(factor, g.op(MultiplyOp(one, other))))
            if form == 1:
                return g.op(MultiplyOp(g.op(MultiplyOp(one, factor)), other))
            return g.op(MultiplyOp(g.op(MultiplyOp(one, other)), factor))

        terms = [term(a, x, x), term(b, y, x), term(c, y, y)]
        first, second, third = (terms[place] for place in order)
        inner = g.op(AddOp(first, second))
        g.show(AddOp(third, inner) if form else AddOp(inner, third))
        if again is not None:
            g.show(TanhOp([*terms, inner][again]))

    return build


FEWER = "-multiply|<multiply"
for dtype in (*FLOATS, "int32", "int64", "uint8"):
    for coefficients in ((1, 2, 1), (1, 4, 4), (6, 5, 1), (1, 3, 2)):
        is_float = dtype in FLOATS
        POLYNOMIALS.changes(
            f"{coefficients} {dtype}", polynomial(*coefficients, dtype=dtype), special=False
        )
        CPU.add(not is_float, f"{coefficients} {dtype}", polynomial(*coefficients, dtype=dtype))
for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
    for form in range(3):
        POLYNOMIALS.changes(
            f"order {order} form {form}", polynomial(6, 5, 1, order=order, form=form)
        )
POLYNOMIALS.changes("a difference", polynomial(1, -2, 1))
POLYNOMIALS.changes("a product of sum and difference", polynomial(1, 0.5, -0.5))
POLYNOMIALS.changes("with a factor", polynomial(3, 6, 3))
POLYNOMIALS.changes("rows and columns", polynomial(1, 2, 1, shapes=((3, 1), (4,))))
for coefficients in (
    (1, 1, 1),
    (1, 3, 1),
    (0.0, 2, 1),
    (1, 2, 0.0),
    (1, np.nan, 1),
    (1, np.inf, 1),
    (2, 2.5, 0.3),
):
    POLYNOMIALS.keeps(f"{coefficients}", polynomial(*coefficients))
for again in range(4):
    POLYNOMIALS.keeps(f"part {again} with another user", polynomial(1, 2, 1, again=again))
LOOSE = GuardTable("simplify-expr{rules=cpu reassociate=true}")
LOOSE.keeps("a polynomial that is not to be factored", polynomial(1, 2, 1))
CPU.keeps("integers without roots", polynomial(4, 5, 7, dtype="int32"))
# Rounded roots, whose product is the constant.
CPU.keeps("integers whose roots are too large", polynomial(1, 2**53 + 2, 2**53, dtype="int64"))
CPU.changes(
    "x + x", lambda g: [g.show(AddOp(x, x), BITS) for x in [g.x(9)]], expects="-add +multiply"
)
for dtype in ("int8", "uint64", "float16"):
    CPU.changes(
        f"x + x {dtype}",
        lambda g, d=dtype: [g.show(AddOp(x, x), BITS) for x in [g.x(9, dtype=d)]],
        expects="-add +multiply",
    )
CPU.keeps("x + x of truth values", lambda g: [g.show(AddOp(x, x)) for x in [g.x(9, dtype="bool")]])
RELAY.keeps("x + x", lambda g: [g.show(AddOp(x, x)) for x in [g.x(9)]])

TABLES = (RELAY, SUMS, CPU, LOOSE, POLYNOMIALS)
