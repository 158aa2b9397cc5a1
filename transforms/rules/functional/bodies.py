"""The code of functions and of function literals, where it goes to another place."""

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.dialects.core.functional import ClosureOp
from xrelay.dialects.core.values import YieldOp


def with_code_of(literal: ClosureOp, name: str) -> func.FuncOp:
    """A function of the module that gets the code of a literal, which takes all that it uses as parameters."""
    block = literal.block
    end = block.last_op
    assert isinstance(end, YieldOp)
    type_ = (block.arg_types, [end.value.type])
    Rewriter.replace_op(end, func.ReturnOp(end.value))
    function = func.FuncOp(name, type_, literal.detach_region(0), visibility="private")
    function.attributes.update(literal.attributes)
    function.location = literal.location
    return function


def taken_out(block: Block) -> tuple[list[Operation], list[SSAValue]]:
    """Takes the operations out of a block, and what it gives."""
    *ops, end = block.ops
    for op in ops:
        op.detach()
    results = list(end.operands)
    Rewriter.erase_op(end)
    return ops, results
