"""Guards of the passes on casts and on quantised operators, which change no bit of a result."""

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import f32, i1, i8, i16, i32
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.qnn.arithmetic import QNN_UNARY_OPS, QnnAddOp, QnnSqrtOp, QnnUnaryOp
from xrelay.dialects.qnn.products import (
    QnnBatchMatmulOp,
    QnnConv2DOp,
    QnnConv2DTransposeOp,
    QnnDenseOp,
)
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reduce import SumOp
from xrelay.dialects.tensor.unary import AbsOp, CastOp, NegativeOp

from .passes import GuardGraph, GuardTable

CASTS = GuardTable("canonicalize-cast", units=0, expects="+cast")


def cast_for(source: str, target: Any, *users: Callable[[SSAValue], Operation]):
    """A cast with some users, each of which is returned."""

    def build(g: GuardGraph) -> None:
        wide = g.op(CastOp(g.x(2, 3, dtype=source), target))
        for user in users:
            g.show(user(wide))

    return build


def _twice(value: SSAValue) -> Operation:
    return AddOp(value, value)


for source, target in (("int8", i32), ("uint8", i16), ("float16", f32), ("int8", f32)):
    CASTS.changes(f"{source} to {target}", cast_for(source, target, AbsOp, NegativeOp))
CASTS.changes("one user twice", cast_for("int8", i32, _twice))
CASTS.changes("three users", cast_for("int8", i32, AbsOp, SumOp, NegativeOp))
CASTS.changes("two and a reduction", cast_for("int8", i32, SumOp, AbsOp, AbsOp))
CASTS.keeps("one user", cast_for("int8", i32, AbsOp))
CASTS.keeps("as many bits", cast_for("int32", f32, AbsOp, NegativeOp))
CASTS.keeps("fewer bits", cast_for("int32", i8, AbsOp, NegativeOp))
CASTS.keeps("a single bit", cast_for("int8", i1, lambda x: TupleOp([x]), lambda x: CastOp(x, i1)))
CASTS.keeps("users of another kind", cast_for("int8", i32, SumOp, SumOp))
CASTS.keeps("one beside others", cast_for("int8", i32, AbsOp, SumOp, SumOp))


def parameters(g: GuardGraph, *, zeros: tuple[Any, Any] = (3, -5)) -> list[SSAValue]:
    """Zero points and scales of two factors."""
    return [*(g.c(zero, "int32") for zero in zeros), g.c(0.5), g.c(0.25)]


def dense(left: str, right: str, **options: Any):
    def build(g: GuardGraph) -> None:
        x, w = g.x(2, 4, dtype=left), g.x(3, 4, dtype=right)
        g.show(QnnDenseOp(x, w, *parameters(g, **options), units=3))

    return build


def convolved(left: str, right: str, op: Any = QnnConv2DOp, **options: Any):
    def build(g: GuardGraph) -> None:
        x, w = g.x(1, 2, 3, 3, dtype=left), g.x(2, 2, 2, 2, dtype=right)
        g.show(op(x, w, *parameters(g, **options), padding=(1, 0)))

    return build


def unknown_zero(g: GuardGraph) -> None:
    x, w = g.x(2, 4, dtype="int8"), g.x(3, 4, dtype="int8")
    _, known, *scales = parameters(g)
    g.show(QnnDenseOp(x, w, g.x(dtype="int32"), known, *scales))


def batch(g: GuardGraph) -> None:
    x, y = g.x(1, 2, 4, dtype="int8"), g.x(1, 3, 4, dtype="int8")
    g.show(QnnBatchMatmulOp(x, y, *parameters(g), transpose_b=True))


def function_of(op: type[QnnUnaryOp], dtype: str, *, known: bool = True):
    def build(g: GuardGraph) -> None:
        scale = g.c(0.04) if known else g.x()
        zero = g.c(2, "int32")
        g.show(op(g.x(2, 40, dtype=dtype), scale, zero, g.c(0.02), g.c(-3, "int32")))

    return build


def added(g: GuardGraph) -> None:
    one, zero = g.c(0.5), g.c(1, "int32")
    x = g.x(2, dtype="int8")
    g.show(QnnAddOp(x, x, one, zero, one, zero, one, zero))


PER_CHANNEL = {"zeros": (3, [1, -2, 0])}
BYTES = ("int8", "uint8")
TARGETS = {
    target: GuardTable(f'qnn-legalize{{target="{target}"}}', units=0)
    for target in ("arm", "arm-dotprod", "cuda", "generic", "x86", "x86-vnni")
}
KEPT = {
    "arm-dotprod": {("int8", "int8"), ("uint8", "uint8")},
    "cuda": {("int8", "int8")},
    "generic": {(left, right) for left in BYTES for right in BYTES},
    "x86-vnni": {("uint8", "int8")},
}
"""The dtypes of factors that suit a target."""
for target, table in TARGETS.items():
    for left in BYTES:
        for right in BYTES:
            suits = (left, right) in KEPT.get(target, ())
            pair = f"{left} {right}"
            table.add(not suits, f"dense {pair}", dense(left, right, zeros=(3, 5)))
            table.add(not suits, f"conv2d {pair}", convolved(left, right, zeros=(3, 5)))
            table.add(not suits, f"channels {pair}", dense(left, right, zeros=(0, [1, 2, 3])))
    table.keeps("batch_matmul", batch)
    table.keeps("a sum", added)
    table.changes("transposed convolution", convolved("int8", "int8", QnnConv2DTransposeOp))
    table.changes("a function", function_of(QnnSqrtOp, "int8"))

SHORT = TARGETS["x86"]
for zero, fits in ((127, True), (128, False), (-128, True), (-129, False)):
    SHORT.add(fits, f"zero point {zero}", dense("int8", "int8", zeros=(zero, 0)))
    SHORT.add(fits, f"zero point {zero} on the right", dense("int8", "int8", zeros=(0, zero)))
SHORT.keeps("a zero point that is not known", unknown_zero)
TARGETS["x86-vnni"].changes("any zero point", unknown_zero)

for op in QNN_UNARY_OPS:
    for dtype in BYTES:
        TARGETS["generic"].changes(f"{op.name} {dtype}", function_of(op, dtype), expects="+take")
TARGETS["generic"].keeps("a scale that is not known", function_of(QnnSqrtOp, "int8", known=False))
TARGETS["generic"].keeps(
    "a plain convolution", lambda g: g.show(Conv2DOp(g.x(1, 2, 3, 3), g.x(2, 2, 2, 2)))
)

TABLES = (CASTS, *TARGETS.values())
