"""Kernel cases of the elementwise operators of `transcendental`, `bits` and `binary`."""

import numpy as np
from graphs import BITS, Graph
from xdsl.dialects.builtin import f16

from cases.kernel import DTYPES, FLOATS, INTEGERS, SHAPES, CaseTable
from xrelay.dialects.core import device
from xrelay.dialects.tensor import binary, bits, transcendental, unary
from xrelay.interpreters.arrays import element_type_of

ELEMENTWISE = CaseTable()


@ELEMENTWISE.each(transcendental.TRANSCENDENTAL_OPS, FLOATS)
def transcendental_functions(g: Graph, dtype: str) -> None:
    for i, op in enumerate(transcendental.TRANSCENDENTAL_OPS):
        for shape in ((65,), SHAPES[i % len(SHAPES)]):
            x = g.numbers(dtype, *shape)
            if op is transcendental.TanOp:
                # Arguments whose reduction to a period is exact enough in every library.
                x = np.where(np.abs(x) < 1e4, x, np.where(np.isfinite(x), np.ones_like(x), x))
            g.show(op(g.input(x)), 8)
            g.show(op(g.input(np.asarray(g.rng.uniform(-1, 1, shape)).astype(dtype))), 8)


@ELEMENTWISE.case(*transcendental.TRANSCENDENTAL_OPS)
def rounded_to_half_afterwards(g: Graph) -> None:
    for op in transcendental.TRANSCENDENTAL_OPS:
        x = g.input(np.asarray(g.rng.uniform(-1, 2, 35), np.float32))
        g.show(unary.CastOp(g.op(op(x)), f16), 1)


@ELEMENTWISE.each((bits.IsFiniteOp, bits.IsInfOp, bits.IsNanOp), DTYPES)
def number_tests(g: Graph, dtype: str) -> None:
    for op in (bits.IsFiniteOp, bits.IsInfOp, bits.IsNanOp):
        for shape in SHAPES:
            g.show(op(g.input(g.numbers(dtype, *shape))))


@ELEMENTWISE.each((bits.BitwiseNotOp,), (*INTEGERS, "bool"))
def bitwise_not(g: Graph, dtype: str) -> None:
    for shape in SHAPES:
        g.show(bits.BitwiseNotOp(g.input(g.numbers(dtype, *shape))))


@ELEMENTWISE.each((bits.ReinterpretOp,), DTYPES)
def reinterpret(g: Graph, dtype: str) -> None:
    for other in map(np.dtype, DTYPES):
        if other.itemsize == np.dtype(dtype).itemsize and (other == bool) == (dtype == "bool"):
            x = g.numbers(dtype, 3, 19)
            g.show(bits.ReinterpretOp(g.input(x), element_type_of(other)), BITS)


@ELEMENTWISE.case(bits.FixedPointMultiplyOp)
def fixed_point_multiply(g: Graph) -> None:
    limit = 2**31
    for multiplier in (1 << 30, 1431658825, -1717986918, 1, limit - 1, -limit, 0):
        for shift in (-31, -3, 0, 1, 7, 31):
            x = g.numbers("int32", 37)
            g.show(bits.FixedPointMultiplyOp(g.input(x), multiplier, shift))


@ELEMENTWISE.each((binary.TruncDivideOp, binary.TruncModOp), DTYPES)
def truncated_division(g: Graph, dtype: str) -> None:
    for op in (binary.TruncDivideOp, binary.TruncModOp):
        for shapes in (((131,), (131,)), ((3, 5), (5,)), ((), ()), ((0, 3), (3,))):
            x, y = (g.numbers(dtype, *shape) for shape in shapes)
            if np.dtype(dtype).kind == "f":
                # Quotients that are exact: others round up to whole numbers now and then.
                y = np.where(np.abs(y) < 1e3, np.exp2(np.rint(np.clip(y, -4, 4))).astype(dtype), y)
            g.show(op(g.input(np.asarray(x)), g.input(np.asarray(y))))


@ELEMENTWISE.case(device.OnDeviceOp)
def values_on_the_only_device(g: Graph) -> None:
    for place in (device.VirtualDeviceAttr(), device.VirtualDeviceAttr(device.CPU, 0)):
        x = g.op(unary.NegativeOp(g.input(g.numbers("float32", 3, 5))))
        g.show(unary.ExpOp(g.op(device.OnDeviceOp(x, place))), 4)
