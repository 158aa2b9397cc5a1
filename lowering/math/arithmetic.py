"""Arithmetic on elements, in registers."""

from math import inf

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element
from xrelay.lowering.math.lanes import Lanes


def add(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    """x + y"""
    if kind.is_float:
        return b.insert(arith.AddfOp(x, y)).result
    return b.insert(arith.AddiOp(x, y)).result


def subtract(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    """x - y"""
    if kind.is_float:
        return b.insert(arith.SubfOp(x, y)).result
    return b.insert(arith.SubiOp(x, y)).result


def multiply(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    """x * y"""
    if kind.is_float:
        return b.insert(arith.MulfOp(x, y)).result
    return b.insert(arith.MuliOp(x, y)).result


def multiply_add(
    b: KernelBuilder, x: SSAValue, y: SSAValue, total: SSAValue, kind: Element
) -> SSAValue:
    """x * y + total, in one rounding where the CPU has an instruction for it."""
    if kind.is_float:
        return Lanes.of(b, x).fma(x, y, total)
    return add(b, total, multiply(b, x, y, kind), kind)


def maximum(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    """The larger element; NaN if one is."""
    if kind.is_float:
        return b.insert(arith.MaximumfOp(x, y)).result
    if kind.is_bool:
        return b.either(x, y)
    return b.insert((arith.MaxSIOp if kind.signed else arith.MaxUIOp)(x, y)).result


def minimum(b: KernelBuilder, x: SSAValue, y: SSAValue, kind: Element) -> SSAValue:
    """The smaller element; NaN if one is."""
    if kind.is_float:
        return b.insert(arith.MinimumfOp(x, y)).result
    if kind.is_bool:
        return b.both(x, y)
    return b.insert((arith.MinSIOp if kind.signed else arith.MinUIOp)(x, y)).result


def lowest(kind: Element) -> float:
    """The smallest value of an element type."""
    if kind.is_float:
        return -inf
    return -(2 ** (kind.bits - 1)) if kind.signed else 0


def highest(kind: Element) -> float:
    """The largest value of an element type."""
    if kind.is_float:
        return inf
    return 2 ** (kind.bits - 1) - 1 if kind.signed else 2**kind.bits - 1
