"""Copies of programs, in time linear in their size however deep regions nest."""

from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from xrelay.analysis.facts.walking import walk

OpT = TypeVar("OpT", bound=Operation)


def copied(op: OpT) -> OpT:
    """xDSL's `op.clone()`, whose walk pays for the depth of each operation."""
    values: dict[SSAValue, SSAValue] = {}
    blocks: dict[Block, Block] = {}
    copy = op.clone(values, blocks, clone_operands=False)
    # A value may be used before it is defined.
    for old, new in zip(walk(op), walk(copy), strict=True):
        new.operands = [values.get(operand, operand) for operand in old.operands]
    return copy
