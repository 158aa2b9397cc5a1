"""Kernel code of the elementary functions of `xrelay.dialects.tensor.transcendental`."""

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.tensor import transcendental
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Rule, RuleFunction, element_of
from xrelay.lowering.emit.position import Position
from xrelay.lowering.math import elementary as vector_math
from xrelay.lowering.math import inverse as vector_math_inverse
from xrelay.lowering.math.convert import REAL, convert

CODE: dict[type[Operation], Callable[[KernelBuilder, SSAValue], SSAValue]] = {
    transcendental.AcosOp: vector_math_inverse.acos,
    transcendental.AcoshOp: vector_math_inverse.acosh,
    transcendental.AsinOp: vector_math_inverse.asin,
    transcendental.AsinhOp: vector_math_inverse.asinh,
    transcendental.AtanOp: vector_math_inverse.atan,
    transcendental.AtanhOp: vector_math_inverse.atanh,
    transcendental.CoshOp: vector_math_inverse.cosh,
    transcendental.FastErfOp: vector_math.erf,
    transcendental.FastExpOp: vector_math.exp,
    transcendental.FastTanhOp: vector_math.tanh,
    transcendental.Log10Op: vector_math_inverse.log10,
    transcendental.Log2Op: vector_math_inverse.log2,
    transcendental.SinhOp: vector_math_inverse.sinh,
    transcendental.TanOp: vector_math_inverse.tan,
}

IN_F32 = (transcendental.FastErfOp, transcendental.FastExpOp, transcendental.FastTanhOp)
"""Functions that have code for f32; others compute in f64."""


def _rule(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    data = op.operands[0]
    kind = element_of(data)
    computed = wide(kind)
    if computed != kind and type(op) not in IN_F32:
        # What is computed in f64 anyway is rounded once.
        computed = REAL
    x = convert(ev.b, (yield Demand((data, 0), position)), kind, computed)
    return convert(ev.b, CODE[type(op)](ev.b, x), computed, kind)


RULES: dict[type[Operation], RuleFunction] = dict.fromkeys(transcendental.TRANSCENDENTAL_OPS, _rule)
