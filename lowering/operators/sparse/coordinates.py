"""Kernel code of operators on the coordinates of sparse tensors."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from xrelay.dialects.sparse.coordinates import SparseReshapeOp
from xrelay.lowering.emit.evaluate import (
    Demand,
    EachLane,
    Evaluator,
    Rule,
    RuleFunction,
    element_of,
    shape_of,
)
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.math.arithmetic import add, multiply
from xrelay.lowering.operators.tensor.binary import integer_division


def _reshape(ev: Evaluator, op: Operation, leaf: int, position: Position) -> Rule:
    assert isinstance(op, SparseReshapeOp)
    b, kind = ev.b, element_of(op.sparse_indices)
    count, rank = shape_of(op.sparse_indices)
    (new_rank,) = shape_of(op.new_shape)
    old: list[SSAValue] = []
    for axis in range(rank):
        old.append((yield Demand((op.prev_shape, 0), at((rank,), [axis]))))
    new: list[SSAValue] = []
    for axis in range(new_rank):
        new.append((yield Demand((op.new_shape, 0), at((new_rank,), [axis]))))
    one = b.constant(kind.compute, 1)

    def total(numbers: Sequence[SSAValue]) -> SSAValue:
        result = one
        for number in numbers:
            result = multiply(b, result, number, kind)
        return result

    if kind.signed:
        missing = b.constant(kind.compute, -1)
        unknown = [b.compare_integers(dim, "eq", missing) for dim in new]
        known = [b.select(flag, one, dim) for flag, dim in zip(unknown, new, strict=True)]
        inferred = integer_division(b, total(old), total(known), kind)[0]
        new = [b.select(flag, inferred, dim) for flag, dim in zip(unknown, new, strict=True)]
    coords = position.coords(b)
    result: SSAValue | None = None
    values = new
    if leaf == 0:
        offset = b.constant(kind.compute, 0)
        for axis, dim in enumerate(old):
            place = at((count, rank), (coords[0], axis))
            index = yield Demand((op.sparse_indices, 0), place)
            offset = add(b, multiply(b, offset, dim, kind), index, kind)
        values = list[SSAValue]()
        for dim in reversed(new):
            offset, remainder = integer_division(b, offset, dim, kind)
            values.insert(0, remainder)
    for axis, value in enumerate(values):
        if result is None:
            result = value
        else:
            result = b.select(b.compare_index(coords[-1], "eq", axis), value, result)
    assert result is not None, "a result without columns has no elements"
    return result


RULES: dict[type[Operation], RuleFunction] = {SparseReshapeOp: EachLane(_reshape)}
