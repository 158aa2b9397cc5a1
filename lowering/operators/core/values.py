"""Kernel code of constants, tuples and annotations."""

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.core.annotation import ANNOTATION_OPS
from xrelay.dialects.core.values import ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.shapes import field_of_leaf, field_places, leaf_count
from xrelay.lowering.emit.evaluate import Demand, Evaluator, Leaf, Rule, RuleFunction, element_of
from xrelay.lowering.emit.position import Position


def source_leaf(leaf: Leaf) -> Leaf:
    """The tensor that tuples and projections pass on as this one, without computing."""
    while isinstance(leaf[0], OpResult):
        op, number = leaf[0].op, leaf[1]
        if isinstance(op, TupleOp):
            field, number = field_of_leaf(op.result.type, number)
            leaf = (op.fields[field], number)
        elif isinstance(op, TupleGetItemOp):
            assert isinstance(op.tuple_value.type, TupleType)
            first = field_places(op.tuple_value.type)[op.index.value.data]
            leaf = (op.tuple_value, first + number)
        elif isinstance(op, ANNOTATION_OPS):
            leaf = (op.operands[0], number)
        else:
            break
    return leaf


def source_leaves(value: SSAValue) -> list[Leaf]:
    """
    The `source_leaf` of each tensor in a value, in order. Asking for one after the other would walk
    through the fields of a tuple from the first again each time.
    """
    owner = value.owner
    while isinstance(owner, ANNOTATION_OPS):
        value = owner.operands[0]
        owner = value.owner
    if isinstance(owner, TupleOp):
        return [leaf for field in owner.fields for leaf in source_leaves(field)]
    return [source_leaf((value, number)) for number in range(leaf_count(value.type))]


def _pass_on(ev: Evaluator, op: Operation, number: int, position: Position) -> Rule:
    return (yield Demand(source_leaf((op.results[0], number)), position))


def _constant(ev: Evaluator, op: Operation, _: int, position: Position) -> Rule:
    yield from ()
    assert isinstance(op, ConstantOp)
    number = number_of(op.result)
    if number is None:
        raise DiagnosticException(f"{op.result.type} constant in a kernel is not in memory")
    return ev.b.constant(element_of(op.result).compute, number, position.lanes)


RULES: dict[type[Operation], RuleFunction] = {
    ConstantOp: _constant,
    TupleOp: _pass_on,
    TupleGetItemOp: _pass_on,
    **dict.fromkeys(ANNOTATION_OPS, _pass_on),
}
