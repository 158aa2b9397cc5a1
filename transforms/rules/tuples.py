"""Tuples and their fields."""

from xdsl.dialects.builtin import TupleType
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.transforms.rules.rewriting import Emitter


def take_fields(op: TupleOp) -> None:
    """Takes the fields of a tuple that is made here as they are, and removes it where nothing else uses it."""
    for use in tuple(op.result.uses):
        if isinstance(item := use.operation, TupleGetItemOp):
            Rewriter.replace_op(item, [], [op.fields[item.index.value.data]])
    if not op.result.uses:
        Rewriter.erase_op(op)


def fields_of(value: SSAValue, emit: Emitter) -> list[SSAValue]:
    """The fields of a tuple, taken out of it unless it is made here."""
    if isinstance(value.owner, TupleOp):
        return list(value.owner.fields)
    assert isinstance(value.type, TupleType)
    return [emit(TupleGetItemOp(value, number)) for number in range(len(value.type.types))]
