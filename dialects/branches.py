"""What the branches and loops of MLIR's scf dialect hand over: values to blocks, and what these end with to results."""

from typing import TypeAlias

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.type_relations import refined

BranchOrLoop: TypeAlias = scf.IfOp | scf.ForOp | scf.WhileOp


def passed_on(block: Block) -> tuple[SSAValue, ...]:
    """What the end of a region hands to what is around it; of a condition, all but whether to go on."""
    match block.last_op:
        case scf.YieldOp() as end:
            return tuple(end.operands)
        case scf.ConditionOp() as end:
            return tuple(end.operands[1:])
        case _:
            return ()


def handed_over(
    op: BranchOrLoop,
) -> list[tuple[str, list[Attribute], tuple[SSAValue, ...]]]:
    """What is handed over within a branch or loop: from where, the types expected, and the values."""
    types = [result.type for result in op.results]
    match op:
        case scf.IfOp():
            sides = zip(("the first branch", "the other branch"), op.regions, strict=True)
            return [
                (what, types, passed_on(region.block) if region.blocks else ())
                for what, region in sides
            ]
        case scf.ForOp():
            return [
                ("the start", types, tuple(op.iter_args)),
                ("a round", types, passed_on(op.body.block)),
            ]
        case scf.WhileOp():
            carried = [arg.type for arg in op.before_region.block.args]
            body = [arg.type for arg in op.after_region.block.args]
            tested = passed_on(op.before_region.block)
            return [
                ("the start", carried, tuple(op.arguments)),
                ("the condition", types, tested),
                ("the condition", body, tested),
                ("a round", carried, passed_on(op.after_region.block)),
            ]


def check_handed_over(op: Operation) -> None:
    """
    Raises VerifyException for a branch or a loop that hands over a wrong number of values, or values of types that
    contradict those expected, as MLIR's verifier does; xDSL's does so for scf.for alone.
    """
    if not isinstance(op, scf.IfOp | scf.WhileOp):
        return
    for number, region in enumerate(op.regions):
        count = len(region.blocks)
        if count != 1 and (count or isinstance(op, scf.WhileOp)):
            raise VerifyException(f"region {number} has {count} blocks, expected one")
    for what, expected, found in handed_over(op):
        if len(expected) != len(found):
            raise VerifyException(f"{what} gives {len(found)} values, expected {len(expected)}")
        for i, (type_, value) in enumerate(zip(expected, found, strict=True)):
            if refined(type_, value.type) is None:
                raise VerifyException(
                    f"value {i} that {what} gives is {value.type}, expected {type_}"
                )
