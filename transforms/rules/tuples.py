"""Tuples and their fields."""

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation, SSAValue

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp


def take_fields(op: TupleOp) -> None:
    """Takes the fields of a tuple that is made here as they are, and removes it where nothing else uses it."""
    for use in tuple(op.result.uses):
        if isinstance(item := use.operation, TupleGetItemOp):
            item.result.replace_all_uses_with(op.fields[item.index.value.data])
            item.detach()
            item.erase()
    if not op.result.uses:
        op.detach()
        op.erase()


def fields_of(value: SSAValue, ops: list[Operation]) -> list[SSAValue]:
    """The fields of a tuple; operations that take them out of it are added to others."""
    if isinstance(value.owner, TupleOp):
        return list(value.owner.fields)
    assert isinstance(value.type, TupleType)
    items = [TupleGetItemOp(value, number) for number in range(len(value.type.types.data))]
    ops += items
    return [item.result for item in items]
