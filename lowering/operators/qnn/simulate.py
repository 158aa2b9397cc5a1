"""Kernel code of simulated quantisation."""

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.qnn.simulate import KIND_IDENTITY, SimulatedQuantizeOp
from xrelay.lowering.emit.elements import wide
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Rule, RuleFunction, element_of
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math.arithmetic import maximum, minimum
from xrelay.lowering.math.convert import convert

ROUNDINGS = {"round": math.RoundEvenOp, "floor": math.FloorOp, "ceil": math.CeilOp}


def _simulated_quantize(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    assert isinstance(op, SimulatedQuantizeOp)
    b, kind = ev.b, element_of(op.data)
    computed = wide(kind)
    raw = yield Demand((op.data, 0), position)
    if op.kind.value.data == KIND_IDENTITY:
        return raw
    scalars: list[SSAValue] = []
    for operand in (op.dom_scale, op.clip_min, op.clip_max):
        scalar = convert(b, (yield Demand((operand, 0), at((), ()))), kind, computed)
        scalars.append(b.splat(scalar, position.lanes))
    scale, low, high = scalars
    scaled = b.insert(arith.DivfOp(convert(b, raw, kind, computed), scale)).result
    clipped = minimum(b, maximum(b, scaled, low, computed), high, computed)
    rounded = b.insert(ROUNDINGS[op.rounding.data](clipped)).results[0]
    return convert(b, b.insert(arith.MulfOp(rounded, scale)).result, computed, kind)


RULES: dict[type[Operation], RuleFunction] = {SimulatedQuantizeOp: _simulated_quantize}
